"""Loss functions; each is the sum of a nonlinear and a linear function of the weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from structune.structure import Array, FloatArray, HessianProduct, Structure


class Loss(ABC):
    """Base class of losses, summed over the examples of a shard: nonlinear part + ``linear @ w``.

    Hessian products and variances are new arrays at each call, so the caller may modify them.

    Attributes
    ----------
    name : str
        Name of the loss in the parameter `loss` of estimators.
    needs : frozenset of str
        Capabilities that the structure must have.
    quadratic, smooth, convex : bool
        Whether the Hessian is constant; whether there is a gradient everywhere; whether the loss is convex,
        at least for completely known outputs.
    """

    name: str
    needs: frozenset[str]
    quadratic = False
    smooth = True
    convex = True

    def linear(self, structure: Structure, shard: Any) -> FloatArray | None:
        """Return the coefficients of the linear part, shape (n_weights,), or None if there is none."""
        return None

    @abstractmethod
    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        """Return the value of the nonlinear part, and add its gradient to `gradient`."""

    def linearize(self, structure: Structure, shard: Any, w: FloatArray) -> HessianProduct:
        """Return the function v -> H v with the Hessian H at `w`."""
        return structure.linearize(w, shard)

    def variance(self, structure: Structure, shard: Any, w: FloatArray) -> FloatArray:
        """Return a positive approximation of the diagonal of the Hessian at `w`, shape (n_weights,)."""
        return structure.variance(w, shard)

    def hessian(self, structure: Structure, shard: Any, w: FloatArray) -> FloatArray:
        """Return the Hessian at `w` as a matrix, shape (n_weights, n_weights)."""
        return structure.hessian(w, shard)


def own_features(structure: Structure, shard: Any) -> FloatArray:
    """Minus the features of the examples' own outputs: the slope of the part of a loss that is -score."""
    own = np.zeros(structure.n_weights)
    structure.features(shard, own)
    return -own


class LogLoss(Loss):
    """The log loss -log p(y | x; w), which is the log-partition function minus the score.

    With partial labels, it is the log-partition function of all outputs minus that of the outputs that agree
    with the labels. This is not convex: the Hessian, a difference of covariances, may be indefinite.
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
    """The squared loss 1/2 (y - w . x)^2: up to a constant the negative log likelihood for unit noise."""

    name = "squared"
    needs = frozenset({"squared_error"})
    quadratic = True

    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        # squared_error adds half its gradient, (w . x - y) x, which is that of 1/2 (y - w . x)^2
        return 0.5 * shard.weights @ structure.squared_error(w, shard, gradient)
