"""Work on items as they come, from a program that may wait for the result of one before it gives the next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Condition, Event, Lock, Thread
from typing import Any, Generic, TypeVar

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
    source = _Reader(items, _Queue(size, n_threads, most_size, most_items))
    workers = _Workers(source, lambda: source.batch(size, most_size, most_items), work, needed, n_threads)
    try:
        yield from workers.results()
    finally:
        workers.stop()
        source.stop()


class _Workers(Generic[T, R]):
    """Threads that work on one run each, and results in the order of turns."""

    def __init__(
        self,
        source: _Reader[T],
        next_run: Callable[[], list[T]],
        work: Callable[[list[T]], R],
        needed: Callable[[T], float],
        n_threads: int,
    ) -> None:
        self._source, self._next_run, self._work, self._needed = source, next_run, work, needed
        self._turn, self._ended = Lock(), Event()
        self._results: Queue[tuple[Future[R | None], float]] = Queue(n_threads + 1)
        self._free, self._taken, self._changed = available_memory(), 0.0, Condition()  # bytes
        for _ in range(n_threads):
            Thread(target=self._serve, daemon=True).start()  # a daemon: nothing may ever come

    def results(self) -> Generator[R, None, None]:
        while True:
            result, needed = self._results.get()
            if (found := result.result()) is None:
                return
            yield found
            del result, found  # before others take their memory
            with self._changed:
                self._taken -= needed
                self._changed.notify_all()

    def stop(self) -> None:
        """Begin no more work."""
        with self._changed:
            self._ended.set()
            self._changed.notify_all()
        _empty(self._results)

    def _serve(self) -> None:
        while self._serve_one():
            pass

    def _serve_one(self) -> bool:
        """Work on the next run; whether there may be more. A method: no result is kept while it waits."""
        # In its turn a thread takes a run, waits for memory, and takes the next place among the results: so
        # results come in the order of the runs, and a large run is not overtaken by small ones forever.
        with self._turn:
            if self._ended.is_set():
                return False
            batch = self._next_run()
            needed = max(map(self._needed, batch), default=0.0)
            with self._changed:
                self._changed.wait_for(lambda: self._ended.is_set() or self._has_room(needed))
                if self._ended.is_set():  # while it waited
                    return False
                self._taken += needed
            if not batch:
                self._ended.set()
            result = Future[R | None]()
            self._results.put((result, needed))
        try:
            if not batch and self._source.error is not None:
                raise self._source.error
            result.set_result(self._work(batch) if batch else None)  # at the end, if reading came to one
        except BaseException as error:
            result.set_exception(error)
        return True

    def _has_room(self, needed: float) -> bool:
        return not self._taken or self._free is None or self._taken + needed <= self._free


class _Queue(Queue[list[T]]):
    """Runs of items; full when they make up so many runs of a size or of a number of items."""

    def __init__(self, size: Callable[[T], int], n_runs: int, most_size: int, most_items: int) -> None:
        # an item counts at least a share 1 / most_items of a run, so that many small ones fill the queue, too
        self._size, self._least, self._total = size, -(-most_size // most_items) or 1, 0
        super().__init__(n_runs * max(1, most_size))

    def _qsize(self) -> int:
        return max(self._total, self._least * len(self.queue))

    def _put(self, item: list[T]) -> None:
        super()._put(item)
        self._total += sum(map(self._size, item))

    def _get(self) -> list[T]:
        item: list[T] = super()._get()
        self._total -= sum(map(self._size, item))
        return item


class _Reader(Generic[T]):
    """A thread that reads, until a queue is full."""

    def __init__(self, items: Iterable[T], queue: _Queue[T]) -> None:
        self.error: BaseException | None = None
        self._queue = queue  # of one item each; none at the end
        self._held: list[list[T]] = []
        self._stopped = False
        Thread(target=self._read, args=(items,), daemon=True).start()

    def _read(self, items: Iterable[T]) -> None:
        try:
            for item in items:
                self._queue.put([item])
                if self._stopped:
                    return
        except BaseException as error:
            self.error = error
        self._queue.put([])

    def batch(self, size: Callable[[T], int], most_size: int, most_items: int) -> list[T]:
        """What has been read, at least one item; nothing at the end."""
        found = self._held.pop() if self._held else self._queue.get()
        total = sum(map(size, found))
        while found and total < most_size and len(found) < most_items:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if not more:
                self._held = [more]
                break
            found += more
            total += size(more[0])
        return found

    def stop(self) -> None:
        """Read no more."""
        self._stopped = True
        _empty(self._queue)
        with suppress(Full):
            self._queue.put_nowait([])  # for who waits


def _empty(queue: Queue[Any]) -> None:
    """Take all out: who waits to put something in goes on."""
    with suppress(Empty):
        while True:
            queue.get_nowait()
