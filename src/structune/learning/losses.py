"""Losses of a structure's outputs, each the sum of a nonlinear and a linear function of the weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from structune.structure import Array, FloatArray, HessianProduct, Structure


class Loss(ABC):
    """A loss summed over the examples of a shard: nonlinear part + ``linear @ w``.

    Products with the Hessian and variances are new arrays each time: the caller adds to them.
    """

    name: str  # by which estimators know it
    needs: frozenset[str]
    quadratic = False  # whether its Hessian is the same everywhere
    smooth = True  # whether it has a gradient everywhere
    convex = True  # at least where all outputs are known

    def linear(self, structure: Structure, shard: Any) -> FloatArray | None:
        """The linear part's coefficients, shape (n_weights,), or None for none."""
        return None

    @abstractmethod
    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        """Value of the nonlinear part; adds its gradient to `gradient`."""

    def linearize(self, structure: Structure, shard: Any, w: FloatArray) -> HessianProduct:
        """Products with the Hessian at `w`."""
        return structure.linearize(w, shard)

    def variance(self, structure: Structure, shard: Any, w: FloatArray) -> FloatArray:
        """A positive stand-in for the diagonal of the Hessian at `w`."""
        return structure.variance(w, shard)

    def hessian(self, structure: Structure, shard: Any, w: FloatArray) -> FloatArray:
        """The Hessian at `w` as a matrix."""
        return structure.hessian(w, shard)


def own_features(structure: Structure, shard: Any) -> FloatArray:
    """Minus the features of the examples' own outputs: the slope of the part of a loss that is -score."""
    own = np.zeros(structure.n_weights)
    structure.features(shard, own)
    return -own


class LogLoss(Loss):
    """-log p(y | x; w) = log-partition - score.

    With partial labels, the log-partition of all outputs minus that of the outputs that agree: no longer
    convex, and its Hessian, a difference of covariances, may be indefinite.
    """

    name = "log"
    needs = frozenset({"log_partition"})

    def linear(self, structure: Structure, shard: Any) -> FloatArray | None:
        return None if shard.is_partly_known else own_features(structure, shard)

    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        # log Z(x) - log Z(x, known): of a whole output the second sum has one term, its score, which is
        # linear in w but for what the score has beside w . F
        own = 0.0 if shard.is_partly_known else structure.constants(shard)
        value = shard.weights @ (structure.log_partition(w, shard, gradient) - own)
        if shard.is_partly_known:
            within = None if gradient is None else np.zeros_like(gradient)
            value = value - shard.weights @ structure.log_partition(w, shard, within, within=True)
            if gradient is not None:
                gradient -= within
        return value

    def linearize(self, structure: Structure, shard: Any, w: FloatArray) -> HessianProduct:
        # the Hessian of a log-partition is the covariance of the features; this is a difference of two
        whole = structure.linearize(w, shard)
        if not shard.is_partly_known:
            return whole
        within = structure.linearize(w, shard, within=True)
        return lambda v: whole(v) - within(v)


class SquaredLoss(Loss):
    """1/2 (y - w . x)^2: the negative log likelihood under noise of variance 1, but for a constant."""

    name = "squared"
    needs = frozenset({"squared_error"})
    quadratic = True

    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        # squared_error adds half its gradient, (w . x - y) x, which is that of 1/2 (y - w . x)^2
        return 0.5 * shard.weights @ structure.squared_error(w, shard, gradient)
