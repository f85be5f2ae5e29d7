"""Penalties on the weights, one hyperparameter a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.structure import FloatArray, Groups

_LEAST_COUNT = 1e-3  # of weights in a group: a precision is positive even where there are none


@dataclass(frozen=True)
class GroupedL2:
    """1/2 sum_i exp(d[group[i]]) w_i^2, the Gaussian prior of Do et al. 2007 (OPT1).

    Attributes
    ----------
    groups : Groups
    log_precision : ndarray of float64, shape (n_groups,)
        d, the logarithms of the precisions.
    """

    groups: Groups
    log_precision: FloatArray

    @property
    def precision(self) -> FloatArray:
        """Precision of each weight, shape (n_weights,); 0 for one without a penalty."""
        return self.groups.spread(np.exp(self.log_precision))


@dataclass(frozen=True)
class IntegratedL2:
    """Precisions integrated out: ``sum_j (n_j / 2 + alpha) log(1/2 |w_j|^2 + beta)``.

    Equation 5 of Foo et al. 2009.

    Attributes
    ----------
    groups : Groups
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
        """The penalty and its gradient."""
        shape = self.groups.sizes / 2 + self.alpha
        return float(shape @ np.log(self._energy(w))), self.groups.spread(self.precision(w)) * w

    def precision(self, w: FloatArray, counts: FloatArray | None = None) -> FloatArray:
        """Precisions of the quadratic that majorises the penalty at `w`, shape (n_groups,).

        `counts` takes the place of the group sizes n_j (an effective number of weights, say).
        """
        counts = np.maximum(self.groups.sizes if counts is None else counts, _LEAST_COUNT)
        return np.asarray((counts / 2 + self.alpha) / self._energy(w))
