"""Model files: safetensors arrays with a JSON header. They contain no code, and loading runs none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import structune
from structune.errors import ModelFileError
from structune.kinds import find_kind, kinds

FORMAT = 1
M = TypeVar("M")
Arrays = dict[str, NDArray[Any]]
_HEADER, _CHECKSUM = "structune", "sha256"
# parameters in older files that models no longer have: they say how a fit ran, not what was fitted
OF_FITS = ("hessian", "max_iterations", "max_seconds", "tolerance")
_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)


def save_model(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: dict[str, Any]
) -> None:
    """Write a model file in one step: a reader sees the old file or the complete new one.

    `kind` is the name of the model type, which chooses the class that loads the file. `header` must be
    serializable as JSON.
    """
    from safetensors.numpy import save

    # safetensors has no checksum of its own: a flipped bit in a weight would be another model
    meta = {"kind": kind, "format": FORMAT, "version": structune.__version__, **header}
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(meta)
    replace_file(Path(path), save(arrays, metadata={_HEADER: text, _CHECKSUM: checksum(text, arrays)}))


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: a reader sees the old file or the complete new one."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # or a machine that dies may leave the new name with nothing behind it
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays of a model file.

    Raises
    ------
    ModelFileError
        The file is not a model file, is damaged, or has a later format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:  # of types NumPy lacks
        told = f"{path}: not a model file, or damaged ({error}). Commands take the model first, then files"
        raise ModelFileError(told) from None
    text = meta.get(_HEADER)
    if text is None:
        raise ModelFileError(f"{path}: not a structune model: the safetensors file has no structune header")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{path}: the header is damaged")
    if version > FORMAT:
        raise ModelFileError(
            f"{path}: the file has format {version}, but this release reads up to {FORMAT}; update structune"
        )
    if meta.get(_CHECKSUM) != checksum(text, arrays):
        raise ModelFileError(f"{path}: the file is damaged: the checksum is wrong")
    return header, arrays


def checksum(header: str, arrays: Arrays) -> str:
    """SHA-256 of the JSON header and the arrays of a model file."""
    digest = sha256(header.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def kind_in_file(path: str | os.PathLike[str]) -> str | None:
    """The model type of a model file (for a tree, that of its tasks), or None for other files."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
        return str(header.get("estimator", header)["kind"])
    except (SafetensorError, OSError, *_DAMAGE):
        return None


def load(path: str | os.PathLike[str]) -> Any:
    """Load the fitted estimator that is saved in a model file; this runs no code from the file.

    Parameters
    ----------
    path : path
        File that ``save`` of an estimator or ``structune train`` wrote.

    Raises
    ------
    ModelFileError
        The file is not a model file, is damaged, has a later format or has an unknown model type.
    FileNotFoundError
        There is no such file.
    """
    header, arrays = read_model(path)
    try:
        return unpack_model(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise ModelFileError(f"{path}: the model is damaged ({type(error).__name__}: {error})") from None


def check_class(
    model: Any, cls: type[M] | tuple[type[M], ...], path: str | os.PathLike[str], expected: str
) -> M:
    """Return `model` if it is of the class that its reader needs, or raise `ModelFileError`."""
    if not isinstance(model, cls):
        raise ModelFileError(
            f"{path}: the model is of class {type(model).__name__}, but {expected} is needed"
        )
    return model


def unpack_model(header: dict[str, Any], arrays: Arrays) -> Any:
    """Build the estimator of a header, which names an installed model type, and its arrays."""
    word = str(header.get("kind"))
    kind = find_kind(word)
    if kind is None:
        raise ModelFileError(
            f"unknown model type {word!r:.60}; install the package that defines it. Installed types: "
            f"{', '.join(kinds())}"
        )
    if "parameters" in header:
        given = {k: v for k, v in header["parameters"].items() if k not in OF_FITS}
        if "holdout" in given:
            share, folds = given.pop("holdout"), given.pop("folds", None)
            given["cv"] = share if folds is None else folds
        if (n_sets := given.pop("validation_sets", None)) is not None:
            gamma = given.pop("gamma")
            if given.get("constraints") is not None:
                given["constraints"] = {"n_sets": n_sets, "gamma": gamma}
        header = header | {"parameters": given}
    build: Callable[..., Any] = kind.estimator_class._from_file
    return build(header, arrays)


def load_shipped(room: str, name: str = "pretrained") -> Any:
    """Load a model that is included in a module, such as ``"structune.rna"``.

    Raises
    ------
    ModelFileError
        The file is missing from the installation.
    """
    file = resources.files(room) / f"{name}.structune"
    if not file.is_file():
        raise ModelFileError(f"{file} is missing: this installation does not include the pretrained model")
    with resources.as_file(file) as path:
        return load(path).set_params(verbose=0)  # it was trained with progress


def pack_strings(strings: list[str]) -> Arrays:
    """Pack strings into two arrays: their UTF-8 bytes, and the end of each."""
    encoded = [string.encode(errors="surrogatepass") for string in strings]
    ends = np.cumsum([len(item) for item in encoded], dtype=np.int64)
    return {"bytes": np.frombuffer(b"".join(encoded), np.uint8), "ends": ends}


def unpack_strings(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Unpack the strings that `pack_strings` packed.

    Raises
    ------
    ModelFileError
        The ends do not increase up to the number of bytes, or the bytes are not UTF-8.
    """
    flat = data.dtype == np.uint8 and ends.dtype == np.int64 and data.ndim == ends.ndim == 1
    # ends that fall or leave the bytes would give strings of other places
    starts = np.concatenate(([0], ends)) if flat else np.array([-1])
    if np.any(np.diff(starts) < 0) or starts[-1] != data.size:
        raise ModelFileError("the table of names is damaged")
    whole = data.tobytes()
    try:
        bounds = zip(starts[:-1].tolist(), ends.tolist(), strict=True)
        return [whole[a:b].decode(errors="surrogatepass") for a, b in bounds]
    except UnicodeDecodeError:
        raise ModelFileError("the table of names is damaged") from None


def pack_names(what: str, names: Any) -> Arrays:
    """Pack names into arrays ``what + "_bytes"`` (UTF-8) and ``what + "_ends"`` for a model file."""
    packed = pack_strings(list(names))
    return {f"{what}_bytes": packed["bytes"], f"{what}_ends": packed["ends"]}


def unpack_names(what: str, arrays: Arrays) -> list[str]:
    """Unpack the names that `pack_names` packed; raises `ModelFileError` for damaged arrays."""
    return unpack_strings(arrays[f"{what}_bytes"], arrays[f"{what}_ends"])


def entries(given: dict[str, Any], **types: type) -> dict[str, Any]:
    """Copy a part of a header that must have exactly these entries, of these types."""
    if given.keys() != types.keys():
        raise ModelFileError(f"the header has the entries {list(given)}, but must have {list(types)}")
    for name, wanted in types.items():
        if type(given[name]) is not wanted:  # of True, which is an int too, kernels would make another type
            raise ModelFileError(f"the entry {name}={given[name]!r:.60} is not of type {wanted.__name__}")
    return dict(given)


def check_array(arrays: Arrays, name: str, dtype: type, shape: tuple[int, ...]) -> None:
    """Raise a `ModelFileError` if an array has another type or shape, or values that are not finite."""
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape or not np.all(np.isfinite(array)):
        raise ModelFileError(
            f"the array {name!r} has shape {array.shape} and type {array.dtype}; "
            f"it must have shape {shape}, type {np.dtype(dtype)} and finite numbers"
        )


def check_keys(arrays: Arrays, name: str, end: int) -> None:
    """Raise a `ModelFileError` if an array does not have increasing whole numbers in [0, end)."""
    keys = arrays[name]
    rising = keys.dtype == np.int64 and keys.ndim == 1 and bool(np.all(keys[1:] > keys[:-1]))
    if not rising or (keys.size and not 0 <= keys[0] <= keys[-1] < end):
        raise ModelFileError(f"the table {name!r} is damaged")
