"""Encoded sequences of a graph of candidate genes, with or without their genes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.prokaryotes.kernels.orf_graph import Begins, Ends, Words
from structune.structure import (
    Array,
    IntArray,
    Shard,
    check_offsets,
    check_range,
    segment_indices,
)

WORDS, FRAMES, CANDIDATES, LEFTS, RIGHTS = range(5)  # rows of `OrfShard.offsets`
LEVELS = {
    WORDS: ("words",),
    FRAMES: ("n_words", "n_candidates"),
    CANDIDATES: ("skipped", "right_of", "bounds", "reverse", "signals", "chosen"),
    LEFTS: ("left_position", "left_strand", "first_candidate", "last_candidate"),
    RIGHTS: ("right_position", "right_strand"),
}
_POSITIONS = {CANDIDATES: ("skipped", "right_of"), LEFTS: LEVELS[LEFTS], RIGHTS: LEVELS[RIGHTS]}
_MOST_BASES = 1 << 40  # of a sequence: sums of them fit


@dataclass(frozen=True)
class OrfShard(Shard):
    """Encoded sequences, one after the other.

    Frames are open reading frames with a candidate, those of the forward strand first; candidates come frame
    by frame. Places of candidates and of ends count within their sequence.

    Attributes
    ----------
    n_bases : ndarray of int64, shape (n_sequences,)
    offsets : ndarray of int64, shape (5, n_sequences + 1)
        Where each sequence's words, frames, candidates, left ends and right ends begin.
    words : ndarray of int16, shape (n_words,)
    n_words, n_candidates : ndarray of int64, shape (n_frames,)
    skipped : ndarray of int64, shape (n_candidates,)
        Words of the frame before the candidate's start.
    right_of : ndarray of int64, shape (n_candidates,)
    bounds : ndarray of int64, shape (n_candidates, 2)
        First base, and that behind the last.
    reverse : ndarray of bool, shape (n_candidates,)
    signals : ndarray of uint8, shape (n_candidates, n_signals)
        Places of start codon, ribosome site, length and bases around it among the weights of signals.
    chosen : ndarray of int8, shape (n_candidates,) or (0,)
        Which candidates are the genes. Empty without outputs.
    left_position, left_strand, first_candidate, last_candidate : ndarray of int64, shape (n_lefts,)
        As `kernels.orf_graph.Ends` has them.
    right_position, right_strand : ndarray of int64, shape (n_rights,)
    """

    n_bases: IntArray
    offsets: IntArray
    words: NDArray[np.int16]
    n_words: IntArray
    n_candidates: IntArray
    skipped: IntArray
    right_of: IntArray
    bounds: IntArray
    reverse: NDArray[np.bool_]
    signals: NDArray[np.uint8]
    chosen: NDArray[np.int8]
    left_position: IntArray
    left_strand: IntArray
    first_candidate: IntArray
    last_candidate: IntArray
    right_position: IntArray
    right_strand: IntArray

    levels: ClassVar = LEVELS

    @property
    def n_parts(self) -> int:
        return int(self.n_bases.sum())

    def sizes(self) -> IntArray:
        return self.n_bases

    def part(self, s: int, level: int) -> slice:
        """Where the words, frames, ... of a sequence are."""
        return slice(self.offsets[level, s], self.offsets[level, s + 1])

    def arrays(self, s: int) -> dict[str, Array]:
        """Those of a sequence, by name."""
        named = ((name, self.part(s, level)) for level, names in self.levels.items() for name in names)
        return {name: getattr(self, name)[part] for name, part in named}

    @property
    def ends(self) -> tuple[Ends, Begins]:
        """The ends of the candidates of all sequences."""
        return Ends(*(getattr(self, name) for name in Ends._fields)), Begins(*self.offsets[CANDIDATES:])

    @property
    def frame(self) -> IntArray:
        """That of each candidate."""
        return np.repeat(np.arange(self.n_candidates.size), self.n_candidates)

    def frame_sums(self, values: Array) -> Array:
        """Of each candidate the sum over those of its frame."""
        frame = self.frame
        return np.bincount(frame, values, minlength=self.n_candidates.size)[frame]

    def by_candidate(self, values: Array) -> Array:
        """Of each candidate, what is given by sequence."""
        return np.repeat(values, np.diff(self.offsets[CANDIDATES]))

    @property
    def frames(self) -> Words:
        """The words of all sequences."""
        return Words(self.words, self.n_words, self.n_candidates, self.skipped)

    def take(self, indices: Any) -> Self:
        chosen = self._chosen(indices)
        counts = np.diff(self.offsets, axis=1)[:, chosen]
        taken: dict[str, Array] = {}
        for level, names in self.levels.items():
            places = segment_indices(self.offsets[level], chosen)
            taken |= {name: getattr(self, name)[places] for name in names if getattr(self, name).size}
        return replace(
            self,
            weights=self.weights[chosen],
            n_bases=self.n_bases[chosen],
            offsets=_offsets(counts),
            **taken,
        )


def check_arrays(shard: OrfShard, n_words: int, n_signals: int, n_places: int) -> None:
    """Refuse arrays of other types or shapes, numbers out of range, and sequences that do not add up.

    Parameters
    ----------
    n_words, n_places : int
        How many numbers words and signals may have.
    n_signals : int
        Of a candidate.

    Raises
    ------
    DataError
    """
    n, offsets = len(shard), shard.offsets
    if offsets.shape != (len(LEVELS), n + 1):
        raise DataError(f"found offsets of shape {offsets.shape}, expected {(len(LEVELS), n + 1)}")
    sizes = {level: len(getattr(shard, names[0])) for level, names in LEVELS.items()}
    for level, size in sizes.items():
        check_offsets(offsets[level], n, size)
    check_range("bases", shard.n_bases, np.int64, (n,), 0, _MOST_BASES)
    check_range("words", shard.words, np.int16, (sizes[WORDS],), 0, n_words)
    frames, candidates = (sizes[FRAMES],), (sizes[CANDIDATES],)
    check_range("numbers of words", shard.n_words, np.int64, frames, 0, sizes[WORDS] + 1)
    check_range("numbers of candidates", shard.n_candidates, np.int64, frames, 1, sizes[CANDIDATES] + 1)
    check_range("bounds", shard.bounds, np.int64, (*candidates, 2), 0, _MOST_BASES)
    check_range("strands", shard.reverse, bool, candidates, 0, 2)
    check_range("signals", shard.signals, np.uint8, (*candidates, n_signals), 0, n_places)
    check_range("genes", shard.chosen, np.int8, candidates, 0, 2)
    for level, names in _POSITIONS.items():
        for name in names:
            check_range(name, getattr(shard, name), np.int64, (sizes[level],), 0, _MOST_BASES)
    for level, counts in ((WORDS, shard.n_words), (CANDIDATES, shard.n_candidates)):
        sums = np.concatenate(([0], np.cumsum(counts)))
        if not np.array_equal(sums[offsets[FRAMES]], offsets[level]):
            raise DataError("found frames that do not add up to their sequences")
    if np.any(shard.bounds[:, 1] > shard.by_candidate(shard.n_bases)):
        raise DataError("found a candidate that ends behind its sequence")


def _offsets(counts: IntArray) -> IntArray:
    return np.hstack((np.zeros((len(counts), 1), np.int64), np.cumsum(counts, axis=1)))
