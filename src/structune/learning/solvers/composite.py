"""Proximal Newton and quasi-Newton steps on a smooth function plus a weighted sum of absolute values."""

from __future__ import annotations

import numpy as np

from structune.learning.solvers.l1_quadratic import least_subgradient, minimize_l1_quadratic
from structune.learning.solvers.quadratics import Curvatures
from structune.learning.solvers.solution import Objective, Solution
from structune.running.blas import one_thread
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

_DECREASE, _MOST_HALVINGS = 1e-4, 40  # of a step
ROUNDING = 8 * np.finfo(float).eps


def minimize_composite(
    objective: Objective,
    start: FloatArray,
    l1: FloatArray,
    curvatures: Curvatures,
    *,
    gradient_tolerance: float,
    least_gain: float = np.inf,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise ``f(w) + l1 @ |w|``, f smooth; weights of the minimum may be exactly zero.

    A step goes to the minimum of a quadratic for f plus the absolute values, or part of the way (Lee, Sun &
    Saunders 2014; with the quadratics of L-BFGS, for conditional random fields, Zhong et al. 2014).

    Parameters
    ----------
    objective : callable
        w -> value and gradient of f.
    start, l1 : ndarray, shape (n_weights,)
    curvatures : Curvatures
        Makes the quadratics.
    gradient_tolerance : float
        Ends when the norm of the subgradient of least norm is at most this,
    least_gain : float
        and a step has been taken that gained no more than this; infinite: without a step too.
    max_iterations : int
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, l1, curvatures.given, gradient_tolerance, least_gain)
    n_steps, status = 0, "iterations"
    gain = np.inf if np.isfinite(least_gain) else 0.0
    if kept.state is not None:
        start, n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
        curvatures.restore(kept.state)
    path = _Path(objective, start, l1, monitor, n_steps)
    try:
        with one_thread():
            while path.n_steps < max_iterations and not path.ended:
                path.show(gradient_tolerance)
                monitor.check()
                near, before = path.slope <= gradient_tolerance, path.value
                if near and gain <= least_gain:
                    path.ended = "converged"
                elif not path.descend(curvatures, least_gain if near else -np.inf):
                    path.ended = "converged" if near else "stalled"
                gain = before - path.value
                kept.keep(lambda: {"w": path.w, "n_steps": path.n_steps, **curvatures.state()})
    except STOPS as stop:
        status = stop_status(stop)
    return path.solution(path.ended or status)


class _Path:
    """The iterate, and the way it has come."""

    def __init__(
        self, objective: Objective, start: FloatArray, l1: FloatArray, monitor: Monitor, n_steps: int
    ) -> None:
        self.objective, self.l1, self.monitor = objective, l1, monitor
        self.n_evaluations, self.n_steps, self.ended = 0, n_steps, ""
        self._move_to(start, *self._evaluate(start))
        self.first_slope = self.slope

    def _evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        smooth, gradient = self.objective(w)
        self.n_evaluations += 1
        return smooth + float(self.l1 @ np.abs(w)), gradient

    def _move_to(self, w: FloatArray, value: float, gradient: FloatArray) -> None:
        pull = least_subgradient(gradient, w, self.l1)
        self.w, self.value, self.gradient, self.pull = w, value, gradient, pull

    @property
    def slope(self) -> float:
        return float(np.linalg.norm(self.pull))

    def descend(self, curvatures: Curvatures, enough: float) -> bool:
        """Go as far toward the minimum of the quadratic as the objective falls; whether it did.

        A step that may gain no more than `enough` is tried once, as in `minimize_newton`.
        """
        active, quadratic = curvatures.at(self.w, self.pull)
        w, l1, gradient = self.w[active], self.l1[active], self.gradient[active]
        nearest = minimize_l1_quadratic(quadratic, gradient, w, l1, curvatures.share * self.slope)
        slope = float(gradient @ (nearest - w) + l1 @ (np.abs(nearest) - np.abs(w)))
        slack = ROUNDING * abs(self.value)
        for halvings in range(1 if -slope <= max(enough, slack) else _MOST_HALVINGS):
            length = 0.5**halvings
            reached = self.w.copy()
            reached[active] = nearest if length == 1.0 else w + length * (nearest - w)  # zeros stay exact
            value, gradient = self._evaluate(reached)
            if value <= self.value + _DECREASE * length * slope + slack:
                before = self.value, self.slope
                curvatures.add(reached - self.w, gradient - self.gradient)
                self._move_to(reached, value, gradient)
                self.n_steps += 1
                return value < before[0] or self.slope < before[1]
            self.monitor.check()
        return False

    def show(self, gradient_tolerance: float) -> None:
        done = None
        if 0.0 < gradient_tolerance < self.first_slope:
            way = np.log(self.first_slope / gradient_tolerance)
            done = min(1.0, float(np.log(self.first_slope / max(self.slope, 1e-300)) / way))
        self.monitor.show(
            "fit", done=done, evaluation=self.n_evaluations, objective=self.value, gradient=self.slope
        )

    def solution(self, status: str) -> Solution:
        return Solution(self.w, self.value, self.pull, self.n_evaluations, status)
