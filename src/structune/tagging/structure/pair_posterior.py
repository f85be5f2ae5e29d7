"""Distributions over the label sequences of one block of a second-order chain, whose states are label pairs.

They answer what those of `posterior` do, but for `tangent`. Counts are by three labels in a row, shape
(L + 1, L, L + 1): the first may be the start, and the last the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.kernels.vectors import lanes_for
from structune.structure import Array, FloatArray, IntArray, offsets_of
from structune.tagging.kernels import second_order as linear
from structune.tagging.kernels import second_order_log as log
from structune.tagging.structure.posterior import MoveScores
from structune.tagging.structure.rules import BoolArray


@dataclass(frozen=True)
class Neighbours:
    """Labels that may come before each label, and after it: where the lists start, and the lists."""

    before: tuple[IntArray, IntArray]
    after: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, allowed: BoolArray) -> Neighbours:
        """Of allowed transitions, shape (L, L)."""
        both = [
            (offsets_of(table.sum(axis=1)), np.nonzero(table)[1].copy()) for table in (allowed.T, allowed)
        ]
        return cls(*both)


@dataclass(frozen=True)
class TrigramScores(MoveScores):
    """Scores of three labels in a row, -inf where forbidden.

    Attributes
    ----------
    transition : ndarray, shape (L, L + 1, L)
        By the label in the middle, the first, and the last.
    start : ndarray, shape (L,)
    end : ndarray, shape (L + 1, L)
        By the last two labels.
    neighbours : Neighbours
    """

    neighbours: Neighbours


class LinearPairs:
    """Scaled forward-backward on potentials; exact where no potential leaves the range of a double."""

    def __init__(self, moves: TrigramScores, offsets: IntArray, scores: Array, peaks: FloatArray) -> None:
        self.moves, self.offsets = moves, offsets
        transition, _, start, end = moves.potentials
        self.emission = np.exp(scores, out=scores)
        n_tokens, n = scores.shape
        self.alpha = np.empty((n_tokens, n + 1, n), scores.dtype)
        self.scale = np.empty(n_tokens, scores.dtype)
        self.log_z = np.empty(offsets.size - 1, scores.dtype)
        self.lanes = lanes_for(np.float64, n)  # runs of complex numbers, too: no kernel takes exponentials
        linear.forward(
            offsets, self.emission, start, transition, end, *moves.neighbours.before, self.lanes,
            self.alpha, self.scale, self.log_z,
        )  # fmt: skip
        self.log_z += moves.shift(peaks, np.diff(offsets))

    def expectations(self, weights: FloatArray, counts: Array | None = None) -> Array:
        """Weighted label marginals of each token; adds the weighted expected trigrams to `counts`."""
        transition, transposed, _, end = self.moves.potentials
        n, dtype, neighbours = self.emission.shape[1], self.emission.dtype, self.moves.neighbours
        longest = int(np.diff(self.offsets).max(initial=0))
        rows, relative, ends = np.empty_like(self.emission), np.zeros_like(transition), np.zeros_like(end)
        linear.expectations(
            self.offsets, self.emission, self.scale, transposed, end,
            (*neighbours.before, *neighbours.after), self.alpha, weights, self.lanes,
            np.empty((longest, n, n), dtype), np.empty((n, n + 1), dtype), rows, relative, ends,
        )  # fmt: skip
        if counts is not None:
            relative *= transition
            _add(relative, ends, counts)
        return rows


class LogPairs:
    """Forward-backward in the log domain, one sequence at a time; exact for scores of any size."""

    def __init__(self, moves: TrigramScores, offsets: IntArray, scores: Array, peaks: FloatArray) -> None:
        self.moves, self.offsets, self.scores = moves, offsets, scores
        n_tokens, n = scores.shape
        self.alpha, self.beta = np.empty((2, n_tokens, n + 1, n), scores.dtype)
        self.peaks, arrays = np.empty(n_tokens), (moves.start, moves.transition, moves.end)
        self.log_z = peaks + np.array([
            log.forward_backward(scores[s], *arrays, self.alpha[s], self.beta[s], self.peaks[s])
            for s in self._slices()
        ])  # fmt: skip

    def _slices(self) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def expectations(self, weights: FloatArray, counts: Array | None = None) -> Array:
        """Weighted label marginals of each token; adds the weighted expected trigrams to `counts`."""
        rows = np.empty_like(self.scores)
        both = np.zeros_like(self.moves.transition), np.zeros_like(self.moves.end)
        for s, weight in zip(self._slices(), weights, strict=True):
            log.expectations(
                self.scores[s], self.moves.transition, self.alpha[s], self.beta[s], self.peaks[s], weight,
                rows[s], *both,
            )  # fmt: skip
        if counts is not None:
            _add(*both, counts)
        return rows


def _add(moves: Array, ends: Array, counts: Array) -> None:
    """Add counts of moves, by the middle label first, and of last states."""
    n = ends.shape[1]
    counts[:, :, :n] += moves.swapaxes(0, 1)
    counts[:, :, n] += ends
