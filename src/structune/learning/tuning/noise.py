"""The noise variance of regression, integrated out."""

from __future__ import annotations

import numpy as np

from structune.learning.risk import Risk

NOISE_FLOOR = 1e-6
_LEAST = 1e-30
_LEAST_LEFT = 1e-3  # of the examples, where the weights take up all of them


class IntegratedNoise:
    """The negative log likelihood that a risk stands for, and the noise variance that goes with it.

    For a squared loss, summed to r / 2 over m examples, Jeffreys' prior of the variance gives
    (m / 2) log(r + m floor), and r / m + floor majorises it (Foo et al. 2009, section 4). Where there are as
    many weights as examples r may vanish: hence the floor. Other losses are negative log likelihoods already,
    of variance 1.

    Parameters
    ----------
    risk : Risk
    floor : float
        Of the variance, as a share of the mean square of the outputs.
    """

    def __init__(self, risk: Risk, floor: float) -> None:
        self._integrated, self._m = risk.quadratic, risk.weight
        self._floor = 2.0 * floor * risk.at_zero.value / self._m if risk.quadratic else 0.0
        self._floor = max(self._floor, _LEAST)  # outputs may be constant

    def of_result(self, variance: float) -> float | None:
        """The variance for a `TuningResult`: None where none was integrated out."""
        return variance if self._integrated else None

    def variance(self, loss: float, n_determined: float = 0.0) -> float:
        """Where the summed loss is `loss`.

        Weights that the data determine take up as many examples: with their effective number the variance is
        r / (m - n_determined) (MacKay 1992).
        """
        if not self._integrated:
            return 1.0
        return 2.0 * loss / max(self._m - n_determined, _LEAST_LEFT * self._m) + self._floor

    def variance_of(self, value: float) -> float:
        """The same, from the negative log likelihood."""
        return float(np.exp(2.0 * value / self._m)) / self._m if self._integrated else 1.0

    def value(self, loss: float) -> float:
        """Negative log likelihood; its derivative in `loss` is 1 / `variance`."""
        return 0.5 * self._m * float(np.log(self._m * self.variance(loss))) if self._integrated else loss
