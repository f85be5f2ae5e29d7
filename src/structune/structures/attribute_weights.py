"""Weights of attribute-label pairs, laid out for fast scores and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.features.attributes import segment_indices
from structune.kernels.sparse import add_counts, lay_out, scores
from structune.structures.base import Array, FloatArray, IntArray

_DENSE_SHARE = 6  # an attribute with weights for a sixth of the labels is faster as a full row


@dataclass(frozen=True)
class AttributeRows:
    """CSR rows of attribute identifiers, in each row those with dense weights first.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_rows + 1,)
    middles : ndarray of int64, shape (n_rows,)
        Where the entries with sparse weights begin.
    indices : ndarray of uint32, shape (n_entries,)
    values : ndarray of float64, shape (n_entries,) or (0,)
        Size 0 stands for ones.
    """

    starts: IntArray
    middles: IntArray
    indices: Array
    values: FloatArray

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.middles.nbytes + self.indices.nbytes + self.values.nbytes

    def take(self, rows: IntArray) -> AttributeRows:
        """The given rows, in the given order."""
        entries = segment_indices(self.starts, rows)
        starts = np.concatenate(([0], np.cumsum(np.diff(self.starts)[rows])))
        middles = starts[:-1] + (self.middles - self.starts[:-1])[rows]
        values = self.values[entries] if self.values.size else self.values
        return AttributeRows(starts, middles, self.indices[entries], values)


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
        offsets = np.searchsorted(keys, np.arange(n_attributes + 1) * n_labels)
        self._offsets = offsets.astype(np.uint32 if keys.size < 2**32 else np.uint64)
        self._labels = (keys % n_labels).astype(np.uint16)
        sparse = np.flatnonzero(np.diff(offsets) * _DENSE_SHARE < n_labels)
        self._n_dense = int(sparse[0]) if sparse.size else n_attributes
        self._dense_keys = keys[: offsets[self._n_dense]]

    @property
    def size(self) -> int:
        return int(self.keys.size)

    @property
    def _complete(self) -> bool:
        return self._dense_keys.size == self._n_dense * self.n_labels

    def layout(self, indptr: IntArray, columns: Array, values: FloatArray) -> AttributeRows:
        """CSR rows for the kernels; entries with a negative column are dropped."""
        n = int(np.count_nonzero(columns >= 0))
        starts, middles = np.empty(indptr.size, np.int64), np.empty(indptr.size - 1, np.int64)
        indices, kept = np.empty(n, np.uint32), np.empty(n if values.size else 0)
        lay_out(indptr, columns, values, self._n_dense, starts, middles, indices, kept)
        return AttributeRows(starts, middles, indices, kept)

    def open(self, w: Array) -> OpenWeights:
        """Make a weight vector ready; a view where the dense rows are complete."""
        if self._complete:
            return OpenWeights(w[: self._dense_keys.size].reshape(-1, self.n_labels), w)
        dense = np.zeros((self._n_dense, self.n_labels), w.dtype)
        dense.reshape(-1)[self._dense_keys] = w[: self._dense_keys.size]
        return OpenWeights(dense, w)

    def scores(
        self, weights: OpenWeights, rows: AttributeRows, first: int, last: int, out: Array | None = None
    ) -> Array:
        """Scores of rows ``first:last`` for every label, shape (last - first, n_labels)."""
        out = np.empty((last - first, self.n_labels), weights.w.dtype) if out is None else out
        scores(
            rows.starts,
            rows.middles,
            rows.indices,
            rows.values,
            weights.dense,
            self._offsets,
            self._labels,
            weights.w,
            first,
            out,
        )
        return out

    def open_counts(self, out: Array) -> OpenWeights:
        """Where counts gather before `close_counts` adds them to `out`."""
        if self._complete:
            return self.open(out)
        return OpenWeights(np.zeros((self._n_dense, self.n_labels), out.dtype), out)

    def add_counts(
        self, counts: OpenWeights, rows: AttributeRows, first: int, label_rows: Array, power: int = 1
    ) -> None:
        """Add value ** power * label_rows[t] to the weights of each attribute of row first + t."""
        add_counts(
            rows.starts, rows.middles, rows.indices, rows.values, counts.dense, self._offsets, self._labels,
            counts.w, first, power, label_rows,
        )  # fmt: skip

    def close_counts(self, counts: OpenWeights) -> None:
        if not self._complete:
            counts.w[: self._dense_keys.size] += counts.dense.reshape(-1)[self._dense_keys]


def order_attributes(keys: IntArray, n_attributes: int, n_labels: int) -> tuple[IntArray, IntArray]:
    """Attributes by falling number of labels, and the pair keys in that order."""
    order = np.argsort(-np.bincount(keys // n_labels, minlength=n_attributes), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(n_attributes)
    return order, np.sort(rank[keys // n_labels] * n_labels + keys % n_labels)


def find_keys(keys: IntArray, wanted: IntArray) -> IntArray:
    """Position of each wanted key among sorted keys, -1 where absent."""
    if not keys.size:
        return np.full(wanted.size, -1)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, at, -1)
