"""Folders of encoded examples, for data larger than memory and for several processes."""

from __future__ import annotations

import json
import math
import operator
import os
import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any, get_type_hints

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.models import load, replace_file
from structune.kinds import Kind, find_kind, kind_of, kinds
from structune.structure import IntArray, Shard, check_finite, check_weights, split_evenly

FORMAT = 1
N_FOLDS = 5
_HEADER, _MODEL = "shards.json", "structure.structune"
_MARK = "unfinished"  # a file, locked by the process that writes the folder
_WRITTEN = re.compile(rf"shard-\d{{5,}}\.bin|{re.escape(_MODEL)}(\.partial)?|{re.escape(_HEADER)}\.partial")
_ALIGNMENT = 64  # bytes: arrays are mapped as they lie, and kernels are compiled for aligned ones
_TYPE = re.compile("[<>|][biuf][0-9]{1,2}")
_MOST_PARTS, _MOST_BYTES = 1 << 20, 1 << 27  # labelled parts, and what they take, that are dealt at a time
_SPARSE = ("data", "indices", "indptr")
_here: weakref.WeakValueDictionary[Path, UnfinishedFolder] = weakref.WeakValueDictionary()

Layout = tuple[str, tuple[str, tuple[int, ...], int]]  # an array's name; type, shape and first byte


@dataclass(frozen=True)
class ShardFolder:
    """Folder of encoded examples (shards) and of their structure; `open_shards` opens it.

    Attributes
    ----------
    path : Path
        Path of the folder.
    kind : Kind
        Model type.
    fold : tuple of int
        Fold of each shard, from 0; every fold is a random sample of the examples.
    n_examples, n_parts : tuple of int
        Number of examples of each shard, and of their labeled parts, such as tokens.
    layout : tuple of lists
        For each shard, the name, type, shape and first byte of every array in its file.
    """

    path: Path
    kind: Kind
    fold: tuple[int, ...]
    n_examples: tuple[int, ...]
    n_parts: tuple[int, ...]
    layout: tuple[Sequence[Layout], ...]

    def __len__(self) -> int:
        """Number of examples in all shards."""
        return sum(self.n_examples)

    @property
    def n_bytes(self) -> int:
        """Size of all shard files in bytes."""
        return sum((self.path / _name(k)).stat().st_size for k in range(len(self.fold)))

    @cached_property
    def model(self) -> Any:
        """Estimator with the structure of the examples; its weights are zero."""
        path = self.path / _MODEL
        model = load(path)
        try:
            kind, _ = kind_of(model), model._structure
        except (DataError, AttributeError) as error:
            raise DataError(f"{path}: the model has no structure ({error})") from None
        if kind != self.kind:
            raise DataError(
                f"{path}: the model is of type {kind.word!r}, but the folder is of type {self.kind.word!r}"
            )
        return model

    @cached_property
    def shards(self) -> list[Any]:
        """All shards, mapped into memory: the system reads a part when it is used."""
        structure, opened = self.model._structure, []
        for k, sizes in enumerate(zip(self.n_examples, self.n_parts, strict=True)):
            path = self.path / _name(k)
            shard = open_shard(path, self.kind.word, self.layout[k])
            try:
                check_finite("weights", shard.weights, (shard.weights.size,))
                check_weights(shard.weights, shard.weights.size)
                structure.check_shard(shard)
            except (ValueError, IndexError, AttributeError, TypeError) as error:
                raise DataError(f"{path}: the shard is damaged: {error}") from None
            if (len(shard), shard.n_parts) != sizes:
                raise DataError(f"{path}: the file does not match the list of shards in {_HEADER}")
            opened.append(shard)
        return opened

    def of_folds(self, folds: Sequence[int]) -> list[Any]:
        """Return the shards of the folds with these numbers, fold by fold."""
        both = list(zip(self.shards, self.fold, strict=True))
        return [shard for wanted in folds for shard, fold in both if fold == wanted]


class ShardWriter:
    """Writer of a folder of shards, batch by batch.

    The folder can be opened after `finish`. If `finish` is never called, the written files are removed.

    Parameters
    ----------
    folder : path
        New or empty folder, or one that a killed process left unfinished.
    n_folds : int
        Number of folds. The examples of each batch are distributed to them at random; tuning holds out folds.
    random_state : int
        Random seed of the distribution.

    Raises
    ------
    DataError
        The folder is not empty or is being written, or `n_folds` is less than 1.
    """

    def __init__(self, folder: str | os.PathLike[str], n_folds: int = N_FOLDS, random_state: int = 0) -> None:
        if n_folds < 1:
            raise DataError(f"n_folds={n_folds}: expected at least 1")
        self.path = Path(folder)
        self._unfinished = UnfinishedFolder(self.path, _WRITTEN, _HEADER)
        self._n_folds, self._rng = n_folds, np.random.default_rng(random_state)
        self._listed: list[dict[str, Any]] = []
        self._n_dealt = 0
        self._fold_of: dict[Any, int] = {}  # of groups

    def add(self, batch: Shard, groups: Any = None) -> None:
        """Distribute the examples of a batch to shards, and write them.

        Parameters
        ----------
        batch : Shard
            Encoded examples.
        groups : sequence, optional
            Group of each example. Examples of one group get the same fold, even in different batches.

        Raises
        ------
        DataError
            `groups` and `batch` have different lengths, or the writer has finished.
        """
        if groups is not None and len(groups) != len(batch):
            raise DataError(
                f"groups has {len(groups)} entries, but there are {len(batch)} examples. "
                "Give one group per example."
            )
        self._check_open()
        if groups is None:
            fold = self._deal(len(batch))
        else:
            new = [group for group in dict.fromkeys(groups) if group not in self._fold_of]
            self._fold_of |= zip(new, self._deal(len(new)).tolist(), strict=True)
            fold = np.array([self._fold_of[group] for group in groups])
        for k in np.unique(fold).tolist():
            shard = batch.take(np.flatnonzero(fold == k))
            layout = write_shard(self.path / _name(len(self._listed)), shard)
            self._listed.append({"fold": k, "examples": len(shard), "parts": shard.n_parts, "layout": layout})

    def _check_open(self) -> None:
        if not self._unfinished.is_open:
            raise DataError(
                f"{self.path}: this writer has finished, or another one was opened for the folder"
            )

    @property
    def n_examples(self) -> int:
        """Number of examples written so far."""
        return sum(listed["examples"] for listed in self._listed)

    def _deal(self, n: int) -> IntArray:
        """Folds for `n` new examples or groups."""
        # places go round the folds over all batches, and are shuffled within one: sizes differ by one at most
        dealt, self._n_dealt = np.arange(self._n_dealt, self._n_dealt + n), self._n_dealt + n
        return self._rng.permutation(dealt % self._n_folds)

    def finish(self, model: Any, extra: Mapping[str, Any] | None = None) -> ShardFolder:
        """Complete the folder: write the structure of an estimator and the list of shards. Return the folder.

        Parameters
        ----------
        model : StructuredEstimator
            Estimator with the structure that the examples were encoded for.
        extra : mapping, optional
            Further data to keep, as JSON; models trained on the folder have it in ``extra_``.

        Raises
        ------
        DataError
            No examples were added, or the writer has finished.
        """
        self._check_open()
        if not self._listed:
            raise DataError(f"{self.path}: there are no examples to write")
        model.save(self.path / _MODEL, extra)
        header = {"format": FORMAT, "kind": kind_of(model).word, "shards": self._listed}
        replace_file(self.path / _HEADER, json.dumps(header).encode())
        self._unfinished.finish()
        return open_shards(self.path)


def write_shards(
    estimator: Any,
    folder: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    extra: Mapping[str, Any] | None = None,
    **options: Any,
) -> ShardFolder:
    """Encode labeled examples for an estimator, write them to a folder of shards, and return the folder.

    ``fit_shards`` of the estimator trains on such a folder.

    Parameters
    ----------
    estimator : StructuredEstimator
        Estimator of a type that supports shards, such as `SequenceTagger`, `RNAFolder` or `SequenceAligner`,
        with the parameters that define its features. It is not fitted.
    folder : path
        New or empty folder, or one that a killed process left unfinished.
    X, y, **options
        Examples, and keyword arguments of the estimator's `fit`, such as `sample_weight` and `groups`.
        Examples of one group get the same fold.
    n_folds, random_state
        Number of folds and random seed: see `ShardWriter`.
    extra : mapping, optional
        Further data to keep: see `ShardWriter.finish`.

    Raises
    ------
    DataError
        `fit` would refuse the examples, the folder is not empty, or the estimator does not support shards.
    """
    return add_encoded(ShardWriter(folder, n_folds, random_state), estimator, X, y, extra=extra, **options)


def add_encoded(
    writer: ShardWriter, estimator: Any, X: Any, y: Any = None, *, extra: Any = None, **options: Any
) -> ShardFolder:
    """Encode labeled examples, write them, and complete the folder; see `write_shards`."""
    if kind_of(estimator).shard is None:
        name = type(estimator).__name__
        raise DataError(f"{name} does not support folders of shards; these model types do: {_with_files()}")
    model, examples = estimator._without_weights(X, y, **options)
    whole, groups = examples.shard, examples.groups
    n_pieces = max(1, whole.n_parts // _MOST_PARTS, whole.nbytes // _MOST_BYTES)
    for piece in split_evenly(whole.sizes(), n_pieces):
        writer.add(whole.take(piece), None if groups is None else groups[piece])
    return writer.finish(model, extra)


def _with_files() -> str:
    return ", ".join(kind.word for kind in kinds().values() if kind.shard is not None)


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a finished folder of shards."""
    return (Path(path) / _HEADER).is_file()


def open_shards(folder: str | os.PathLike[str]) -> ShardFolder:
    """Open a folder of shards that `write_shards` or ``structune shard`` wrote.

    Raises
    ------
    DataError
        The folder does not exist, is not finished, is damaged, or has another format or model type.
    """
    path = Path(folder).resolve()
    try:
        header = json.loads((path / _HEADER).read_text())
        version, word, listed = header["format"], str(header["kind"]), list(header["shards"])
        fold, n_examples, n_parts = (
            tuple(operator.index(one[name]) for one in listed) for name in ("fold", "examples", "parts")
        )
        layout = tuple([(str(name), tuple(where)) for name, where in one["layout"]] for one in listed)
    except FileNotFoundError:
        raise DataError(f"{path}: not a finished folder of shards: {_HEADER} is missing") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(f"{path / _HEADER}: the list of shards is damaged ({error})") from None
    if version != FORMAT:
        raise DataError(
            f"{path}: the folder has format {version!r}, but this release reads {FORMAT}; write it again"
        )
    kind = find_kind(word)
    if kind is None or kind.shard is None:
        raise DataError(
            f"{path}: no model type with shards has this name: {word!r:.60}. There are {_with_files()}"
        )
    if not listed:
        raise DataError(f"{path}: the folder has no shards. Write it again with structune shard")
    return ShardFolder(path, kind, fold, n_examples, n_parts, layout)


# --- one shard --------------------------------------------------------------------------------------------


def write_shard(path: Path, shard: Shard) -> list[Layout]:
    """Write the arrays of a shard one after the other, and return their positions."""
    layout = list[Layout]()
    try:
        with path.open("xb") as file:
            for name, array in _arrays(shard):
                file.write(b"\0" * (-file.tell() % _ALIGNMENT))
                layout.append((name, (array.dtype.str, array.shape, file.tell())))
                file.write(np.ascontiguousarray(array).data)
    except OSError:
        path.unlink(missing_ok=True)  # half a shard is of no use, and the disk may be full
        raise
    return layout


def open_shard(path: Path, word: str, layout: Sequence[Layout]) -> Any:
    """Open a shard with its arrays mapped into memory; a pickle of it holds only these arguments.

    Raises
    ------
    DataError
        The file is missing or too short, or the layout is that of another shard.
    """
    kind = find_kind(word)
    if kind is None:
        raise DataError(f"{path}: the shard has the unknown model type {word!r:.60}")
    try:
        # "c": kernels are compiled for arrays that may be written, which changes no file here
        content = np.asarray(np.memmap(path, np.uint8, "c"))
        arrays = {name: _array(content, *where) for name, where in layout}
        shard = _assembled(kind.shard_class, arrays, "")
    except (OSError, ValueError, TypeError, LookupError, OverflowError) as error:
        raise DataError(f"{path}: the file does not match the list in {_HEADER} ({error})") from None
    object.__setattr__(shard, "reopen", (open_shard, (path, word, layout)))
    return shard


def _arrays(part: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a dataclass and of nested ones, by their paths; a number is an array of shape ()."""
    for field in fields(part):
        name, value = prefix + field.name, getattr(part, field.name)
        if is_dataclass(value):
            yield from _arrays(value, f"{name}.")
        elif isinstance(value, scipy.sparse.csr_array):
            yield from ((f"{name}.{each}", getattr(value, each)) for each in _SPARSE)
            yield f"{name}.columns", np.asarray(value.shape[1])
        else:
            yield name, np.asarray(value)


def _assembled(cls: Any, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Any:
    """A dataclass from the arrays that `_arrays` named."""
    hints, values = _hints(cls), {}
    for field in fields(cls):
        name, hint = prefix + field.name, hints[field.name]
        if is_dataclass(hint):
            values[field.name] = _assembled(hint, arrays, f"{name}.")
        elif f"{name}.columns" in arrays:
            n_rows, n_columns = arrays[f"{name}.indptr"].size - 1, _number(arrays[f"{name}.columns"], int)
            # it shares the memory of its arrays: SciPy's constructor would copy what is mapped
            values[field.name] = matrix = scipy.sparse.csr_array((n_rows, n_columns))
            for each in _SPARSE:
                setattr(matrix, each, arrays[f"{name}.{each}"])
        else:
            values[field.name] = _number(arrays[name], hint) if hint in (int, bool) else arrays[name]
    return cls(**values)


def _number(array: NDArray[Any], kind: type) -> Any:
    if array.shape or array.dtype != np.dtype(kind):
        raise ValueError(f"an array of {array.dtype} and shape {array.shape} for a number")
    return array.item()


_hints = cache(get_type_hints)


def _array(content: NDArray[np.uint8], dtype: str, shape: Sequence[int], start: int) -> NDArray[Any]:
    if not _TYPE.fullmatch(dtype):  # NumPy has a parser of Python's for others
        raise ValueError(f"an array of {dtype:.60}")
    # offsets and sizes of a file may be anything: none may lie outside it, and products may be beyond 64 bits
    kind, sizes = np.dtype(dtype), [operator.index(size) for size in shape]
    if min(sizes, default=0) < 0 or not 0 <= start <= content.size:
        raise ValueError(f"an array of {dtype} and shape {shape} at {start}")
    n_bytes = kind.itemsize * math.prod(sizes)
    if start % _ALIGNMENT or start + n_bytes > content.size:
        raise ValueError(f"{n_bytes} bytes at {start}, of {content.size}")
    return content[start : start + n_bytes].view(kind).reshape(sizes)


def _name(k: int) -> str:
    return f"shard-{k:05d}.bin"


# --- folders that are being written: leftovers of failed or killed work are replaced ---------------------


class UnfinishedFolder:
    """A folder whose new files are removed unless `finish` is called, however the work ends.

    Files that a killed process left are removed by the next process, and those that this process left (while
    the error of failed work keeps this object alive) by the next writer of the folder. Only files that match
    `names` are removed, and the folder itself only if it was created here. The `last` file marks a finished
    folder. A folder with other files, or one that another process is writing, is refused.
    """

    def __init__(self, path: Path, names: re.Pattern[str], last: str) -> None:
        path = path.resolve()
        if path in _here:
            _here[path]._finalizer()
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        self._mark = _begin(path, names, last)
        self._finalizer: weakref.finalize[Any, Any] = weakref.finalize(
            self, _discard, path, self._mark, names, is_new, os.getpid()
        )
        _here[path] = self

    @property
    def is_open(self) -> bool:
        return self._finalizer.alive

    def finish(self) -> None:
        self._finalizer.detach()
        _remove(self._mark)


def _begin(path: Path, names: re.Pattern[str], last: str) -> IO[bytes]:
    """The locked mark of a folder that is otherwise empty."""
    # without a mark, or with the file that finishes it, a folder is somebody's: nothing in it is removed
    was_left = (path / _MARK).exists()
    if not was_left or (path / last).exists():
        _check_empty(path)
    # the lock ends with its process, however that ends: a mark that is there and not locked was left
    mark = (path / _MARK).open("ab")
    is_locked = _lock(mark)
    if is_locked is False or (was_left and is_locked is None):
        mark.close()
        state = "may be in use (its file system has no locks)" if is_locked is None else "is being written"
        raise DataError(f"{path}: the folder {state}; choose a new one")
    try:
        if was_left and not (path / last).exists():
            _empty(path, names)
        _check_empty(path)  # again: another process may have finished it before the mark was locked
    except DataError:
        _remove(mark)
        raise
    return mark


def _check_empty(path: Path) -> None:
    if any(found.name != _MARK for found in path.iterdir()):
        raise DataError(f"{path}: the folder is not empty; choose a new one")


def _lock(file: IO[bytes]) -> bool | None:
    """Lock an open file; False if another process holds the lock, None on a file system without locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second on Windows
        return False
    except OSError:
        return None
    return True


def _discard(path: Path, mark: IO[bytes], names: re.Pattern[str], is_new: bool, pid: int) -> None:
    """Empty an unfinished folder, and remove it if it is new."""
    if os.getpid() != pid:
        return  # a fork, which has no part in it
    with closing(mark), suppress(OSError):  # gone, or not to be changed any more
        _empty(path, names)
        _remove(mark)  # the last: what is left by now is removed next time
        if is_new:
            path.rmdir()


def _empty(path: Path, names: re.Pattern[str]) -> None:
    for found in list(path.iterdir()):
        if names.fullmatch(found.name):
            found.unlink()


def _remove(mark: IO[bytes]) -> None:
    """Remove a mark while it is locked; on Windows nobody can remove what is open, here or elsewhere."""
    if sys.platform == "win32":
        mark.close()
    with closing(mark), suppress(OSError):  # another process has it by now, or it is gone
        Path(mark.name).unlink()
