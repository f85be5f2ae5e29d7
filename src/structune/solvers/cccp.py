"""The convex-concave procedure: minimise a difference of convex risks, plus a Gaussian prior."""

from __future__ import annotations

import numpy as np

from structune.monitor import Monitor
from structune.risk import Risk
from structune.solvers.bundle import GAP, Bundle, minimize_bundle
from structune.solvers.solution import Solution
from structune.structures.base import FloatArray

_MOST_ROUNDS = 50


def minimize_cccp(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    tolerance: float = GAP,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise a difference of convex risks, plus a prior, from the minimum of the margin loss on.

    Chapelle et al. 2008, algorithm 1: replace the function that is subtracted by its tangent, minimise the
    convex risk that is left, and so on. The objective never increases. Ends when a round gains less than
    `tolerance` times the objective.

    Parameters
    ----------
    risk : Risk
    precision : ndarray, shape (n_weights,)
        Positive.
    start : ndarray, shape (n_weights,), optional
        Where the first, convex minimisation starts; zero by default.
    tolerance : float
        Relative, of the objective and of the gap of every round.
    max_iterations : int
        Passes of one round.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    bound = risk.bound()
    bundle = Bundle(bound, precision)

    def minimize(convex: Risk, w: FloatArray | None) -> Solution:
        return minimize_bundle(
            convex,
            precision,
            w,
            bundle=bundle,
            tolerance=tolerance,
            max_iterations=max_iterations,
            monitor=monitor,
        )

    fit = minimize(bound, start)
    value, slope = risk.concave(fit.w)
    objective, n, rounds = fit.objective - float(bound.linear @ fit.w) - value, fit.n_evaluations, 0
    monitor.record("convex", objective=fit.objective, ramp=objective, passes=risk.passes)
    status = fit.status
    while status == "converged":
        rounds += 1
        tangent = risk.bound(slope)
        fit = minimize(tangent, fit.w)
        n += fit.n_evaluations
        value, slope = risk.concave(fit.w)
        before, objective = objective, fit.objective - float(tangent.linear @ fit.w) - value
        monitor.record("cccp", objective=objective, passes=risk.passes)
        if before - objective <= tolerance * abs(before):
            break
        status = fit.status if rounds < _MOST_ROUNDS else "iterations"
    return Solution(fit.w, objective, np.zeros_like(fit.w), n, status)
