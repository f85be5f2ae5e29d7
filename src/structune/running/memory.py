"""How much memory is available, and the refusal of work that needs more.

Each kind estimates what one of its examples needs. Commands that work through many examples take as many at
once as fit into `batch_memory`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path, PurePosixPath
from typing import TypeVar

from structune.errors import DataError

T = TypeVar("T")
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
_changed, _held = threading.Condition(), list[float]()  # bytes of the large work of all threads


def batch_memory() -> int:
    """Bytes that the examples may take that a thread works through at once."""
    given = os.environ.get(VARIABLE, str(_MEGABYTES))
    if not (given.isdecimal() and int(given)):
        raise DataError(f"{VARIABLE}={given!r}: expected a whole number of megabytes")
    return int(given) * 1_000_000


def batches(
    items: Iterable[T], size: Callable[[T], float], most_size: float, most_items: int
) -> Iterator[list[T]]:
    """Runs of items that end when they have a size or a number; long ones are alone."""
    batch: list[T] = []
    total = 0.0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= most_size or len(batch) >= most_items:
            yield batch
            batch, total = [], 0.0
    if batch:
        yield batch


def require_memory(needed: float, what: str, expected: str) -> None:
    """Refuse the work `what` if it needs more bytes than there are, where the system tells.

    `expected` says what would need less.
    """
    if needed > _SMALL and needed > (free := _free()):
        raise DataError(
            f"{what} need {needed / 1e9:,.1f} GB of memory, found {free / 1e9:,.1f} GB available: "
            f"expected {expected}"
        )


@contextmanager
def held_memory(needed: float, what: str, expected: str) -> Iterator[None]:
    """Refuse work as `require_memory` does, or do it as soon as it fits beside that of other threads.

    Such work must not be nested: it would wait for itself.
    """
    if needed <= _SMALL:
        yield
        return
    with _changed:
        # work that needs more than there is goes on to its refusal when nobody else holds anything
        _changed.wait_for(lambda: not _held or needed + sum(_held) <= _free())
        require_memory(needed, what, expected)
        _held.append(needed)
    try:
        yield
    finally:
        with _changed:
            _held.remove(needed)
            _changed.notify_all()


def _free() -> float:
    found = available_memory()
    return inf if found is None else found


def available_memory() -> int | None:
    """Bytes that this process can still have, or None where the system does not tell (it is no Linux)."""
    found = [*_kilobytes(_MEMINFO, "MemAvailable"), *_of_groups()]
    with suppress(ImportError):  # what `ulimit -v` leaves
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            found += [limit - used for used in _kilobytes(_STATUS, "VmSize")]
    return max(0, min(found)) if found else None


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
    """Bytes that a control group can still have, if it has a limit."""
    with suppress(OSError, ValueError):  # there is no such group here, or it has no limit
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        limit, held = (int((group / name).read_text()) for name in (allowed, used))
        # the kernel drops pages of files that were read when memory is short, though they count as used
        yield limit - held + sum(int(statistics.get(prefix + name, 0)) for name in _HAD_BACK)


def _kilobytes(file: Path, name: str) -> Iterator[int]:
    """Bytes, from a line of a file of the system's, if there are both."""
    with suppress(OSError, ValueError, IndexError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                yield 1024 * int(line.split()[1])
