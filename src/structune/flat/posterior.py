"""How well the weights of a linear regression are known, and what follows for its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.learning.risk import Risk
from structune.learning.solvers.linear import FactoredSystem
from structune.structure import FloatArray

MOST_CELLS = 1 << 20  # of the roots of all outputs, eight megabytes
_AT_A_TIME = 1 << 22  # cells of a product


@dataclass(frozen=True)
class Posterior:
    """The Gaussian of the weights about the fitted ones, in units of the noise.

    Attributes
    ----------
    root : ndarray, shape (n_weights, n_weights)
        R, lower triangular: the covariance is R' R.
    mean : ndarray, shape (n_features,)
        Less than the features by this are those that the weights are of. Another weight is the intercept's.
    """

    root: FloatArray
    mean: FloatArray

    @classmethod
    def of_fit(cls, risk: Risk, precision: FloatArray, mean: FloatArray) -> Posterior:
        """(C + H)^-1 of a squared loss with its Hessian as a matrix."""
        return cls(FactoredSystem(risk, precision, np.zeros(risk.n_weights)).inverse_root(), mean)

    def variance(self, X: Any) -> FloatArray:
        """Of the score of each row of features, dense or sparse, shape (n_examples,)."""
        columns = self.root[:, : self.mean.size].T
        shift = self.root[:, self.mean.size :].sum(axis=1) - self.mean @ columns
        step, found = max(1, _AT_A_TIME // max(1, len(self.root))), np.empty(X.shape[0])
        for k in range(0, X.shape[0], step):
            found[k : k + step] = np.square(X[k : k + step] @ columns + shift).sum(axis=1)
        return found
