"""What every fitted estimator keeps in its model file: weights, penalties, parameters and history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.files.models import OF_FITS, pack_strings, unpack_strings

if TYPE_CHECKING:
    from structune.learning.estimator import StructuredEstimator

Arrays = dict[str, NDArray[Any]]
_OF_MACHINES = ("executor", "checkpoint")  # parameters of the machine that fitted, not of the model


def pack_fit(estimator: StructuredEstimator, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a fitted estimator, but for its structure."""
    history, precisions = _pack_history(estimator.history_, len(estimator.group_names_))
    header = {
        "parameters": _parameters(estimator),
        "history": history,
        "status": estimator.status_,
        "passes": estimator.passes_,
        "extra": extra,
    }
    arrays = {
        "coef": estimator._weights,
        "penalty": estimator.penalty_,
        **({"l1": estimator.l1_} if estimator.l1_.any() else {}),
        "group_sizes": estimator.group_sizes_,
        "history_log_precision": precisions,
        **pack_names("group", estimator.group_names_),
    }
    return header, arrays


def unpack_fit(
    estimator: StructuredEstimator, n_weights: int, header: dict[str, Any], arrays: Arrays, n_free: int = 0
) -> None:
    """Give a new estimator the parameters and fitted attributes that `pack_fit` packed.

    `n_free` of the weights have no penalty, and are in no group.
    """
    names = unpack_names("group", arrays)
    n_records = sum("log_precision" in record for record in header["history"])
    check_array(arrays, "coef", np.float64, (n_weights,))
    check_array(arrays, "penalty", np.float64, (len(names),))
    arrays.setdefault("l1", np.zeros(len(names)))  # of models without one there is none in the file
    check_array(arrays, "l1", np.float64, (len(names),))
    check_array(arrays, "group_sizes", np.int64, (len(names),))
    grouped = n_weights - n_free if names else 0  # weights that were not fitted here have no groups
    if arrays["group_sizes"].min(initial=0) < 0 or arrays["group_sizes"].sum() != grouped:
        raise ModelFileError(f"the group sizes do not add up to {grouped} weights")
    check_array(arrays, "history_log_precision", np.float64, (n_records, len(names)))
    for name in _OF_MACHINES:  # a cluster runs what it is sent, and sends what is run here
        if name in header["parameters"]:
            raise ModelFileError(
                f"found the parameter {name!r}, expected none: a file chooses no machines or files"
            )
    estimator.set_params(**header["parameters"])
    estimator._set_weights(arrays["coef"])
    estimator._fitted_loss = estimator._make_loss()
    estimator.penalty_, estimator.l1_ = arrays["penalty"], arrays["l1"]
    estimator.group_names_, estimator.group_sizes_ = tuple(names), arrays["group_sizes"]
    estimator.history_ = _unpack_history(header["history"], arrays["history_log_precision"])
    estimator.status_, estimator.passes_ = str(header["status"]), float(header["passes"])
    estimator.extra_ = dict(header["extra"])


def pack_names(what: str, names: Any) -> Arrays:
    """Names as two arrays, called after what they name."""
    packed = pack_strings(list(names))
    return {f"{what}_bytes": packed["bytes"], f"{what}_ends": packed["ends"]}


def unpack_names(what: str, arrays: Arrays) -> list[str]:
    """The names that `pack_names` packed."""
    return unpack_strings(arrays[f"{what}_bytes"], arrays[f"{what}_ends"])


def _parameters(estimator: StructuredEstimator) -> dict[str, Any]:
    """The constructor's parameters, but for those that JSON cannot give back."""
    found = {}
    for name, value in estimator.get_params(deep=False).items():
        plain = value.item() if isinstance(value, np.generic) else value
        if name == "loss":
            plain = (estimator._fitted_loss or estimator._make_loss()).name  # of an object: what kind it is
        if _comes_back(plain) and name not in (*_OF_MACHINES, *OF_FITS):
            found[name] = plain
    return found


def _comes_back(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def entries(given: dict[str, Any], **types: type) -> dict[str, Any]:
    """A part of a header, the entries of which must be those named here, of the types given."""
    if given.keys() != types.keys():
        raise ModelFileError(f"found the entries {list(given)}, expected {list(types)}")
    for name, wanted in types.items():
        if type(given[name]) is not wanted:  # of True, which is an int too, kernels would make another type
            raise ModelFileError(f"found {name}={given[name]!r:.60}, expected the type {wanted.__name__}")
    return dict(given)


def check_array(arrays: Arrays, name: str, dtype: type, shape: tuple[int, ...]) -> None:
    """Raise a `ModelFileError` for an array of another type or shape, or that is not finite."""
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape or not np.all(np.isfinite(array)):
        raise ModelFileError(
            f"found {name!r} of shape {array.shape} and type {array.dtype}, "
            f"expected finite numbers of shape {shape} and type {np.dtype(dtype)}"
        )


def check_keys(arrays: Arrays, name: str, end: int) -> None:
    """Raise a `ModelFileError` for a table that is not of rising whole numbers below `end`."""
    keys = arrays[name]
    rising = keys.dtype == np.int64 and keys.ndim == 1 and bool(np.all(keys[1:] > keys[:-1]))
    if not rising or (keys.size and not 0 <= keys[0] <= keys[-1] < end):
        raise ModelFileError(f"the table {name!r} is damaged")


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
