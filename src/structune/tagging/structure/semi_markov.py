"""Semi-Markov chains (Sarawagi & Cohen 2004): sums over all segmentations, and the best ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy

from structune.errors import DataError
from structune.kernels.vectors import lanes_for
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    Structure,
    check_weights,
    offsets_of,
    template_of,
)
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.segments import LAST, LENGTH, KnownAttributes, SegmentReader, Tokens
from structune.tagging.features.strings import Names, Strings
from structune.tagging.kernels import segments as kernels
from structune.tagging.structure.segment_labels import OUTSIDE, Segmentation, read_segments, tags_of
from structune.tagging.structure.shard import (
    AttributeWeights,
    OpenWeights,
    SegmentShard,
    check_room,
    find_keys,
    order_attributes,
    runs_of_sequences,
    token_costs,
    wrong_tokens,
)

_MOST_LABELS = 4096
_MOST_COLUMNS = 1 << 20
_LENGTHS = ("1", "2", "3", "4", "5", "6-7", "8-11", "12-19", "20-39", "40+")
_LENGTH_STARTS = (1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
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
        return self.transition, self.potentials, self.peaks, lanes_for(np.float64, 8)


@dataclass
class Block:
    """Some sequences of a shard under some weights: cells as the kernels have them, and forward sums."""

    sequences: slice  # of the shard, as are tokens and spans
    tokens: slice
    spans: slice
    offsets: IntArray  # of the block
    span_offsets: IntArray
    cells: Array  # scores of segments, (n_tokens, n_columns), and after the forward pass their shares
    peaks: FloatArray  # what was taken off all scores of a sequence
    alpha: Array
    log_z: Array


class SemiMarkovChain(Structure):
    """A semi-Markov chain: segmentations scored by attributes of tokens and segments, and by transitions.

    An output is the tag of each token: ``O`` outside, or ``B-x`` and ``I-x`` for the first token of a segment
    with the label x and its others. The weights are, in this order: of attributes of tokens, by tag; of last
    tokens of segments and of whole segments, by label; of lengths; starts, ends and transitions. Build one
    with `build`. Time grows as tokens x (longest segments of all labels + labels^2).

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

    name = "semi-Markov chain"
    capabilities = frozenset(("log_partition", "hessian", "best", "cost", "complex", "n_best", "marginals"))

    def __init__(
        self,
        labels: Sequence[str],
        longest: IntArray,
        attributes: Sequence[Sequence[str]],
        keys: Sequence[IntArray],
        reader: SegmentReader,
        boundary: bool = True,
    ) -> None:
        self.labels, self.longest, self.attributes = list(labels), longest, attributes
        self.reader, self.boundary = reader, boundary
        n_labels = len(self.labels)
        if n_labels > _MOST_LABELS:
            raise DataError(
                f"found {n_labels} labels, expected at most {_MOST_LABELS}: tables grow as their square"
            )
        if max(int(longest.max()), int(longest.sum())) > _MOST_COLUMNS:  # the sum may overflow
            raise DataError(
                f"found {n_labels} labels with segments of up to {longest.max()} tokens, expected at most "
                f"{_MOST_COLUMNS} together: memory grows with them (max_length)"
            )
        self.tags, self.begin = tags_of(self.labels, longest)
        self.tables = tuple(
            AttributeWeights(k, len(each), n)
            for k, each, n in zip(keys, attributes, (len(self.tags), n_labels, n_labels), strict=True)
        )
        names, length_of = dict[str, int](), list[int]()  # of each column of cells; -1 outside
        for label, n in zip(self.labels, longest.tolist(), strict=True):
            for bucket in np.searchsorted(_LENGTH_STARTS, np.arange(1, n + 1), side="right") - 1:
                name = f"{LENGTH}{_LENGTHS[bucket]} : {label}"
                length_of.append(-1 if label == OUTSIDE else names.setdefault(name, len(names)))
        self._length_of, self._length_names = np.array(length_of, np.int64), list(names)
        sizes = (
            *(table.size for table in self.tables),
            len(self._length_names), n_labels * boundary, n_labels * boundary, n_labels**2,
        )  # fmt: skip
        ends = np.concatenate(([0], np.cumsum(sizes)))
        *parts, self._lengths, self._starts, self._ends, self._transitions = (
            slice(int(a), int(b)) for a, b in pairwise(ends)
        )
        self._parts = tuple(parts)

    @classmethod
    def build(
        cls,
        inputs: AttributeTable,
        outputs: Any,
        *,
        max_length: int | None = None,
        boundary: bool = True,
        reader: SegmentReader | None = None,
    ) -> Self:
        """The chain over the attributes, labels and lengths of a training set.

        Weights are of what occurs in it: attributes of tokens with the tags that they have, attributes of its
        segments with their labels; and all transitions.

        Parameters
        ----------
        inputs : AttributeTable
        outputs : sequence of sequences of str
            Labels in the scheme BIO or BIOES.
        max_length : int, optional
            Tokens in a segment, at most; by default as many as the longest of its label has.
        reader : SegmentReader, optional
            What makes attributes of segments; by default with words where the table has them.

        Raises
        ------
        DataError
            Empty training set, a segment longer than `max_length`, or anything `encode` refuses.
        """
        if not len(inputs):
            raise DataError("the training set is empty: expected at least one sequence")
        inputs = inputs.used()
        found = read_segments(outputs, inputs.lengths)
        if not found.types:
            raise DataError("no token has a label: expected at least one")
        reader = SegmentReader.of(inputs.names) if reader is None else reader
        labels = sorted(set(found.types))
        ids = {label: y for y, label in enumerate(labels)}
        of_segment = np.array([ids[kind] for kind in found.types])
        sizes = found.stops - found.starts
        # By default a label's segments are as long, at most, as its longest in training.
        longest = np.zeros(len(labels), np.int64)
        np.maximum.at(longest, of_segment, sizes)
        if max_length is not None:
            _refuse_longer(found, np.full(len(found.types), max_length))
            longest[:] = max_length
            longest[[label == OUTSIDE for label in labels]] = 1
        tags, begin = tags_of(labels, longest)
        rows = np.repeat(np.arange(inputs.n_tokens), np.diff(inputs.indptr))
        of_token = _tags(begin, of_segment, found)[rows]
        tokens = np.unique(inputs.indices * np.int64(len(tags)) + of_token)
        inner = np.array([kind != OUTSIDE for kind in found.types])
        words, n = reader.tokens(inputs), len(labels)
        last_names, last, span = _last_names(words), dict[str, int](), dict[str, int]()
        last_pairs, span_pairs = set[int](), set[int]()
        starts, stops = found.starts[inner], found.stops[inner]
        # Weights are of what occurs: each name gets a number when it is first met, and pairs are keys as
        # elsewhere.
        seen = zip(
            stops.tolist(), of_segment[inner].tolist(), reader.attributes(words, starts, stops), strict=True
        )
        for stop, y, names_of in seen:
            if words.has_words:
                last_pairs.add(last.setdefault(last_names[stop - 1], len(last)) * n + y)
            span_pairs.update(span.setdefault(name, len(span)) * n + y for name in names_of)
        ordered = [
            _ordered(inputs.names, tokens, len(tags)),
            _ordered(list(last), np.array(sorted(last_pairs), np.int64), n),
            _ordered(list(span), np.array(sorted(span_pairs), np.int64), n),
        ]
        names, keys = [each for each, _ in ordered], [each for _, each in ordered]
        return cls(labels, longest, names, keys, reader, boundary)

    # --- vocabulary ---------------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    @property
    def n_weights(self) -> int:
        return self._transitions.stop

    def weight_names(self) -> list[str]:
        names: list[str] = []
        for table, attributes, labels in zip(
            self.tables, self.attributes, (self.tags, self.labels, self.labels), strict=True
        ):
            pairs = zip(*np.divmod(table.keys, table.n_labels), strict=True)
            names += [f"{attributes[a]} : {labels[y]}" for a, y in pairs]
        ends = (*(f"(start) -> {y}" for y in self.labels), *(f"{y} -> (end)" for y in self.labels))
        return [
            *names,
            *self._length_names,
            *(ends if self.boundary else ()),
            *(f"{x} -> {y}" for x in self.labels for y in self.labels),
        ]

    def groups(self) -> Groups:
        """One group per template, of tokens and of segments (see `template_of`), and the transitions.

        Starts and ends go with the transitions: all are weights between neighbours.
        """
        templates = [
            *(template_of(names[a]) for table, names in zip(self.tables, self.attributes, strict=True)
              for a in (table.keys // table.n_labels).tolist()),
            *(template_of(name) for name in self._length_names),
        ]  # fmt: skip
        return Groups.by_name([*templates, *["transitions"] * (self.n_weights - len(templates))])

    # --- encoding -----------------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> tuple[Names, Names]:
        """The attributes of tokens and of last tokens, to be looked up."""
        return Names.of(self.attributes[0]), Names.of(self.attributes[1])

    @cached_property
    def _known(self) -> KnownAttributes:
        return KnownAttributes(self.attributes[2], self.reader.gazetteers)

    def encode(self, inputs: AttributeTable, outputs: Any = None, weights: Any = None) -> SegmentShard:
        """Lay out sequences as a shard; attributes outside the vocabulary are dropped.

        Raises
        ------
        DataError
            An empty sequence, ragged lengths, labels of no scheme, segments that are longer than the longest
            or of an unknown label, or weights that are negative, not finite or too few. Names the sequence.
        """
        empty = np.flatnonzero(inputs.lengths <= 0)
        if empty.size:
            raise DataError(f"sequence {empty[0]} is empty: expected at least one token")
        offsets = offsets_of(inputs.lengths)
        tags = np.empty(0, np.int64) if outputs is None else self._encode_tags(outputs, inputs.lengths)
        example_weights, read = check_weights(weights, len(inputs)), outputs is None
        columns = self._names[0].find(Strings.of(inputs.names))[inputs.indices]
        tokens = self.reader.tokens(inputs)
        spans = self.reader.spans(tokens, self._known, int(self.longest.max()))
        lasts = self._names[1].find(Strings.of(_last_names(tokens)))
        return SegmentShard(
            example_weights,
            offsets,
            self.tables[0].layout(inputs.indptr, columns, inputs.values, read),
            self.tables[1].layout(np.arange(lasts.size + 1), lasts, None, read),
            self.tables[2].layout(spans.indptr, spans.columns, None, read),
            spans.offsets,
            spans.lengths,
            tags,
        )

    def _encode_tags(self, outputs: Any, lengths: IntArray) -> IntArray:
        found = read_segments(outputs, lengths)
        ids = {label: y for y, label in enumerate(self.labels)}
        of_segment = np.array([ids.get(kind, -1) for kind in found.types], dtype=np.int64)
        for j in np.flatnonzero(of_segment < 0)[:1]:
            s, start, _ = found.place(int(j))
            raise DataError(
                f"sequence {s}, token {start}: found a segment of {found.types[j]!r}, expected one of "
                f"{self.labels}"
            )
        _refuse_longer(found, self.longest[of_segment])
        return _tags(self.begin, of_segment, found)

    def with_reader(self, **changes: Any) -> Self:
        """The chain with another function or other gazetteers, which make attributes of segments."""
        other = copy(self)
        other.reader = replace(self.reader, **changes)
        other.__dict__.pop("_known", None)  # the gazetteers' entries are among these
        return other

    # --- scores and features ------------------------------------------------------------------------------

    def features(
        self,
        shard: SegmentShard,
        out: FloatArray,
        weights: FloatArray | None = None,
        outputs: IntArray | None = None,
    ) -> None:
        out += self.feature_rows(shard, outputs).T @ (shard.weights if weights is None else weights)

    def feature_rows(self, shard: SegmentShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        tags = self._tags_of(shard, outputs)
        starts = np.flatnonzero(self.begins[tags] >= 0)
        stops = np.append(starts[1:], tags.size)
        labels, sequences = self.begins[tags[starts]], np.repeat(np.arange(len(shard)), shard.sizes())
        ends = np.repeat(np.arange(shard.n_parts), np.diff(shard.span_offsets))
        # A segment's key is (last token) * step + length: `find_keys` finds those that have attributes of
        # their own.
        step = int(self.longest.max()) + 1
        places = find_keys(ends * step + shard.span_lengths, (stops - 1) * step + stops - starts)
        known = np.flatnonzero(places >= 0)
        found = [
            (sequences, self._parts[0], self.tables[0].observed(shard.tokens, tags)),
            (sequences[stops - 1], self._parts[1],
             self.tables[1].observed(shard.lasts.take(stops - 1), labels)),
            (sequences[starts[known]], self._parts[2],
             self.tables[2].observed(shard.spans.take(places[known]), labels[known])),
        ]  # fmt: skip
        # Columns of cells: those of label y begin at the sum of the longest lengths before it.
        first_columns = np.cumsum(self.longest) - self.longest
        lengths = self._length_of[first_columns[labels] + stops - starts - 1]
        has_length = lengths >= 0
        later = np.flatnonzero(sequences[starts[1:]] == sequences[starts[:-1]]) + 1
        rows = [sequences[starts[has_length]], sequences[starts[later]]]
        columns = [
            self._lengths.start + lengths[has_length],
            self._transitions.start + labels[later - 1] * self.n_labels + labels[later],
        ]
        if self.boundary:
            rows += [np.arange(len(shard))] * 2
            columns.append(self._starts.start + self.begins[tags[shard.offsets[:-1]]])
            columns.append(self._ends.start + labels[np.isin(stops, shard.offsets[1:])])
        ones = np.ones(sum(map(len, rows)))
        table = scipy.sparse.coo_array(
            (
                np.concatenate([values for _, _, (_, _, values) in found] + [ones]),
                (
                    np.concatenate([of[row] for of, _, (row, _, _) in found] + rows),
                    np.concatenate([part.start + pair for _, part, (_, pair, _) in found] + columns),
                ),
            ),
            shape=(len(shard), self.n_weights),
        )
        return table.tocsr()

    @cached_property
    def begins(self) -> IntArray:
        """The label that begins with a tag, shape (n_tags,); -1 for tags within segments."""
        labels = np.full(len(self.tags), -1)
        labels[self.begin] = np.arange(self.n_labels)
        return labels

    def _tags_of(self, shard: SegmentShard, outputs: Any) -> IntArray:
        tags = shard.tags if outputs is None else np.asarray(outputs)
        if tags.size != shard.n_parts:
            raise DataError("the shard has no labels")
        return tags

    # --- inference ----------------------------------------------------------------------------------------

    def _moves(self, w: Array) -> Moves:
        n = self.n_labels
        transition = np.ascontiguousarray(w[self._transitions].reshape(n, n))
        # Without boundary weights, starts and ends score 0.
        start, end = np.zeros((2, n), w.dtype)
        if self.boundary:
            start[:], end[:] = w[self._starts], w[self._ends]
        # A peak a label, not one for all: potentials to each label then have a largest of 1.
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

    def _fill(
        self,
        opened: tuple[OpenWeights, ...],
        w: Array,
        shard: SegmentShard,
        block: slice,
        cost: FloatArray | None = None,
    ) -> Block:
        """The block with scores in its cells; a wrong tag is worth so much `cost` more."""
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
        if cost is not None:
            own = self._tags_of(shard, None)[tokens]
            scores += token_costs(cost[block], np.diff(offsets), own, len(self.tags))
        # Whatever the segmentation, each token has one tag: its maximum comes off all scores of the sequence,
        # as small numbers are exact.
        highest = scores.real.max(axis=1)
        scores -= highest[:, None]
        peaks = np.add.reduceat(highest, offsets[:-1])
        cells = np.zeros((offsets[-1], int(self.longest.sum())), scores.dtype)
        found = Block(
            block, tokens, spans, offsets, span_offsets - spans.start, cells, peaks,
            np.empty_like(lasts), np.empty(offsets.size - 1, scores.dtype),
        )  # fmt: skip
        kernels.fill(
            offsets, scores, lasts, np.append(w[self._lengths], w.dtype.type(0.0))[self._length_of],
            found.span_offsets, shard.span_lengths[spans], whole, self.begin, self.longest, cells,
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

    def _probabilities(self, moves: Moves, block: Block, weights: FloatArray) -> tuple[Array, Array, Array]:
        """Put weighted probabilities of segments in the cells; summed starts, ends and transitions."""
        n, dtype = self.n_labels, block.alpha.dtype
        starts, ends, transitions = np.zeros(n, dtype), np.zeros(n, dtype), np.zeros((n, n), dtype)
        kernels.probabilities(
            block.offsets, self.longest, *moves.of_sums, moves.end, block.alpha, block.cells,
            weights[block.sequences], block.cells, starts, ends, transitions,
        )  # fmt: skip
        return starts, ends, transitions

    def _rows(self, shard: SegmentShard, block: Block, cells: Array) -> tuple[Array, Array, Array]:
        """Counts of segments as counts of tags, of labels that end at tokens, and of labels of spans."""
        n_tokens, n_spans = cells.shape[0], block.spans.stop - block.spans.start
        rows, lasts, spans = (
            np.zeros((n, table.n_labels), cells.dtype)
            for n, table in zip((n_tokens, n_tokens, n_spans), self.tables, strict=True)
        )
        kernels.spread(
            block.offsets, cells, block.span_offsets, shard.span_lengths[block.spans],
            self.begin, self.longest, rows, lasts, spans,
        )  # fmt: skip
        return rows, lasts, spans

    def _add(
        self,
        out: Array,
        counts: tuple[OpenWeights, ...],
        shard: SegmentShard,
        block: Block,
        rows: tuple[Array, Array, Array],
        lengths: Array,
        moves: tuple[Array, Array, Array],
        power: int = 1,
    ) -> None:
        """Add counts of a block: rows as of `_rows`, columns of cells, and starts, ends and transitions."""
        first = block.tokens.start, block.tokens.start, block.spans.start
        of = shard.tokens, shard.lasts, shard.spans
        for k, table in enumerate(self.tables):
            table.add_counts(counts[k], of[k], first[k], rows[k], power)
        known = self._length_of >= 0
        np.add.at(out[self._lengths], self._length_of[known], lengths[known])
        out[self._transitions] += moves[2].reshape(-1)
        if self.boundary:
            out[self._starts] += moves[0]
            out[self._ends] += moves[1]

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
        check_room(shard, self.memory_of, self.n_labels)
        weights = shard.weights if weights is None else weights
        moves, opened = self._moves(w), self._open(w)
        counts = None if expected is None else self._open_counts(expected)
        log_z = np.empty(len(shard), np.result_type(w, np.float64))
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            log_z[sequences] = block.log_z + block.peaks
            if expected is not None and counts is not None:
                found = self._probabilities(moves, block, weights)
                rows, lengths = self._rows(shard, block, block.cells), block.cells.sum(axis=0)
                self._add(expected, counts, shard, block, rows, lengths, found)
        if counts is not None:
            self._close_counts(counts)
        return log_z

    def variance(self, w: FloatArray, shard: SegmentShard) -> FloatArray:
        moves, opened, out = self._moves(w), self._open(w), np.zeros(self.n_weights)
        counts = self._open_counts(out)
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            found = self._probabilities(moves, block, np.ones(len(shard)))
            weights = np.repeat(shard.weights[sequences], np.diff(block.offsets))[:, None]
            tokens, lasts, spans = (_bernoulli(rows) for rows in self._rows(shard, block, block.cells))
            # Spans have the weight of the sequence of the token that they end with.
            of_span = np.repeat(weights, np.diff(block.span_offsets), axis=0)
            rows = tokens * weights, lasts * weights, spans * of_span
            lengths = (_bernoulli(block.cells) * weights).sum(axis=0)
            mean = float(shard.weights[sequences].mean())
            starts, ends, transitions = (mean * each * (1.0 - each / (each.sum() or 1.0)) for each in found)
            self._add(out, counts, shard, block, rows, lengths, (starts, ends, transitions), 2)
        self._close_counts(counts)
        return out

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: SegmentShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: tags of all tokens, shape (n_tokens,), and scores, shape (n_sequences,)."""
        check_room(shard, self.memory_of, self.n_labels)
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
        check_room(shard, lambda length: self.memory_of(length, n), self.n_labels)
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
        check_room(shard, self.memory_of, self.n_labels)
        moves, opened = self._moves(w), self._open(w)
        out = np.empty((shard.n_parts, len(self.tags)))
        for sequences in self._blocks(shard):
            block = self._forward(opened, w, moves, shard, sequences)
            self._probabilities(moves, block, np.ones(len(shard)))
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
        # Segments that are longer than any in training have no cell, and no probability.
        if stop - start > self.longest[y]:
            return 0.0
        moves = self._moves(w)
        block = self._forward(self._open(w), w, moves, one, slice(0, 1))
        self._probabilities(moves, block, np.ones(1))
        return float(block.cells[stop - 1, self.longest[:y].sum() + stop - start - 1])


def _bernoulli(probabilities: Array) -> Any:
    """Variances of what happens with these probabilities."""
    return np.maximum(probabilities * (1.0 - probabilities), 0.0)


def _tags(begin: IntArray, labels: IntArray, found: Segmentation) -> IntArray:
    """The tag of each token."""
    tags = np.repeat(begin[labels] + 1, found.stops - found.starts)
    tags[found.starts] -= 1
    return tags


def _last_names(tokens: Tokens) -> list[str]:
    return [LAST + word for word in tokens.words] if tokens.has_words else [""] * len(tokens.words)


def _ordered(names: Sequence[str], keys: IntArray, n_labels: int) -> tuple[list[str], IntArray]:
    """Attributes in the order that is fast, and their pairs."""
    order, keys = order_attributes(keys, len(names), n_labels)
    return [names[a] for a in order.tolist()], keys


def _refuse_longer(found: Segmentation, most: IntArray) -> None:
    """Raise a `DataError` for the first segment of more tokens than `most` has for it."""
    for j in np.flatnonzero(found.stops - found.starts > most)[:1].tolist():
        s, start, stop = found.place(j)
        raise DataError(
            f"sequence {s}, tokens {start} to {stop - 1}: found a segment of {found.types[j]!r} with "
            f"{stop - start} tokens, expected at most {most[j]} (max_length)"
        )
