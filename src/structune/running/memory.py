"""How much memory there is, and who may have it: each kind tells what its examples need, and asks here.

What works through many examples takes as many at once as fit into `batch_memory`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from structune.errors import DataError

VARIABLE = "STRUCTUNE_MEMORY"
_MEGABYTES = 512  # by default
_SMALL = 1 << 28  # bytes that nobody asks for
_MEMINFO, _STATUS, _OWN_GROUPS = map(Path, ("/proc/meminfo", "/proc/self/status", "/proc/self/cgroup"))
_GROUPS = Path("/sys/fs/cgroup")
_FILES = {  # of a control group: what is allowed, what is used, and what begins the names of files in memory
    "": ("memory.max", "memory.current", ""),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
}
_HAD_BACK = ("inactive_file", "active_file")  # files that were read can be forgotten


def batch_memory() -> int:
    """Bytes that the examples may take that a thread works through at once.

    Raises
    ------
    DataError
        ``STRUCTUNE_MEMORY`` is no number of megabytes.
    """
    given = os.environ.get(VARIABLE, str(_MEGABYTES))
    if not (given.isdecimal() and int(given)):
        raise DataError(f"{VARIABLE}={given!r}: expected a whole number of megabytes")
    return int(given) * 1_000_000


def require_memory(needed: float, what: str, expected: str) -> None:
    """Refuse work that needs more bytes than there are, where the system tells.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        What needs them.
    expected : str
        What would need less.

    Raises
    ------
    DataError
        Names the work, what it needs, and what there is.
    """
    if needed > _SMALL and (free := available_memory()) is not None and needed > free:
        raise _too_large(needed, free, what, expected)


@contextmanager
def held_memory(needed: float, what: str, expected: str) -> Iterator[None]:
    """The same, for work of several threads: one waits until there is enough beside what others hold.

    Work within work, or within a `Room`, has what that holds.
    """
    if needed <= _SMALL:
        yield
        return
    given = getattr(_own, "room", None)
    room = Room(needed) if given is None else given
    try:
        if room.free is not None and needed > room.free:
            raise _too_large(needed, room.free, what, expected)
        with room.entered():
            yield
    finally:
        if given is None:
            room.give_back()


class Room:
    """Memory that is held until it is given back; making one waits until there is so much beside others.

    Or until nobody else holds any: then it is there, or work within is refused. Who is in a room waits for
    nobody, so those that make theirs in the order in which they give them back never wait for each other.

    Attributes
    ----------
    free : int, optional
        Bytes that there were when nobody held any, where the system tells.
    """

    def __init__(self, needed: float) -> None:
        with _rooms.changed:
            self.free = _rooms.free_for(needed)
            _rooms.held[self] = self._needed = needed
        self._n_within, self._is_given_back = 0, False

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let this thread work within it; with nothing in it, it is none."""
        outer = getattr(_own, "room", None)
        _own.room = self if self._needed else outer
        self._change(entered=1)
        try:
            yield
        finally:
            _own.room = outer
            self._change(entered=-1)

    def give_back(self) -> None:
        """Let others have it as soon as nobody is in it; does nothing the second time."""
        self._change(entered=0, given_back=True)

    def _change(self, entered: int, given_back: bool = False) -> None:
        with _rooms.changed:
            self._n_within += entered
            self._is_given_back |= given_back
            if self._is_given_back and not self._n_within:
                _rooms.held.pop(self, None)
                _rooms.changed.notify_all()


class _Rooms:
    """Those of all threads."""

    def __init__(self) -> None:
        self.changed, self.held = threading.Condition(), dict[Room, float]()
        self._at_first: int | None = None

    def free_for(self, needed: float) -> int | None:
        """Wait until so much is there, or nobody holds any; what there was when nobody did."""
        while held := sum(self.held.values()):
            if self._at_first is None or needed + held <= self._at_first:
                return self._at_first
            self.changed.wait()
        self._at_first = available_memory()
        return self._at_first


_rooms, _own = _Rooms(), threading.local()  # the room that a thread is in


def _too_large(needed: float, free: int, what: str, expected: str) -> DataError:
    return DataError(
        f"{what} need {needed / 1e9:,.1f} GB of memory, found {free / 1e9:,.1f} GB available: "
        f"expected {expected}"
    )


def available_memory() -> int | None:
    """Bytes that this process can still have, or None where the system does not tell (it is no Linux)."""
    found = [*_of_machine(), *_of_groups(), *_of_limit()]
    return max(0, min(found)) if found else None


def _of_machine() -> Iterator[int]:
    yield from _kilobytes(_MEMINFO, "MemAvailable")


def _of_groups() -> Iterator[int]:
    """What the control groups that the process is in leave, containers above all."""
    with suppress(OSError, ValueError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            kind = "memory" if "memory" in controllers.split(",") else controllers
            own = PurePosixPath(path)
            for group in (own, *own.parents) if kind in _FILES else ():
                yield from _left(_GROUPS / kind / str(group).lstrip("/"), *_FILES[kind])


def _left(group: Path, allowed: str, used: str, prefix: str) -> Iterator[int]:
    """What one group leaves, if there is such a group here and it has a limit."""
    with suppress(OSError, ValueError):
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        limit, held = (int((group / name).read_text()) for name in (allowed, used))
        yield limit - held + sum(int(statistics.get(prefix + name, 0)) for name in _HAD_BACK)


def _of_limit() -> Iterator[int]:
    """What `ulimit -v` leaves."""
    with suppress(ImportError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield from (limit - used for used in _kilobytes(_STATUS, "VmSize"))


def _kilobytes(file: Path, name: str) -> Iterator[int]:
    """Bytes, from a line of a file of the system's, if there are both."""
    with suppress(OSError, ValueError, IndexError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                yield 1024 * int(line.split()[1])
