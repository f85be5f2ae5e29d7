"""Work on items as they come, from a program that may wait for the result of one before it gives the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf
from threading import Condition, Lock, Thread
from typing import Generic, TypeVar

from structune.running.memory import available_memory

T = TypeVar("T")
R = TypeVar("R")


def live_map(
    items: Iterable[T],
    work: Callable[[list[T]], R],
    n_threads: int,
    size: Callable[[T], int],
    most_size: int,
    most_items: int,
    needed: Callable[[T], float] = lambda _: 0.0,
) -> Generator[R, None, None]:
    """Results of runs of items, in order, each as soon as it is known.

    Items are read by a thread of their own, not far ahead. A run is what has been read, up to a size or a
    number of items: it does not wait for more.

    Parameters
    ----------
    work : callable
        From items, at least one, to a result. None is begun once the iterator is closed.
    needed : callable
        From an item to the bytes that work on it and its result take. A run waits with its turn until they
        fit into the available memory beside those of earlier runs whose results have not been used: until
        the result after them is asked for.

    Raises
    ------
    Exception
        What reading, `size`, `needed` or work raised, after the results before it.
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
        free = available_memory()
        self.free, self.taken = inf if free is None else free, 0.0  # bytes

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
            self.changed.notify_all()
        try:
            if not run and self.error is not None:
                raise self.error
            result.set_result(self.work(run) if run else None)  # at the end, if reading came to one
        except BaseException as error:
            result.set_exception(error)
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
