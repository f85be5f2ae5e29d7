"""Work on many sequences: on threads, with results in their order, and with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TypeVar

from structune.errors import DataError
from structune.rna.commands.data import Example
from structune.running.executors import count_jobs
from structune.running.live import live_map
from structune.running.memory import batch_memory

R = TypeVar("R")
_MOST_BASES = 2000  # short sequences share what a call costs
_MOST_EXAMPLES = 1000
_BASE = 4  # bytes for one of a structure, and for a copy


def in_order(
    examples: Iterable[Example],
    work: Callable[[list[Example]], list[R]],
    n_jobs: int | None,
    n_structures: int = 1,
    needed: Callable[[Example], float] = lambda _: 0.0,
) -> Generator[list[R], None, None]:
    """Results of some examples after the other, each as soon as it is known.

    Parameters
    ----------
    work : callable
        From examples to one result each. None is begun once the iterator is closed.
    n_structures : int
        How many each result may hold.
    needed : callable
        Bytes that an example takes until its result is used: until the next ones are asked for.

    Raises
    ------
    DataError
        Work failed; names the place of the example, after the results of all before it.
    """
    most_bases = min(_MOST_BASES, batch_memory() // (_BASE * n_structures))
    results = live_map(
        examples,
        lambda batch: _attempt(batch, work),
        count_jobs(n_jobs),
        _size,
        most_bases,
        _MOST_EXAMPLES,
        needed,
    )
    with closing(results):
        for done, error in results:
            yield done
            if error is not None:
                raise error


def _size(example: Example) -> int:
    return len(example.record.sequence)


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
