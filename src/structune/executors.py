"""Where the work on shards runs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from structune.errors import DataError

T = TypeVar("T")
R = TypeVar("R")


class ThreadExecutor:
    """Maps a function over shards on threads of this process; kernels release the GIL.

    Parameters
    ----------
    n_threads : int, optional
        By default the number of usable cores. 1 works without threads.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or _usable_cores()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Results in the order of `items`, with at most one more than `n_threads` alive at a time."""
        if self.n_threads == 1 or (isinstance(items, Sized) and len(items) == 1):
            yield from map(function, items)
            return
        self._pool = self._pool or ThreadPoolExecutor(self.n_threads, thread_name_prefix="structune")
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) > self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __getstate__(self) -> dict[str, object]:
        return {"n_threads": self.n_threads, "_pool": None}


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_executor(n_jobs: int | None) -> ThreadExecutor:
    """Threads as scikit-learn counts jobs: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None or n_jobs > 0:
        return ThreadExecutor(n_jobs or 1)
    if n_jobs == 0:
        raise DataError("n_jobs=0: expected a positive number, or -1 for all cores")
    return ThreadExecutor(max(1, ThreadExecutor().n_threads + 1 + n_jobs))
