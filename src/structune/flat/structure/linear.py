"""Linear models of outputs that are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.flat.structure.shard import FlatShard, FlatStructure
from structune.structure import Array, FloatArray, HessianProduct, check_finite


class Linear(FlatStructure):
    """Structure of linear models w . x of dense or sparse features x; the best output is the score itself.

    With `SquaredLoss` this is linear regression with Gaussian noise.

    Parameters
    ----------
    features : sequence of str
        Names of the features; the text before the first ``=`` is the group.
    bias : bool
        Whether there is a bias. It is the last weight and a group of its own.
    """

    name = "linear"
    capabilities = frozenset({"squared_error", "hessian", "dense_hessian", "best", "complex"})

    _outputs, _dtype = "outputs", np.float64

    def __init__(self, features: Sequence[str], bias: bool = True) -> None:
        super().__init__(features, bias)

    def _encoded(self, outputs: Any, n: int) -> FloatArray:
        values = np.asarray(outputs, dtype=np.float64)
        if values.shape != (n,):
            raise DataError(f"the outputs must have the shape ({n},), not {values.shape}")
        for i in np.flatnonzero(~np.isfinite(values))[:1]:
            raise DataError(f"example {i}: the output {values[i]} is not a finite number")
        return values

    def check_shard(self, shard: FlatShard) -> None:
        super().check_shard(shard)
        check_finite("outputs", shard.outputs, shard.weights.shape)

    def features(
        self, shard: FlatShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        weighted = self._known(shard, outputs) * (shard.weights if weights is None else weights)
        out += shard.design.adjoint(weighted[:, None])[:, 0]

    def feature_rows(self, shard: FlatShard, outputs: Any = None) -> scipy.sparse.csr_array:
        values = self._known(shard, outputs)
        return shard.design.outer_rows(np.zeros(len(shard), np.int64), 1, values)

    def scores(self, w: Array, shard: FlatShard) -> Array:
        """Return the score w . x of every example, shape (n_examples,)."""
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
        residuals = self.scores(w, shard) - self._known(shard)
        # the gradient is that of half the squares, as `SquaredLoss` takes it
        if gradient is not None:
            gradient += shard.design.adjoint((shard.weights * residuals)[:, None])[:, 0]
        return np.asarray(residuals * residuals)

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
