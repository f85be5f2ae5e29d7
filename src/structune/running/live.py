"""Work on items as they come, from a program that may wait for the result of one before it gives the next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from structune.running.memory import Room

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
        From an item to the bytes that work on it takes. They are held from its turn on, until the result
        after its own is asked for.

    Raises
    ------
    Exception
        What reading or work raised, after the results before it.
    """
    source, turn = _Reader(items, _Queue(size, n_threads, most_size, most_items)), Lock()
    stopped, closed = Event(), Event()
    results: Queue[tuple[Future[R | None], Room]] = Queue(n_threads + 1)

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
                room = Room(max(map(needed, batch), default=0.0))
                results.put((result, room))
            if closed.is_set():  # while it waited
                room.give_back()
                return
            try:
                if not batch and source.error is not None:
                    raise source.error
                with room.entered():
                    result.set_result(work(batch) if batch else None)
            except BaseException as error:
                result.set_exception(error)
            if closed.is_set():
                room.give_back()

    for _ in range(n_threads):
        Thread(target=serve, daemon=True).start()  # a daemon: nothing may ever come
    try:
        while True:
            result, room = results.get()
            try:
                if (found := result.result()) is None:
                    return
                yield found
            finally:
                del result
                found = None  # gone before others have its memory
                room.give_back()
    finally:
        closed.set()
        stopped.set()
        source.stop()
        for _, room in _emptied(results):
            room.give_back()


class _Queue(Queue[list[T]]):
    """Runs of items; full when they make up so many runs of a size or of a number of items."""

    def __init__(self, size: Callable[[T], int], n_runs: int, most_size: int, most_items: int) -> None:
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
        _emptied(self._queue)
        with suppress(Full):
            self._queue.put_nowait([])  # for who waits


def _emptied(queue: Queue[R]) -> list[R]:
    """Take all out: who waits to put something in goes on."""
    found = []
    with suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found
