"""Encoded RNA sequences, with or without their structures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.structure import FloatArray, IntArray, SequenceShard, take_segments


@dataclass(frozen=True)
class RNAShard(SequenceShard):
    """Encoded sequences.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Bases of sequence s are ``offsets[s]:offsets[s + 1]``.
    letters : ndarray of int8, shape (n_bases,)
        0-3 for ACGU, 4 for any other base.
    partners : ndarray of int64, shape (n_bases,) or (0,)
        The base, counted within its sequence, that each is paired with; -1 for none. Empty without outputs.
    extra_offsets : ndarray of int64, shape (n_sequences + 1,)
    extra : ndarray
        Scores of pairs beside their own, triangular, those of sequence s at
        ``extra_offsets[s]:extra_offsets[s + 1]``; none for sequences without constraints.
    forced : ndarray, shape (n_sequences,)
        The part of `extra` that every structure gets: what must be.
    numbers : ndarray of int64, shape (n_sequences,)
        Places of the sequences in the input, by which errors call them.
    """

    offsets: IntArray
    letters: NDArray[np.int8]
    partners: IntArray
    extra_offsets: IntArray
    extra: FloatArray
    forced: FloatArray
    numbers: IntArray

    def pair_scores(self, s: int) -> FloatArray:
        """Scores of the pairs of sequence s beside their own, triangular, or empty."""
        return self.extra[self.extra_offsets[s] : self.extra_offsets[s + 1]]

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    def work(self) -> IntArray:
        sizes = self.sizes()
        return sizes * (1 + sizes // 5)  # loops are looked for around every pair

    def take(self, indices: Any) -> RNAShard:
        chosen = self._chosen(indices)
        offsets, bases = take_segments(self.offsets, chosen)
        extra_offsets, pairs = take_segments(self.extra_offsets, chosen)
        return RNAShard(
            self.weights[chosen],
            offsets,
            self.letters[bases],
            self.partners[bases] if self.partners.size else self.partners,
            extra_offsets,
            self.extra[pairs],
            self.forced[chosen],
            self.numbers[chosen],
        )
