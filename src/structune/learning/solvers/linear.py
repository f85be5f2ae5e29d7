"""Linear systems with the Hessian of a penalised risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, minres

from structune.learning.risk import Risk
from structune.learning.solvers.pairs import Pairs
from structune.running.monitor import Monitor
from structune.structure import FloatArray, HessianProduct


class _NegativeCurvature(Exception):  # noqa: N818
    pass


@dataclass(frozen=True)
class LinearSolution:
    """The solution of a linear system.

    Attributes
    ----------
    x : ndarray, shape (n_weights,)
    n_products : int
    method : {"cg", "minres", "cholesky"}
    converged : bool
        Whether the residual came down to the tolerance within the products allowed.
    """

    x: FloatArray
    n_products: int
    method: str
    converged: bool


class HessianSystem:
    """(C + H) x = b at one w, H the Hessian of the risk: by conjugate gradients while C + H is positive.

    Partial labels make H indefinite, though C + H is positive at a minimum even so. Where a direction of
    negative curvature turns up, MINRES solves the system: it asks for symmetry only, and the implicit
    function theorem only for a nonsingular matrix. The preconditioner is a power of the diagonal: 1/2 suits
    a gradient, which lives in the frequent features, and 1 a right-hand side spread over all weights. What
    L-BFGS has learned of C + H on its way to `w` makes it better.
    """

    def __init__(
        self,
        risk: Risk,
        precision: FloatArray,
        w: FloatArray,
        power: float = 0.5,
        monitor: Monitor | None = None,
        pairs: Pairs | None = None,
    ) -> None:
        self.precision, self.monitor = precision, monitor or Monitor()
        self.pairs = pairs or Pairs(precision.size)
        self.hessian_product = risk.linearize(w)
        self.diagonal = precision + np.maximum(risk.variance(w), 0.0)
        self._metric = self.diagonal**-power

    def solve(
        self,
        b: FloatArray,
        start: FloatArray | None = None,
        *,
        tolerance: float = 1e-6,
        max_products: int = 1000,
    ) -> LinearSolution:
        """Solve to a residual of `tolerance` times the norm of `b`, from `start` (zero by default)."""
        if not np.any(b):
            return LinearSolution(np.zeros_like(b), 0, "cg", True)
        start, self._n = np.zeros_like(b) if start is None else start, 0
        preconditioner = _operator(b.size, lambda v: self.pairs.times(v, self._metric))
        try:
            operator = _operator(b.size, self._positive)
            x, failure = cg(operator, b, x0=start, rtol=tolerance, maxiter=max_products, M=preconditioner)
            return LinearSolution(x, self._n, "cg", failure == 0)
        except _NegativeCurvature:
            pass
        operator, x, share = _operator(b.size, self._apply), start, tolerance
        enough = tolerance * float(np.linalg.norm(b))
        # SciPy's MINRES ends by norms of matrix and solution, which may be far looser than the residual
        while not (converged := np.linalg.norm(b - operator.matvec(x)) <= enough) and self._n < max_products:
            x, _ = minres(operator, b, x0=x, rtol=share, maxiter=max_products - self._n, M=preconditioner)
            share = max(0.1 * share, np.finfo(float).eps)
        return LinearSolution(x, self._n, "minres", bool(converged))

    def _apply(self, v: FloatArray) -> FloatArray:
        self._n += 1
        self.monitor.show("linear system", product=self._n)
        self.monitor.check()
        return np.asarray(self.hessian_product(v) + self.precision * v)

    def _positive(self, v: FloatArray) -> FloatArray:
        product = self._apply(v)
        if float(v @ product) <= 0.0 < float(v @ v):
            raise _NegativeCurvature
        return product


def _operator(n: int, function: HessianProduct) -> LinearOperator:
    return LinearOperator((n, n), matvec=lambda v: function(np.ravel(v)), dtype=np.float64)
