"""Encoded RNA sequences, with or without what is known of their structures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.rna.kernels.loops import ABSENT
from structune.rna.structure.constraints import PairScores
from structune.structure import FloatArray, IntArray, SequenceShard, take_segments


@dataclass(frozen=True)
class RNAShard(SequenceShard):
    """Encoded sequences.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Bases of sequence s are ``offsets[s]:offsets[s + 1]``.
    letters : ndarray of int8, shape (n_bases,)
        0-3 for ACGU, 4 for any other base, 5 for the places between two strands.
    partners : ndarray of int64, shape (n_bases,) or (0,)
        The base, counted within its sequence, that each is paired with; -1 for none, and where the structure
        is not known. Empty without outputs.
    whole : ndarray of bool, shape (n_sequences,)
        Of which sequences the structure is known. Of the others, the scores of pairs are evidence of it.
    base_offsets, pair_offsets : ndarray of int64, shape (n_sequences + 1,)
    base_scores : ndarray, shape (n, 2)
    pairs : ndarray of int64, shape (m, 2)
    pair_values : ndarray, shape (m,)
        Scores of pairs beside their own, as `PairScores` has them, those of sequence s at
        ``base_offsets[s]:base_offsets[s + 1]`` and ``pair_offsets[s]:pair_offsets[s + 1]``; none for
        sequences without constraints or evidence.
    forced : ndarray, shape (n_sequences,)
        The part of these that every structure gets: what must be.
    numbers : ndarray of int64, shape (n_sequences,)
        Places of the sequences in the input, by which errors call them.
    """

    offsets: IntArray
    letters: NDArray[np.int8]
    partners: IntArray
    whole: NDArray[np.bool_]
    base_offsets: IntArray
    base_scores: FloatArray
    pair_offsets: IntArray
    pairs: IntArray
    pair_values: FloatArray
    forced: FloatArray
    numbers: IntArray

    def known(self, s: int) -> PairScores:
        """What is known of sequence s, as scores of pairs beside their own."""
        bases = slice(self.base_offsets[s], self.base_offsets[s + 1])
        pairs = slice(self.pair_offsets[s], self.pair_offsets[s + 1])
        return PairScores(self.base_scores[bases], self.pairs[pairs], self.pair_values[pairs])

    def pair_scores(self, s: int, reach: int) -> FloatArray:
        """The same, as a table of pairs, or empty."""
        return self.known(s).table(reach)

    def free(self) -> RNAShard:
        """The same without evidence: what is known of structures that are not is forgotten."""
        if not self.is_partly_known:
            return self
        base_offsets, bases = take_segments(self.base_offsets, np.flatnonzero(self.whole))
        pair_offsets, pairs = take_segments(self.pair_offsets, np.flatnonzero(self.whole))
        place = np.concatenate([[0], np.cumsum(self.whole)])  # of a sequence among those that are whole
        return replace(
            self.bound(),
            base_offsets=base_offsets[place],
            base_scores=self.base_scores[bases],
            pair_offsets=pair_offsets[place],
            pairs=self.pairs[pairs],
            pair_values=self.pair_values[pairs],
            forced=np.where(self.whole, self.forced, 0.0),
        )

    def bound(self) -> RNAShard:
        """The same with evidence as constraints: structures without it do not count."""
        return replace(self, whole=np.ones_like(self.whole))

    @property
    def has_strands(self) -> bool:
        """Whether there are sequences of two strands."""
        return bool(np.any(self.letters == ABSENT))

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    @property
    def is_partly_known(self) -> bool:
        return not self.whole.all()

    def work(self) -> IntArray:
        sizes = self.sizes()
        return sizes * (1 + sizes // 5)  # loops are looked for around every pair

    def take(self, indices: Any) -> RNAShard:
        chosen = self._chosen(indices)
        offsets, bases = take_segments(self.offsets, chosen)
        base_offsets, scored = take_segments(self.base_offsets, chosen)
        pair_offsets, pairs = take_segments(self.pair_offsets, chosen)
        return RNAShard(
            self.weights[chosen],
            offsets,
            self.letters[bases],
            self.partners[bases] if self.partners.size else self.partners,
            self.whole[chosen],
            base_offsets,
            self.base_scores[scored],
            pair_offsets,
            self.pairs[pairs],
            self.pair_values[pairs],
            self.forced[chosen],
            self.numbers[chosen],
        )
