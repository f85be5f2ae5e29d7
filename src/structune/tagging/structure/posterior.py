"""Distributions over the label sequences of one block, in the linear or in the log domain.

Both classes answer the same questions: `log_z`, weighted `expectations`, and their `tangent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

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
        return _peak(self.transition), _peak(self.start), _peak(self.end)

    @cached_property
    def spread(self) -> float:
        """Widest range of the allowed scores of a kind."""
        finite = (a.real[np.isfinite(a.real)] for a in (self.transition, self.start, self.end))
        return float(max((a.max() - a.min() for a in finite if a.size), default=0.0))

    @cached_property
    def potentials(self) -> tuple[Array, Array, Array, Array]:
        """exp(score - peak) of transitions, their transpose, starts and ends."""
        transition = np.exp(self.transition - self.peaks[0])
        start, end = np.exp(self.start - self.peaks[1]), np.exp(self.end - self.peaks[2])
        return transition, np.ascontiguousarray(transition.swapaxes(-1, -2)), start, end

    @property
    def of_states(self) -> tuple[Array, Array, Array]:
        """Starts, moves and ends as kernels of the log domain take them, by contexts; here there is one."""
        return self.start, self.transition[:, None], self.end[None]

    def add_counts(self, counts: Array, moves: Array, ends: Array) -> None:
        """Add counts of such moves to `counts`, (L, L); ends are counted by marginals of last tokens."""
        counts += moves[:, 0]

    def shift(self, peaks: FloatArray, lengths: IntArray) -> FloatArray:
        """What the potentials leave out of each sequence's log-partition; `peaks` of the token scores."""
        # Every labelling has one start, one end and length - 1 transitions, so peaks factor out of all of Z.
        transition, start, end = self.peaks
        return peaks + start + end + transition * (lengths - 1)


def _peak(scores: Array) -> float:
    """Largest score; 0 where all are forbidden."""
    # Exponentials of (score - peak) are at most 1 and one of them is 1.
    high = float(scores.real.max())
    return high if high > -np.inf else 0.0


class LinearPosterior:
    """Scaled forward-backward on potentials; exact where no potential leaves the range of a double."""

    def __init__(self, moves: MoveScores, offsets: IntArray, scores: Array, peaks: FloatArray) -> None:
        self.moves, self.offsets = moves, offsets
        transition, _, start, end = moves.potentials
        # In place: the scores are not needed any more, and tables are what takes the memory.
        self.emission = np.exp(scores, out=scores)
        self.alpha, self._beta = np.empty((2, *scores.shape), scores.dtype)
        self.scale = np.empty(scores.shape[0], scores.dtype)
        self.log_z = np.empty(offsets.size - 1, scores.dtype)
        self.lanes = lanes_for(scores.dtype, scores.shape[1])
        linear.forward(
            offsets, self.emission, transition, start, end, self.lanes, self.alpha, self.scale, self.log_z
        )
        self.log_z += moves.shift(peaks, np.diff(offsets))

    @cached_property
    def beta(self) -> Array:
        """Backward vectors; from here on `emission` is divided by the forward scale."""
        _, transposed, _, end = self.moves.potentials
        linear.backward(
            self.offsets, self.emission, self.scale, transposed, end, self.alpha, self.lanes,
            np.empty_like(end), self._beta,
        )  # fmt: skip
        return np.asarray(self._beta)

    def expectations(self, weights: FloatArray, counts: Array | None = None) -> Array:
        """Weighted label marginals of each token; adds the weighted expected transitions to `counts`."""
        beta = self.beta
        if counts is not None:
            relative = np.zeros_like(counts)
            linear.add_transition_counts(
                self.offsets, self.alpha, self.emission, beta, weights, self.lanes,
                self._scratch(1)[0], relative,
            )  # fmt: skip
            counts += self.moves.potentials[0] * relative
        out = np.empty_like(beta)
        linear.marginals(self.offsets, self.alpha, beta, weights, self.lanes, out)
        return out

    def _scratch(self, n: int) -> Array:
        longest = int(np.diff(self.offsets).max(initial=0))
        return np.empty((n, longest, self.emission.shape[1]), self.emission.dtype)

    def keep(self, weights: FloatArray) -> None:
        """Prepare for repeated `tangent` calls with these example weights."""
        self.weights = weights
        self.transitions = np.zeros_like(self.moves.potentials[0])
        self.expectations(weights, self.transitions)

    def tangent(self, direction: MoveScores, scores: FloatArray, counts: FloatArray) -> FloatArray:
        """Directional derivative of `expectations`; `scores` is the direction's, and is overwritten."""
        transition, transposed, _, _ = self.moves.potentials
        slope = transition * direction.transition
        relative = np.zeros_like(counts)
        linear.tangent(
            self.offsets, self.alpha, self.beta, self.emission, transition, transposed, slope,
            np.ascontiguousarray(slope.T), direction.start, direction.end, self.weights, self.lanes,
            self._scratch(4), scores, relative,
        )  # fmt: skip
        counts += transition * relative + direction.transition * self.transitions
        return scores


class LogPosterior:
    """Forward-backward in the log domain, one sequence at a time; exact for scores of any size.

    It serves chains of both orders, and complex scores.
    """

    def __init__(self, moves: MoveScores, offsets: IntArray, scores: Array, peaks: FloatArray) -> None:
        self.moves, self.offsets, self.scores = moves, offsets, scores
        self._slices = [slice(a, b) for a, b in pairwise(offsets)]
        arrays = moves.of_states
        self.alpha, self.beta = np.empty((2, len(scores), *arrays[2].shape), scores.dtype)
        self.peaks = np.empty(len(scores))
        self.log_z = peaks + np.array([
            log.forward_backward(scores[s], *arrays, self.alpha[s], self.beta[s], self.peaks[s])
            for s in self._slices
        ])  # fmt: skip

    def expectations(self, weights: FloatArray, counts: Array | None = None) -> Array:
        """Weighted label marginals of each token; adds the weighted expected moves to `counts`."""
        rows = np.empty_like(self.scores)
        _, moves, ends = self.moves.of_states
        both = np.zeros_like(moves), np.zeros_like(ends)
        for s, weight in zip(self._slices, weights, strict=True):
            log.expectations(
                self.scores[s], moves, self.alpha[s], self.beta[s], self.peaks[s], weight, rows[s], *both
            )
        if counts is not None:
            self.moves.add_counts(counts, *both)
        return rows

    def keep(self, weights: FloatArray) -> None:
        """Prepare for repeated `tangent` calls with these example weights."""
        self.weights = weights

    def tangent(self, direction: MoveScores, scores: FloatArray, counts: FloatArray) -> FloatArray:
        """Directional derivative of `expectations`; `scores` is the direction's."""
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
        found = np.zeros(counts.shape, np.complex128)
        at = LogPosterior(MoveScores(*stepped), self.offsets, tokens, np.zeros(self.offsets.size - 1))
        rows = at.expectations(self.weights, found)
        counts += found.imag / step
        return np.asarray(rows.imag / step)


Posterior = LinearPosterior | LogPosterior
