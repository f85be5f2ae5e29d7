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
_FILES = {  # of a control group: what is allowed, what is used, and how much of that can be had back
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


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

    Work within work has what that holds.
    """
    me = threading.get_ident()
    if needed <= _SMALL or me in _held:
        yield
        return
    with _given_back:
        free = _free_beside(needed)
        if free is not None and needed > free:
            raise _too_large(needed, free, what, expected)
        _held[me] = needed
    try:
        yield
    finally:
        with _given_back:
            del _held[me]
            _given_back.notify_all()


_held: dict[int, float] = {}  # by threads
_given_back = threading.Condition()
_at_first: list[int | None] = [None]  # what there was when nobody held any


def _free_beside(needed: float) -> int | None:
    """Wait until so much is there, or nobody holds any; what there is then."""
    while True:
        if not _held:
            _at_first[0] = available_memory()
        free = _at_first[0]
        if not _held or free is None or needed + sum(_held.values()) <= free:
            return free
        _given_back.wait()


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
    if _MEMINFO.exists():
        yield _kilobytes(_MEMINFO, "MemAvailable")


def _of_groups() -> Iterator[int]:
    """What the control groups that the process is in leave, containers above all."""
    with suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            kind = "memory" if "memory" in controllers.split(",") else controllers
            own = PurePosixPath(path)
            for group in (own, *own.parents) if kind in _FILES else ():
                yield from _left(_GROUPS / kind / str(group).lstrip("/"), *_FILES[kind])


def _left(group: Path, allowed: str, used: str, reclaimed: str) -> Iterator[int]:
    """What one group leaves, if there is such a group here and it has a limit."""
    with suppress(OSError, ValueError):
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        limit, held = (int((group / name).read_text()) for name in (allowed, used))
        yield limit - held + int(statistics.get(reclaimed, 0))


def _of_limit() -> Iterator[int]:
    """What `ulimit -v` leaves."""
    with suppress(ImportError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and _STATUS.exists():
            yield limit - _kilobytes(_STATUS, "VmSize")


def _kilobytes(file: Path, name: str) -> int:
    """Bytes, from a line of a file of the system's."""
    lines = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
    return 1024 * int(lines[name].split()[0])
