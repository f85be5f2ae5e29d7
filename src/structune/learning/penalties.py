"""Penalties with one hyperparameter per group of weights, and the integration over them and the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.learning.risk import Risk
from structune.structure import FloatArray, Groups

NOISE_FLOOR = 1e-6
_LEAST = 1e-30  # of the noise variance
_LEAST_LEFT = 1e-3  # of the examples, where the weights take up all of them
_LEAST_COUNT = 1e-3  # of weights in a group: a precision is positive even where there are none


@dataclass(frozen=True)
class GroupedL2:
    """L2 penalty 1/2 sum_i exp(d[group[i]]) w_i^2, the Gaussian prior of Do et al. 2007 (OPT1).

    Parameters
    ----------
    groups : Groups
        Groups of the weights.
    log_precision : ndarray, shape (n_groups,)
        d, the logarithm of the precision of each group.
    """

    groups: Groups
    log_precision: FloatArray

    @property
    def precision(self) -> FloatArray:
        """Precision of each weight, shape (n_weights,); 0 for one without a penalty."""
        return self.groups.spread(np.exp(self.log_precision))


@dataclass(frozen=True)
class IntegratedL2:
    """Penalty with the precisions integrated out: ``sum_j (n_j / 2 + alpha) log(1/2 |w_j|^2 + beta)``.

    This is equation 5 of Foo et al. 2009.

    Parameters
    ----------
    groups : Groups
        Groups of the weights.
    alpha, beta : float
        Shape and rate of the Gamma prior of each precision.
    """

    groups: Groups
    alpha: float = 0.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and 0 < self.beta < np.inf and self.alpha < np.inf):
            raise DataError(f"alpha={self.alpha}, beta={self.beta}: expected alpha >= 0 and beta > 0")

    def _energy(self, w: FloatArray) -> FloatArray:
        return 0.5 * self.groups.sum(w * w) + self.beta

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalty and its gradient at `w`."""
        # a Gamma(alpha, beta) prior of C_j integrates the Gaussian C_j^(n_j/2) exp(-1/2 C_j |w_j|^2) to a
        # power of 1/2 |w_j|^2 + beta; the logarithm is concave in |w_j|^2, so its tangent lies above it, a
        # quadratic in w
        shape = self.groups.sizes / 2 + self.alpha
        return float(shape @ np.log(self._energy(w))), self.groups.spread(self.precision(w)) * w

    def precision(self, w: FloatArray, counts: FloatArray | None = None) -> FloatArray:
        """Return the precisions of the quadratic that majorizes the penalty at `w`, shape (n_groups,).

        `counts` replaces the group sizes n_j, for example by effective numbers of weights.
        """
        # the slope of (n_j / 2 + alpha) log(e + beta) in e = 1/2 |w_j|^2: the precision of the tangent
        counts = np.maximum(self.groups.sizes if counts is None else counts, _LEAST_COUNT)
        return np.asarray((counts / 2 + self.alpha) / self._energy(w))


class IntegratedNoise:
    """The negative log likelihood that a risk stands for, and the noise variance that goes with it.

    `floor`, the least variance, is a share of the mean square of the outputs.
    """

    # For a squared loss, summed to r / 2 over m examples, Jeffreys' prior of the variance gives
    # (m / 2) log(r + m floor), and r / m + floor majorises it (Foo et al. 2009, section 4). Where there are
    # as many weights as examples r may vanish: hence the floor. Other losses are negative log likelihoods
    # already, of variance 1.
    def __init__(self, risk: Risk, floor: float) -> None:
        self._integrated, self._m = risk.quadratic, risk.weight
        # half the sum of squares at w = 0 is at_zero.value: the mean square of the outputs is 2 value / m
        self._floor = 2.0 * floor * risk.at_zero.value / self._m if risk.quadratic else 0.0
        self._floor = max(self._floor, _LEAST)  # outputs may be constant

    def of_result(self, variance: float) -> float | None:
        """The variance for a `TuningResult`: None where none was integrated out."""
        return variance if self._integrated else None

    def variance(self, loss: float, n_determined: float = 0.0) -> float:
        """Where the summed loss is `loss`, and so many weights are determined by the data."""
        # these take up as many examples: the variance is r / (m - n_determined) (MacKay 1992)
        if not self._integrated:
            return 1.0
        # d value / d loss = 1 / variance, by (m / 2) log(2 loss + m floor)
        return 2.0 * loss / max(self._m - n_determined, _LEAST_LEFT * self._m) + self._floor

    def variance_of(self, value: float) -> float:
        """The same, from the negative log likelihood."""
        # value = (m / 2) log(m s), solved for s
        return float(np.exp(2.0 * value / self._m)) / self._m if self._integrated else 1.0

    def value(self, loss: float) -> float:
        """Negative log likelihood; its derivative in `loss` is 1 / `variance`."""
        return 0.5 * self._m * float(np.log(self._m * self.variance(loss))) if self._integrated else loss
