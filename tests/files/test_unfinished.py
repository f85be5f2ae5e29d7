"""Folders that are being written: each has one writer, and a live one loses nothing to others."""

import gc
import re
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from structune.errors import DataError
from structune.files import shards
from structune.files.shards import UnfinishedFolder

NAMES, LAST = re.compile("part-[0-9]"), "list"
BUSY = "the folder (is being written|may be in use)"


def begun(path):
    folder = UnfinishedFolder(path, NAMES, LAST)
    (path / "part-0").touch()
    return folder


def names(path):
    return sorted(found.name for found in path.iterdir())


def elsewhere(monkeypatch):
    """From now on this is another process: it knows no writer of before."""
    monkeypatch.setattr(shards, "_here", weakref.WeakValueDictionary())


def finish(folder, path):
    (path / LAST).touch()
    folder.finish()


@pytest.fixture
def windows(monkeypatch):
    """Locks as `msvcrt` has them, and files that nobody can remove while they are open."""
    fcntl = pytest.importorskip("fcntl")
    opened, open_, unlink = [], Path.open, Path.unlink

    def locking(number, mode, n):
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError("locked") from None

    def recorded(path, *args):
        opened.append(open_(path, *args))
        return opened[-1]

    def removed(path, **kwargs):
        if any(file.name == str(path) and not file.closed for file in opened):
            raise PermissionError(f"{path} is open")
        unlink(path, **kwargs)

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(shards, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(Path, "open", recorded)
    monkeypatch.setattr(Path, "unlink", removed)


@pytest.fixture
def no_locks(monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(file, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.fixture(params=["here", "windows", "no_locks"])
def system(request):
    if request.param != "here":
        request.getfixturevalue(request.param)
    return request.param


def test_a_live_writer_loses_nothing(system, tmp_path, monkeypatch):
    path = tmp_path / "f"
    writer = begun(path)
    elsewhere(monkeypatch)
    with pytest.raises(DataError, match=BUSY):
        begun(path)
    assert names(path) == ["part-0", "unfinished"]
    finish(writer, path)
    with pytest.raises(DataError, match="not empty"):
        begun(path)
    assert names(path) == [LAST, "part-0"]


def test_a_writer_takes_what_it_began_with_it(system, tmp_path):
    begun(tmp_path / "f")
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("windows_too", [False, True])
def test_what_was_left_is_removed(windows_too, tmp_path, request):
    if windows_too:
        request.getfixturevalue("windows")
    for name in ("part-7", "unfinished"):
        (tmp_path / name).touch()
    writer = begun(tmp_path)
    assert names(tmp_path) == ["part-0", "unfinished"]
    finish(writer, tmp_path)
    assert names(tmp_path) == [LAST, "part-0"]


def test_what_was_left_stays_where_locks_do_not_tell(no_locks, tmp_path):
    for name in ("part-7", "unfinished"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"may be in use \(its file system has no locks\)"):
        begun(tmp_path)
    assert names(tmp_path) == ["part-7", "unfinished"]


def test_another_process_finishes_before_the_mark_is_locked(tmp_path, monkeypatch):
    """What it has written is not taken for what was left, nor the folder for an empty one."""
    writer, lock = begun(tmp_path), shards._lock
    elsewhere(monkeypatch)

    def after_the_end(mark):
        finish(writer, tmp_path)
        return lock(mark)

    monkeypatch.setattr(shards, "_lock", after_the_end)
    with pytest.raises(DataError, match="not empty"):
        UnfinishedFolder(tmp_path, NAMES, LAST)
    assert names(tmp_path) == [LAST, "part-0"]
