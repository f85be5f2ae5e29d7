"""Multiclass log-linear models: one label an example, scored by its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.flat.kernels import classes as kernels
from structune.flat.structure.shard import FlatShard, FlatStructure
from structune.kernels.vectors import lanes_for
from structune.structure import Array, FloatArray, HessianProduct, IntArray, check_range


class Classes(FlatStructure):
    """Structure of multinomial or binary logistic models over dense or sparse features.

    The weight vector is a table of feature x class, row by row, followed by one bias per class.

    Parameters
    ----------
    labels : sequence
        Classes.
    features : sequence of str
        Names of the features; the text before the first ``=`` is the group.
    bias : bool
        Whether each class has a bias. Biases are a group of their own.
    reference : bool
        Whether the first class has no weights and the score 0. With two classes this is binary logistic
        regression.
    """

    name = "classes"
    capabilities = frozenset(
        ["log_partition", "hessian", "dense_hessian", "best", "cost", "rescaled", "complex", "marginals"]
    )
    _outputs, _dtype = "labels", np.int64

    def __init__(
        self, labels: Sequence[Any], features: Sequence[str], bias: bool = True, reference: bool = False
    ) -> None:
        if len(set(labels)) != len(labels) or not len(labels):
            raise DataError(f"give at least one class, and each class once, not {list(labels)}")
        super().__init__(features, bias)
        self.labels, self.reference = list(labels), reference
        self._ids = {label: y for y, label in enumerate(self.labels)}

    @property
    def n_labels(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def n_scores(self) -> int:
        return self.n_labels - self.reference

    def weight_names(self) -> list[str]:
        scored = self.labels[self.reference :]
        return [f"{name} : {label}" for name in super().weight_names() for label in scored]

    def _encoded(self, outputs: Any, n: int) -> IntArray:
        if len(outputs) != n:
            raise DataError(f"there are {len(outputs)} labels, but {n} examples. Give one label per example.")
        codes = np.fromiter((self._ids.get(label, -1) for label in outputs), np.int64, n)
        for i in np.flatnonzero(codes < 0)[:1]:
            raise DataError(f"example {i}: unknown class {outputs[i]!r}, expected one of {self.labels}")
        return codes

    def check_shard(self, shard: FlatShard) -> None:
        super().check_shard(shard)
        check_range("labels", shard.outputs, np.int64, shard.weights.shape, 0, self.n_labels)

    def scores(self, w: Array, shard: FlatShard) -> Array:
        """Return the score of each class, shape (n_examples, n_classes)."""
        # the reference class keeps the score 0
        out = np.zeros((len(shard), self.n_labels), w.dtype)
        out[:, self.reference :] = shard.design.times(w.reshape(self.shape))
        return out

    def _add_rows(self, out: Array, shard: FlatShard, rows: Array) -> None:
        out += shard.design.adjoint(rows[:, self.reference :]).ravel()

    def features(
        self, shard: FlatShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        # F(x, y) is x in the column of y, so their weighted sum is X' times an indicator matrix of classes
        rows = np.zeros((len(shard), self.n_labels))
        labels = self._known(shard, outputs)
        rows[np.arange(len(shard)), labels] = shard.weights if weights is None else weights
        self._add_rows(out, shard, rows)

    def feature_rows(self, shard: FlatShard, outputs: Any = None) -> scipy.sparse.csr_array:
        labels = self._known(shard, outputs) - self.reference
        scored = (labels >= 0).astype(np.float64)  # the reference class has no features
        return shard.design.outer_rows(np.maximum(labels, 0), self.shape[1], scored)

    def marginals(self, w: FloatArray, shard: FlatShard) -> FloatArray:
        """Return the probability of each class, shape (n_examples, n_classes)."""
        return np.asarray(self._softmax(w, shard)[0])

    def _softmax(self, w: Array, shard: FlatShard) -> tuple[Array, Array]:
        """Probabilities, and log-partitions."""
        p, log_z = self.scores(w, shard), np.empty(len(shard), w.dtype)
        kernels.softmax(p, log_z, lanes_for(p.dtype, p.size))
        return p, log_z

    def _log_partition(
        self, w: Array, shard: FlatShard, expected: Array | None, weights: FloatArray, within: bool
    ) -> Array:
        p, log_z = self._softmax(w, shard)
        if expected is not None:
            # E[F] = sum_i weight_i x_i p_i', which is the gradient of the weighted log-partitions
            self._add_rows(expected, shard, p * weights[:, None])
        return log_z

    def best(
        self, w: FloatArray, shard: FlatShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        scores = self.scores(w, shard)
        if cost is not None:
            scores += cost[:, None] * (self._known(shard)[:, None] != np.arange(self.n_labels))
        labels = scores.argmax(axis=1)
        return labels, scores[np.arange(len(shard)), labels]

    def cost(self, shard: FlatShard, outputs: Any) -> FloatArray:
        """Return 1 for each wrong class and 0 for each right one, shape (n_examples,)."""
        return np.asarray(self._known(shard) != outputs, dtype=np.float64)

    def best_rescaled(
        self, w: FloatArray, shard: FlatShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        # slack rescaling by a cost of 0 or 1: the margin of each other class, and 0 for the example's own
        margins, own = self.scores(w, shard), (np.arange(len(shard)), self._known(shard))
        margins -= margins[own][:, None]
        if cost is not None:
            margins += cost[:, None]
            margins[own] = 0.0
        return margins.argmax(axis=1), margins.max(axis=1)

    # --- second derivatives -------------------------------------------------------------------------------

    def linearize(self, w: FloatArray, shard: FlatShard, within: bool = False) -> HessianProduct:
        if within:
            raise self._cannot("within")
        p = self.marginals(w, shard)

        # H v = X' R with rows R_i = weight_i (diag(p_i) - p_i p_i') (X v)_i: two products with X, no matrix H
        def product(v: FloatArray) -> FloatArray:
            rows, out = self.scores(v, shard), np.zeros(self.n_weights)
            kernels.tangent(p, shard.weights, rows)
            self._add_rows(out, shard, rows)
            return out

        return product

    def variance(self, w: FloatArray, shard: FlatShard) -> FloatArray:
        # the diagonal of the Hessian: sum_i weight_i p (1 - p) x^2
        p = self.marginals(w, shard)[:, self.reference :]
        return shard.design.squares_adjoint(shard.weights[:, None] * p * (1.0 - p)).ravel()

    def hessian(self, w: FloatArray, shard: FlatShard) -> FloatArray:
        p, n_columns = self.marginals(w, shard), self.shape[0]
        # Block (a, b) of classes is sum_i weight_i p_ia (1[a = b] - p_ib) x_i x_i'. With two classes and a
        # reference that is one Gram matrix.
        if self.shape[1] == 1:
            return shard.design.gram(shard.weights * p[:, -1] * (1.0 - p[:, -1]))
        # For a != b the blocks are those of -Z Z', where Z has the rows sqrt(weight_i) p_ia x_i of all
        # classes and columns: one symmetric product.
        roots = np.ascontiguousarray((np.sqrt(shard.weights)[:, None] * p).T)
        products = np.zeros((n_columns * self.n_labels, n_columns * self.n_labels))
        for rows, x in shard.design.transposed_blocks(len(products)):
            outer = (roots[:, None, rows] * x).reshape(len(products), x.shape[1])
            products -= outer @ outer.T  # one operand twice: BLAS does half of the work
        blocks = products.reshape(self.n_labels, n_columns, self.n_labels, n_columns)
        for a in range(self.n_labels):
            # p_a (1 - p_a) is the sum of p_a p_b over b != a: the diagonal block is minus the sum of the
            # others, with no difference that loses digits where p_a is near 1. Rounding is made symmetric.
            blocks[a, :, a, :] = 0.0
            others = blocks[a].sum(axis=1)
            blocks[a, :, a, :] = -0.5 * (others + others.T)
        blocks = blocks[self.reference :, :, self.reference :, :]  # weights are feature x class
        return blocks.transpose(1, 0, 3, 2).reshape(self.n_weights, self.n_weights)
