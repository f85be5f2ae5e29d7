"""Encoded RNA sequences, with or without their structures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.features.attributes import segment_indices
from structune.structures.base import FloatArray, IntArray, Shard


@dataclass(frozen=True)
class RNAShard(Shard):
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
    def n_parts(self) -> int:
        return int(self.offsets[-1])

    def sizes(self) -> IntArray:
        return np.diff(self.offsets)

    def work(self) -> IntArray:
        sizes = self.sizes()
        return sizes * (1 + sizes // 5)  # loops are looked for around every pair

    def take(self, indices: Any) -> RNAShard:
        chosen = np.arange(len(self))[indices]
        bases = segment_indices(self.offsets, chosen)
        return RNAShard(
            self.weights[chosen],
            np.concatenate(([0], np.cumsum(self.sizes()[chosen]))),
            self.letters[bases],
            self.partners[bases] if self.partners.size else self.partners,
            np.concatenate(([0], np.cumsum(np.diff(self.extra_offsets)[chosen]))),
            self.extra[segment_indices(self.extra_offsets, chosen)],
            self.forced[chosen],
            self.numbers[chosen],
        )
