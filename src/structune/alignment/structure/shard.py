"""Encoded pairs of sequences, with or without their alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.structure import FloatArray, IntArray, SequenceShard, take_segments

_WORK = 200  # cells that cost as much as a part of a chain


@dataclass(frozen=True)
class AlignmentShard(SequenceShard):
    """Encoded pairs; sequences that are in several pairs are held once.

    Attributes
    ----------
    sequences : ndarray of int64, shape (n_pairs, 2)
        Which two each pair has: x and y.
    starts : ndarray of int64, shape (n_pairs + 1,)
        Parts of pair p, the residues of x, are ``starts[p]:starts[p + 1]``.
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Residues of sequence s are ``offsets[s]:offsets[s + 1]``.
    letters : ndarray of int8, shape (n_residues,)
        Places in `alignment_features.LETTERS`.
    annotation : ndarray, shape (n_residues, n_columns)
        As `proteins.annotation` gives it; no columns without any.
    partners : ndarray of int64, shape (n_parts,) or (0,)
        The residue of y, counted within it, that each residue of x is matched with, -1 for none; one pair
        after the other. Empty without alignments.
    scored : ndarray of bool, shape (n_parts,) or (0,)
        Matches that are known to be right.
    whole : ndarray of bool, shape (n_pairs,)
        Whether all of the alignment is known, and not the scored matches alone.
    """

    sequences: IntArray
    starts: IntArray
    offsets: IntArray
    letters: NDArray[np.int8]
    annotation: FloatArray
    partners: IntArray
    scored: NDArray[np.bool_]
    whole: NDArray[np.bool_]

    @property
    def lengths(self) -> IntArray:
        """Residues of x and of y, shape (n_pairs, 2)."""
        return np.diff(self.offsets)[self.sequences]

    @property
    def bounds(self) -> IntArray:
        """Parts are the residues of x."""
        return self.starts

    def work(self) -> IntArray:
        return np.asarray(1 + self.lengths.prod(axis=1) // _WORK)

    @property
    def is_partly_known(self) -> bool:
        return not self.whole.all()

    def take(self, indices: Any) -> AlignmentShard:
        chosen = self._chosen(indices)
        # sequences that no pair has any more are left out, and the others get new numbers
        used, sequences = np.unique(self.sequences[chosen], return_inverse=True)
        offsets, residues = take_segments(self.offsets, used)
        starts, parts = take_segments(self.starts, chosen)
        known = parts if self.partners.size else slice(0)
        return AlignmentShard(
            self.weights[chosen],
            sequences.reshape(-1, 2),
            starts,
            offsets,
            self.letters[residues],
            self.annotation[residues],
            self.partners[known],
            self.scored[known],
            self.whole[chosen],
        )
