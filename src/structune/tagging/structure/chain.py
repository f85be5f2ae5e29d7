"""First-order linear-chain CRFs: sums over all label sequences, and the best ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from structune.errors import DataError
from structune.kernels.vectors import all_lanes, lanes_for
from structune.structure import Array, FloatArray, HessianProduct, IntArray, Tilt
from structune.tagging.kernels import costs as chain_costs
from structune.tagging.kernels import linear_domain as kernels
from structune.tagging.kernels.whole_shard import expectations
from structune.tagging.structure.attribute_weights import OpenWeights
from structune.tagging.structure.counts import count_tokens, counted
from structune.tagging.structure.flips import BackPointers, Flips
from structune.tagging.structure.posterior import (
    LinearPosterior,
    LogPosterior,
    LogStep,
    MoveScores,
    Posterior,
)
from structune.tagging.structure.shard import ChainShard
from structune.tagging.structure.space import ChainSpace

_CACHE_CELLS = 1 << 15  # tokens x labels that a kernel works on at a time: what the caches hold
_BLOCK_CELLS = 1 << 17  # that a call of a kernel works on, where Python does the rest of the work
_SAFE_RANGE = 600.0  # a double spans exp(-708) to exp(709); the rest is room for derivatives


class Chain(ChainSpace):
    """A first-order linear chain: label sequences scored by token attributes and label transitions.

    Build one with `build`.

    Parameters
    ----------
    labels : sequence of str
    attributes : sequence of str
        Names; the text before the first ``=`` is the group.
    pair_keys : ndarray of int64
        Sorted ``attribute * n_labels + label`` of the pairs that have a weight.
    transitions : ndarray of int64
        Sorted ``from * n_labels + to`` of the transitions that have a weight; the others score 0.
    boundary : bool
        Whether starts and ends have weights.
    forbidden : rules of `allowed_moves`
        Transitions of probability 0, in training and decoding.
    """

    capabilities = frozenset(
        {
            *("log_partition", "hessian", "best", "cost", "rescaled", "within"),
            *("augmented", "counts", "complex", "n_best", "marginals", "flips"),
        }
    )

    # --- inference ----------------------------------------------------------------------------------------

    def _blocks(self, shard: ChainShard, n_cells: int) -> Iterator[slice]:
        """Runs of sequences with about `n_cells` cells in each."""
        tokens = max(1, n_cells // self.n_labels)
        start = 0
        if 0 < shard.n_parts <= tokens:  # at once: searching takes as long as tagging a few words
            yield slice(0, len(shard))
            return
        while start < len(shard):
            stop = int(np.searchsorted(shard.offsets, shard.offsets[start] + tokens, side="right")) - 1
            yield slice(start, max(stop, start + 1))
            start = max(stop, start + 1)

    def _reach(self, within: bool) -> int:
        """Steps after which every label has been reached from any other; see `fits_double`."""
        if self._mixing is None or (within and self._mixing > 1):
            return int(np.iinfo(np.int64).max)
        return self._mixing

    def _posterior(
        self, w: OpenWeights, moves: MoveScores, shard: ChainShard, block: slice, within: bool
    ) -> Posterior:
        """Of a block, under real weights."""
        found = self._sums(w, moves, shard, block, within)
        assert not isinstance(found, LogStep)
        return found

    def _sums(
        self,
        w: OpenWeights,
        moves: MoveScores,
        shard: ChainShard,
        block: slice,
        within: bool,
        tilt: Tilt | None = None,
    ) -> Posterior | LogStep:
        first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
        offsets = shard.offsets[block.start : block.stop + 1] - first
        scores = self.pairs.scores(w, shard.rows, first, last)
        if within:
            scores[~shard.allowed[first:last]] = -np.inf
        if tilt is not None:
            scores += self._tilted(shard, block, *tilt)
        peaks, spreads = np.empty(offsets.size - 1), np.empty(offsets.size - 1)
        kernels.shift_rows(offsets, scores, peaks, spreads)
        if kernels.fits_double(
            offsets, spreads, moves.spread, self._reach(within), self.n_labels, _SAFE_RANGE
        ):
            return LinearPosterior(moves, offsets, scores, peaks)
        return (LogStep if np.iscomplexobj(scores) else LogPosterior)(moves, offsets, scores, peaks)

    def _tilted(self, shard: ChainShard, block: slice, count: str, rates: Array) -> Array:
        """What a tilt adds to the scores of the tokens of a block."""
        first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
        own, sizes = self._labels_of(shard, None)[first:last], shard.sizes()[block]
        return np.repeat(rates[block], sizes)[:, None] * counted(count, own, self.labels)

    def log_partition(
        self,
        w: Array,
        shard: ChainShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
        tilt: Tilt | None = None,
    ) -> Array:
        within = within and shard.partial
        weights = shard.weights if weights is None else weights
        moves, opened = self._move_scores(w), self.pairs.open(w, shard.rows)
        tokens = None if expected is None else self.pairs.open_counts(expected)
        blocks = list(self._blocks(shard, _CACHE_CELLS))
        if tilt is None:
            log_z, left = self._log_partition(opened, moves, shard, blocks, expected, tokens, weights, within)
        else:
            log_z, left = np.empty(len(shard), w.dtype), blocks
        for block in left:
            posterior = self._sums(opened, moves, shard, block, within, tilt)
            log_z[block] = posterior.log_z
            if expected is not None and tokens is not None:
                counts = np.zeros((self.n_labels, self.n_labels), w.dtype)
                rows = posterior.expectations(weights[block], counts)
                self._add_block(expected, tokens, shard, block, rows, counts)
        if tokens is not None:
            self.pairs.close_counts(tokens)
        return log_z

    def _log_partition(
        self,
        opened: OpenWeights,
        moves: MoveScores,
        shard: ChainShard,
        blocks: list[slice],
        expected: Array | None,
        tokens: OpenWeights | None,
        weights: FloatArray,
        within: bool,
    ) -> tuple[Array, list[slice]]:
        """`log_partition` in the linear domain, and the blocks whose scores leave its range."""
        n, dtype = self.n_labels, opened.w.dtype
        bounds = np.array([0, *(block.stop for block in blocks)])
        longest = int(shard.sizes().max(initial=0)), int(np.diff(shard.offsets[bounds]).max(initial=0))
        peaks, log_z = np.zeros(len(shard)), np.zeros(len(shard), dtype)
        fits, edges, transitions = (
            np.empty(len(blocks), bool),
            np.zeros((2, n), dtype),
            np.zeros((n, n), dtype),
        )
        counts = opened if tokens is None else tokens  # not written to where there are none
        expectations(
            bounds,
            shard.offsets,
            self.pairs.arrays(shard.rows),
            shard.allowed if within else np.empty((0, n), bool),
            weights,
            (opened.dense, opened.w),
            moves.potentials,
            moves.spread,
            self._reach(within),
            _SAFE_RANGE,
            lanes_for(dtype, n),
            np.empty((3, longest[1], n), dtype),
            np.empty((longest[0] + 1, n), dtype),
            peaks,
            log_z,
            fits,
            tokens is not None,
            (counts.dense, counts.w),
            edges,
            transitions,
        )
        log_z += moves.shift(peaks, shard.sizes())
        if expected is not None:
            self._add_moves(expected, edges[0], edges[1], moves.potentials[0] * transitions)
        return log_z, [block for block, fit in zip(blocks, fits.tolist(), strict=True) if not fit]

    def linearize(self, w: FloatArray, shard: ChainShard, within: bool = False) -> HessianProduct:
        """The map v -> Cov[F] v at `w`; keeps three (n_tokens, n_labels) arrays for as long as it lives."""
        within = within and shard.partial
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        blocks = list(self._blocks(shard, _BLOCK_CELLS))
        posteriors = [self._posterior(pairs, moves, shard, block, within) for block in blocks]
        for block, posterior in zip(blocks, posteriors, strict=True):
            posterior.keep(shard.weights[block])

        def product(v: FloatArray) -> FloatArray:
            out = np.zeros(self.n_weights)
            direction, v_pairs, tokens = (
                self._move_scores(v, fill=0.0),
                self.pairs.open(v),
                self.pairs.open_counts(out),
            )
            for block, posterior in zip(blocks, posteriors, strict=True):
                first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
                counts = np.zeros((self.n_labels, self.n_labels))
                scores = self.pairs.scores(v_pairs, shard.rows, first, last)
                rows = posterior.tangent(direction, scores, counts)
                self._add_block(out, tokens, shard, block, rows, counts)
            self.pairs.close_counts(tokens)
            return out

        return product

    def variance(self, w: FloatArray, shard: ChainShard) -> FloatArray:
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        out = np.zeros(self.n_weights)
        tokens = self.pairs.open_counts(out)
        for block in self._blocks(shard, _BLOCK_CELLS):
            posterior = self._posterior(pairs, moves, shard, block, within=False)
            weights = np.repeat(shard.weights[block], np.diff(posterior.offsets))[:, None]
            counts = np.zeros((self.n_labels, self.n_labels))
            rows = posterior.expectations(shard.weights[block], counts)
            rows *= np.maximum(1.0 - rows / np.where(weights > 0.0, weights, 1.0), 0.0)
            counts *= 1.0 - counts / (counts.sum() or 1.0)
            self._add_block(out, tokens, shard, block, rows, counts, power=2)
        self.pairs.close_counts(tokens)
        return out

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: ChainShard, cost: FloatArray | None = None, within: bool = False
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: labels of all tokens, shape (n_tokens,), and scores, shape (n_sequences,)."""
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        labels, best = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        lanes = lanes_for(np.float64, self.n_labels)
        for block in self._blocks(shard, _BLOCK_CELLS):
            first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
            offsets = shard.offsets[block.start : block.stop + 1] - first
            scores = self.pairs.scores(pairs, shard.rows, first, last)
            if within and shard.partial:
                scores[~shard.allowed[first:last]] = -np.inf
            if cost is not None:
                scores += self._tilted(shard, block, "cost", cost)
            kernels.viterbi(
                offsets,
                scores,
                moves.transition,
                moves.start,
                moves.end,
                lanes,
                labels[first:last],
                best[block],
            )
        return labels, best

    def cost(self, shard: ChainShard, outputs: IntArray) -> FloatArray:
        """Hamming cost: the number of tokens labelled differently."""
        return np.add.reduceat(
            (self._labels_of(shard, None) != outputs).astype(np.float64), shard.offsets[:-1]
        )

    def counts(self, shard: ChainShard, outputs: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Tokens with the right label and with any, that is not "O"; shape (n_sequences,) each."""
        own, found = self._labels_of(shard, None), self._labels_of(shard, outputs)
        return count_tokens(own, found, shard.offsets[:-1], self.labels)

    def best_rescaled(
        self, w: FloatArray, shard: ChainShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Labels of the largest Hamming cost times margin, shape (n_tokens,), and values, (n_sequences,).

        The time for a sequence grows as (tokens x labels)^2.

        Raises
        ------
        DataError
            Some labels of the shard are unknown.
        """
        moves, pairs, own = self._move_scores(w), self.pairs.open(w), self._labels_of(shard, None)
        transition_t, lanes = np.ascontiguousarray(moves.transition.T), all_lanes(np.float64)
        rates = np.zeros(len(shard)) if cost is None else cost
        labels, values = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for block in self._blocks(shard, _BLOCK_CELLS):
            first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
            offsets = shard.offsets[block.start : block.stop + 1] - first
            scores = self.pairs.scores(pairs, shard.rows, first, last)
            _subtract_own(scores, moves, offsets, own[first:last])
            chain_costs.best_rescaled(
                offsets, scores, transition_t, own[first:last], rates[block], lanes,
                labels[first:last], values[block],
            )  # fmt: skip
        return labels, values

    def n_best(self, w: FloatArray, shard: ChainShard, n: int) -> list[tuple[IntArray, FloatArray]]:
        """For each sequence, its highest-scoring labellings (at most n, length) and their scores, falling."""
        if n < 1:
            raise DataError(f"n={n}: expected at least 1")
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        results = []
        for s in range(len(shard)):
            first, last = int(shard.offsets[s]), int(shard.offsets[s + 1])
            scores = self.pairs.scores(pairs, shard.rows, first, last)
            labels, best = np.empty((n, last - first), np.int64), np.empty(n)
            kernels.n_best(scores, moves.transition, moves.start, moves.end, labels, best)
            results.append((labels[best > -np.inf], best[best > -np.inf]))
        return results

    def flips(self, w: FloatArray, shard: ChainShard, counted: FloatArray) -> Flips:
        """The smallest change of each transition weight that flips a back pointer of a best labelling.

        Forward scores are those at `w`. The labels that a flip leads to are the best ones from its token on,
        and before it those that the back pointers give.

        Parameters
        ----------
        counted : ndarray, shape (n_weights,)
            What a feature counts in the gains: ones for the number of features, `w` for the score.
        """
        (scores, moves), (counts, counted_moves) = (
            (self.pairs.scores(self.pairs.open(v), shard.rows, 0, shard.n_parts), self._move_scores(v, fill))
            for v, fill in ((w, -np.inf), (counted, 0.0))
        )
        back = BackPointers(shard.offsets, scores, moves)
        found = back.flips(self.transitions, back.tally(counts, counted_moves), counted_moves)
        return replace(found, weights=found.weights + self._transitions.start)

    def marginals(self, w: FloatArray, shard: ChainShard) -> FloatArray:
        """Probability of each label at each token, shape (n_tokens, n_labels)."""
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        out = np.empty((shard.n_parts, self.n_labels))
        for block in self._blocks(shard, _BLOCK_CELLS):
            posterior = self._posterior(pairs, moves, shard, block, within=False)
            rows = slice(int(shard.offsets[block.start]), int(shard.offsets[block.stop]))
            out[rows] = posterior.expectations(np.ones(block.stop - block.start))
        return out

    def segment_probability(
        self, w: FloatArray, shard: ChainShard, sequence: int, start: int, labels: Sequence[str]
    ) -> float:
        """Probability that tokens ``start, start + 1, ...`` of a sequence carry exactly `labels`.

        Raises
        ------
        DataError
            A label outside the set, or a segment that leaves the sequence.
        """
        one = shard.take([sequence])
        if not labels or start < 0 or start + len(labels) > one.n_parts:
            raise DataError(
                f"sequence {sequence} has {one.n_parts} tokens: found {len(labels)} labels from token {start}"
            )
        allowed = np.ones((one.n_parts, self.n_labels), dtype=bool)
        for i, label in enumerate(labels):
            if label not in self.labels:
                raise DataError(f"the label {label!r} is not among {self.labels}")
            allowed[start + i] = np.arange(self.n_labels) == self.labels.index(label)
        restricted = self.log_partition(w, one.with_allowed(allowed), within=True)
        return float(np.exp(restricted - self.log_partition(w, one))[0])


def _subtract_own(scores: FloatArray, moves: MoveScores, offsets: IntArray, own: IntArray) -> None:
    """Add starts and ends to the scores of tokens, and take off what each token's own label scores."""
    firsts, lasts = offsets[:-1], offsets[1:] - 1
    scores[firsts] += moves.start
    scores[lasts] += moves.end
    of_own = scores[np.arange(own.size), own]
    later = np.delete(np.arange(own.size), firsts)
    of_own[later] += moves.transition[own[later - 1], own[later]]
    scores -= of_own[:, None]
