"""Work on items as they come, from a program that may wait for the result of one before it gives the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from functools import partial
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
        What reading or work raised, after the results before it.
    """
    live = _Live(work, size, most_size, most_items, needed, n_threads)
    targets: list[Callable[[], None]] = [partial(live.read, items), *[live.serve] * n_threads]
    for target in targets:
        Thread(target=target, daemon=True).start()  # a daemon: nothing may ever come
    try:
        yield from live.results()
    finally:
        live.stop()


class _Live(Generic[T, R]):
    """What the thread that reads, those that work, and the one that takes the results share."""

    def __init__(
        self,
        work: Callable[[list[T]], R],
        size: Callable[[T], int],
        most_size: int,
        most_items: int,
        needed: Callable[[T], float],
        n_threads: int,
    ) -> None:
        self._work, self._size, self._needed, self._n_threads = work, size, needed, n_threads
        self._most_size, self._most_items = most_size, most_items
        self._turn, self._changed = Lock(), Condition()
        self._waiting, self._waiting_size = deque[T](), 0
        self._error: BaseException | None = None  # of reading
        self._is_at_end = self._is_stopped = False
        self._results = deque[tuple[Future[R | None], float]]()
        self._free, self._taken = available_memory(), 0.0  # bytes

    def read(self, items: Iterable[T]) -> None:
        """Read until so much waits as all threads take at once."""
        # an item counts at least a share 1 / most_items of a run, so that many small ones are enough, too
        most, least = self._n_threads * max(1, self._most_size), -(-self._most_size // self._most_items) or 1
        try:
            for item in items:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._is_stopped or max(self._waiting_size, least * len(self._waiting)) < most
                    )
                    if self._is_stopped:
                        return
                    self._waiting.append(item)
                    self._waiting_size += self._size(item)
                    self._changed.notify_all()
        except BaseException as error:
            self._error = error
        with self._changed:
            self._is_at_end = True
            self._changed.notify_all()

    def serve(self) -> None:
        while self._serve_one():
            pass

    def _serve_one(self) -> bool:
        """Work on the next run; whether there may be more. A method: no result is kept while it waits."""
        # In its turn a thread takes a run, waits for memory, and takes the next place among the results: so
        # results come in the order of the runs, and a large run is not overtaken by small ones forever.
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_at_end or self._is_stopped)
            run = self._next_run()
            needed = max(map(self._needed, run), default=0.0)
            self._changed.wait_for(lambda: self._has_room(needed) or self._is_stopped)
            if self._is_stopped:
                return False
            result = Future[R | None]()
            self._results.append((result, needed))
            self._taken += needed
            self._changed.notify_all()
        try:
            if not run and self._error is not None:
                raise self._error
            result.set_result(self._work(run) if run else None)  # at the end, if reading came to one
        except BaseException as error:
            result.set_exception(error)
        return bool(run)

    def _next_run(self) -> list[T]:
        """What waits, up to a size or a number; nothing at the end."""
        run, total = list[T](), 0
        while self._waiting and (not run or (total < self._most_size and len(run) < self._most_items)):
            run.append(self._waiting.popleft())
            total += self._size(run[-1])
        self._waiting_size -= total
        self._changed.notify_all()
        return run

    def _has_room(self, needed: float) -> bool:
        """For a result that needs so much, beside those that have not been used."""
        fits = not self._taken or self._free is None or self._taken + needed <= self._free
        return fits and len(self._results) <= self._n_threads

    def results(self) -> Generator[R, None, None]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._results)
                result, needed = self._results.popleft()
                self._changed.notify_all()
            if (found := result.result()) is None:
                return
            yield found
            del result, found  # before others take their memory
            with self._changed:
                self._taken -= needed
                self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._results.clear()
            self._waiting.clear()  # the reader may wait for its source forever, and holds this
            self._changed.notify_all()
