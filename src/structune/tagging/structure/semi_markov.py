"""Semi-Markov chains (Sarawagi & Cohen 2004): sums over all segmentations, and the best ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

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
from structune.tagging.features.groups import templates_of
from structune.tagging.features.segments import LAST, LENGTH, KnownAttributes, SegmentReader, Tokens
from structune.tagging.features.strings import Names, Strings
from structune.tagging.kernels import segments as kernels
from structune.tagging.structure.labels import OUTSIDE, Segmentation, read_segments, tags_of
from structune.tagging.structure.shard import (
    AttributeWeights,
    OpenWeights,
    SegmentShard,
    boundary_names,
    check_n_labels,
    check_room,
    feature_table,
    find_keys,
    keep_pairs,
    order_attributes,
    refuse_empty,
    runs_of_sequences,
    token_costs,
    written_names,
    wrong_tokens,
)

_MOST_LABELS = 4096
_MOST_COLUMNS = 1 << 20
_LENGTHS = ("1", "2", "3", "4", "5", "6-7", "8-11", "12-19", "20-39", "40+")
_LENGTH_STARTS = (1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
_BLOCK_CELLS = 1 << 16  # tokens x segments that end there, which kernels work on at a time


class SemiMarkovChain(Structure):
    """A semi-Markov chain: segmentations scored by attributes of tokens and segments, and by transitions.

    An output is the tag of each token: ``B-x`` for the first token of a segment with the label x, ``I-x`` for
    its other tokens, and ``O`` outside segments. The order of the weights is: attributes of tokens, by tag;
    attributes of last tokens, then of whole segments, by label; lengths, by label; starts; ends; transitions.
    Build a chain with `build`. Time grows as tokens x (sum of `longest` + labels^2).

    Parameters
    ----------
    labels : sequence of str
        Labels of segments, and "O" if tokens may be outside segments.
    longest : ndarray of int64, shape (n_labels,)
        Largest number of tokens in a segment of each label; 1 for "O".
    attributes : three sequences of str
        Names of attributes of tokens, of last tokens, and of segments; the text before the first ``=`` is the
        group of their weights.
    keys : three ndarrays of int64
        Sorted keys of the pairs that have a weight: ``attribute * n_tags + tag`` for tokens, and
        ``attribute * n_labels + label`` for last tokens and for segments.
    reader : SegmentReader
        Computes the attributes of segments.
    boundary : bool
        Whether starts and ends of sequences have weights.
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
        check_n_labels(n_labels, _MOST_LABELS)
        if max(int(longest.max()), int(longest.sum())) > _MOST_COLUMNS:  # the sum may overflow
            raise DataError(
                f"the longest segment has {longest.max():,} tokens, but the longest segments of all "
                f"{n_labels:,} labels may have at most {_MOST_COLUMNS:,} together. Set a smaller max_length"
            )
        self.tags, self.begin = tags_of(self.labels, longest)
        self.tables = tuple(
            AttributeWeights(k, len(each), n)
            for k, each, n in zip(keys, attributes, (len(self.tags), n_labels, n_labels), strict=True)
        )
        names, length_of = dict[tuple[str, str], int](), list[int]()  # of each column of cells; -1 outside
        for label, n in zip(self.labels, longest.tolist(), strict=True):
            for bucket in np.searchsorted(_LENGTH_STARTS, np.arange(1, n + 1), side="right") - 1:
                name = LENGTH + _LENGTHS[bucket], label
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
        self._parts, self.n_pairs = tuple(parts), self._starts.start

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
        """Build the chain with the attributes, labels and segment lengths of a training set.

        It has weights for the pairs of attribute and tag, or of segment attribute and label, that occur in
        the training set; and for all transitions.

        Parameters
        ----------
        inputs : AttributeTable
            Attributes of the tokens.
        outputs : sequence of sequences of str
            Labels in the BIO or BIOES scheme.
        max_length : int, optional
            Largest number of tokens in a segment; by default that of the longest segment with the same label.
        reader : SegmentReader, optional
            Computes the attributes of segments; by default it uses words if the table has them.

        Raises
        ------
        DataError
            The training set is empty, a segment is longer than `max_length`, or a label is not BIO or BIOES.
        """
        if not len(inputs):
            raise DataError("the training set is empty: at least one sequence is needed")
        inputs = inputs.used()
        found = read_segments(outputs, inputs.lengths)
        if not found.types:
            raise DataError("no token has a label: at least one is needed")
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
        # Weights are of what occurs: each name gets a number when it is first met, and pairs are keys.
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

    def keep(self, which: NDArray[np.bool_]) -> tuple[Self, IntArray]:
        """Return a chain with a part of the weights, and the index of each here, as `Chain.keep`.

        Weights of lengths, starts, ends and transitions are always kept.
        """
        parts = zip(self.attributes, self.tables, self._parts, strict=True)
        found = [keep_pairs(each, table.keys, table.n_labels, which[part]) for each, table, part in parts]
        names, keys = [each for each, *_ in found], [each for _, each, _ in found]
        numbers = [kept + part.start for (*_, kept), part in zip(found, self._parts, strict=True)]
        numbers.append(np.arange(self._lengths.start, self.n_weights))
        chain = type(self)(self.labels, self.longest, names, keys, self.reader, self.boundary)
        return chain, np.concatenate(numbers)

    # --- vocabulary ---------------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Number of labels of segments."""
        return len(self.labels)

    @property
    def n_weights(self) -> int:
        return self._transitions.stop

    def weight_names(self) -> list[str]:
        return written_names(self.state_names(), self.move_names())

    def state_names(self) -> list[tuple[str, str]]:
        """Attribute and label of each of the first weights."""
        names: list[tuple[str, str]] = []
        for table, attributes, labels in zip(
            self.tables, self.attributes, (self.tags, self.labels, self.labels), strict=True
        ):
            pairs = zip(*np.divmod(table.keys, table.n_labels), strict=True)
            names += [(attributes[a], labels[y]) for a, y in pairs]
        return names + self._length_names

    def move_names(self) -> list[tuple[str | None, str | None]]:
        """Labels of each of the other weights (from, to); None stands for the start or end."""
        return [*(boundary_names(self.labels) if self.boundary else ()), *product(self.labels, repeat=2)]

    def groups(self, n_heldout: int | None = None) -> Groups:
        """Return the groups of weights: one per template, and the transitions with starts and ends.

        With `n_heldout`, the number of sequences that tuning holds out, attributes of tokens without a value
        and small templates of tokens share one group.
        """
        attributes = [table.keys // table.n_labels for table in self.tables]
        of_tokens = templates_of(self.attributes[0], attributes[0], n_heldout)
        names = [of_tokens, *(list(map(template_of, names)) for names in self.attributes[1:])]
        templates = [
            *(of[a] for each, of in zip(attributes, names, strict=True) for a in each.tolist()),
            *(template_of(name) for name, _ in self._length_names),
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
        """Encode sequences as a shard; attributes that the chain does not have are dropped.

        Raises
        ------
        DataError
            A sequence is empty, or has a wrong number of labels, labels that are not BIO or BIOES, a segment
            that is too long or has an unknown label, or a wrong weight. The message names the sequence.
        """
        refuse_empty(inputs.lengths)
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
                f"sequence {s}, token {start}: unknown segment type {found.types[j]!r}. Allowed: "
                f"{self.labels}"
            )
        _refuse_longer(found, self.longest[of_segment])
        return _tags(self.begin, of_segment, found)

    def with_reader(self, **changes: Any) -> Self:
        """Return a chain whose `reader` has changed fields: `function`, `gazetteers` or `words`."""
        other = copy(self)
        other.reader = replace(self.reader, **changes)
        other.__dict__.pop("_known", None)  # the gazetteers' entries are among these
        return other

    # --- scores and features ------------------------------------------------------------------------------

    def feature_rows(self, shard: SegmentShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        tags = self._tags_of(shard, outputs)
        starts = np.flatnonzero(self.begins[tags] >= 0)
        stops = np.append(starts[1:], tags.size)
        labels, of_token = self.begins[tags[starts]], np.repeat(np.arange(len(shard)), shard.sizes())
        sequences = of_token[starts]
        ends = np.repeat(np.arange(shard.n_parts), np.diff(shard.span_offsets))
        # A segment's key is (last token) * step + length: `find_keys` finds those that have attributes of
        # their own.
        step = int(self.longest.max()) + 1
        places = find_keys(ends * step + shard.span_lengths, (stops - 1) * step + stops - starts)
        known = np.flatnonzero(places >= 0)
        # Columns of cells: those of label y begin at the sum of the longest lengths before it.
        lengths = self._length_of[(np.cumsum(self.longest) - self.longest)[labels] + stops - starts - 1]
        has_length, later = lengths >= 0, np.flatnonzero(sequences[1:] == sequences[:-1]) + 1
        found: list[tuple[Any, ...]] = [
            (sequences[has_length], self._lengths.start + lengths[has_length]),
            (sequences[later], self._transitions.start + labels[later - 1] * self.n_labels + labels[later]),
        ]
        if self.boundary:
            each, firsts = np.arange(len(shard)), self.begins[tags[shard.offsets[:-1]]]
            found += [(each, self._starts.start + firsts)]
            found += [(each, self._ends.start + labels[np.isin(stops, shard.offsets[1:])])]
        of_rows = (
            (of_token, shard.tokens, tags),
            (sequences, shard.lasts.take(stops - 1), labels),
            (sequences[known], shard.spans.take(places[known]), labels[known]),
        )
        for table, part, (of, rows, own) in zip(self.tables, self._parts, of_rows, strict=True):
            row, pair, values = table.observed(rows, own)
            found.append((of[row], part.start + pair, values))
        return feature_table(found, (len(shard), self.n_weights))

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

    def _opened(self, w: Array) -> Opened:
        n, w = self.n_labels, np.ascontiguousarray(w, np.result_type(w, np.float64))
        transition = np.ascontiguousarray(w[self._transitions].reshape(n, n))
        # Without boundary weights, starts and ends score 0.
        start, end = (w[self._starts], w[self._ends]) if self.boundary else np.zeros((2, n), w.dtype)
        # A peak a label, not one for all: potentials to each label then have a largest of 1.
        peaks = np.ascontiguousarray(transition.real.max(axis=0))
        return Opened(
            tuple(table.open(w[part]) for table, part in zip(self.tables, self._parts, strict=True)),
            np.append(w[self._lengths], w.dtype.type(0.0))[self._length_of],
            transition, start.copy(), end.copy(), np.exp(transition - peaks), peaks,
        )  # fmt: skip

    def _open_counts(self, out: Array) -> list[OpenWeights]:
        return [table.open_counts(out[part]) for table, part in zip(self.tables, self._parts, strict=True)]

    def _close_counts(self, counts: list[OpenWeights]) -> None:
        for table, count in zip(self.tables, counts, strict=True):
            table.close_counts(count)

    def _blocks(
        self, w: Array, shard: SegmentShard, cost: FloatArray | None = None, n_best: int = 0
    ) -> Iterator[Block]:
        """Runs of sequences with about as many cells as the caches hold; one in each to find its n best."""
        n_columns = int(self.longest.sum())
        n_cells = n_columns + 2 * len(self.tags) + (5 * max(n_best, 1) - 1) * self.n_labels
        check_room(shard, 8.0 * n_cells, self.n_labels)
        opened, n_tokens = self._opened(w), max(1, _BLOCK_CELLS // n_columns)
        runs = runs_of_sequences(shard.offsets, 1 if n_best else n_tokens)
        return (Block(self, opened, shard, sequences, cost) for sequences in runs)

    def _add(
        self, out: Array, counts: list[OpenWeights], block: Block, rows: Any, lengths: Array, moves: Any,
        power: int = 1,
    ) -> None:  # fmt: skip
        """Add counts of a block: as of `Block.rows`, of columns of cells, of starts, ends and transitions."""
        for table, count, (of, part), each in zip(self.tables, counts, block.parts, rows, strict=True):
            table.add_counts(count, of, part.start, each, power)
        known = self._length_of >= 0
        np.add.at(out[self._lengths], self._length_of[known], lengths[known])
        out[self._transitions] += moves[2].reshape(-1)
        if self.boundary:
            out[self._starts] += moves[0]
            out[self._ends] += moves[1]

    def _log_partition(
        self, w: Array, shard: SegmentShard, expected: Any, weights: FloatArray, within: bool
    ) -> Array:
        counts = None if expected is None else self._open_counts(expected)
        log_z = np.empty(len(shard), np.result_type(w, np.float64))
        for block in self._blocks(w, shard):
            log_z[block.sequences] = block.log_partitions()
            if expected is not None and counts is not None:
                moves = block.to_probabilities(weights)
                self._add(expected, counts, block, block.rows(), block.cells.sum(axis=0), moves)
        if counts is not None:
            self._close_counts(counts)
        return log_z

    def variance(self, w: FloatArray, shard: SegmentShard) -> FloatArray:
        out = np.zeros(self.n_weights)
        counts = self._open_counts(out)
        for block in self._blocks(w, shard):
            found = block.to_probabilities(np.ones(len(shard)))
            weights = np.repeat(shard.weights[block.sequences], np.diff(block.offsets))[:, None]
            # Spans have the weight of the sequence of the token that they end with.
            of_rows = weights, weights, np.repeat(weights, np.diff(block.span_offsets), axis=0)
            rows = [_bernoulli(each) * of for each, of in zip(block.rows(), of_rows, strict=True)]
            lengths = (_bernoulli(block.cells) * weights).sum(axis=0)
            mean = float(shard.weights[block.sequences].mean())
            moves = [mean * each * (1.0 - each / (each.sum() or 1.0)) for each in found]
            self._add(out, counts, block, rows, lengths, moves, 2)
        self._close_counts(counts)
        return out

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: SegmentShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the best tags, shape (n_tokens,), and their scores, shape (n_sequences,) (Viterbi)."""
        tags, scores = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for block in self._blocks(w, shard, cost):
            opened = block.opened
            kernels.best(
                block.offsets, self.longest, opened.transition, opened.start, opened.end, self.begin,
                block.cells, tags[block.tokens], scores[block.sequences],
            )  # fmt: skip
            scores[block.sequences] += block.peaks
        return tags, scores

    def cost(self, shard: SegmentShard, outputs: IntArray) -> FloatArray:
        """Return the Hamming cost: the number of wrong tags in each sequence, shape (n_sequences,)."""
        return wrong_tokens(self._tags_of(shard, None), outputs, shard.offsets[:-1])

    def n_best(self, w: FloatArray, shard: SegmentShard, n: int) -> list[tuple[IntArray, FloatArray]]:
        """Return the tags, shape (n_found, length), and scores of the `n` best segmentations per sequence."""
        results = []
        for block in self._blocks(w, shard, n_best=n):
            opened = block.opened
            tags, scores = np.empty((n, block.cells.shape[0]), np.int64), np.empty(n)
            kernels.n_best(
                self.longest, opened.transition, opened.start, opened.end, self.begin, block.cells, tags,
                scores,
            )  # fmt: skip
            found = scores > -np.inf
            results.append((tags[found], scores[found] + block.peaks[0]))
        return results

    def marginals(self, w: FloatArray, shard: SegmentShard) -> FloatArray:
        """Return the probability of each tag at each token, shape (n_tokens, n_tags)."""
        blocks = self._blocks(w, shard)  # or an error, before any memory is taken
        out = np.empty((shard.n_parts, len(self.tags)))
        for block in blocks:
            block.to_probabilities(np.ones(len(shard)))
            out[block.tokens] = block.rows()[0]
        return out

    def marginals_of_ends(self, w: FloatArray, shard: SegmentShard) -> tuple[FloatArray, FloatArray]:
        """Return the probability that a segment of each label ends at each token, and that of one token.

        Both have the shape (n_tokens, n_labels).
        """
        ends, single = np.empty((2, shard.n_parts, self.n_labels))
        firsts = np.cumsum(self.longest) - self.longest  # columns of cells
        for block in self._blocks(w, shard):
            block.to_probabilities(np.ones(len(shard)))
            ends[block.tokens] = np.add.reduceat(block.cells, firsts, axis=1)
            single[block.tokens] = block.cells[:, firsts]
        return ends, single

    def segment_probability(
        self, w: FloatArray, shard: SegmentShard, sequence: int, start: int, stop: int, label: str
    ) -> float:
        """Return the probability that tokens ``start:stop`` (from 0) are a segment with the given label.

        `DataError`: the label is unknown, or there are no such tokens.
        """
        one = shard.take([sequence])
        if not 0 <= start < stop <= one.n_parts:
            told = f"it has no segment from {start} to {stop}"
            raise DataError(f"the sequence has {one.n_parts} tokens, so {told}")
        if label not in self.labels:
            raise DataError(f"unknown label {label!r}. Allowed: {self.labels}")
        y = self.labels.index(label)
        # Segments that are longer than any in training have no cell, and no probability.
        if stop - start > self.longest[y]:
            return 0.0
        (block,) = self._blocks(w, one)
        block.to_probabilities(np.ones(1))
        return float(block.cells[stop - 1, self.longest[:y].sum() + stop - start - 1])


@dataclass(frozen=True)
class Opened:
    """A weight vector as the kernels take it."""

    tables: tuple[OpenWeights, ...]
    lengths: Array  # scores of the lengths of segments, by column of cells
    transition: Array  # (L, L)
    start: Array
    end: Array
    potentials: Array  # exp(transition - peak), a peak a label
    peaks: FloatArray


class Block:
    """Some sequences of a shard under some weights; a wrong tag is worth so much `cost` more.

    `cells` (n_tokens, n_columns) hold scores of segments; after `log_partitions` what `kernels.forward`
    leaves, and after `to_probabilities` weighted probabilities.
    """

    def __init__(
        self, chain: SemiMarkovChain, opened: Opened, shard: SegmentShard, sequences: slice, cost: Any = None
    ) -> None:
        self.chain, self.opened, self.sequences = chain, opened, sequences
        tokens = slice(int(shard.offsets[sequences.start]), int(shard.offsets[sequences.stop]))
        span_offsets = shard.span_offsets[tokens.start : tokens.stop + 1]
        spans = slice(int(span_offsets[0]), int(span_offsets[-1]))
        self.offsets = shard.offsets[sequences.start : sequences.stop + 1] - tokens.start
        self.tokens, self.span_offsets = tokens, span_offsets - spans.start
        self.span_lengths = shard.span_lengths[spans]
        self.parts = ((shard.tokens, tokens), (shard.lasts, tokens), (shard.spans, spans))
        scores, lasts, whole = (
            table.scores(each, rows, part.start, part.stop)
            for table, each, (rows, part) in zip(chain.tables, opened.tables, self.parts, strict=True)
        )
        if cost is not None:
            own = chain._tags_of(shard, None)[tokens]
            scores += token_costs(cost[sequences], np.diff(self.offsets), own, len(chain.tags))
        # Whatever the segmentation, each token has one tag: its maximum comes off all scores of the sequence,
        # as small numbers are exact.
        highest = scores.real.max(axis=1)
        scores -= highest[:, None]
        self.peaks = np.add.reduceat(highest, self.offsets[:-1])
        self.cells = np.zeros((self.offsets[-1], int(chain.longest.sum())), scores.dtype)
        self.alpha: Array | None = None
        kernels.fill(
            self.offsets, scores, lasts, opened.lengths, self.span_offsets, self.span_lengths, whole,
            chain.begin, chain.longest, self.cells,
        )  # fmt: skip

    def log_partitions(self) -> Array:
        """The forward pass."""
        opened, n = self.opened, self.chain.n_labels
        self.alpha = np.empty((self.cells.shape[0], n), self.cells.dtype)
        log_z = np.empty(self.offsets.size - 1, self.cells.dtype)
        kernels.forward(
            self.offsets, self.chain.longest, opened.transition, opened.potentials, opened.peaks,
            lanes_for(np.float64, 8), opened.start, opened.end, self.cells, self.alpha, log_z,
        )  # fmt: skip
        return log_z + self.peaks

    def to_probabilities(self, weights: FloatArray) -> tuple[Array, Array, Array]:
        """The expected starts, ends and transitions, by the weights of all sequences of the shard."""
        if self.alpha is None:
            self.log_partitions()
        opened, n, dtype = self.opened, self.chain.n_labels, self.cells.dtype
        starts, ends, transitions = np.zeros(n, dtype), np.zeros(n, dtype), np.zeros((n, n), dtype)
        kernels.probabilities(
            self.offsets, self.chain.longest, opened.transition, opened.potentials, opened.peaks,
            lanes_for(np.float64, 8), opened.end, self.alpha, self.cells, weights[self.sequences],
            self.cells, starts, ends, transitions,
        )  # fmt: skip
        return starts, ends, transitions

    def rows(self) -> list[Array]:
        """Probabilities of tags, of labels that end at tokens, and of labels of spans."""
        chain, sizes = self.chain, (self.offsets[-1], self.offsets[-1], self.span_lengths.size)
        rows = [
            np.zeros((n, table.n_labels), self.cells.dtype)
            for n, table in zip(sizes, chain.tables, strict=True)
        ]
        kernels.spread(
            self.offsets, self.cells, self.span_offsets, self.span_lengths, chain.begin, chain.longest, *rows
        )
        return rows


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
            f"sequence {s}, tokens {start} to {stop - 1}: this segment of type {found.types[j]!r} has "
            f"{stop - start} tokens, but at most {most[j]} are allowed (max_length)"
        )
