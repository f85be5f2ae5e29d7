"""Losses that are maxima over outputs: the margin loss, and tighter losses that are not convex."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy

from structune.errors import DataError
from structune.learning.losses import Loss, own_features
from structune.structure import Array, FloatArray, Structure

RESCALINGS = ("margin", "slack")


# values and slopes; Huber's loss is quadratic up to 1, then linear; the logistic function is written so that
# neither sign of a overflows
OUTER: dict[str, Callable[[FloatArray], tuple[FloatArray, FloatArray]]] = {
    "hinge": lambda a: (np.maximum(a, 0.0), (a > 0).astype(np.float64)),
    "squared_hinge": lambda a: (0.5 * np.maximum(a, 0.0) ** 2, np.maximum(a, 0.0)),
    "huber": lambda a: (np.where(a < 1.0, 0.5 * np.maximum(a, 0.0) ** 2, a - 0.5), np.clip(a, 0.0, 1.0)),
    "logistic": lambda a: (np.logaddexp(0.0, a), np.exp(-np.logaddexp(0.0, -a))),
}


class Violations(NamedTuple):
    """The outputs that attain the maximum in a loss, one an example."""

    outputs: Any
    factor: FloatArray  # what their features count: Gamma(Delta), shape (n_examples,)
    value: FloatArray  # the maximum, shape (n_examples,)


class MaximumLoss(Loss):
    """Base class of losses that are a maximum over outputs.

    The maximum is taken over ``beta + Delta``, with beta = Gamma(Delta(y, y')) (f(x, y') - f(x, y)). A convex
    increasing outer function is applied to it. If that is the identity and Gamma is 1, the score of y can be
    taken out of the maximum; it is the linear part of the loss.

    Parameters
    ----------
    rescaling : {"margin", "slack"}
        Margin rescaling, Gamma(eta) = 1, or slack rescaling, Gamma(eta) = eta.
    outer : {"hinge", "squared_hinge", "huber", "logistic"}
        Outer function (Gornitz et al. 2011, section 2.2). The maximum is never negative, so "hinge" is the
        identity.
    """

    smooth = False

    def __init__(self, rescaling: str = "margin", outer: str = "hinge") -> None:
        if rescaling not in RESCALINGS:
            raise DataError(f"rescaling={rescaling!r}: expected one of {RESCALINGS}")
        if outer not in OUTER:
            raise DataError(f"outer={outer!r}: expected one of {sorted(OUTER)}")
        self.rescaling, self.outer = rescaling, outer
        self.needs = frozenset({"best", "cost"} | ({"rescaled"} if rescaling == "slack" else set()))

    @property
    def own_score_is_linear(self) -> bool:
        """Whether the score of the annotated output is a separate, linear part of the loss."""
        # the hinge of a maximum that is never negative is that maximum, and Gamma = 1 takes f(x, y) out of it
        return self.rescaling == "margin" and self.outer == "hinge"

    def violations(self, structure: Structure, shard: Any, w: Array, augmented: bool = True) -> Violations:
        """The maximum over outputs at `w`; of beta alone if not `augmented`."""
        # margin rescaling: max over y' of f(x, y') + Delta(y, y'), less f(x, y), by loss-augmented decoding;
        # slack rescaling: max of Delta(y, y') (1 + f(x, y') - f(x, y)), of which y itself has 0
        ones = np.ones(len(shard)) if augmented else None
        if self.rescaling == "slack":
            outputs, value = structure.best_rescaled(w, shard, ones)
            return Violations(outputs, structure.cost(shard, outputs), value)
        outputs, value = structure.best(w, shard, ones)
        if not self.own_score_is_linear:
            value = value - structure.score(w, shard)
        return Violations(outputs, np.ones(len(shard)), value)

    def outer_value(self, maximum: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The outer function of the maximum, and its slope."""
        if self.own_score_is_linear:  # without the score of y, the maximum may be negative
            return maximum, np.ones_like(maximum)
        return OUTER[self.outer](maximum)

    def add_features(
        self, structure: Structure, shard: Any, found: Violations, weights: FloatArray, out: FloatArray
    ) -> None:
        """Add the weighted sum of the features of a maximum to `out`."""
        structure.features(shard, out, weights * found.factor, found.outputs)
        if not self.own_score_is_linear:
            structure.features(shard, out, -weights * found.factor)

    def planes(
        self, structure: Structure, shard: Any, found: Violations, own: scipy.sparse.csr_array
    ) -> tuple[scipy.sparse.csr_array, FloatArray]:
        """Rows and offsets, by example: beta + Delta of the outputs found is ``row . v + offset`` at v."""
        # Gamma (F(x, y') - F(x, y)) . v + Delta(y, y'), linear in v for the outputs y' that were found at w;
        # `own` has F(x, y)
        rows = structure.feature_rows(shard, found.outputs) - own
        factors = found.factor[:, None]
        return scipy.sparse.csr_array(rows.multiply(factors)), structure.cost(shard, found.outputs)

    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        # outer(max)' = outer'(max) Gamma (F(x, y') - F(x, y)) at an output y' that attains the maximum
        found = self.violations(structure, shard, w)
        value, slope = self.outer_value(found.value)
        if gradient is not None:
            self.add_features(structure, shard, found, shard.weights * slope, gradient)
        return float(shard.weights @ value)

    def linear(self, structure: Structure, shard: Any) -> FloatArray | None:
        # max_y' [f(y') + Delta] - f(y): the second term is the same row in every evaluation
        return own_features(structure, shard) if self.own_score_is_linear else None

    def linearize(self, structure: Structure, shard: Any, w: FloatArray) -> Any:
        raise DataError(f"{type(self).__name__} has no second derivatives: use a smooth loss")

    variance = hessian = linearize


class MarginLoss(MaximumLoss):
    """The margin loss outer(max over y' of Gamma(Delta) (f(x, y') - f(x, y)) + Delta), which is convex.

    With the outer function "hinge" it is an upper bound of the cost of the best output (lemma 1 of Chapelle
    et al. 2008). Margin rescaling is from Taskar et al. 2004, slack rescaling from Tsochantaridis et al.
    2005.

    Parameters
    ----------
    rescaling : {"margin", "slack"}
        Margin rescaling, Gamma(eta) = 1, or slack rescaling, Gamma(eta) = eta.
    outer : {"hinge", "squared_hinge", "huber", "logistic"}
        Outer function (Gornitz et al. 2011, section 2.2).
    """

    name = "margin"


class PerceptronLoss(MaximumLoss):
    """The perceptron loss max f - f(x, y): the best score minus the score of the annotated output.

    It is zero if the annotated output is the best one. It is convex and positively homogeneous in the weights
    (Collins 2002). The constraints of Chen et al. 2009 (equation 6) are sums of this loss.
    """

    name = "perceptron"

    def __init__(self) -> None:
        super().__init__()
        self.needs = frozenset({"best"})

    def violations(self, structure: Structure, shard: Any, w: Array, augmented: bool = False) -> Violations:
        return super().violations(structure, shard, w, augmented=False)

    def planes(
        self, structure: Structure, shard: Any, found: Violations, own: scipy.sparse.csr_array
    ) -> tuple[scipy.sparse.csr_array, FloatArray]:
        return super().planes(structure, shard, found, own)[0], np.zeros(len(shard))  # beta alone


class DifferenceLoss(MaximumLoss):
    """A maximum minus another convex function, for convex-concave programming."""

    convex = False

    @property
    def bound(self) -> MarginLoss:
        """The margin loss: the same maximum, minus the score of the example's own output."""
        return MarginLoss(self.rescaling)

    @abstractmethod
    def concave(self, structure: Structure, shard: Any, w: FloatArray, gradient: Array | None) -> float:
        """Return h(w), the convex function that the loss subtracts, and add a subgradient to `gradient`.

        h is positively homogeneous: h(a w) = a h(w) for a >= 0. A `gradient` of None is not filled.
        """

    def linear(self, structure: Structure, shard: Any) -> FloatArray | None:
        return None

    def nonlinear(self, structure: Structure, shard: Any, w: Array, gradient: Array | None) -> Any:
        value = super().nonlinear(structure, shard, w, gradient)
        if gradient is None:
            return value - self.concave(structure, shard, w, None)
        other = np.zeros_like(gradient)
        value -= self.concave(structure, shard, w, other)
        gradient -= other
        return value


class RampLoss(DifferenceLoss):
    """The ramp loss max(beta + Delta) - max beta over outputs (Chapelle et al. 2008, equation 6).

    Delta is the cost of an output y', and beta is Gamma(Delta) (f(x, y') - f(x, y)). The loss is an upper
    bound of the cost of the best output, and never exceeds the largest cost. So examples that the model
    cannot fit have a limited influence.

    Parameters
    ----------
    rescaling : {"margin", "slack"}
        Margin or slack rescaling: see `MarginLoss`. With "margin" the score of the annotated output cancels,
        and only its costs matter.
    """

    name = "ramp"

    def __init__(self, rescaling: str = "margin") -> None:
        super().__init__(rescaling)

    def concave(self, structure: Structure, shard: Any, w: FloatArray, gradient: Array | None) -> float:
        # max over y' of beta alone, linear between kinks: its value is its subgradient times w
        found = self.violations(structure, shard, w, augmented=False)
        if gradient is not None:
            self.add_features(structure, shard, found, shard.weights, gradient)
        return float(shard.weights @ found.value)


class EquivalentMarginLoss(DifferenceLoss):
    """The smallest margin loss over all outputs that are as good as the annotated one.

    It is max(f + Delta) over all outputs, minus max f over the equivalent outputs, with margin rescaling
    (Chapelle et al. 2008, section 3).
    """

    name = "equivalent"

    def __init__(self) -> None:
        super().__init__()
        self.needs = self.needs | {"equivalent"}

    def concave(self, structure: Structure, shard: Any, w: FloatArray, gradient: Array | None) -> float:
        # the infimum over y'' in Y_opt of max_y' [f(y') + Delta] - f(y''): the maximum is that of all of them
        outputs, value = structure.best_equivalent(w, shard)
        if gradient is not None:
            structure.features(shard, gradient, None, outputs)
        return float(shard.weights @ value)
