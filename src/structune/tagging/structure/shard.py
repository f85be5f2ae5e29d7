"""Encoded sequences of chains and of semi-Markov chains; weights of attributes, laid out for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.kernels.vectors import lanes_for
from structune.running.memory import require_memory
from structune.structure import (
    Array,
    FloatArray,
    IntArray,
    SequenceShard,
    check_offsets,
    check_range,
    take_segments,
)
from structune.tagging.kernels import attributes as kernels
from structune.tagging.structure.labels import BoolArray

_ONES = np.empty(0)  # values that are not there
_DENSE_SHARE = 6  # an attribute with weights for a sixth of the labels is faster as a full row
_SMALL = 1 << 20  # bytes that are always there


@dataclass(frozen=True)
class Entries:
    """CSR rows."""

    starts: IntArray  # (n_rows + 1,)
    indices: Array  # unsigned integers, (n_entries,)
    values: FloatArray  # (n_entries,), or (0,) for ones

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.indices.nbytes + self.values.nbytes

    def take(self, rows: IntArray) -> Entries:
        """The given rows, in the given order; a run of rows is a view, not a copy."""
        entries: slice | IntArray
        first = int(rows[0]) if rows.size else 0
        if np.array_equal(rows, np.arange(first, first + rows.size)):
            starts = self.starts[first : first + rows.size + 1]
            entries, starts = slice(starts[0], starts[-1]), starts - starts[0]
        else:
            starts, entries = take_segments(self.starts, rows)
        return Entries(
            starts, self.indices[entries], self.values[entries] if self.values.size else self.values
        )


@dataclass(frozen=True)
class AttributeRows:
    """Rows of attributes: entries of those with dense weights, and attribute-label pairs of the others."""

    dense: Entries
    pairs: Entries

    def __len__(self) -> int:
        return self.dense.starts.size - 1

    @property
    def nbytes(self) -> int:
        return self.dense.nbytes + self.pairs.nbytes

    def take(self, rows: IntArray) -> AttributeRows:
        """The given rows, in the given order."""
        return AttributeRows(self.dense.take(rows), self.pairs.take(rows))


@dataclass(frozen=True)
class ChainShard(SequenceShard):
    """Encoded sequences of a chain."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    rows: AttributeRows  # the attributes of each token
    labels: IntArray  # (n_tokens,), -1 where not known to one label; empty without outputs
    allowed: BoolArray  # (n_tokens, n_labels): labels that each token may have; empty where all are known

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    @property
    def is_partly_known(self) -> bool:
        return bool(self.allowed.shape[0])

    def work(self) -> IntArray:
        # Sums of a token go over all pairs of labels; those of 16 labels are about as much as its attributes.
        return np.asarray(self.sizes() * (1 + self.allowed.shape[1] ** 2 // 256))

    def take(self, indices: Any) -> ChainShard:
        chosen = self._chosen(indices)
        offsets, tokens = take_segments(self.offsets, chosen)
        return ChainShard(
            self.weights[chosen],
            offsets,
            self.rows.take(tokens),
            self.labels[tokens] if self.labels.size else self.labels,
            self.allowed[tokens] if self.is_partly_known else self.allowed,
        )


def runs_of_sequences(offsets: IntArray, n_tokens: int) -> Iterator[slice]:
    """Runs of about `n_tokens` tokens, one sequence in each at least."""
    n_sequences, start = offsets.size - 1, 0
    if 0 < offsets[-1] <= n_tokens:  # at once: searching takes as long as tagging a few words
        yield slice(0, n_sequences)
        return
    while start < n_sequences:
        stop = int(np.searchsorted(offsets, offsets[start] + n_tokens, side="right")) - 1
        yield slice(start, max(stop, start + 1))
        start = max(stop, start + 1)


def refuse_empty(lengths: IntArray) -> None:
    """Raise a `DataError` for the first sequence without tokens."""
    if not lengths.all():
        raise DataError(f"sequence {np.argmin(lengths)} is empty: at least one token is needed")


def check_n_labels(n: int, most: int, growth: str = "square") -> None:
    """Refuse more labels than there is memory for."""
    if n > most:
        told = f"there are {n:,} labels, but at most {most:,} are allowed"
        raise DataError(f"{told}: memory grows with the {growth} of their number")


def check_room(shard: SequenceShard, bytes_of_token: float, n_labels: int) -> None:
    """Raise an error for a sequence that needs more memory than there is: each is processed as a whole."""
    # No sequence is longer than all together: most calls need no look at each.
    if shard.n_parts * bytes_of_token < _SMALL:
        return
    n = int(shard.sizes().max())
    what = f"a sequence of {n:,} tokens and its tables of {n_labels:,} labels"
    require_memory(n * bytes_of_token, what, "shorter sequences or fewer labels")


@dataclass(frozen=True)
class SegmentShard(SequenceShard):
    """Encoded sequences of a semi-Markov chain."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    tokens: AttributeRows  # the attributes of each token
    lasts: AttributeRows  # attributes that each token has as the last one of a segment
    spans: AttributeRows  # attributes of the segments that have any
    span_offsets: IntArray  # those that end with token t are span_offsets[t]:span_offsets[t + 1]
    span_lengths: IntArray  # tokens of each, rising for each last token
    tags: IntArray  # of the segmentation, (n_tokens,); empty without outputs

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    def take(self, indices: Any) -> SegmentShard:
        chosen = self._chosen(indices)
        offsets, tokens = take_segments(self.offsets, chosen)
        span_offsets, spans = take_segments(self.span_offsets, tokens)
        return SegmentShard(
            self.weights[chosen],
            offsets,
            self.tokens.take(tokens),
            self.lasts.take(tokens),
            self.spans.take(spans),
            span_offsets,
            self.span_lengths[spans],
            self.tags[tokens] if self.tags.size else self.tags,
        )


def token_costs(cost: FloatArray, lengths: IntArray, own: IntArray, n_labels: int) -> Array:
    """The cost of every label, shape (n_tokens, n_labels), if a wrong one costs `cost` of its sequence."""
    return np.asarray(np.repeat(cost, lengths)[:, None] * (own[:, None] != np.arange(n_labels)))


def wrong_tokens(own: IntArray, found: IntArray, starts: IntArray) -> FloatArray:
    """The number of tokens of each sequence that are labeled differently."""
    return np.add.reduceat((own != found).astype(np.float64), starts)


def boundary_names(labels: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Each label after the start, and before the end; both are None."""
    return [*((None, y) for y in labels), *((y, None) for y in labels)]


def written_names(states: Iterable[tuple[str, str]], moves: Iterable[tuple[Any, Any]]) -> list[str]:
    """Names of weights."""
    ends = [("(start)" if a is None else a, "(end)" if b is None else b) for a, b in moves]
    return [*(f"{name} : {y}" for name, y in states), *(f"{a} -> {b}" for a, b in ends)]


def feature_table(entries: list[tuple[Any, ...]], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """Features of examples from rows, columns and, unless they are ones, values."""
    rows, columns = (np.concatenate([entry[k] for entry in entries]) for k in (0, 1))
    values = [entry[2] if len(entry) == 3 else np.ones(entry[0].size) for entry in entries]
    return scipy.sparse.coo_array((np.concatenate(values), (rows, columns)), shape=shape).tocsr()


@dataclass(frozen=True)
class OpenWeights:
    """A weight vector made ready for the kernels: full rows of the dense attributes, and the vector."""

    dense: Array
    w: Array


class AttributeWeights:
    """The pairs of attributes and labels that have a weight, as the first weights of a structure.

    Parameters
    ----------
    keys : ndarray of int64, shape (n_pairs,)
        Sorted ``attribute * n_labels + label``. Fast if attributes with many labels come first.
    """

    def __init__(self, keys: IntArray, n_attributes: int, n_labels: int) -> None:
        self.keys, self.n_attributes, self.n_labels = keys, n_attributes, n_labels
        # Pairs of attribute a are keys[offsets[a]:offsets[a + 1]]. Dense are those before the first attribute
        # with weights for less than a sixth of the labels: attributes come by falling number of labels.
        offsets = np.searchsorted(keys, np.arange(n_attributes + 1) * n_labels)
        sparse = np.flatnonzero(np.diff(offsets) * _DENSE_SHARE < n_labels)
        self.n_dense = int(sparse[0]) if sparse.size else n_attributes
        self._dense_keys = keys[: offsets[self.n_dense]]
        self._offsets, self.size = offsets, int(keys.size)
        self._complete = self._dense_keys.size == self.n_dense * n_labels
        self._pair_dtype = np.uint32 if self.size < 2**32 else np.uint64
        self._labels = (keys % n_labels).astype(np.uint16)

    def layout(
        self, indptr: IntArray, columns: Array, values: FloatArray | None, only_read: bool = False
    ) -> AttributeRows:
        """Rows for the kernels from CSR rows; entries with a negative column are dropped.

        Parameters
        ----------
        only_read : bool
            The rows are for scores and not for counts. Few of them are then all laid out as pairs, in the
            order in which scores are added up: dense rows would be made of all weights, to read some.
        """
        given = _ONES if values is None else values
        dense_starts, pair_starts = np.empty((2, indptr.size), np.int64)
        few = only_read and not self._complete and columns.size < self.n_dense
        kernels.count_entries(indptr, columns, self.n_dense, few, self._offsets, dense_starts, pair_starts)
        dense, pairs = (
            Entries(starts, np.empty(starts[-1], dtype), _ONES if values is None else np.empty(starts[-1]))
            for starts, dtype in ((dense_starts, np.uint32), (pair_starts, self._pair_dtype))
        )
        kernels.lay_out(
            indptr, columns, given, self.n_dense, few, self._offsets,
            dense.indices, dense.values, pairs.indices, pairs.values,
        )  # fmt: skip
        return AttributeRows(dense, pairs)

    def check(self, rows: AttributeRows, n_rows: int) -> None:
        """Raise `DataError` for rows from a file that `layout` cannot have made."""
        kinds = (
            ("attributes", rows.dense, np.uint32, self.n_dense),
            ("pairs", rows.pairs, self._pair_dtype, self.size),
        )
        for what, entries, dtype, end in kinds:
            n, values = entries.indices.size, entries.values
            check_offsets(entries.starts, n_rows, n)
            check_range(what, entries.indices, dtype, (n,), 0, end)
            shapes = [(0,), (n,)]
            if values.dtype != np.float64 or values.shape not in shapes or not np.isfinite(values).all():
                raise DataError(f"the values of {what} must be finite numbers, one per entry")

    def observed(self, rows: AttributeRows, labels: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Row, weight and value of every entry whose attribute has a weight for the row's label."""
        row, pair_row = (np.repeat(np.arange(len(rows)), np.diff(e.starts)) for e in (rows.dense, rows.pairs))
        # A dense attribute may have no weight for the label; a pair is listed once for each label that it
        # has.
        column = find_keys(self.keys, rows.dense.indices.astype(np.int64) * self.n_labels + labels[row])
        known, hit = column >= 0, self._labels[rows.pairs.indices] == labels[pair_row]
        chosen = ((rows.dense, known), (rows.pairs, hit))
        return (
            np.concatenate((row[known], pair_row[hit])),
            np.concatenate((column[known], rows.pairs.indices[hit].astype(np.int64))),
            np.concatenate([
                e.values[mask] if e.values.size else np.ones(np.count_nonzero(mask)) for e, mask in chosen
            ]),
        )  # fmt: skip

    def open(self, w: Array, rows: AttributeRows | None = None) -> OpenWeights:
        """Make a weight vector ready, for some rows or for any; a view where the dense rows are complete."""
        w = np.ascontiguousarray(w, np.result_type(w, np.float64))  # what kernels read
        if rows is not None and not rows.dense.indices.size:
            return OpenWeights(np.empty((0, self.n_labels), w.dtype), w)
        if self._complete:
            return OpenWeights(w[: self._dense_keys.size].reshape(-1, self.n_labels), w)
        # Labels without a weight score 0 in a full row.
        dense = np.zeros((self.n_dense, self.n_labels), w.dtype)
        dense.reshape(-1)[self._dense_keys] = w[: self._dense_keys.size]
        return OpenWeights(dense, w)

    def arrays(self, rows: AttributeRows) -> tuple[Array, ...]:
        """The arrays of `rows` that the kernels ask for, and the label of each pair."""
        dense, pairs = rows.dense, rows.pairs
        return (
            dense.starts, dense.indices, dense.values, pairs.starts, pairs.indices, pairs.values, self._labels
        )  # fmt: skip

    def scores(self, weights: OpenWeights, rows: AttributeRows, first: int, last: int) -> Array:
        """Scores of rows ``first:last`` for every label, shape (last - first, n_labels)."""
        out = np.zeros((last - first, self.n_labels), weights.w.dtype)
        dense, pairs = rows.dense, rows.pairs
        if dense.indices.size:
            lanes = lanes_for(out.dtype, self.n_labels)
            kernels.dense_scores(
                dense.starts, dense.indices, dense.values, weights.dense, first, last, lanes, out
            )
        kernels.add_pair_scores(
            pairs.starts, pairs.indices, pairs.values, self._labels, weights.w, first, last, out
        )
        return out

    def few_scores(self, w: Array, indptr: IntArray, columns: Array, values: FloatArray | None) -> Array:
        """Scores of a few CSR rows, as `scores` has them of what `layout` makes of these."""
        out = np.zeros((indptr.size - 1, self.n_labels), w.dtype)
        given = _ONES if values is None else values
        kernels.add_few_scores(indptr, columns, given, self.n_dense, self._offsets, self._labels, w, out)
        return out

    def open_counts(self, out: Array) -> OpenWeights:
        """Where counts gather before `close_counts` adds them to `out`."""
        if self._complete:
            return OpenWeights(out[: self._dense_keys.size].reshape(-1, self.n_labels), out)
        return OpenWeights(np.zeros((self.n_dense, self.n_labels), out.dtype), out)

    def add_counts(
        self, counts: OpenWeights, rows: AttributeRows, first: int, label_rows: Array, power: int = 1
    ) -> None:
        """Add value ** power * label_rows[t] to the weights of each attribute of row first + t."""
        dense, pairs, last = rows.dense, rows.pairs, first + label_rows.shape[0]
        lanes = lanes_for(label_rows.dtype, self.n_labels)
        kernels.add_dense_counts(
            dense.starts, dense.indices, dense.values, label_rows, first, last, power, lanes, counts.dense
        )
        kernels.add_pair_counts(
            pairs.starts, pairs.indices, pairs.values, self._labels, label_rows, first, last, power, counts.w
        )

    def close_counts(self, counts: OpenWeights) -> None:
        if not self._complete:
            counts.w[: self._dense_keys.size] += counts.dense.reshape(-1)[self._dense_keys]


def order_attributes(keys: IntArray, n_attributes: int, n_labels: int) -> tuple[IntArray, IntArray]:
    """Attributes by falling number of labels, and the pair keys in that order."""
    # Stable, so that the order of names does not depend on the sorting method.
    order = np.argsort(-np.bincount(keys // n_labels, minlength=n_attributes), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(n_attributes)
    return order, np.sort(rank[keys // n_labels] * n_labels + keys % n_labels)


def keep_pairs(
    names: Sequence[str], keys: IntArray, n_labels: int, which: NDArray[np.bool_]
) -> tuple[list[str], IntArray, IntArray]:
    """The attributes and keys of some pairs, in the order that is fast, and the numbers of these pairs."""
    kept = np.flatnonzero(which)
    used, attribute = np.unique(keys[kept] // n_labels, return_inverse=True)
    labels = keys[kept] % n_labels
    order, _ = order_attributes(attribute * n_labels + labels, used.size, n_labels)
    found = np.argsort(order)[attribute] * n_labels + labels
    rising = np.argsort(found)
    return [names[a] for a in used[order].tolist()], found[rising], kept[rising]


def find_keys(keys: IntArray, wanted: IntArray) -> IntArray:
    """Position of each wanted key among sorted keys, -1 where absent."""
    if not keys.size:
        return np.full(wanted.size, -1)
    if keys[-1] == keys.size - 1:  # all from 0 on
        return np.where(wanted < keys.size, wanted, -1)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, at, -1)


def with_weight(tokens: IntArray, found: IntArray, part: slice) -> tuple[IntArray, IntArray]:
    """The tokens where `find_keys` has found something, and its weights in a part of the weight vector."""
    return tokens[found >= 0], found[found >= 0] + part.start
