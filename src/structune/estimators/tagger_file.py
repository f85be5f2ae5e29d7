"""A fitted tagger as the header and arrays of a model file, and back."""

from __future__ import annotations

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
        "labels": tagger.classes_,
        "boundary": chain.boundary,
        "forbidden": chain.forbidden,
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
    shapes = {"coef": chain.n_weights, "penalty": len(names), "group_sizes": len(names)}
    for name, size in shapes.items():
        if arrays[name].shape != (size,) or not np.all(np.isfinite(arrays[name])):
            raise ModelFileError(
                f"found {name!r} of shape {arrays[name].shape}, expected ({size},) finite numbers"
            )
    tagger.set_params(boundary=chain.boundary, forbidden=chain.forbidden)
    tagger.chain_, tagger.classes_ = chain, list(chain.labels)
    tagger.coef_ = arrays["coef"].astype(np.float64)
    tagger.penalty_ = arrays["penalty"].astype(np.float64)
    tagger.group_names_, tagger.group_sizes_ = tuple(names), arrays["group_sizes"].astype(np.int64)
    tagger.history_ = _unpack_history(header["history"], arrays["history_log_precision"])
    tagger.status_, tagger.passes_ = str(header["status"]), float(header["passes"])
    tagger.extra_ = dict(header["extra"])


def _chain(header: dict[str, Any], arrays: Arrays) -> Chain:
    attributes = unpack_strings(arrays["attribute_bytes"], arrays["attribute_ends"])
    labels, forbidden = list(header["labels"]), header["forbidden"]
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
