"""What chains of either order answer, by posteriors of blocks of sequences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray
from structune.tagging.kernels import linear_domain as kernels
from structune.tagging.structure.attribute_weights import OpenWeights
from structune.tagging.structure.costs import token_costs, wrong_tokens
from structune.tagging.structure.posterior import MoveScores, Posterior
from structune.tagging.structure.shard import ChainShard, check_room, runs_of_sequences
from structune.tagging.structure.space import ChainSpace


class ChainInference(ChainSpace):
    """Sums over all label sequences, and the best ones; orders differ in their recursions.

    Attributes
    ----------
    order : int
        How many labels before a token's own the score of that looks at.
    """

    order: ClassVar[int]
    _posteriors: ClassVar[
        tuple[Callable[..., Any], Callable[..., Any]]
    ]  # in the linear, and in the log domain
    _tables: ClassVar[tuple[int, int]]  # of states, of a sequence: to find its best labels, and for sums
    _block_cells = 1 << 17  # tokens x states that a call of a kernel works on
    _safe_range = 600.0  # a double spans exp(-708) to exp(709); the rest is room for derivatives

    # --- blocks of sequences ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _n_states(self) -> int:
        """Of a token."""

    def _blocks(self, shard: ChainShard, n_cells: int) -> Iterator[slice]:
        """Runs of sequences with about `n_cells` cells in each."""
        return runs_of_sequences(shard.offsets, max(1, n_cells // self._n_states))

    def memory_of(self, n: int, n_tables: int, n_marginals: int = 0) -> float:
        """Bytes that a sequence of n tokens takes: so many tables of states, beside the scores of labels."""
        return 8.0 * n * ((1 + n_marginals) * self.n_labels + n_tables * self._n_states)

    def _check_room(self, shard: ChainShard, n_tables: int, n_marginals: int = 0) -> None:
        """Refuse a sequence for which there is not enough memory: none is worked on in parts."""
        n = int(np.max(shard.sizes(), initial=0))
        check_room(self.memory_of(n, n_tables, n_marginals), n, self.n_labels)

    def _scores_of(
        self, w: OpenWeights, shard: ChainShard, block: slice, within: bool, cost: FloatArray | None = None
    ) -> tuple[IntArray, Array]:
        """Offsets within a block, and the scores of its tokens; -inf for labels that are ruled out."""
        first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
        offsets = shard.offsets[block.start : block.stop + 1] - first
        scores = self.pairs.scores(w, shard.rows, first, last)
        if within:
            scores[~shard.allowed[first:last]] = -np.inf
        if cost is not None:
            own = self._labels_of(shard, None)[first:last]
            scores += token_costs(cost[block], np.diff(offsets), own, self.n_labels)
        return offsets, scores

    # --- sums ---------------------------------------------------------------------------------------------

    def _reach(self, within: bool) -> int:
        """Steps after which every state has been reached from any other; see `fits_double`."""
        if self._mixing is None or (within and self._mixing > 1):
            return int(np.iinfo(np.int64).max)
        return self._mixing + self.order - 1

    def _posterior(
        self, w: OpenWeights, moves: MoveScores, shard: ChainShard, block: slice, within: bool
    ) -> Posterior:
        offsets, scores = self._scores_of(w, shard, block, within)
        peaks, spreads = np.empty(offsets.size - 1), np.empty(offsets.size - 1)
        kernels.shift_rows(offsets, scores, peaks, spreads)
        is_linear = kernels.fits_double(
            offsets, spreads, moves.spread, self._reach(within), self.n_labels, self._safe_range
        )
        posterior: Posterior = self._posteriors[0 if is_linear else 1](moves, offsets, scores, peaks)
        return posterior

    def log_partition(
        self,
        w: Array,
        shard: ChainShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
    ) -> Array:
        self._check_room(shard, self._tables[1])
        within = within and shard.is_partly_known
        weights = shard.weights if weights is None else weights
        moves, opened = self._move_scores(w), self.pairs.open(w, shard.rows)
        tokens = None if expected is None else self.pairs.open_counts(expected)
        log_z, left = self._whole_shard(opened, moves, shard, expected, tokens, weights, within)
        for block in left:
            posterior = self._posterior(opened, moves, shard, block, within)
            log_z[block] = posterior.log_z
            if expected is not None and tokens is not None:
                counts = self._no_moves(w.dtype)
                rows = posterior.expectations(weights[block], counts)
                self._add_block(expected, tokens, shard, block, rows, counts)
        if tokens is not None:
            self.pairs.close_counts(tokens)
        return log_z

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
        """Of `log_partition`, what a kernel does in one call, and the blocks that are left."""
        return np.empty(len(shard), opened.w.dtype), list(self._blocks(shard, self._block_cells))

    def variance(self, w: FloatArray, shard: ChainShard) -> FloatArray:
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        out = np.zeros(self.n_weights)
        tokens = self.pairs.open_counts(out)
        for block in self._blocks(shard, self._block_cells):
            posterior = self._posterior(pairs, moves, shard, block, within=False)
            weights = np.repeat(shard.weights[block], np.diff(posterior.offsets))[:, None]
            counts = self._no_moves(w.dtype)
            rows = posterior.expectations(shard.weights[block], counts)
            rows *= np.maximum(1.0 - rows / np.where(weights > 0.0, weights, 1.0), 0.0)
            counts *= 1.0 - counts / (counts.sum() or 1.0)
            self._add_block(out, tokens, shard, block, rows, counts, power=2)
        self.pairs.close_counts(tokens)
        return out

    def marginals(self, w: FloatArray, shard: ChainShard) -> FloatArray:
        """Probability of each label at each token, shape (n_tokens, n_labels)."""
        self._check_room(shard, self._tables[1], 1)
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        out = np.empty((shard.n_parts, self.n_labels))
        for block in self._blocks(shard, self._block_cells):
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

    # --- decoding -----------------------------------------------------------------------------------------

    @abstractmethod
    def _viterbi(
        self, moves: MoveScores, offsets: IntArray, scores: FloatArray, labels: IntArray, best: FloatArray
    ) -> None:
        """Write the best labels of a block, and their scores; may overwrite those of tokens."""

    def best(
        self, w: FloatArray, shard: ChainShard, cost: FloatArray | None = None, within: bool = False
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: labels of all tokens, shape (n_tokens,), and scores, shape (n_sequences,)."""
        self._check_room(shard, self._tables[0])
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        labels, best = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for block in self._blocks(shard, self._block_cells):
            first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
            offsets, scores = self._scores_of(pairs, shard, block, within and shard.is_partly_known, cost)
            self._viterbi(moves, offsets, scores, labels[first:last], best[block])
        return labels, best

    def cost(self, shard: ChainShard, outputs: IntArray) -> FloatArray:
        """Hamming cost: the number of tokens labelled differently."""
        return wrong_tokens(self._labels_of(shard, None), outputs, shard.offsets[:-1])

    @abstractmethod
    def _n_best(self, moves: MoveScores, scores: FloatArray, labels: IntArray, best: FloatArray) -> None:
        """Write the best labellings of one sequence, and their scores; -inf where there are fewer."""

    def n_best(self, w: FloatArray, shard: ChainShard, n: int) -> list[tuple[IntArray, FloatArray]]:
        """For each sequence, its highest-scoring labellings (at most n, length) and their scores, falling."""
        if n < 1:
            raise DataError(f"n={n}: expected at least 1")
        self._check_room(shard, 2 * n)
        moves, pairs = self._move_scores(w), self.pairs.open(w, shard.rows)
        results = []
        for s in range(len(shard)):
            _, scores = self._scores_of(pairs, shard, slice(s, s + 1), within=False)
            labels, best = np.empty((n, scores.shape[0]), np.int64), np.empty(n)
            self._n_best(moves, scores, labels, best)
            results.append((labels[best > -np.inf], best[best > -np.inf]))
        return results
