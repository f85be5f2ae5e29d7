"""Solvers of the literature that `solvers.py` compares the bundle method with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import piqp

from structune.learning import Risk
from structune.learning.solvers.bundle import SeenOutputs
from structune.learning.solvers.solution import Solution
from structune.running.blas import one_thread
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

_RAISE, _LOWER = 1.5, 0.995  # of what the next subgradient step hopes to gain, after a success and a failure


def minimize_n_slack(risk: Risk, precision: FloatArray, tolerance: float, monitor: Monitor) -> Solution:
    """Minimise the structured hinge loss plus 1/2 sum_i precision_i w_i^2 with a slack variable per example.

    Tsochantaridis et al. 2005, algorithm 1: keep every output that was ever the most violated one of its
    example, and solve the whole quadratic program over all of them after every pass, by an interior point
    method (PIQP). The program grows with the passes; that of `minimize_bundle` does not.
    """
    seen, n, lower = SeenOutputs(risk), 0, -np.inf
    w, best = np.zeros(risk.n_weights), None
    try:
        with one_thread():
            while True:
                n += 1
                value, gradient = seen.decode(w)
                value += float(risk.linear @ w) + 0.5 * float(precision @ (w * w))
                if best is None or value < best.objective:
                    best = Solution(w, value, gradient + risk.linear + precision * w, n, "iterations")
                monitor.show("n-slack", evaluation=n, objective=best.objective, lower_bound=lower)
                monitor.check()
                if best.objective - lower <= tolerance * best.objective:
                    status = "converged"
                    break
                w, lower = _minimum_over_seen(seen, risk.linear, precision)
    except STOPS as stop:
        if best is None:
            raise
        status = stop_status(stop)
    return replace(best, n_evaluations=n, status=status, lower_bound=lower)


def _minimum_over_seen(
    seen: SeenOutputs, linear: FloatArray, precision: FloatArray
) -> tuple[FloatArray, float]:
    """Where the objective over the outputs seen has its minimum, and its value there, by the dual program."""
    fixed = linear + seen.linear
    scaled = seen.rows.multiply(1.0 / precision).tocsr()
    gram = (scaled @ seen.rows.T).toarray()
    slope = seen.offsets - scaled @ fixed
    n, limits = slope.size, seen.weights
    sums = np.zeros((limits.size, n))  # the multipliers of an example's outputs add up to at most its weight
    sums[seen.example, np.arange(n)] = 1.0
    solver = piqp.DenseSolver()
    upper = np.full(n, limits.max(initial=0.0))
    solver.setup(gram, -slope, None, None, sums, None, limits, np.zeros(n), upper)
    solver.solve()
    alpha = np.maximum(solver.result.x, 0.0)
    bound = float(slope @ alpha - 0.5 * alpha @ gram @ alpha - 0.5 * fixed @ (fixed / precision))
    return -(fixed + seen.rows.T @ alpha) / precision, bound


def minimize_subgradient(
    risk: Risk, precision: FloatArray, tolerance: float, monitor: Monitor, max_iterations: int = 10**6
) -> Solution:
    """Minimise risk(w) + 1/2 sum_i precision_i w_i^2 by Polyak's step towards a level that adapts.

    The step would reach the level ``best - hope`` if the objective were linear; hope grows where the level
    was reached and shrinks where it was not (the dynamic rule of Nedic & Bertsekas 2001, section 2.2, with
    all examples at once). The precisions are the metric of the steps. Ends, as "stalled", when hope is below
    `tolerance` times the objective: there is no lower bound that tells how far the minimum is.
    """
    w, best, status = np.zeros(risk.n_weights), None, "iterations"
    n, hope, level = 0, 0.0, -np.inf
    try:
        with one_thread():
            while n < max_iterations:
                value, gradient = risk.value_and_gradient(w)
                gradient = gradient + precision * w
                value += 0.5 * float(precision @ (w * w))
                n += 1
                if best is None:
                    best, hope = (w, value, gradient), abs(value)
                hope = hope * _RAISE if value <= level else hope * _LOWER
                if value < best[1]:
                    best = w, value, gradient
                level = best[1] - hope
                monitor.show("subgradient", evaluation=n, objective=best[1])
                monitor.check()
                norm = float(gradient @ (gradient / precision))
                if hope <= tolerance * abs(best[1]) or not norm:
                    status = "stalled" if norm else "converged"
                    break
                w = w - (value - level) / norm * (gradient / precision)
    except STOPS as stop:
        if best is None:
            raise
        status = stop_status(stop)
    return Solution(*best, n, status)
