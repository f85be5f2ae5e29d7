"""Parts of model files: names, and checks of what a file says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.files.models import pack_strings, unpack_strings

Arrays = dict[str, NDArray[Any]]


def pack_names(what: str, names: Any) -> Arrays:
    """Names as two arrays, called after what they name."""
    packed = pack_strings(list(names))
    return {f"{what}_bytes": packed["bytes"], f"{what}_ends": packed["ends"]}


def unpack_names(what: str, arrays: Arrays) -> list[str]:
    """The names that `pack_names` packed."""
    return unpack_strings(arrays[f"{what}_bytes"], arrays[f"{what}_ends"])


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
