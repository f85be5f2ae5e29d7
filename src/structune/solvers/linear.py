"""Linear systems with the Hessian of a penalised risk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, minres

from structune.risk import Risk
from structune.structures.base import FloatArray


class _NegativeCurvature(Exception):  # noqa: N818
    pass


@dataclass(frozen=True)
class LinearSolution:
    """The solution of a linear system.

    Attributes
    ----------
    x : ndarray, shape (n_weights,)
    n_products : int
    method : {"cg", "minres"}
    """

    x: FloatArray
    n_products: int
    method: str


class HessianSystem:
    """(C + H) x = b at one w, H the Hessian of the risk: by conjugate gradients while C + H is positive.

    Partial labels make H indefinite. Where the risk is not convex, and wherever a direction of negative
    curvature turns up, MINRES solves the system: it asks for symmetry only, and the implicit function theorem
    only for a nonsingular matrix. The preconditioner is a power of the diagonal: 1/2 suits a gradient,
    which lives in the frequent features, and 1 a right-hand side spread over all weights (on CoNLL-2000,
    15 products each).
    """

    def __init__(self, risk: Risk, precision: FloatArray, w: FloatArray, power: float = 0.5) -> None:
        self.risk, self.precision = risk, precision
        self._product = risk.linearize(w)
        self._diagonal = (precision + np.maximum(risk.variance(w), 0.0)) ** power

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
            return LinearSolution(np.zeros_like(b), 0, "cg")
        self._n = 0
        if self.risk.convex:
            try:
                return LinearSolution(
                    self._run(cg, b, start, tolerance, max_products, check=True), self._n, "cg"
                )
            except _NegativeCurvature:
                pass
        return LinearSolution(
            self._run(minres, b, start, tolerance, max_products, check=False), self._n, "minres"
        )

    def _run(
        self,
        method: Callable[..., Any],
        b: FloatArray,
        start: FloatArray | None,
        tolerance: float,
        max_products: int,
        check: bool,
    ) -> FloatArray:
        def matvec(v: FloatArray) -> FloatArray:
            v = np.ravel(v)
            self._n += 1
            product = self._product(v) + self.precision * v
            if check and float(v @ product) <= 0.0 < float(v @ v):
                raise _NegativeCurvature
            return product

        shape = (b.size, b.size)
        operator = LinearOperator(shape, matvec=matvec, dtype=np.float64)
        preconditioner = LinearOperator(
            shape, matvec=lambda v: np.ravel(v) / self._diagonal, dtype=np.float64
        )
        x, _ = method(operator, b, x0=start, rtol=tolerance, maxiter=max_products, M=preconditioner)
        return np.asarray(x)
