"""The n-slack cutting-plane method: the baseline that bundle methods are compared with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import piqp

from structune.errors import DataError
from structune.learning.risk import Risk
from structune.learning.solvers.bundle import GAP
from structune.learning.solvers.seen_outputs import SeenOutputs
from structune.learning.solvers.solution import Solution
from structune.running.blas import one_thread
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray


def minimize_n_slack(
    risk: Risk,
    precision: FloatArray,
    *,
    tolerance: float = GAP,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise a margin loss plus 1/2 sum_i precision_i w_i^2 with one slack variable an example.

    Tsochantaridis et al. 2005, algorithm 1: keep every output that was ever the most violated one of its
    example, and solve the whole quadratic programme over all of them after every pass, here by an interior
    point (PIQP). It grows with the passes; `minimize_bundle` does not let it.

    Parameters
    ----------
    risk : Risk
        Of a `MarginLoss` with the hinge.
    precision : ndarray, shape (n_weights,)
        Positive.
    tolerance : float
        Ends when the gap between the objective and its lower bound is at most this times the objective.
    max_iterations : int
        Passes over the data.
    monitor : Monitor, optional

    Raises
    ------
    DataError
        Another loss.
    """
    if not risk.convex or getattr(risk.loss, "outer", None) != "hinge":
        raise DataError("the n-slack method needs a margin loss with the hinge")
    monitor, seen = monitor or Monitor(), SeenOutputs(risk)
    w, lower, best, status = np.zeros(risk.n_weights), -np.inf, None, "iterations"
    try:
        with one_thread():
            for n in range(1, max_iterations + 1):
                point = _point(seen, risk.linear, precision, w, n)
                best = point if best is None or point.objective < best.objective else best
                monitor.show("n-slack", evaluation=n, objective=best.objective, lower_bound=lower)
                monitor.check()
                if best.objective - lower <= tolerance * best.objective:
                    status = "converged"
                    break
                w, lower = _minimum(seen, risk.linear, precision)
    except STOPS as stop:
        if best is None:
            raise
        status = stop_status(stop)
    if best is None:
        raise DataError(f"max_iterations={max_iterations}: expected 1 at least")
    return replace(best, n_evaluations=n, status=status, lower_bound=lower)


def _point(seen: SeenOutputs, linear: FloatArray, precision: FloatArray, w: FloatArray, n: int) -> Solution:
    value, gradient = seen.decode(w)
    objective = value + float(linear @ w) + 0.5 * float(precision @ (w * w))
    return Solution(w, objective, gradient + linear + precision * w, n, "iterations")


def _minimum(seen: SeenOutputs, linear: FloatArray, precision: FloatArray) -> tuple[FloatArray, float]:
    """Where the objective of the outputs seen has its minimum, and that: the dual programme."""
    fixed = linear + seen.linear
    scaled = seen.rows.multiply(1.0 / precision).tocsr()
    gram = (scaled @ seen.rows.T).toarray()
    slope = seen.offsets - scaled @ fixed
    n = slope.size
    sums = np.zeros((seen.weights.size, n))
    sums[seen.example, np.arange(n)] = 1.0
    solver = piqp.DenseSolver()
    limits = seen.weights
    solver.setup(
        gram, -slope, None, None, sums, None, limits, np.zeros(n), np.full(n, limits.max(initial=0.0))
    )
    solver.solve()
    alpha = np.maximum(solver.result.x, 0.0)
    bound = float(slope @ alpha - 0.5 * alpha @ gram @ alpha - 0.5 * fixed @ (fixed / precision))
    return -(fixed + seen.rows.T @ alpha) / precision, bound
