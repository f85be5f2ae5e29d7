"""Checkpoints: the state of a fit in a file, so that a fit that was killed can be continued."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model

State = Mapping[str, Any]  # arrays, and what JSON can hold
KIND = "checkpoint"
INTERVAL = 60.0
_LAYOUT = 4  # another one is that of another release
_MOST_COUNTED = 1 << 53  # of anything that a state counts
_LARGEST = 1e50  # that solvers can square twice
V = TypeVar("V")


class Restored(dict[str, Any]):
    """A state from the file `source`; its methods raise `ModelFileError` for unexpected content."""

    def __init__(self, state: State, source: str | os.PathLike[str] = "checkpoint") -> None:
        super().__init__(state)
        self.source = source

    def array(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """An array of finite numbers of this shape; None stands for any length."""
        found = self.get(name)
        if isinstance(found, np.ndarray) and found.dtype == np.float64 and found.ndim == len(shape):
            sizes = zip(found.shape, shape, strict=True)
            if all(n is None or n == size for size, n in sizes) and np.all(np.abs(found) <= _LARGEST):
                return found
        told = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)
        raise self.refuse(f"{name!r} is {told:.60}, not numbers up to {_LARGEST:g} of shape {shape}")

    def entry(self, name: str, wanted: type[V]) -> V:
        """A value of this type that is not an array; an int is accepted for a float."""
        found: Any = self.get(name)
        if wanted is float and type(found) is int and abs(found) <= _LARGEST:
            found = float(found)
        if type(found) is wanted:
            return found
        raise self.refuse(f"{name!r} is {found!r:.60}, not of type {wanted.__name__}")

    def count(self, name: str, most: int = _MOST_COUNTED) -> int:
        """A whole number from 0 to `most`."""
        found = self.entry(name, int)
        if 0 <= found <= most:
            return found
        raise self.refuse(f"{name!r} is {found!s:.60}, not a number from 0 to {most:,}")

    def whole(self, name: str, below: int, *shape: int | None) -> NDArray[np.int64]:
        """An array of whole numbers from 0 to `below` - 1, such as indices."""
        found = self.array(name, *shape)
        if np.all((found >= 0) & (found < below) & (found == np.floor(found))):
            return found.astype(np.int64)
        raise self.refuse(f"{name!r} has values that are not whole numbers from 0 to {below - 1:,}")

    def parts(self, name: str, among: Container[str]) -> dict[str, Restored]:
        """Nested states, by names that must all be in `among`."""
        found = self.entry(name, dict)
        if not all(key in among and isinstance(part, dict) for key, part in found.items()):
            raise self.refuse(f"{name!r} is {found!r:.60}, which are not states of this training")
        return {key: Restored(part, self.source) for key, part in found.items()}

    def refuse(self, message: str) -> ModelFileError:
        return ModelFileError(
            f"{self.source}: the checkpoint is damaged: {message}; remove the file to start again"
        )


class CheckpointWarning(UserWarning):
    """Issued when a checkpoint cannot be written; the fit goes on without it."""


class Checkpoint:
    """File with the state of one training, which is updated at intervals.

    Pass it to `Run` as `checkpoint`. A file belongs to one training: `fit` with other data or settings
    refuses it. It holds states of single fits, and of the tuning search around them; a new state of the
    search includes the results of its fits and replaces their states.

    Parameters
    ----------
    path : path
        File to write. It is replaced in one step: a reader sees the old file or the complete new one.
    seconds : float
        Minimum time between two updates, in seconds.
    lasting : bool
        Keep the file after the training until `remove` is called, for callers that must save the model first.
    resume : bool
        Continue from an existing file. Otherwise it is overwritten.

    Attributes
    ----------
    is_done : bool
        Whether the last training was completed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        seconds: float = INTERVAL,
        *,
        lasting: bool = False,
        resume: bool = True,
    ) -> None:
        self.path, self.seconds, self.lasting, self.resume = Path(path), seconds, lasting, resume
        self._identity: dict[str, Any] = {}
        self._states: dict[str, Callable[[], State]] = {}
        self._restored: dict[str, Restored] = {}
        self._thread, self._written = threading.get_ident(), time.perf_counter()
        self._failed = self.is_done = False

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Begin a training, and read the file if it exists.

        Parameters
        ----------
        identity : mapping
            Settings and digests of the data, which must equal those in the file.

        Raises
        ------
        DataError
            The file belongs to another training.
        ModelFileError
            The file is damaged, or not a checkpoint.
        """
        self._thread, self._identity = threading.get_ident(), {"layout of states": _LAYOUT, **identity}
        self._states, self._restored, self.is_done = {}, {}, False
        if not (self.resume and self.path.exists()):
            return
        found = self._read()
        for name, value in self._identity.items():
            there, is_same = found.get(name), found.get(name) == value
            if isinstance(value, float) and isinstance(there, float):  # sums may be rounded in another order
                is_same = bool(np.isclose(there, value, rtol=1e-9, atol=0.0))
            if not is_same:
                other = f"the checkpoint is from another training ({name}: {there} there, {value} now)"
                raise DataError(f"{self.path}: {other}; remove the file to start again")
        self._states = {key: partial(dict, state) for key, state in self._restored.items()}

    def _read(self) -> dict[str, Any]:
        """Read the states from the file; returns the identity of their training."""
        header, arrays = read_model(self.path)
        if header.get("kind") != KIND:
            raise ModelFileError(f"{self.path}: not a checkpoint, but a file of type {header.get('kind')!r}")
        try:
            for key, plain in header["states"].items():
                own = {k.removeprefix(f"{key}/"): a for k, a in arrays.items() if k.startswith(f"{key}/")}
                self._restored[key] = Restored({**plain, **own}, self.path)
            return dict(header["identity"])
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ModelFileError(
                f"{self.path}: the checkpoint is damaged ({error}); remove the file to start again"
            ) from None

    @property
    def is_here(self) -> bool:
        """Whether the current thread called `begin`; only the states of that thread are saved."""
        return threading.get_ident() == self._thread

    def restored(self, key: str) -> Restored | None:
        """Return the state of this key that was read from the file, once; None if there is none."""
        return self._restored.pop(key, None)

    def keep(self, key: str, state: Callable[[], State]) -> None:
        """Register a function that returns the state of this key; write the file if `seconds` have passed."""
        # states of several threads would be written in the middle of each other's steps
        if not self.is_here:
            return  # fits side by side, which the state of the search has when they end
        self._states[key] = state
        if time.perf_counter() - self._written >= self.seconds:
            self.write()

    def drop(self, keys: Iterable[str]) -> None:
        """Remove the states of these keys."""
        for key in keys:
            self._states.pop(key, None)

    def write(self) -> None:
        """Write the file now, if there is any state. If that fails, warn once."""
        if not self._states:
            return
        states, arrays = dict[str, dict[str, Any]](), dict[str, NDArray[Any]]()
        for key, state in self._states.items():
            states[key] = {}
            for name, value in state().items():
                if isinstance(value, np.ndarray):
                    arrays[f"{key}/{name}"] = value
                else:
                    states[key][name] = value.item() if isinstance(value, np.generic) else value
        try:
            save_model(self.path, KIND, {"identity": self._identity, "states": states}, arrays)
        except OSError as error:
            if not self._failed:
                warnings.warn(
                    f"{self.path}: the checkpoint cannot be written ({error}); training goes on without it",
                    CheckpointWarning,
                    stacklevel=2,
                )
            self._failed = True
        self._written = time.perf_counter()

    def end(self, is_done: bool) -> None:
        """End the training. If it is done, remove the file (unless `lasting`); otherwise write the file."""
        self.is_done = is_done
        if is_done and not self.lasting:
            self.remove()
        else:
            self.write()
        self._states, self._restored = {}, {}  # they hold the data, and estimators are pickled with their run

    def remove(self) -> None:
        """Remove the file, if it exists."""
        self.path.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, {self.seconds})"


def digest(*parts: Any) -> str:
    """A short hash of numbers, arrays and None."""
    # the bytes, not the text: numbers that differ in the last bit are of other work
    found = sha256()
    for part in parts:
        found.update(b"none" if part is None else np.ascontiguousarray(part).tobytes() + b"|")
    return found.hexdigest()[:16]
