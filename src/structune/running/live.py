"""Work on items as they come, from a program that may wait for the result of one before it gives the next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def live_map(
    items: Iterable[T],
    work: Callable[[list[T]], R],
    n_threads: int,
    size: Callable[[T], int],
    most_size: int,
    most_items: int,
) -> Generator[R, None, None]:
    """Results of runs of items, in order, each as soon as it is known.

    Items are read by a thread of their own, not far ahead. A run is what has been read, up to a size or a
    number of items: it does not wait for more.

    Parameters
    ----------
    work : callable
        From items, at least one, to a result. None is begun once the iterator is closed.

    Raises
    ------
    Exception
        What reading or work raised, after the results before it.
    """
    source, turn, stopped = _Reader(items, n_threads * most_items), Lock(), Event()
    results: Queue[Future[R | None]] = Queue(n_threads + 1)

    def serve() -> None:
        while True:
            result: Future[R | None] = Future()
            with turn:  # results come in the order of turns
                if stopped.is_set():
                    return
                batch = source.batch(size, most_size, most_items)
                if stopped.is_set():  # while it waited
                    return
                if not batch:
                    stopped.set()
                results.put(result)
            try:
                if not batch and source.error is not None:
                    raise source.error
                result.set_result(work(batch) if batch else None)
            except BaseException as error:
                result.set_exception(error)

    for _ in range(n_threads):
        Thread(target=serve, daemon=True).start()  # a daemon: nothing may ever come
    try:
        while (found := results.get().result()) is not None:
            yield found
    finally:
        stopped.set()
        source.stop()
        _empty(results)


class _Reader(Generic[T]):
    """A thread that reads, up to `ahead` items more than were taken."""

    def __init__(self, items: Iterable[T], ahead: int) -> None:
        self.error: BaseException | None = None
        self._queue: Queue[list[T]] = Queue(ahead)  # of one item each; none at the end
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


def _empty(queue: Queue[R]) -> None:
    """Take all out: who waits to put something in goes on."""
    with suppress(Empty):
        while True:
            queue.get_nowait()
