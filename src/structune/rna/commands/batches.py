"""Work on many sequences: on threads, with results in their order, and with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from threading import Event
from typing import TypeVar

from structune.cli.batches import batches
from structune.errors import DataError
from structune.rna.commands.data import Example
from structune.running.executors import make_executor

R = TypeVar("R")
_MOST_BASES = 2000  # short sequences share what a call costs
_MOST_EXAMPLES = 50


def in_order(
    examples: Iterable[Example], work: Callable[[list[Example]], list[R]], n_jobs: int | None
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
    return batches(examples, lambda example: len(example.record.sequence), _MOST_BASES, _MOST_EXAMPLES)
