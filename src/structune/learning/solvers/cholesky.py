"""Linear systems with the Hessian of a penalised risk, factored."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from structune.learning.risk import Risk
from structune.learning.solvers.linear import HessianSystem, LinearSolution
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import FloatArray

# of a unit diagonal: the biases of all classes may move together, and nothing changes
_JITTER = 1e-13


class FactoredSystem:
    """(C + H) x = b at one w, by a Cholesky factor."""

    def __init__(self, risk: Risk, precision: FloatArray, w: FloatArray) -> None:
        hessian, self._precision = risk.hessian_matrix(w), precision
        diagonal = np.diag(hessian) + precision
        self._scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5  # a unit diagonal
        with one_thread():
            self._factor = _factor(hessian, precision, self._scale)

    def solve(
        self, b: FloatArray, start: FloatArray | None = None, *, tolerance: float = 0.0
    ) -> LinearSolution:
        """Solve it; `start` and `tolerance` are those of systems that are solved by iterations."""
        x, _ = dpotrs(self._factor, self._scale * b, lower=1)
        return LinearSolution(self._scale * x, 0, "cholesky", True)

    def determined(self) -> FloatArray:
        """1 - C diag[(C + H)^-1], what the data determine of each weight; shape (n_weights,)."""
        rows = self.inverse_root()
        return np.asarray(np.maximum(0.0, 1.0 - self._precision * np.einsum("ij,ij->j", rows, rows)))

    def inverse_root(self) -> FloatArray:
        """R, lower triangular, of (C + H)^-1 = R' R."""
        with one_thread():
            inverse, _ = dtrtri(self._factor, lower=1)
        return np.asarray(np.tril(inverse) * self._scale)


def system_at(
    risk: Risk, precision: FloatArray, w: FloatArray, monitor: Monitor | None = None
) -> FactoredSystem | HessianSystem:
    """The system at `w`, factored where the risk gives its Hessian as a matrix."""
    if risk.dense:
        return FactoredSystem(risk, precision, w)
    return HessianSystem(risk, precision, w, monitor=monitor)


def _factor(hessian: FloatArray, precision: FloatArray, scale: FloatArray) -> FloatArray:
    """The lower triangle; LAPACK itself, for a few weights take less time than SciPy's checks."""
    jitter = _JITTER
    while True:
        matrix = scale[:, None] * hessian * scale
        matrix.flat[:: scale.size + 1] += scale * precision * scale + jitter
        factor, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if not failed:
            return np.asarray(factor)
        jitter *= 100.0
