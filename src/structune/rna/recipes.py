"""What is wanted of each sequence, and how an `RNAFolder` gives it: in order, in bounded memory."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from structune.errors import DataError
from structune.rna.formats.strands import STRANDS
from structune.rna.structure.sums import OF_KNOTS, OF_SAMPLES, OF_SEVERAL, OF_SUMS, OF_WINDOWS
from structune.running.executors import count_jobs
from structune.running.live import live_map
from structune.running.memory import batch_memory

R = TypeVar("R")

if TYPE_CHECKING:
    from structune.rna.examples import Example
    from structune.rna.folder import RNAFolder
    from structune.rna.formats.record import RNARecord
    from structune.rna.inputs import Structures
    from structune.rna.options import Wanted
    from structune.structure import FloatArray


class Choice(NamedTuple):
    """One of the structures of a sequence.

    Attributes
    ----------
    kind : str
        "rank", "sample", or nothing if it is the only one.
    number : int
        From 1.
    probability : float, optional
    """

    structure: str
    kind: str = ""
    number: int = 1
    probability: float | None = None

    @property
    def words(self) -> list[str]:
        """What a header tells of it."""
        told = [self.kind, str(self.number)] if self.kind else []
        return told if self.probability is None else [*told, "probability", f"{self.probability:.6g}"]


@dataclass(frozen=True)
class Choices:
    """Those of a sequence, each made when it is asked for: there may be millions.

    Attributes
    ----------
    structures : sequence of str, or Structures
    kind : str
        Of all of them.
    probabilities : ndarray, shape (n_structures,), optional
    """

    structures: Structures | list[str]
    kind: str = ""
    probabilities: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.structures)

    def __getitem__(self, k: int) -> Choice:
        p = None if self.probabilities is None else float(self.probabilities[k])
        return Choice(self.structures[k], self.kind, k + 1, p)

    def __iter__(self) -> Iterator[Choice]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True)
class Folded:
    """What was found out about a sequence; None is what was not asked for.

    Attributes
    ----------
    pairs : ndarray or sparse array, shape (n_bases, n_bases), optional
        Probabilities, symmetric.
    windows : ndarray, optional
        Probabilities of windows to be unpaired, by their first base.
    dimer : float, optional
        How probably a pair joins two strands.
    """

    record: RNARecord
    choices: Choices
    pairs: Any = None
    windows: FloatArray | None = None
    log_partition: float | None = None
    dimer: float | None = None


@dataclass(frozen=True)
class Recipe:
    """What is wanted of each sequence."""

    wanted: Wanted
    with_structures: bool = True
    with_pairs: bool = False
    with_log_partition: bool = False
    window: int | None = None
    with_dimers: bool = True

    def fold(self, folder: RNAFolder, batch: list[Example]) -> list[Folded]:
        """Do it."""
        sequences = [example.record.sequence for example in batch]
        constraints = [example.constraints for example in batch]
        choices = self._choices(folder, batch) if self.with_structures else [Choices([]) for _ in batch]
        log_z = folder.log_partition(sequences, constraints).tolist() if self.with_log_partition else None
        folded = []
        for s, example in enumerate(batch):
            given = sequences[s], constraints[s]
            windows = None
            if self.window is not None:
                windows = folder.unpaired_windows(sequences[s], self.window, constraints[s])
            pairs = folder.pair_probabilities(*given) if self.with_pairs else None
            found = Folded(example.record, choices[s], pairs, windows, log_z[s] if log_z else None)
            if self.with_dimers and STRANDS in sequences[s]:
                (dimer,) = folder.dimer_probabilities([sequences[s]], [constraints[s]]).tolist()
                found = replace(found, dimer=dimer)
            folded.append(found)
        return folded

    def memory_of(self, folder: RNAFolder, example: Example) -> float:
        """Bytes that this takes, the table of pairs with it if that is wanted."""
        n_tables, wanted = OF_SUMS, self.wanted
        if self.window is not None:
            n_tables = OF_WINDOWS
        elif self.with_structures:
            if wanted.samples is not None:
                n_tables = OF_SAMPLES
            elif wanted.is_ranked:
                n_tables = OF_SEVERAL
            elif wanted.pseudoknots:
                n_tables = OF_KNOTS
        return folder.memory_of(len(example.record.sequence), n_tables, example.constraints is not None)

    def _choices(self, folder: RNAFolder, batch: list[Example]) -> list[Choices]:
        sequences = [example.record.sequence for example in batch]
        constraints = [example.constraints for example in batch]
        wanted = self.wanted
        if wanted.samples is not None:
            return [self._samples(folder, example, wanted.samples) for example in batch]
        if wanted.is_ranked:
            n = sys.maxsize if wanted.nbest is None else wanted.nbest
            within = math.inf if wanted.within is None else wanted.within
            ranked = folder._ranked(sequences, n, constraints, within)
            return [Choices(structures, "rank", p) for structures, p in ranked]
        if wanted.method == "viterbi":
            return _single(folder.predict_viterbi(sequences, constraints))
        if wanted.method == "centroid":
            threshold = 0.5 if wanted.threshold is None else wanted.threshold
            return _single(folder.predict_centroid(sequences, threshold, constraints))
        if wanted.pseudoknots:
            return _single(folder.predict_knotted(sequences, wanted.gamma, constraints=constraints))
        return _single(folder.predict(sequences, wanted.gamma, constraints, not wanted.no_lonely_pairs))

    def _samples(self, folder: RNAFolder, example: Example, n: int) -> Choices:
        """Drawn by the generator of the example, whatever the batch that it is in."""
        (found,) = folder._drawn([example.record.sequence], n, [example.generator], [example.constraints])
        return Choices(found, "sample")


def _single(structures: list[str]) -> list[Choices]:
    return [Choices([structure]) for structure in structures]


# --- many sequences ---------------------------------------------------------------------------------------

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
