"""Available memory, refusal of work that needs more, and batches of bounded size.

Each model type estimates the memory for one example. Commands process as many examples at a time as fit into
`batch_memory`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path, PurePosixPath
from threading import Condition, Lock, Thread
from typing import Generic, TypeVar

from structune.errors import DataError
from structune.running.cores import using_cores

T = TypeVar("T")
R = TypeVar("R")
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
_changed, _held = Condition(), list[float]()  # bytes of the large work of all threads


def batch_memory() -> int:
    """Memory in bytes for the examples that a thread processes at a time."""
    given = os.environ.get(VARIABLE, str(_MEGABYTES))
    if not (given.isdecimal() and int(given)):
        raise DataError(f"{VARIABLE}={given!r}: give a whole number of megabytes, at least 1")
    return int(given) * 1_000_000


def batches(
    items: Iterable[T], size: Callable[[T], float], most_size: float, most_items: int
) -> Iterator[list[T]]:
    """Split items into batches that end at a total size or a number of items; large items are alone."""
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
    """Raise a `DataError` if the work `what` needs more bytes than are available, if that is known.

    `expected` names what needs less memory, such as "shorter sequences".
    """
    if needed > _SMALL and needed > (free := _free()):
        raise DataError(
            f"{what} need {needed / 1e9:,.1f} GB of memory, but only {free / 1e9:,.1f} GB are available: "
            f"try {expected}"
        )


@contextmanager
def held_memory(needed: float, what: str, expected: str) -> Iterator[None]:
    """Refuse work like `require_memory`, or wait until it fits beside the work of other threads."""
    # such work must not be nested: it would wait for itself
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
    """Bytes that this process can still allocate, or None if unknown (on other systems than Linux)."""
    found = [*_kilobytes(_MEMINFO, "MemAvailable"), *_of_groups()]
    with suppress(ImportError):  # what `ulimit -v` leaves
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            found += [limit - used for used in _kilobytes(_STATUS, "VmSize")]
    return max(0, min(found)) if found else None


def _of_groups() -> Iterator[int]:
    """Bytes left by the control groups of the process, as in containers."""
    with suppress(OSError, ValueError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            kind = "memory" if "memory" in controllers.split(",") else controllers
            own = PurePosixPath(path)
            for group in (own, *own.parents) if kind in _FILES else ():
                yield from _left(_GROUPS / kind / str(group).lstrip("/"), *_FILES[kind])


def _left(group: Path, allowed: str, used: str, prefix: str) -> Iterator[int]:
    """Bytes that a control group can still use, if it has a limit."""
    with suppress(OSError, ValueError):  # there is no such group here, or it has no limit
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        limit, held = (int((group / name).read_text()) for name in (allowed, used))
        # the kernel drops pages of files that were read when memory is short, though they count as used
        yield limit - held + sum(int(statistics.get(prefix + name, 0)) for name in _HAD_BACK)


def _kilobytes(file: Path, name: str) -> Iterator[int]:
    """The value of an entry in a system file, in bytes, if both exist."""
    with suppress(OSError, ValueError, IndexError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                yield 1024 * int(line.split()[1])


# --- batches of items as they come -------------------------------------------------------------------------


def live_map(
    items: Iterable[T],
    work: Callable[[list[T]], R],
    n_threads: int,
    size: Callable[[T], int],
    most_size: int,
    most_items: int,
    needed: Callable[[T], float] = lambda _: 0.0,
) -> Generator[R, None, None]:
    """Process a stream of items in runs; yields the results in order, each as soon as it is known.

    A separate thread reads the items, a little ahead. A run consists of the items read so far, up to a total
    size or a number: it does not wait for more. No work starts after the iterator is closed. Errors of
    reading, `size`, `needed` or `work` are raised after the results before them.

    Parameters
    ----------
    needed : callable
        Function from an item to the bytes that the work on it and its result take. A run waits until these
        fit into the available memory, together with earlier runs whose results are still in use, that is,
        until the next result is requested.
    """
    live = _Live(items, work, n_threads, size, most_size, most_items, needed)
    for target in (live.read, *[live.serve] * n_threads):
        Thread(target=target, daemon=True).start()  # a daemon: nothing may ever come
    try:
        yield from live.results()
    finally:
        live.stop()


@dataclass
class _Live(Generic[T, R]):
    """What the thread that reads, those that work, and the one that takes the results share."""

    items: Iterable[T]
    work: Callable[[list[T]], R]
    n_threads: int
    size: Callable[[T], int]
    most_size: int
    most_items: int
    needed: Callable[[T], float]

    def __post_init__(self) -> None:
        self.turn, self.changed = Lock(), Condition()
        self.waiting, self.waiting_size = deque[tuple[T, int, float]](), 0
        self.error: BaseException | None = None  # of reading
        self.is_at_end = self.is_stopped = False
        self.begun = deque[tuple[Future[R | None], float]]()
        self.free, self.taken = _free(), 0.0  # bytes
        self.lent = 0  # threads

    def wait_until(self, holds: Callable[[], bool]) -> bool:
        """Wait, with the lock, until something holds; whether it is to go on."""
        self.changed.wait_for(lambda: self.is_stopped or holds())
        return not self.is_stopped

    def read(self) -> None:
        """Read until so much waits as all threads take at once."""
        # an item counts at least a share 1 / most_items of a run, so that many small ones are enough, too
        most, least = self.n_threads * max(1, self.most_size), -(-self.most_size // self.most_items) or 1
        try:
            for item in self.items:
                with using_cores(self.n_threads):  # each of them needs memory
                    told = item, self.size(item), self.needed(item)
                with self.changed:
                    if not self.wait_until(lambda: max(self.waiting_size, least * len(self.waiting)) < most):
                        return
                    self.waiting.append(told)
                    self.waiting_size += told[1]
                    self.changed.notify_all()
        except BaseException as error:
            self.error = error
        with self.changed:
            self.is_at_end = True
            self.changed.notify_all()

    def serve(self) -> None:
        while self.serve_one():
            pass

    def serve_one(self) -> bool:
        """Work on the next run; whether there may be more. A method: no result is kept while it waits."""
        # In its turn a thread takes a run, waits for memory, and takes the next place among the results: so
        # results come in the order of the runs, and a large run is not overtaken by small ones forever.
        with self.turn, self.changed:
            self.wait_until(lambda: bool(self.waiting) or self.is_at_end)
            run, needed = self.next_run()
            if not self.wait_until(lambda: self.has_room(needed)):
                return False
            result = Future[R | None]()
            self.begun.append((result, needed))
            self.taken += needed
            # Threads that have nothing to do take part in this work.
            n_threads = max(1, self.n_threads - self.lent - len(self.waiting))
            self.lent += n_threads
            self.changed.notify_all()
        try:
            if not run and self.error is not None:
                raise self.error
            with using_cores(n_threads):
                result.set_result(self.work(run) if run else None)  # at the end, if reading came to one
        except BaseException as error:
            result.set_exception(error)
        with self.changed:
            self.lent -= n_threads
        return bool(run)

    def next_run(self) -> tuple[list[T], float]:
        """What waits, up to a size or a number, and the memory that it needs; nothing at the end."""
        run, total, most = list[T](), 0, 0.0
        while self.waiting and (not run or (total < self.most_size and len(run) < self.most_items)):
            item, size, needed = self.waiting.popleft()
            run.append(item)
            total, most = total + size, max(most, needed)
        self.waiting_size -= total
        self.changed.notify_all()
        return run, most

    def has_room(self, needed: float) -> bool:
        """For a result that needs so much, beside those that have not been used."""
        fits = not self.taken or self.taken + needed <= self.free
        return fits and len(self.begun) <= self.n_threads

    def results(self) -> Generator[R, None, None]:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.begun)
                result, needed = self.begun.popleft()
                self.changed.notify_all()
            if (found := result.result()) is None:
                return
            yield found
            del result, found  # before others take their memory
            with self.changed:
                self.taken -= needed
                self.changed.notify_all()

    def stop(self) -> None:
        with self.changed:
            self.is_stopped = True
            self.begun.clear()
            self.waiting.clear()  # the reader may wait for its source forever, and holds this
            self.changed.notify_all()
