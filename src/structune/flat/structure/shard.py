"""Feature matrices, dense or sparse, shards of their rows, and what structures over them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy

from structune.errors import DataError
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    Shard,
    Structure,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    template_of,
)

# measured: flops of a dense product in the time of one of a sparse product, and where the two meet
_SPARSE_FLOP, _THIN = 400.0, 0.05
_BLOCK_CELLS, _LEAST_BLOCK = 1 << 16, 128
_CELLS_PER_PART = 256  # multiply-adds that cost as much as a part of a chain


@dataclass(frozen=True)
class Design:
    """Feature matrix X; with a bias, a column of ones follows the features (it is not stored).

    Attributes
    ----------
    matrix : ndarray of float64 or csr_array, shape (n_examples, n_features)
        Features, without the column of ones.
    bias : bool
        Whether there is a column of ones.
    """

    matrix: Any
    bias: bool

    @classmethod
    def check(cls, inputs: Any, names: Sequence[str], bias: bool) -> Design:
        """Check features and return them as a design.

        Raises
        ------
        DataError
            There are no examples, the number of features is wrong, or a value is not finite.
        """
        given: Any = inputs
        is_sparse = scipy.sparse.issparse(inputs)
        matrix: Any = scipy.sparse.csr_array(given) if is_sparse else np.asarray(given)
        matrix = matrix.astype(np.float64, copy=False)
        # entries of one cell add up, which squares of entries would miss; what was given is not changed
        if is_sparse and not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.ndim != 2:
            raise DataError(f"features must have one row per example, not the shape {matrix.shape}")
        if not matrix.shape[0]:
            raise DataError("there are no examples. Give at least one.")
        if matrix.shape[1] != len(names):
            raise DataError(f"there must be {len(names)} features, not {matrix.shape[1]}")
        design = cls(matrix, bias)
        if not np.all(np.isfinite(matrix.data if design.is_sparse else matrix)):
            cells = scipy.sparse.coo_array(matrix)  # row by row, as the canonical format is
            rows, columns = cells.coords
            first = np.flatnonzero(~np.isfinite(cells.data))[0]
            where, found = f"example {rows[first]}, feature {names[columns[first]]!r}", cells.data[first]
            raise DataError(f"{where}: {found} is not a finite number")
        return design

    def check_stored(self, n_rows: int, n_features: int, bias: bool) -> None:
        """Raise `DataError` if a matrix from a file is damaged or has other features."""
        if self.bias != bias:
            raise DataError(f"the features have bias={self.bias}, but the model has bias={bias}")
        if not self.is_sparse:
            check_finite("features", self.matrix, (n_rows, n_features))
            return
        matrix, kind = self.matrix, self.matrix.indices.dtype
        if matrix.shape != (n_rows, n_features) or kind not in (np.int32, np.int64):
            expected = f"expected the shape {(n_rows, n_features)} and int32 or int64"
            raise DataError(f"features have the shape {matrix.shape} and columns of {kind}, {expected}")
        check_range("rows", matrix.indptr, kind, (n_rows + 1,), 0, matrix.data.size + 1)
        check_offsets(matrix.indptr.astype(np.int64), n_rows, matrix.data.size)
        check_range("columns", matrix.indices, kind, matrix.data.shape, 0, n_features)
        check_finite("features", matrix.data, (matrix.data.size,))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse."""
        return bool(scipy.sparse.issparse(self.matrix))

    @property
    def n_columns(self) -> int:
        """Number of features, plus 1 for the bias."""
        return int(self.matrix.shape[1]) + self.bias

    @property
    def nbytes(self) -> int:
        """Size of the matrix in bytes, including the indices of a sparse matrix."""
        matrix = self.matrix
        parts = (matrix.data, matrix.indices, matrix.indptr) if self.is_sparse else (matrix,)
        return sum(part.nbytes for part in parts)

    @property
    def n_cells(self) -> int:
        """Number of cells that a matrix product visits."""
        cells = self.matrix.nnz if self.is_sparse else self.matrix.size
        return int(cells) + len(self) * self.bias

    @property
    def _is_thin(self) -> bool:
        """Whether a product of two sparse matrices is faster than that of dense ones."""
        return self.is_sparse and self.n_cells < _THIN * len(self) * self.n_columns

    @property
    def gram_flops(self) -> float:
        """Floating-point operations of `gram`; sparse operations count more, as they take longer."""
        if self._is_thin:
            # with c entries in each of n rows there are n c^2 products, each as slow as many dense ones
            return _SPARSE_FLOP * self.n_cells**2 / max(1, len(self))
        return float(len(self) * self.n_columns**2)

    def take(self, rows: IntArray | slice) -> Design:
        """Return the given rows in the given order; a slice of a dense matrix shares memory."""
        return Design(self.matrix[rows], self.bias)

    def times(self, w: Array) -> Array:
        """Return the scores X w for each column of weights, shape (n_examples, n_outputs)."""
        # a product with complex weights would convert the whole matrix, too
        if np.iscomplexobj(w):
            return np.asarray(self.times(w.real) + 1j * self.times(w.imag))
        scores = self.matrix @ w[: self.matrix.shape[1]]
        if self.bias:
            scores += w[-1]
        return np.asarray(scores)

    def adjoint(self, rows: Array) -> Array:
        """Return X' r, shape (n_columns, n_outputs), where r is `rows`, shape (n_examples, n_outputs)."""
        if np.iscomplexobj(rows):
            return np.asarray(self.adjoint(rows.real) + 1j * self.adjoint(rows.imag))
        return self._with_bias(self.matrix.T @ rows, rows)

    def squares_adjoint(self, rows: FloatArray) -> FloatArray:
        """Return the same as `adjoint`, with the entries of X squared."""
        squares = self.matrix.power(2) if self.is_sparse else self.matrix**2
        return self._with_bias(squares.T @ rows, rows)

    def _with_bias(self, out: Any, rows: Array) -> Array:
        return np.vstack([out, rows.sum(axis=0)]) if self.bias else np.asarray(out)

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X for weights >= 0, shape (n_columns, n_columns)."""
        # As Z'Z with Z = diag(sqrt(weights)) X, a symmetric product of one operand with itself
        roots = np.sqrt(weights)
        if self._is_thin:
            scaled = self._with_ones().multiply(roots[:, None]).tocsr()
            return np.asarray((scaled.T @ scaled).toarray())
        scaled = np.empty((len(self), self.n_columns))
        matrix = self.matrix.toarray() if self.is_sparse else self.matrix
        np.multiply(matrix, roots[:, None], out=scaled[:, : matrix.shape[1]])
        if self.bias:
            scaled[:, -1] = roots
        return np.asarray(scaled.T @ scaled)  # one operand twice, see `Classes.hessian`

    def transposed_blocks(self, n_values: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of examples, each with its transposed dense features, shape (n_columns, n_rows).

        Slices are so small that `n_values` numbers per row stay in the processor's cache.
        """
        step = max(_LEAST_BLOCK, _BLOCK_CELLS // max(1, n_values))
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            part = self.matrix[rows].T
            block = np.ones((self.n_columns, part.shape[1]))  # the row of the bias stays 1
            block[: part.shape[0]] = part.toarray() if self.is_sparse else part
            yield rows, block

    def _with_ones(self) -> Any:
        """All columns, as a sparse matrix."""
        matrix: Any = scipy.sparse.csr_array(self.matrix)
        if not self.bias:
            return matrix
        ones: Any = scipy.sparse.csr_array(np.ones((len(self), 1)))
        return scipy.sparse.hstack([matrix, ones], format="csr") if matrix.shape[1] else ones

    def outer_rows(self, columns: IntArray, n_outputs: int, values: FloatArray) -> scipy.sparse.csr_array:
        """Return a sparse row per example: its features times its value, at the weights of its output.

        `columns`, shape (n_examples,), has the 0-based output of each example.
        """
        if not n_outputs:
            return scipy.sparse.csr_array((len(self), 0))
        # entry (example i, feature f) of X goes to the weight f * n_outputs + column of i
        rows = scipy.sparse.coo_array(self._with_ones())
        row, feature = rows.coords
        data = rows.data * values[row]
        shape = (len(self), self.n_columns * n_outputs)
        return scipy.sparse.coo_array((data, (row, feature * n_outputs + columns[row])), shape=shape).tocsr()


@dataclass(frozen=True)
class FlatShard(Shard):
    """Encoded examples."""

    design: Design
    outputs: Array  # (n_examples,), class indices or values; (0,) if they are not known
    n_scores: int  # of an example

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + self.design.nbytes + self.outputs.nbytes

    @property
    def n_parts(self) -> int:
        return len(self)

    def sizes(self) -> IntArray:
        return np.ones(len(self), dtype=np.int64)

    def work(self) -> IntArray:
        cells = self.design.n_cells * self.n_scores / max(1, len(self))
        return np.full(len(self), 1 + int(cells / _CELLS_PER_PART), np.int64)

    def take(self, indices: Any) -> FlatShard:
        rows = indices if isinstance(indices, slice) else self._chosen(indices)
        outputs = self.outputs[rows] if self.outputs.size else self.outputs
        return replace(self, weights=self.weights[rows], design=self.design.take(rows), outputs=outputs)

    @property
    def gradient_flops(self) -> float:
        """Of scores and their adjoint."""
        # a multiplication and an addition for each cell, there and back
        return 4.0 * self.design.n_cells * self.n_scores

    @property
    def hessian_flops(self) -> float:
        """Of the products of all two columns, for all two scores."""
        if self.n_scores == 1:
            return self.design.gram_flops
        # half, as the product is symmetric
        return 0.5 * len(self) * (self.design.n_columns * self.n_scores) ** 2


class FlatStructure(Structure):
    """Scores that are linear in the features of an example; the weights are feature x score, row by row.

    A bias has the last row of weights.
    """

    _outputs: str  # what a shard has, in messages
    _dtype: type

    def __init__(self, features: Sequence[str], bias: bool) -> None:
        self.feature_names, self.bias = list(features), bias

    def with_features(self, features: Sequence[str]) -> Self:
        """Return a copy of the structure with other features."""
        other = copy(self)
        other.feature_names = list(features)
        return other

    @property
    def n_scores(self) -> int:
        """Scores of an example that have weights."""
        return 1

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights as a table: features (the bias last) x scores that have weights."""
        return len(self.feature_names) + self.bias, self.n_scores

    @property
    def n_weights(self) -> int:
        n_columns, n_scores = self.shape
        return n_columns * n_scores

    def weight_names(self) -> list[str]:
        return self.feature_names + ["(bias)"] * self.bias

    def groups(self) -> Groups:
        """One group per prefix of feature names, and one for the biases (estimators do not penalize them)."""
        prefixes = [template_of(name) for name in self.feature_names] + ["bias"] * self.bias
        return Groups.by_name([prefix for prefix in prefixes for _ in range(self.n_scores)])

    def encode(self, inputs: Any, outputs: Any = None, weights: Any = None) -> FlatShard:
        """Encode a feature matrix, shape (n_examples, n_features), and outputs as a shard.

        Raises
        ------
        DataError
            There are no examples, the number of features or outputs is wrong, a value is not finite, or a
            class is unknown.
        """
        design = Design.check(inputs, self.feature_names, self.bias)
        n = len(design)
        known = np.empty(0, self._dtype) if outputs is None else self._encoded(outputs, n)
        return FlatShard(check_weights(weights, n), design, known, self.n_scores)

    @abstractmethod
    def _encoded(self, outputs: Any, n: int) -> Array:
        """The outputs of so many examples as numbers, or a `DataError`."""

    def check_shard(self, shard: FlatShard) -> None:
        shard.design.check_stored(len(shard), len(self.feature_names), self.bias)
        if shard.n_scores != self.n_scores:
            raise DataError(
                f"the shard has {shard.n_scores} scores per example, but the model has {self.n_scores}"
            )

    def _known(self, shard: FlatShard, outputs: Any = None) -> Array:
        """The outputs given, or else those of the shard; `DataError` if it has none."""
        known = shard.outputs if outputs is None else np.asarray(outputs, dtype=self._dtype)
        if known.size != len(shard):
            raise DataError(f"the shard has no {self._outputs}")
        return known
