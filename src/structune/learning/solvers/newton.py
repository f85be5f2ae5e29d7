"""Newton's method, and linear systems with the Hessian of a penalised risk: by iterations, or factored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri
from scipy.sparse.linalg import LinearOperator, cg, minres

from structune.learning.risk import Risk
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.solution import MOST_HALVINGS, ROUNDING, Descent, Objective, Solution
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import BoolArray, FloatArray, HessianProduct

_LINEAR_SHARE = 0.1  # of the gradient, and of what the tolerance allows: what a linear system may leave
# of a unit diagonal: the biases of all classes may move together, and nothing changes
_JITTER = 1e-13


@one_thread()
def minimize_newton(
    objective: Objective,
    risk: Risk,
    precision: FloatArray,
    start: FloatArray,
    *,
    tolerance: float,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimize a convex `objective`, a risk plus a Gaussian prior, by damped Newton steps, at least one.

    The solver ends after a step whose decrement g' (C + H)^-1 g is at most the square of `tolerance` times
    the risk at w = 0. Unlike the norm of the gradient, this does not depend on the scales of features. A
    quadratic objective takes one step. The risk gives the Hessian, as a matrix or by products; `precision`
    is that of the prior. After the time limit of `monitor` or Ctrl-C, the best weights so far are returned.
    """
    monitor = monitor or Monitor()
    # the gradient at zero tells data apart: start and precisions of two splits may be the same
    name = None if monitor.checkpoint is None else risk.at_zero.name
    path = Descent(objective, start, monitor, monitor.kept_fit(start, precision, tolerance, name))

    def step() -> str:
        if not path.norm:
            return "converged"
        # an inexact Newton step: the system is solved the better, the closer the end is
        residual = _LINEAR_SHARE * tolerance * risk.at_zero.gradient_norm
        share = min(_LINEAR_SHARE, residual / max(path.norm, 1e-300))
        w, n = path.w, path.n_steps
        solved = system_at(risk, precision, w, monitor=monitor).solve(path.gradient, tolerance=share)
        # g' (C + H)^-1 g, twice what the quadratic model has to gain
        decrement = float(path.gradient @ solved.x)
        # A step that may gain no more than the tolerance is the last one. It is tried once: rounding of the
        # objective can exceed such a gain, and halving the step would only cost evaluations.
        is_last = decrement <= max(tolerance**2, ROUNDING) * risk.at_zero.value
        trials = 1 if is_last else MOST_HALVINGS
        moved = path.go(lambda length: w - length * solved.x, -decrement, trials)
        if path.n_steps > n:
            monitor.show("fit", evaluation=path.n_evaluations, objective=path.value, gradient=path.norm)
            monitor.check()
        if is_last or (risk.quadratic and moved and solved.converged):
            return "converged"
        return "" if moved else "stalled"

    return path.run(step, max_iterations)


# --- linear systems ---------------------------------------------------------------------------------------


class _NegativeCurvature(Exception):  # noqa: N818
    pass


class LinearSolution(NamedTuple):
    """The solution of a linear system."""

    x: FloatArray
    n_products: int
    method: str  # "cg", "minres" or "cholesky"
    converged: bool  # whether the residual came down to the tolerance within the products allowed


class HessianSystem:
    """(C + H) x = b at one w, H the Hessian of the risk, by conjugate gradients or MINRES."""

    # Partial labels make H indefinite, though C + H is positive at a minimum even so. Where a direction of
    # negative curvature turns up, MINRES solves the system: it asks for symmetry only, and the implicit
    # function theorem only for a nonsingular matrix. The preconditioner is the root of the diagonal, which
    # suits a gradient, as that lives in the frequent features. What L-BFGS has learned of C + H on its way to
    # `w` makes it better. With a `support` the system is that of the weights there, and the others stay zero.

    def __init__(
        self,
        risk: Risk,
        precision: FloatArray,
        w: FloatArray,
        monitor: Monitor | None = None,
        pairs: Pairs | None = None,
        support: BoolArray | None = None,
    ) -> None:
        self.precision, self.monitor = precision, monitor or Monitor()
        self.pairs = pairs or Pairs(precision.size)
        self._inside = 1.0 if support is None else support
        self.hessian_product = risk.linearize(w)
        self.diagonal = positive(precision + np.maximum(risk.variance(w), 0.0))
        self._metric = self.diagonal**-0.5

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
        # a residual of 0 ends no iteration of SciPy's that is to come below 0
        tolerance = max(tolerance, np.finfo(float).eps)
        # BFGS pairs of the fit on top of the diagonal: they know the directions of large curvature
        b, start, self._n = self._inside * b, np.zeros_like(b) if start is None else self._inside * start, 0
        preconditioner = _operator(b.size, lambda v: self._inside * self.pairs.times(v, self._metric))
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
            # it goes on from x, asked for ten times as much, until the residual itself is small
            share = max(0.1 * share, np.finfo(float).eps)
        return LinearSolution(x, self._n, "minres", bool(converged))

    def _apply(self, v: FloatArray) -> FloatArray:
        """The product with C + H, counted and shown."""
        self._n += 1
        self.monitor.show("linear system", product=self._n)
        self.monitor.check()
        return np.asarray(self._inside * self.hessian_product(v) + self.precision * v)

    def _positive(self, v: FloatArray) -> FloatArray:
        """The product with C + H; raises `_NegativeCurvature` where that curves downward along `v`."""
        # conjugate gradients divide by v' (C + H) v, and minimise nothing where that is not positive
        product = self._apply(v)
        if float(v @ product) <= 0.0 < float(v @ v):
            raise _NegativeCurvature
        return product


def _operator(n: int, function: HessianProduct) -> LinearOperator:
    return LinearOperator((n, n), matvec=lambda v: function(np.ravel(v)), dtype=np.float64)


class FactoredSystem:
    """(C + H) x = b at one w, by a Cholesky factor; `diagonal` is that of the matrix of all weights."""

    hessian_product: HessianProduct  # with a support only: it keeps the matrix

    def __init__(
        self, risk: Risk, precision: FloatArray, w: FloatArray, support: BoolArray | None = None
    ) -> None:
        hessian, self._precision = risk.hessian_matrix(w), precision
        self._inside = 1.0 if support is None else support
        self.diagonal = positive(np.diag(hessian) + precision)
        if support is not None:  # the others have no part in it, but in products
            self.hessian_product = hessian.__matmul__
            hessian = hessian * np.outer(support, support)
        with one_thread():
            self._factor, self._scale = _factor(hessian, precision)

    def solve(self, b: FloatArray, start: FloatArray | None = None, **iterations: Any) -> LinearSolution:
        """Solve it; the start and the options are those of systems that are solved by iterations."""
        return LinearSolution(_solved(self._factor, self._scale, self._inside * b), 0, "cholesky", True)

    def determined(self) -> FloatArray:
        """1 - C diag[(C + H)^-1], what the data determine of each weight; shape (n_weights,)."""
        # (C + H)^-1 = R' R, so its diagonal has the squared norms of the columns of R
        rows = self.inverse_root()
        return np.asarray(np.maximum(0.0, 1.0 - self._precision * np.einsum("ij,ij->j", rows, rows)))

    def inverse_root(self) -> FloatArray:
        """R, lower triangular, of (C + H)^-1 = R' R."""
        # S (C + H) S = L L' with S the scale, so (C + H)^-1 = (L^-1 S)' (L^-1 S)
        with one_thread():
            inverse, _ = dtrtri(self._factor, lower=1)
        return np.asarray(np.tril(inverse) * self._scale)


def system_at(
    risk: Risk, precision: FloatArray, w: FloatArray, support: BoolArray | None = None, **options: Any
) -> FactoredSystem | HessianSystem:
    """The system at `w`, of the weights of a `support`; factored where the Hessian is at hand as a matrix."""
    if risk.dense:
        return FactoredSystem(risk, precision, w, support)
    return HessianSystem(risk, precision, w, support=support, **options)


def positive(diagonal: FloatArray) -> FloatArray:
    """The diagonal of a Hessian, and 1 for a weight that nothing moves."""
    return np.where(diagonal > 0, diagonal, 1.0)


def solve_dense(hessian: FloatArray, precision: FloatArray, b: FloatArray) -> FloatArray:
    """The solution x of (C + H) x = b."""
    return _solved(*_factor(hessian, precision), b)


def _factor(hessian: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lower triangle in a scale where the diagonal is 1, and that scale."""
    # LAPACK itself: for a few weights SciPy's checks take more time than that
    jitter, scale = _JITTER, positive(np.diag(hessian) + precision) ** -0.5
    while True:
        # S (C + H) S + jitter I: columns of different units do not spoil it, and it may be singular
        matrix = scale[:, None] * hessian * scale
        matrix.flat[:: scale.size + 1] += scale * precision * scale + jitter
        factor, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if not failed:
            return np.asarray(factor), scale
        jitter *= 100.0


def _solved(factor: FloatArray, scale: FloatArray, b: FloatArray) -> FloatArray:
    """The solution, by what `_factor` gave."""
    x, _ = dpotrs(factor, scale * b, lower=1)
    return np.asarray(scale * x)
