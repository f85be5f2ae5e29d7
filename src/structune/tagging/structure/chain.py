"""First-order linear-chain CRFs: sums over all label sequences, and the best ones."""

from __future__ import annotations

import numpy as np

from structune.kernels.vectors import all_lanes, lanes_for
from structune.structure import Array, FloatArray, HessianProduct, IntArray
from structune.tagging.kernels import costs as chain_costs
from structune.tagging.kernels import linear_domain as kernels
from structune.tagging.kernels.whole_shard import expectations
from structune.tagging.structure.attribute_weights import OpenWeights
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.posterior import LinearPosterior, MoveScores, log_posterior
from structune.tagging.structure.shard import ChainShard


class Chain(ChainInference):
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
            *("complex", "n_best", "marginals"),
        }
    )

    order, _tables = 1, (0, 3)
    _posteriors = (LinearPosterior, log_posterior)
    _cache_cells = 1 << 15  # tokens x labels that a kernel works on at a time: what the caches hold

    @property
    def _n_states(self) -> int:
        return self.n_labels

    # --- inference ----------------------------------------------------------------------------------------

    def _whole_shard(
        self,
        opened: OpenWeights,
        moves: MoveScores,
        shard: ChainShard,
        expected: Array | None,
        tokens: OpenWeights | None,
        weights: FloatArray,
        within: bool,
    ) -> tuple[Array, list[slice]]:
        """`log_partition` in the linear domain, and the blocks whose scores leave its range."""
        blocks = list(self._blocks(shard, self._cache_cells))
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
            self._safe_range,
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
        within = within and shard.is_partly_known
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        blocks = list(self._blocks(shard, self._block_cells))
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

    # --- decoding -----------------------------------------------------------------------------------------

    def _viterbi(
        self, moves: MoveScores, offsets: IntArray, scores: FloatArray, labels: IntArray, best: FloatArray
    ) -> None:
        lanes = lanes_for(np.float64, self.n_labels)
        kernels.viterbi(offsets, scores, moves.transition, moves.start, moves.end, lanes, labels, best)

    def _n_best(self, moves: MoveScores, scores: FloatArray, labels: IntArray, best: FloatArray) -> None:
        kernels.n_best(scores, moves.transition, moves.start, moves.end, labels, best)

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
        for block in self._blocks(shard, self._block_cells):
            first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
            offsets = shard.offsets[block.start : block.stop + 1] - first
            scores = self.pairs.scores(pairs, shard.rows, first, last)
            _subtract_own(scores, moves, offsets, own[first:last])
            chain_costs.best_rescaled(
                offsets, scores, transition_t, own[first:last], rates[block], lanes,
                labels[first:last], values[block],
            )  # fmt: skip
        return labels, values


def _subtract_own(scores: FloatArray, moves: MoveScores, offsets: IntArray, own: IntArray) -> None:
    """Add starts and ends to the scores of tokens, and take off what each token's own label scores."""
    firsts, lasts = offsets[:-1], offsets[1:] - 1
    scores[firsts] += moves.start
    scores[lasts] += moves.end
    of_own = scores[np.arange(own.size), own]
    later = np.delete(np.arange(own.size), firsts)
    of_own[later] += moves.transition[own[later - 1], own[later]]
    scores -= of_own[:, None]
