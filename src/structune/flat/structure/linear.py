"""Linear models of outputs that are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.flat.structure.design import Design
from structune.flat.structure.shard import FlatShard
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    HessianProduct,
    Structure,
    check_finite,
    check_weights,
    template_of,
)


class Linear(Structure):
    """w . x for dense or sparse features x; the best output is the score itself.

    With `SquaredLoss` this is linear regression with Gaussian noise.

    Parameters
    ----------
    features : sequence of str
        Names; the text before the first ``=`` is the group.
    bias : bool
        Whether there is a bias, the last weight and a group of its own.
    """

    name = "linear"
    capabilities = frozenset({"squared_error", "hessian", "dense_hessian", "best", "complex"})

    def __init__(self, features: Sequence[str], bias: bool = True) -> None:
        self.feature_names, self.bias = list(features), bias

    def with_features(self, features: Sequence[str]) -> Linear:
        """The same, with other features."""
        return Linear(features, self.bias)

    @property
    def n_weights(self) -> int:
        return len(self.feature_names) + self.bias

    def weight_names(self) -> list[str]:
        return self.feature_names + ["(bias)"] * self.bias

    def groups(self) -> Groups:
        """One group per feature-name prefix, and the bias (estimators leave these free)."""
        return Groups.by_name([template_of(name) for name in self.feature_names] + ["bias"] * self.bias)

    def encode(self, inputs: Any, outputs: Any = None, weights: Any = None) -> FlatShard:
        """Lay out a feature matrix, shape (n_examples, n_features), and numbers as a shard.

        Raises
        ------
        DataError
            No examples, a wrong number of features or outputs, a value that is not finite.
        """
        design = Design.check(inputs, self.feature_names, self.bias)
        values = np.empty(0) if outputs is None else np.asarray(outputs, dtype=np.float64)
        if outputs is not None and values.shape != (len(design),):
            raise DataError(f"found outputs of shape {values.shape} for {len(design)} examples")
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise DataError(f"example {bad[0]}: found the output {values[bad[0]]}, expected a finite number")
        return FlatShard(check_weights(weights, len(design)), design, values, 1)

    def check_shard(self, shard: FlatShard) -> None:
        shard.check_stored(len(self.feature_names), self.bias, 1)
        check_finite("outputs", shard.outputs, shard.weights.shape)

    def _values(self, shard: FlatShard, outputs: Any = None) -> FloatArray:
        values = shard.outputs if outputs is None else np.asarray(outputs, dtype=np.float64)
        if values.size != len(shard):
            raise DataError("the shard has no outputs")
        return values

    def features(
        self, shard: FlatShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        weighted = self._values(shard, outputs) * (shard.weights if weights is None else weights)
        out += shard.design.adjoint(weighted[:, None])[:, 0]

    def feature_rows(self, shard: FlatShard, outputs: Any = None) -> scipy.sparse.csr_array:
        values = self._values(shard, outputs)
        return shard.design.outer_rows(np.zeros(len(shard), np.int64), 1, values)

    def scores(self, w: Array, shard: FlatShard) -> Array:
        """w . x of every example, shape (n_examples,)."""
        return shard.design.times(w[:, None])[:, 0]

    def best(
        self, w: FloatArray, shard: FlatShard, cost: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        # the best number is the score itself: (y - score)^2 is 0 there
        if cost is not None:
            raise self._cannot("cost")
        scores = self.scores(w, shard)
        return scores, scores

    def squared_error(self, w: Array, shard: FlatShard, gradient: Array | None = None) -> Array:
        residuals = self.scores(w, shard) - self._values(shard)
        # the gradient is that of half the squares, as `SquaredLoss` takes it
        if gradient is not None:
            gradient += shard.design.adjoint((shard.weights * residuals)[:, None])[:, 0]
        return residuals * residuals

    def linearize(self, w: FloatArray, shard: FlatShard, within: bool = False) -> HessianProduct:
        if within:
            raise self._cannot("within")

        # H = X' diag(weights) X whatever w is
        def product(v: FloatArray) -> FloatArray:
            weighted = shard.weights * self.scores(v, shard)
            return shard.design.adjoint(weighted[:, None])[:, 0]

        return product

    def variance(self, w: FloatArray, shard: FlatShard) -> FloatArray:
        # the diagonal of X' diag(weights) X
        return shard.design.squares_adjoint(shard.weights[:, None])[:, 0]

    def hessian(self, w: FloatArray, shard: FlatShard) -> FloatArray:
        return shard.design.gram(shard.weights)
