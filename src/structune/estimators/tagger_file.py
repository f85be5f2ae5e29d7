"""A fitted tagger as the header and arrays of a model file, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.model_files import pack_strings, unpack_strings
from structune.structures.chain import Chain

if TYPE_CHECKING:
    from structune.estimators.tagger import SequenceTagger

Arrays = dict[str, NDArray[Any]]


def pack(tagger: SequenceTagger, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a fitted tagger."""
    chain = tagger.chain_
    history, precisions = _pack_history(tagger.history_, len(tagger.group_names_))
    header = {
        "labels": [label.item() if isinstance(label, np.generic) else label for label in chain.labels],
        "boundary": chain.boundary,
        "forbidden": chain.forbidden,
        "parameters": _parameters(tagger),
        "history": history,
        "status": tagger.status_,
        "passes": tagger.passes_,
        "extra": extra,
    }
    arrays = {
        "coef": tagger.coef_,
        "penalty": tagger.penalty_,
        "group_sizes": tagger.group_sizes_,
        "history_log_precision": precisions,
        "pair_keys": chain.pairs.keys,
        "transitions": chain.transitions,
    }
    for name, strings in (("attribute", chain.attributes), ("group", tagger.group_names_)):
        packed = pack_strings(list(strings))
        arrays |= {f"{name}_bytes": packed["bytes"], f"{name}_ends": packed["ends"]}
    return header, arrays


def unpack(tagger: SequenceTagger, header: dict[str, Any], arrays: Arrays) -> None:
    """Give a new tagger the fitted attributes that `pack` packed."""
    chain = _chain(header, arrays)
    names = unpack_strings(arrays["group_bytes"], arrays["group_ends"])
    n_records = sum("log_precision" in record for record in header["history"])
    _check(arrays, "coef", np.float64, (chain.n_weights,))
    _check(arrays, "penalty", np.float64, (len(names),))
    _check(arrays, "group_sizes", np.int64, (len(names),))
    if arrays["group_sizes"].min(initial=0) < 0 or arrays["group_sizes"].sum() != chain.n_weights:
        raise ModelFileError(f"the group sizes do not add up to {chain.n_weights} weights")
    _check(arrays, "history_log_precision", np.float64, (n_records, len(names)))
    given = {"boundary": chain.boundary, "forbidden": chain.forbidden}
    tagger.set_params(**{**header["parameters"], **given})
    tagger.chain_, tagger.classes_ = chain, list(chain.labels)
    tagger.coef_, tagger.penalty_ = arrays["coef"], arrays["penalty"]
    tagger.group_names_, tagger.group_sizes_ = tuple(names), arrays["group_sizes"]
    tagger.history_ = _unpack_history(header["history"], arrays["history_log_precision"])
    tagger.status_, tagger.passes_ = str(header["status"]), float(header["passes"])
    tagger.extra_ = dict(header["extra"])


def _parameters(tagger: SequenceTagger) -> dict[str, Any]:
    """The constructor's parameters, but for those that JSON cannot give back."""
    found = {}
    for name, value in tagger.get_params(deep=False).items():
        plain = value.item() if isinstance(value, np.generic) else value
        if _comes_back(plain):
            found[name] = plain
    return found


def _comes_back(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def _check(arrays: Arrays, name: str, dtype: type, shape: tuple[int, ...]) -> None:
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape or not np.all(np.isfinite(array)):
        raise ModelFileError(
            f"found {name!r} of shape {array.shape} and type {array.dtype}, "
            f"expected finite numbers of shape {shape} and type {np.dtype(dtype)}"
        )


def _chain(header: dict[str, Any], arrays: Arrays) -> Chain:
    attributes = unpack_strings(arrays["attribute_bytes"], arrays["attribute_ends"])
    labels, forbidden = list(header["labels"]), header["forbidden"]
    readable = labels and all(isinstance(label, str | int) for label in labels)
    if not readable or len(set(labels)) < len(labels):
        raise ModelFileError(f"found the labels {labels}, expected one at least and no two alike")
    if len(set(attributes)) < len(attributes):
        raise ModelFileError("two attributes have the same name, expected each once")
    if isinstance(forbidden, list):
        forbidden = [(a, b) for a, b in forbidden]
    ends = {"pair_keys": len(attributes) * len(labels), "transitions": len(labels) ** 2}
    for name, end in ends.items():
        keys = arrays[name]
        rising = keys.dtype == np.int64 and keys.ndim == 1 and bool(np.all(np.diff(keys) > 0))
        if not rising or (keys.size and not 0 <= keys[0] <= keys[-1] < end):
            raise ModelFileError(f"the table {name!r} is damaged")
    return Chain(
        labels, attributes, arrays["pair_keys"], arrays["transitions"], bool(header["boundary"]), forbidden
    )


def _pack_history(history: list[dict[str, Any]], n_groups: int) -> tuple[list[dict[str, Any]], NDArray[Any]]:
    """Precisions of all groups in all steps are too long for the header: they go to an array."""
    short = [{**record, "log_precision": None} if "log_precision" in record else record for record in history]
    rows = [record["log_precision"] for record in history if "log_precision" in record]
    return short, np.array(rows, dtype=np.float64).reshape(len(rows), n_groups)


def _unpack_history(history: list[dict[str, Any]], rows: NDArray[Any]) -> list[dict[str, Any]]:
    left = iter(rows.tolist())
    return [
        {**record, "log_precision": next(left)} if "log_precision" in record else record for record in history
    ]
