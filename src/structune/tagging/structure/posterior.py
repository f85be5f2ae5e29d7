"""Distributions over the label sequences of one block, in the linear or in the log domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structune.kernels.vectors import lanes_for
from structune.structure import COMPLEX_STEP, Array, FloatArray, IntArray
from structune.tagging.kernels import linear_domain as linear
from structune.tagging.kernels import log_domain as log


@dataclass(frozen=True)
class MoveScores:
    """Scores of transitions (L, L), of starts (L,) and of ends (L,); -inf where forbidden."""

    transition: Array
    start: Array
    end: Array

    @cached_property
    def peaks(self) -> tuple[float, float, float]:
        """Largest transition, start and end score: what the potentials are scaled by."""
        highs = (float(scores.real.max()) for scores in (self.transition, self.start, self.end))
        # Exponentials of (score - peak) are at most 1 and one of them is 1, unless all are forbidden.
        transition, start, end = (high if high > -np.inf else 0.0 for high in highs)
        return transition, start, end

    @cached_property
    def spread(self) -> float:
        """Widest range of the allowed scores of a kind."""
        finite = (a.real[np.isfinite(a.real)] for a in (self.transition, self.start, self.end))
        return float(max((a.max() - a.min() for a in finite if a.size), default=0.0))

    @cached_property
    def potentials(self) -> tuple[Array, Array, Array, Array]:
        """exp(score - peak) of transitions, their transpose, starts and ends."""
        scores = self.transition, self.start, self.end
        transition, start, end = (np.exp(a - peak) for a, peak in zip(scores, self.peaks, strict=True))
        return transition, np.ascontiguousarray(transition.swapaxes(-1, -2)), start, end

    @property
    def of_states(self) -> tuple[Array, Array, Array]:
        """Starts, moves and ends as kernels of the log domain take them, by contexts; here there is one."""
        return self.start, self.transition[:, None], self.end[None]

    def counts(self, moves: Array, ends: Array) -> Array:
        """Counts of such moves by the keys of weights; ends are counted by marginals of last tokens."""
        return moves.reshape(self.transition.shape)

    def shift(self, lengths: IntArray) -> FloatArray:
        """What the potentials leave out of each sequence's log-partition."""
        # Every labelling has one start, one end and length - 1 transitions, so peaks factor out of all of Z.
        transition, start, end = self.peaks
        return start + end + transition * (lengths.astype(np.float64) - 1.0)


@dataclass
class Posterior:
    """What is expected of the sequences of a block, each times its weight; without weights, `log_z` alone."""

    log_z: Array
    rows: Array  # label marginals of each token
    counts: Array  # of moves


@dataclass
class LinearPosterior(Posterior):
    """Scaled forward-backward on potentials; exact where no potential leaves the range of a double."""

    moves: MoveScores
    offsets: IntArray
    weights: FloatArray
    tables: Array  # (3, n_tokens, L): token potentials / scales, forward and backward vectors

    def tangent(self, direction: MoveScores, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of `rows` and `counts`; `scores` are the direction's, of tokens."""
        transition, transposed, _, _ = self.moves.potentials
        slope, n = transition * direction.transition, transition.shape[0]
        longest = int(np.diff(self.offsets).max(initial=0))
        rows, relative = np.empty_like(scores), np.zeros_like(transition)
        linear.tangent(
            self.offsets, self.tables, np.vstack((transition, slope)), np.vstack((slope.T, transposed)),
            direction.start, direction.end, self.weights, lanes_for(scores.dtype, n),
            *np.empty((2, longest, 2, n)), scores, rows, relative,
        )  # fmt: skip
        return rows, transition * relative + direction.transition * self.counts


class LogPosterior(Posterior):
    """Forward-backward in the log domain; exact for scores of any size.

    It serves chains of both orders, and complex scores.
    """

    def __init__(self, moves: MoveScores, offsets: IntArray, scores: Array, weights: FloatArray) -> None:
        self.moves, self.offsets, self.scores, self.weights = moves, offsets, scores, weights
        start, transition, end = moves.of_states
        longest, dtype = int(np.diff(offsets).max(initial=0)), scores.dtype
        log_z, rows = np.empty(offsets.size - 1, dtype), np.empty_like(scores)
        counts, ends = np.zeros_like(transition), np.zeros_like(end)
        log.expectations(
            offsets, scores, start, transition, end, weights, *np.empty((2, longest, *end.shape), dtype),
            np.empty(end.size, dtype), np.empty(longest), log_z, rows, counts, ends,
        )  # fmt: skip
        super().__init__(log_z, rows, moves.counts(counts, ends))

    def tangent(self, direction: MoveScores, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of `rows` and `counts`; `scores` are the direction's, of tokens."""
        # By the complex step, as expectations are analytic: f(a + i r b) = f(a) + i r f'(a) b + O(r^2),
        # and r is so small that r^2 vanishes beside 1. No difference is taken, so no digits cancel,
        # whatever the size of the scores. Forward sums are made anew for each direction: blocks of the
        # log domain are few.
        moves = self.moves
        pairs = (
            (moves.transition, direction.transition), (moves.start, direction.start),
            (moves.end, direction.end), (self.scores, scores),
        )  # fmt: skip
        step = COMPLEX_STEP / (max(float(np.abs(b).max(initial=0.0)) for _, b in pairs) or 1.0)
        *stepped, tokens = (a + 1j * step * b for a, b in pairs)
        at = LogPosterior(MoveScores(*stepped), self.offsets, tokens, self.weights)
        return at.rows.imag / step, at.counts.imag / step
