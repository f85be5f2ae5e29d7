"""Folders that are being written: those of work that failed or was killed are in nobody's way."""

from __future__ import annotations

import os
import re
import sys
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from structune.errors import DataError

MARK = "unfinished"  # a file, locked by the process that writes the folder
_here: weakref.WeakValueDictionary[Path, UnfinishedFolder] = weakref.WeakValueDictionary()


class UnfinishedFolder:
    """A folder that is emptied of what was written when this goes, in whatever way, before `finish`.

    What a process that was killed left is removed by the next one, and what this process left (the error of
    work that failed may hold it) by the next of the same folder. None removes files of other names, nor a
    folder that was there.

    The folder at `path` is new, empty, or as a process that was killed has left it. `names` are those of all
    files that are written, but for the `last` one, with which the folder is finished.

    Raises
    ------
    DataError
        The folder has something else in it, or another process is writing it.
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
    """The mark of a folder that has nothing else in it any more."""
    # without a mark, or with the file that finishes it, a folder is somebody's: nothing in it is removed
    if not (path / MARK).exists() or (path / last).exists():
        _check_empty(path)
    # The lock ends with its process, however that ends: a mark that is there and not locked was left. Between
    # opening and locking another process may have taken the mark away; then the file has no name any more.
    mark, is_left = _open(path / MARK)
    is_locked = _lock(mark)
    if is_locked is False or (is_left and is_locked is None) or not _is_there(mark):
        mark.close()
        doubt = ", or may be (its file system has no locks)" if is_locked is None else ""
        raise DataError(f"{path}: found a folder that is being written{doubt}, expected a new one")
    try:
        if is_left and not (path / last).exists():
            _empty(path, names)
        _check_empty(path)  # again: another process may have finished it before the mark was taken
    except DataError:
        _remove(mark)
        raise
    return mark


def _check_empty(path: Path) -> None:
    if any(found.name != MARK for found in path.iterdir()):
        raise DataError(f"{path}: found a folder that is not empty, expected a new one")


def _open(path: Path) -> tuple[IO[bytes], bool]:
    with suppress(FileExistsError):
        return path.open("xb"), False
    return path.open("ab"), True


def _is_there(file: IO[bytes]) -> bool:
    """Whether an open file is still the one of its name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(file.name))
    return False


def _lock(file: IO[bytes]) -> bool | None:
    """Lock an open file; False if another process has, None on a file system without locks."""
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
