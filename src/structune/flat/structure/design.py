"""Feature matrices of flat models, dense or sparse, and the products that models need of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray, check_finite, check_offsets, check_range

# measured: flops of a dense product in the time of one of a sparse product, and where the two meet
_SPARSE_FLOP, _THIN = 400.0, 0.05
_BLOCK_CELLS, _LEAST_BLOCK = 1 << 16, 128


@dataclass(frozen=True)
class Design:
    """A feature matrix, with a last column of ones where a model has a bias; the column is not stored.

    Attributes
    ----------
    matrix : ndarray of float64 or csr_array, shape (n_examples, n_features)
    bias : bool
    """

    matrix: Any
    bias: bool

    @classmethod
    def check(cls, inputs: Any, names: Sequence[str], bias: bool) -> Design:
        """The matrix of some examples.

        Raises
        ------
        DataError
            No examples, a wrong number of features, a value that is not finite.
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
            raise DataError(f"found inputs of shape {matrix.shape}, expected a row an example")
        if not matrix.shape[0]:
            raise DataError("found no examples, expected at least one")
        if matrix.shape[1] != len(names):
            raise DataError(f"found {matrix.shape[1]} features, expected {len(names)}")
        design = cls(matrix, bias)
        if not np.all(np.isfinite(matrix.data if design.is_sparse else matrix)):
            cells = scipy.sparse.coo_array(matrix)
            rows, columns = cells.coords
            bad = np.flatnonzero(~np.isfinite(cells.data))
            first = bad[np.lexsort((columns[bad], rows[bad]))[0]]
            where, found = f"example {rows[first]}, feature {names[columns[first]]!r}", cells.data[first]
            raise DataError(f"{where}: found {found}, expected a finite number")
        return design

    def check_stored(self, n_rows: int, n_features: int, bias: bool) -> None:
        """Raise `DataError` if a matrix from a file is not sound, or is that of other features."""
        if self.bias != bias:
            raise DataError(f"found features with bias={self.bias}, expected {bias}")
        if not self.is_sparse:
            check_finite("features", self.matrix, (n_rows, n_features))
            return
        matrix, kind = self.matrix, self.matrix.indices.dtype
        if matrix.shape != (n_rows, n_features) or kind not in (np.int32, np.int64):
            expected = f"expected {(n_rows, n_features)} and integers"
            raise DataError(f"found features of shape {matrix.shape} with columns of {kind}, {expected}")
        check_range("rows", matrix.indptr, kind, (n_rows + 1,), 0, matrix.data.size + 1)
        check_offsets(matrix.indptr.astype(np.int64), n_rows, matrix.data.size)
        check_range("columns", matrix.indices, kind, matrix.data.shape, 0, n_features)
        check_finite("features", matrix.data, (matrix.data.size,))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        return bool(scipy.sparse.issparse(self.matrix))

    @property
    def n_columns(self) -> int:
        """Features, and the bias."""
        return int(self.matrix.shape[1]) + self.bias

    @property
    def nbytes(self) -> int:
        parts = (
            (self.matrix.data, self.matrix.indices, self.matrix.indptr) if self.is_sparse else (self.matrix,)
        )
        return sum(part.nbytes for part in parts)

    @property
    def n_cells(self) -> int:
        """Cells that a product visits."""
        cells = self.matrix.nnz if self.is_sparse else self.matrix.size
        return int(cells) + len(self) * self.bias

    @property
    def _is_thin(self) -> bool:
        """Whether a product of two sparse matrices is faster than that of dense ones."""
        return self.is_sparse and self.n_cells < _THIN * len(self) * self.n_columns

    @property
    def gram_flops(self) -> float:
        """Of `gram`; one on sparse rows takes as long as many on dense ones."""
        if self._is_thin:
            # with c entries in each of n rows there are n c^2 products, each as slow as many dense ones
            return _SPARSE_FLOP * self.n_cells**2 / max(1, len(self))
        return float(len(self) * self.n_columns**2)

    def take(self, rows: IntArray | slice) -> Design:
        """The given rows, in the given order; a slice of dense ones shares memory."""
        return Design(self.matrix[rows], self.bias)

    def times(self, w: Array) -> Array:
        """Scores X w of each column of weights, shape (n_examples, n_outputs)."""
        # a product with complex weights would convert the whole matrix, too
        if np.iscomplexobj(w):
            return np.asarray(self.times(w.real) + 1j * self.times(w.imag))
        scores = self.matrix @ w[: self.matrix.shape[1]]
        if self.bias:
            scores += w[-1]
        return np.asarray(scores)

    def adjoint(self, rows: Array) -> Array:
        """X' r, shape (n_columns, n_outputs)."""
        if np.iscomplexobj(rows):
            return np.asarray(self.adjoint(rows.real) + 1j * self.adjoint(rows.imag))
        return self._with_bias(self.matrix.T @ rows, rows)

    def squares_adjoint(self, rows: FloatArray) -> FloatArray:
        """The same with the squares of the entries of X."""
        if self.is_sparse:
            return self._with_bias(self.matrix.power(2).T @ rows, rows)
        return self._with_bias((self.matrix**2).T @ rows, rows)

    def _with_bias(self, out: Any, rows: Array) -> Array:
        return np.vstack([out, rows.sum(axis=0)]) if self.bias else np.asarray(out)

    def gram(self, weights: FloatArray) -> FloatArray:
        """X' diag(weights) X for weights >= 0, shape (n_columns, n_columns)."""
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
        """Some rows at a time, so few that `n_values` numbers a row stay in the caches.

        All columns of these, dense, shape (n_columns, n_rows).
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
        """Each row times `values`, in the weights (feature x output) of one output each."""
        if not n_outputs:
            return scipy.sparse.csr_array((len(self), 0))
        # entry (example i, feature f) of X goes to the weight f * n_outputs + column of i
        rows = scipy.sparse.coo_array(self._with_ones())
        row, feature = rows.coords
        data = rows.data * values[row]
        shape = (len(self), self.n_columns * n_outputs)
        return scipy.sparse.coo_array((data, (row, feature * n_outputs + columns[row])), shape=shape).tocsr()
