"""Folders that are being written: those of work that failed or was killed are in nobody's way."""

from __future__ import annotations

import os
import re
import sys
import weakref
from contextlib import suppress
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

    Parameters
    ----------
    path : Path
        New, empty, or as a process that was killed has left it.
    names : pattern
        Of all files that are written, but the last.
    last : str
        The file with which the folder is finished.

    Raises
    ------
    DataError
        The folder has something else in it, or another process is writing it.
    """

    def __init__(self, path: Path, names: re.Pattern[str], last: str) -> None:
        path = path.resolve()
        if path in _here:
            _here[path]._discard()
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        if (path / MARK).exists() and not (path / last).exists():
            with (path / MARK).open("ab") as left:
                if not _locked(left):
                    raise DataError(f"{path}: found a folder that is being written, expected a new one")
                _empty(path, names)
        if any(path.iterdir()):
            raise DataError(f"{path}: found a folder that is not empty, expected a new one")
        self._mark = (path / MARK).open("xb")
        _locked(self._mark)
        self._discard: weakref.finalize[Any, Any] = weakref.finalize(
            self, _discard, path, self._mark, names, is_new, os.getpid()
        )
        _here[path] = self

    @property
    def is_open(self) -> bool:
        """Whether it may still be written."""
        return self._discard.alive

    def finish(self) -> None:
        """Keep the folder, in which all is written."""
        self._discard.detach()
        self._mark.close()
        Path(self._mark.name).unlink()


def _locked(file: IO[bytes]) -> bool:
    """Lock an open file; False if another process has. On Windows nobody can remove what it has open."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            pass
    return True


def _discard(path: Path, mark: IO[bytes], names: re.Pattern[str], is_new: bool, pid: int) -> None:
    if os.getpid() != pid:
        return  # a fork, which has no part in it
    mark.close()
    with suppress(OSError):  # gone, or not to be changed any more
        _empty(path, names)
        if is_new:
            path.rmdir()


def _empty(path: Path, names: re.Pattern[str]) -> None:
    for found in list(path.iterdir()):
        if names.fullmatch(found.name):
            found.unlink()
    (path / MARK).unlink()  # the last: what is left by now is removed next time
