"""Work on many sequences: on threads, with results in their order, and with bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from threading import Event
from typing import Self, TypeVar

from structune.cli.rna_data import Example
from structune.errors import DataError
from structune.executors import make_executor
from structune.progress import Bars

R = TypeVar("R")
_MOST_BASES = 2000  # short sequences share what a call costs
_MOST_EXAMPLES = 50


def in_order(
    examples: Iterable[Example], work: Callable[[list[Example]], list[R]], n_jobs: int
) -> Generator[list[R], None, None]:
    """Results of some examples after the other.

    Parameters
    ----------
    work : callable
        From examples to one result each. Work that has begun is finished in any case, but no more is begun
        once the iterator is closed.

    Raises
    ------
    DataError
        Work failed; names the place of the example, after the results of all before it.
    """
    stopped = Event()

    def attempt(batch: list[Example]) -> tuple[list[R], DataError | None]:
        return ([], None) if stopped.is_set() else _attempt(batch, work)

    try:
        for done, error in make_executor(n_jobs).map(attempt, _batches(examples)):
            yield done
            if error is not None:
                raise error
    finally:
        stopped.set()


def _attempt(
    batch: list[Example], work: Callable[[list[Example]], list[R]]
) -> tuple[list[R], DataError | None]:
    """Results of all examples, or of those before one that fails, and its error."""
    try:
        return work(batch), None
    except DataError:
        pass  # one of them: which?
    done: list[R] = []
    for example in batch:
        try:
            done += work([example])
        except DataError as error:
            return done, example.refuse(str(error).removeprefix("sequence 0: "))
    return done, None


def _batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    n_bases = 0
    for example in examples:
        batch.append(example)
        n_bases += len(example.record.sequence)
        if n_bases >= _MOST_BASES or len(batch) >= _MOST_EXAMPLES:
            yield batch
            batch, n_bases = [], 0
    if batch:
        yield batch


class Progress:
    """Count and rate of sequences on standard error, if that is a terminal.

    Parameters
    ----------
    shown : bool
    total : int, optional
        Number of sequences.
    """

    def __init__(self, shown: bool, total: int | None = None) -> None:
        self.count, self._total = 0, total
        self._bars = Bars() if shown else None
        self._start = time.perf_counter()

    def __enter__(self) -> Self:
        self.advance(0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def advance(self, count: int) -> None:
        """So many more are done."""
        self.count += count
        if self._bars is not None:
            rate = self.count / max(time.perf_counter() - self._start, 1e-9)
            done = None if self._total is None else self.count / self._total
            self._bars.show_whole("fold", done, f"{self.count:,} sequences, {rate:,.1f} a second")
