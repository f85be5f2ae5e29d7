"""Linear systems with the Hessian of a penalised risk, factored."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from structune.monitor import Monitor
from structune.risk import Risk
from structune.solvers.linear import HessianSystem, LinearSolution
from structune.structures.base import FloatArray

# of the largest diagonal entry: the biases of all classes may move together, and nothing changes
_JITTER = 1e-13


class FactoredSystem:
    """(C + H) x = b at one w, by a Cholesky factor."""

    def __init__(self, risk: Risk, precision: FloatArray, w: FloatArray) -> None:
        self._hessian = risk.hessian_matrix(w)
        self._factor = _factor(self._hessian, precision)

    def solve(
        self, b: FloatArray, start: FloatArray | None = None, *, tolerance: float = 0.0
    ) -> LinearSolution:
        """Solve it; `start` and `tolerance` are those of systems that are solved by iterations."""
        return LinearSolution(cho_solve(self._factor, b, check_finite=False), 0, "cholesky", True)

    def determined(self) -> FloatArray:
        """diag[(C + H)^-1 H], what the data determine of each weight; shape (n_weights,)."""
        return np.diag(cho_solve(self._factor, self._hessian, check_finite=False)).copy()


def system_at(
    risk: Risk, precision: FloatArray, w: FloatArray, monitor: Monitor | None = None
) -> FactoredSystem | HessianSystem:
    """The system at `w`, factored where the risk gives its Hessian as a matrix."""
    if risk.dense:
        return FactoredSystem(risk, precision, w)
    return HessianSystem(risk, precision, w, monitor=monitor)


def _factor(hessian: FloatArray, precision: FloatArray) -> tuple[FloatArray, bool]:
    diagonal = np.diag(hessian) + precision
    jitter = _JITTER * float(np.max(diagonal, initial=1e-300))
    while True:
        matrix = hessian.copy()
        matrix.flat[:: precision.size + 1] = diagonal + jitter
        try:
            return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            jitter *= 100.0
