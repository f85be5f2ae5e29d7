"""Linear systems with the Hessian of a penalised risk, factored."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from structune.learning.risk import Risk
from structune.learning.solvers.linear import HessianSystem, LinearSolution
from structune.learning.solvers.pairs import Pairs
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import FloatArray

# of a unit diagonal: the biases of all classes may move together, and nothing changes
_JITTER = 1e-13


class FactoredSystem:
    """(C + H) x = b at one w, by a Cholesky factor.

    Attributes
    ----------
    diagonal : ndarray, shape (n_weights,)
        Of the matrix.
    """

    def __init__(self, risk: Risk, precision: FloatArray, w: FloatArray) -> None:
        hessian, self._precision = risk.hessian_matrix(w), precision
        self.diagonal = np.diag(hessian) + precision
        with one_thread():
            self._factor, self._scale = _factor(hessian, precision)

    def solve(
        self, b: FloatArray, start: FloatArray | None = None, *, tolerance: float = 0.0
    ) -> LinearSolution:
        """Solve it; `start` and `tolerance` are those of systems that are solved by iterations."""
        return LinearSolution(_solved(self._factor, self._scale, b), 0, "cholesky", True)

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
    risk: Risk,
    precision: FloatArray,
    w: FloatArray,
    monitor: Monitor | None = None,
    pairs: Pairs | None = None,
) -> FactoredSystem | HessianSystem:
    """The system at `w`, factored where the risk gives its Hessian as a matrix."""
    if risk.dense:
        return FactoredSystem(risk, precision, w)
    return HessianSystem(risk, precision, w, monitor=monitor, pairs=pairs)


def solve_dense(hessian: FloatArray, precision: FloatArray, b: FloatArray) -> FloatArray:
    """The solution x of (C + H) x = b."""
    return _solved(*_factor(hessian, precision), b)


def _factor(hessian: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lower triangle in a scale where the diagonal is 1, and that scale.

    LAPACK itself, for a few weights take less time than SciPy's checks.
    """
    diagonal, jitter = np.diag(hessian) + precision, _JITTER
    scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5
    while True:
        matrix = scale[:, None] * hessian * scale
        matrix.flat[:: scale.size + 1] += scale * precision * scale + jitter
        factor, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if not failed:
            return np.asarray(factor), scale
        jitter *= 100.0


def _solved(factor: FloatArray, scale: FloatArray, b: FloatArray) -> FloatArray:
    x, _ = dpotrs(factor, scale * b, lower=1)
    return np.asarray(scale * x)
