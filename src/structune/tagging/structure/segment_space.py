"""Which segmentations there are, which weights they have, and how sequences are laid out for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy

from structune.errors import DataError
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
from structune.tagging.features.names import Names
from structune.tagging.features.segments import (
    LAST,
    LENGTH,
    KnownAttributes,
    SegmentReader,
    Tokens,
)
from structune.tagging.features.strings import Strings
from structune.tagging.structure.attribute_weights import AttributeWeights, find_keys, order_attributes
from structune.tagging.structure.segment_labels import OUTSIDE, Segmentation, read_segments, tags_of
from structune.tagging.structure.segment_shard import SegmentShard

_MOST_LABELS = 4096
_MOST_COLUMNS = 1 << 20
_LENGTHS = ("1", "2", "3", "4", "5", "6-7", "8-11", "12-19", "20-39", "40+")
_LENGTH_STARTS = (1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
_NO_VALUES = np.empty(0)  # stands for ones


class SegmentSpace(Structure):
    """Segmentations into labelled segments, their weights and their features.

    An output is the tag of each token: ``O`` outside, or ``B-x`` and ``I-x`` for the first token of a segment
    with the label x and its others. The weights are, in this order: of attributes of tokens, by tag; of last
    tokens of segments and of whole segments, by label; of lengths; starts, ends and transitions.
    `SemiMarkovChain`, which answers questions about them, tells of the parameters.
    """

    name = "semi-Markov chain"

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
            AttributeWeights(k, len(names), n)
            for k, names, n in zip(keys, attributes, (len(self.tags), n_labels, n_labels), strict=True)
        )
        self._length_of, self._length_names = _length_weights(self.labels, longest)
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
        longest = np.zeros(len(labels), np.int64)
        np.maximum.at(longest, of_segment, sizes)
        if max_length is not None:
            _check_longest(found, max_length)
            longest[:] = max_length
            longest[[label == OUTSIDE for label in labels]] = 1
        tags, begin = tags_of(labels, longest)
        rows = np.repeat(np.arange(inputs.n_tokens), np.diff(inputs.indptr))
        of_token = _tags(begin, of_segment, found)[rows]
        tokens = np.unique(inputs.indices * np.int64(len(tags)) + of_token)
        inner = np.array([kind != OUTSIDE for kind in found.types])
        lasts, spans = _seen(reader, inputs, found, inner, of_segment, len(labels))
        ordered = [
            _ordered(inputs.names, tokens, len(tags)),
            _ordered(*lasts, len(labels)),
            _ordered(*spans, len(labels)),
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
        values = _NO_VALUES if inputs.values is None else inputs.values
        columns = self._names[0].find(Strings.of(inputs.names))[inputs.indices]
        tokens = self.reader.tokens(inputs)
        spans = self.reader.spans(tokens, self._known, int(self.longest.max()))
        lasts = self._names[1].find(Strings.of(_last_names(tokens)))
        return SegmentShard(
            example_weights,
            offsets,
            self.tables[0].layout(inputs.indptr, columns, values, read),
            self.tables[1].layout(np.arange(lasts.size + 1), lasts, _NO_VALUES, read),
            self.tables[2].layout(spans.indptr, spans.columns, _NO_VALUES, read),
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
        for j in np.flatnonzero(found.stops - found.starts > self.longest[of_segment])[:1]:
            raise _too_long(found, int(j), int(self.longest[of_segment[j]]))
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

    def _length_scores(self, w: Array) -> Array:
        """Of each column of cells; 0 for segments outside."""
        return np.append(w[self._lengths], w.dtype.type(0.0))[self._length_of]


def _tags(begin: IntArray, labels: IntArray, found: Segmentation) -> IntArray:
    """The tag of each token."""
    tags = np.repeat(begin[labels] + 1, found.stops - found.starts)
    tags[found.starts] -= 1
    return tags


def _length_weights(labels: Sequence[str], longest: IntArray) -> tuple[IntArray, list[str]]:
    """The weight of the length of each column of cells, -1 outside, and the names of these weights."""
    names: dict[str, int] = {}
    weights = list[int]()
    for label, n in zip(labels, longest.tolist(), strict=True):
        for bucket in np.searchsorted(_LENGTH_STARTS, np.arange(1, n + 1), side="right") - 1:
            name = f"{LENGTH}{_LENGTHS[bucket]} : {label}"
            weights.append(-1 if label == OUTSIDE else names.setdefault(name, len(names)))
    return np.array(weights, dtype=np.int64), list(names)


def _last_names(tokens: Tokens) -> list[str]:
    return [LAST + word for word in tokens.words] if tokens.has_words else [""] * len(tokens.words)


def _seen(
    reader: SegmentReader,
    inputs: AttributeTable,
    found: Segmentation,
    inner: Any,
    labels: IntArray,
    n_labels: int,
) -> tuple[tuple[list[str], IntArray], tuple[list[str], IntArray]]:
    """Names and pairs with labels, of last tokens and of whole segments, from the segments of `inner`."""
    tokens = reader.tokens(inputs)
    starts, stops, of_segment = found.starts[inner], found.stops[inner], labels[inner].tolist()
    last, span = dict[str, int](), dict[str, int]()
    last_pairs, span_pairs = set[int](), set[int]()
    names = _last_names(tokens)
    for stop, y, attributes in zip(
        stops.tolist(), of_segment, reader.attributes(tokens, starts, stops), strict=True
    ):
        if tokens.has_words:
            last_pairs.add(last.setdefault(names[stop - 1], len(last)) * n_labels + y)
        span_pairs.update(span.setdefault(name, len(span)) * n_labels + y for name in attributes)
    return (list(last), _sorted(last_pairs)), (list(span), _sorted(span_pairs))


def _sorted(keys: set[int]) -> IntArray:
    return np.array(sorted(keys), dtype=np.int64)


def _ordered(names: Sequence[str], keys: IntArray, n_labels: int) -> tuple[list[str], IntArray]:
    """Attributes in the order that is fast, and their pairs."""
    order, keys = order_attributes(keys, len(names), n_labels)
    return [names[a] for a in order.tolist()], keys


def _check_longest(found: Segmentation, most: int) -> None:
    for j in np.flatnonzero(found.stops - found.starts > most)[:1]:
        raise _too_long(found, int(j), most)


def _too_long(found: Segmentation, segment: int, most: int) -> DataError:
    s, start, stop = found.place(segment)
    return DataError(
        f"sequence {s}, tokens {start} to {stop - 1}: found a segment of {found.types[segment]!r} with "
        f"{stop - start} tokens, expected at most {most} (max_length)"
    )
