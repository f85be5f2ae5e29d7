"""Semi-Markov chains (Sarawagi & Cohen 2004): sums over all segmentations, and the best ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.kernels.vectors import lanes_for
from structune.structure import Array, FloatArray, HessianProduct, IntArray
from structune.tagging.kernels import segments as kernels
from structune.tagging.structure.attribute_weights import OpenWeights
from structune.tagging.structure.costs import token_costs, wrong_tokens
from structune.tagging.structure.segment_shard import SegmentShard
from structune.tagging.structure.segment_space import SegmentSpace
from structune.tagging.structure.shard import check_room, runs_of_sequences

_BLOCK_CELLS = 1 << 16  # tokens x segments that end there, which kernels work on at a time


@dataclass(frozen=True)
class Moves:
    """Scores of transitions (L, L), starts and ends (L,); and exp(transition - peak), a peak a label."""

    transition: Array
    start: Array
    end: Array
    potentials: Array
    peaks: FloatArray

    @property
    def of_sums(self) -> tuple[Any, ...]:
        """What kernels of sums ask for, but starts and ends."""
        lanes = lanes_for(self.transition.dtype, 8)
        return self.transition, self.potentials, self.peaks, lanes


@dataclass
class Block:
    """Some sequences of a shard under some weights: cells as the kernels have them, and forward sums.

    Attributes
    ----------
    sequences, tokens, spans : slice
        Of the shard.
    offsets, span_offsets : ndarray of int64
        Of the block.
    cells : ndarray, shape (n_tokens, n_columns)
        Scores of segments, and after the forward pass their shares.
    peaks : ndarray, shape (n_sequences,)
        What was taken off all scores of a sequence.
    """

    sequences: slice
    tokens: slice
    spans: slice
    offsets: IntArray
    span_offsets: IntArray
    cells: Array
    peaks: FloatArray
    alpha: Array
    log_z: Array


class SemiMarkovChain(SegmentSpace):
    """A semi-Markov chain: segmentations scored by attributes of tokens and segments, and by transitions.

    Build one with `build`. Time grows as tokens x (longest segments of all labels + labels^2).

    Parameters
    ----------
    labels : sequence of str
        Of segments, and "O" if tokens may be outside.
    longest : ndarray of int64, shape (n_labels,)
        Tokens that segments of each label have at most; 1 for "O".
    attributes : three sequences of str
        Names of attributes of tokens, of last tokens, and of segments; the text before the first ``=`` is the
        group.
    keys : three ndarrays of int64
        Sorted ``attribute * n + tag`` of the pairs that have a weight, n the number of tags; with labels in
        place of tags for last tokens and segments.
    reader : SegmentReader
        What makes attributes of segments.
    boundary : bool
        Whether starts and ends have weights.
    """

    capabilities = frozenset(
        {
            *("log_partition", "hessian", "best", "cost"),
            *("complex", "n_best", "marginals"),
        }
    )

    # --- inference ----------------------------------------------------------------------------------------

    def _moves(self, w: Array) -> Moves:
        n = self.n_labels
        transition = np.ascontiguousarray(w[self._transitions].reshape(n, n))
        start, end = np.zeros((2, n), w.dtype)
        if self.boundary:
            start[:], end[:] = w[self._starts], w[self._ends]
        peaks = transition.real.max(axis=0)
        return Moves(transition, start, end, np.exp(transition - peaks), np.ascontiguousarray(peaks))

    def _open(self, w: Array) -> tuple[OpenWeights, ...]:
        w = np.ascontiguousarray(w, np.result_type(w, np.float64))
        return tuple(table.open(w[part]) for table, part in zip(self.tables, self._parts, strict=True))

    def _open_counts(self, out: Array) -> tuple[OpenWeights, ...]:
        return tuple(
            table.open_counts(out[part]) for table, part in zip(self.tables, self._parts, strict=True)
        )

    def _close_counts(self, counts: tuple[OpenWeights, ...]) -> None:
        for table, count in zip(self.tables, counts, strict=True):
            table.close_counts(count)

    def _blocks(self, shard: SegmentShard) -> Iterator[slice]:
        """Runs of sequences with about as many cells as the caches hold."""
        return runs_of_sequences(shard.offsets, max(1, _BLOCK_CELLS // int(self.longest.sum())))

    def memory_of(self, n: int, n_best: int = 1) -> float:
        """Bytes that a sequence of n tokens takes, with so many of its best segmentations."""
        n_cells = int(self.longest.sum()) + 2 * len(self.tags) + (5 * n_best - 1) * self.n_labels
        return 8.0 * n * n_cells

    def _check_room(self, shard: SegmentShard, n_best: int = 1) -> None:
        n = int(np.max(shard.sizes(), initial=0))
        check_room(self.memory_of(n, n_best), n, self.n_labels)

    def _fill(
        self,
        opened: tuple[OpenWeights, ...],
        w: Array,
        shard: SegmentShard,
        block: slice,
        shift: bool = True,
        cost: FloatArray | None = None,
    ) -> Block:
        """The block with scores in its cells.

        With `shift`, the largest score of each token is taken off: small numbers are exact. A wrong
        tag is worth so much `cost` more.
        """
        tokens = slice(int(shard.offsets[block.start]), int(shard.offsets[block.stop]))
        span_offsets = shard.span_offsets[tokens.start : tokens.stop + 1]
        spans = slice(int(span_offsets[0]), int(span_offsets[-1]))
        offsets = shard.offsets[block.start : block.stop + 1] - tokens.start
        scores, lasts, whole = (
            table.scores(each, rows, part.start, part.stop)
            for table, each, rows, part in zip(
                self.tables, opened, (shard.tokens, shard.lasts, shard.spans), (tokens, tokens, spans),
                strict=True,
            )
        )  # fmt: skip
        peaks = np.zeros(offsets.size - 1)
        if cost is not None:
            own = self._tags_of(shard, None)[tokens]
            scores += token_costs(cost[block], np.diff(offsets), own, len(self.tags))
        if shift:
            highest = scores.real.max(axis=1)
            scores -= highest[:, None]
            peaks = np.add.reduceat(highest, offsets[:-1])
        cells = np.zeros((offsets[-1], int(self.longest.sum())), scores.dtype)
        found = Block(
            block, tokens, spans, offsets, span_offsets - spans.start, cells, peaks,
            np.empty_like(lasts), np.empty(offsets.size - 1, scores.dtype),
        )  # fmt: skip
        kernels.fill(
            offsets, scores, lasts, self._length_scores(w), found.span_offsets,
            shard.span_lengths[spans], whole, self.begin, self.longest, cells,
        )  # fmt: skip
        return found

    def _forward(
        self, opened: tuple[OpenWeights, ...], w: Array, moves: Moves, shard: SegmentShard, block: slice
    ) -> Block:
        found = self._fill(opened, w, shard, block)
        kernels.forward(
            found.offsets, self.longest, *moves.of_sums, moves.start, moves.end,
            found.cells, found.alpha, found.log_z,
        )  # fmt: skip
        return found

    def _probabilities(
        self, moves: Moves, block: Block, weights: FloatArray, out: Array
    ) -> tuple[Array, Array, Array]:
        """Weighted probabilities of segments to `out`; summed starts, ends and transitions."""
        n, dtype = self.n_labels, block.alpha.dtype
        starts, ends, transitions = np.zeros(n, dtype), np.zeros(n, dtype), np.zeros((n, n), dtype)
        kernels.probabilities(
            block.offsets, self.longest, *moves.of_sums, moves.end, block.alpha, block.cells,
            weights[block.sequences], out, starts, ends, transitions,
        )  # fmt: skip
        return starts, ends, transitions

    def _rows(self, shard: SegmentShard, block: Block, cells: Array) -> tuple[Array, Array, Array]:
        """Counts of segments as counts of tags, of labels that end at tokens, and of labels of spans."""
        n_tokens, n_spans = cells.shape[0], block.spans.stop - block.spans.start
        rows = tuple(
            np.zeros((n, table.n_labels), cells.dtype)
            for n, table in zip((n_tokens, n_tokens, n_spans), self.tables, strict=True)
        )
        kernels.spread(
            block.offsets, cells, block.span_offsets, shard.span_lengths[block.spans],
            self.begin, self.longest, *rows,
        )  # fmt: skip
        return rows[0], rows[1], rows[2]

    def _add_rows(
        self,
        counts: tuple[OpenWeights, ...],
        shard: SegmentShard,
        block: Block,
        rows: tuple[Array, Array, Array],
        power: int = 1,
    ) -> None:
        for table, count, of, first, each in zip(
            self.tables, counts, (shard.tokens, shard.lasts, shard.spans),
            (block.tokens.start, block.tokens.start, block.spans.start), rows, strict=True,
        ):  # fmt: skip
            table.add_counts(count, of, first, each, power)

    def _add_lengths(self, out: Array, per_column: Array) -> None:
        known = self._length_of >= 0
        np.add.at(out[self._lengths], self._length_of[known], per_column[known])

    def _add_moves(self, out: Array, starts: Array, ends: Array, transitions: Array) -> None:
        out[self._transitions] += transitions.reshape(-1)
        if self.boundary:
            out[self._starts] += starts
            out[self._ends] += ends

    def log_partition(
        self,
        w: Array,
        shard: SegmentShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
    ) -> Array:
        if within:
            raise self._cannot("within")
        self._check_room(shard)
        weights = shard.weights if weights is None else weights
        moves, opened = self._moves(w), self._open(w)
        counts = None if expected is None else self._open_counts(expected)
        log_z = np.empty(len(shard), np.result_type(w, np.float64))
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            log_z[sequences] = block.log_z + block.peaks
            if expected is not None and counts is not None:
                found = self._probabilities(moves, block, weights, block.cells)
                self._add_rows(counts, shard, block, self._rows(shard, block, block.cells))
                self._add_lengths(expected, block.cells.sum(axis=0))
                self._add_moves(expected, *found)
        if counts is not None:
            self._close_counts(counts)
        return log_z

    def linearize(self, w: FloatArray, shard: SegmentShard, within: bool = False) -> HessianProduct:
        """The map v -> Cov[F] v at `w`; keeps the shares of all segments for as long as it lives."""
        if within:
            raise self._cannot("within")
        moves, opened = self._moves(w), self._open(w)
        blocks = [self._forward(opened, w, moves, shard, block) for block in self._blocks(shard)]

        def product(v: FloatArray) -> FloatArray:
            out, n = np.zeros(self.n_weights), self.n_labels
            direction, v_opened, counts = self._moves(v), self._open(v), self._open_counts(out)
            for block in blocks:
                cells = self._fill(v_opened, v, shard, block.sequences, shift=False).cells
                starts, ends, transitions = np.zeros(n), np.zeros(n), np.zeros((n, n))
                kernels.tangent(
                    block.offsets, self.longest, *moves.of_sums, moves.end, block.alpha, block.cells,
                    shard.weights[block.sequences], direction.transition, direction.start, direction.end,
                    cells, starts, ends, transitions,
                )  # fmt: skip
                self._add_rows(counts, shard, block, self._rows(shard, block, cells))
                self._add_lengths(out, cells.sum(axis=0))
                self._add_moves(out, starts, ends, transitions)
            self._close_counts(counts)
            return out

        return product

    def variance(self, w: FloatArray, shard: SegmentShard) -> FloatArray:
        moves, opened, out = self._moves(w), self._open(w), np.zeros(self.n_weights)
        counts = self._open_counts(out)
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            found = self._probabilities(moves, block, np.ones(len(shard)), block.cells)
            weights = np.repeat(shard.weights[sequences], np.diff(block.offsets))[:, None]
            tokens, lasts, spans = (_bernoulli(rows) for rows in self._rows(shard, block, block.cells))
            of_span = np.repeat(weights, np.diff(block.span_offsets), axis=0)
            self._add_rows(counts, shard, block, (tokens * weights, lasts * weights, spans * of_span), 2)
            self._add_lengths(out, (_bernoulli(block.cells) * weights).sum(axis=0))
            mean = float(shard.weights[sequences].mean())
            self._add_moves(out, *(mean * each * (1.0 - each / (each.sum() or 1.0)) for each in found))
        self._close_counts(counts)
        return out

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: SegmentShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: tags of all tokens, shape (n_tokens,), and scores, shape (n_sequences,)."""
        self._check_room(shard)
        moves, opened = self._moves(w), self._open(w)
        tags, scores = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for sequences in self._blocks(shard):
            block = self._fill(opened, w, shard, sequences, cost=cost)
            kernels.best(
                block.offsets, self.longest, moves.transition, moves.start, moves.end, self.begin,
                block.cells, tags[block.tokens], scores[sequences],
            )  # fmt: skip
            scores[sequences] += block.peaks
        return tags, scores

    def cost(self, shard: SegmentShard, outputs: IntArray) -> FloatArray:
        """Hamming cost: the number of tokens with another tag."""
        return wrong_tokens(self._tags_of(shard, None), outputs, shard.offsets[:-1])

    def n_best(self, w: FloatArray, shard: SegmentShard, n: int) -> list[tuple[IntArray, FloatArray]]:
        """For each sequence, tags of its best segmentations (at most n, length) and scores, falling."""
        if n < 1:
            raise DataError(f"n={n}: expected at least 1")
        self._check_room(shard, n)
        moves, opened, results = self._moves(w), self._open(w), []
        for s in range(len(shard)):
            block = self._fill(opened, w, shard, slice(s, s + 1))
            tags, scores = np.empty((n, block.cells.shape[0]), np.int64), np.empty(n)
            kernels.n_best(
                self.longest, moves.transition, moves.start, moves.end, self.begin, block.cells, tags, scores
            )
            found = scores > -np.inf
            results.append((tags[found], scores[found] + block.peaks[0]))
        return results

    def marginals(self, w: FloatArray, shard: SegmentShard) -> FloatArray:
        """Probability of each tag at each token, shape (n_tokens, n_tags)."""
        self._check_room(shard)
        moves, opened = self._moves(w), self._open(w)
        out = np.empty((shard.n_parts, len(self.tags)))
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            self._probabilities(moves, block, np.ones(len(shard)), block.cells)
            out[block.tokens] = self._rows(shard, block, block.cells)[0]
        return out

    def segment_probability(
        self, w: FloatArray, shard: SegmentShard, sequence: int, start: int, stop: int, label: str
    ) -> float:
        """Probability that tokens ``start:stop`` of a sequence are a segment of this label.

        Raises
        ------
        DataError
            A label outside the set, or a segment that leaves the sequence.
        """
        one = shard.take([sequence])
        if not 0 <= start < stop <= one.n_parts:
            raise DataError(
                f"sequence {sequence} has {one.n_parts} tokens: found a segment from {start} to {stop}"
            )
        if label not in self.labels:
            raise DataError(f"the label {label!r} is not among {self.labels}")
        y = self.labels.index(label)
        if stop - start > self.longest[y]:
            return 0.0
        moves = self._moves(w)
        block = self._forward(self._open(w), w, moves, one, slice(0, 1))
        self._probabilities(moves, block, np.ones(1), block.cells)
        return float(block.cells[stop - 1, self.longest[:y].sum() + stop - start - 1])


def _bernoulli(probabilities: Array) -> Any:
    """Variances of what happens with these probabilities."""
    return np.maximum(probabilities * (1.0 - probabilities), 0.0)
