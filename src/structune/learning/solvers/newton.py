"""Newton's method with a line search, for models of few weights and for quadratic losses."""

from __future__ import annotations

import numpy as np

from structune.learning.risk import Risk
from structune.learning.solvers.linear import system_at
from structune.learning.solvers.solution import Objective, Solution
from structune.running.blas import one_thread
from structune.running.monitor import STOPS, Kept, Monitor, stop_status
from structune.structure import FloatArray

_DECREASE, _MOST_HALVINGS = 1e-4, 40  # of a step
_ROUNDING = 8 * np.finfo(float).eps
_LINEAR_SHARE = 0.1  # of the gradient, and of what the tolerance allows: what a linear system may leave


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
    """Minimise a convex objective, risk plus Gaussian prior, by damped Newton steps, one at least.

    Ends with a step whose decrement g' (C + H)^-1 g is at most the square of `tolerance`, relative to the
    risk at w = 0. Unlike the norm of the gradient, that does not depend on the scales of features, which may
    make a gradient look small though the way is long. A quadratic takes one step. The risk gives the Hessian,
    a matrix or products for conjugate gradients; `objective` is the sum, `precision` that of the prior. The
    time budget of `monitor` is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    kept, n_steps, status = Kept(), 0, "iterations"
    if monitor.checkpoint is not None:
        # the gradient at zero tells data apart: start and precisions of two splits may be the same
        kept = monitor.kept_fit(start, precision, tolerance, risk.at_zero.name)
    if kept.state is not None:
        start, n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
    path = _Path(objective, start, monitor, n_steps)
    try:
        with one_thread():
            while path.n_steps < max_iterations and not path.ended:
                path.ended = _step(path, risk, precision, tolerance)
                kept.keep(lambda: {"w": path.w, "n_steps": path.n_steps})
    except STOPS as stop:
        status = stop_status(stop)
    return Solution(path.w, path.value, path.gradient, path.n_evaluations, path.ended or status)


def _step(path: _Path, risk: Risk, precision: FloatArray, tolerance: float) -> str:
    """Take a step; how the path ended, if it did."""
    if not path.norm:
        return "converged"
    # an inexact Newton step: the system is solved the better, the closer the end is
    residual = _LINEAR_SHARE * tolerance * risk.at_zero.gradient_norm
    share = min(_LINEAR_SHARE, residual / max(path.norm, 1e-300))
    solved = system_at(risk, precision, path.w, path.monitor).solve(path.gradient, tolerance=share)
    # g' (C + H)^-1 g, twice what the quadratic model has to gain
    decrement = float(path.gradient @ solved.x)
    enough = max(tolerance**2, _ROUNDING) * risk.at_zero.value
    # A step that may gain no more than the tolerance is the last one. It is tried once: rounding of the
    # objective can exceed such a gain, and halving the step would only cost evaluations.
    moved = path.descend(-solved.x, trials=1 if decrement <= enough else _MOST_HALVINGS)
    if decrement <= enough or (risk.quadratic and moved and solved.converged):
        return "converged"
    return "" if moved else "stalled"


class _Path:
    """The iterate, and the way it has come."""

    def __init__(self, objective: Objective, start: FloatArray, monitor: Monitor, n_steps: int) -> None:
        self.objective, self.monitor, self.n_steps, self.ended = objective, monitor, n_steps, ""
        self.w, self.n_evaluations = start, 1
        self.value, self.gradient = objective(start)

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    def descend(self, step: FloatArray, trials: int) -> bool:
        """Go along a step, halved in each trial, as far as the objective falls; whether it did."""
        # Armijo's rule, with slack for the rounding of the objective
        slope = float(self.gradient @ step)
        length, slack = 1.0, _ROUNDING * abs(self.value)
        for _ in range(trials):
            w = self.w + length * step
            value, gradient = self.objective(w)
            self.n_evaluations += 1
            if value <= self.value + _DECREASE * length * slope + slack:
                moved = value < self.value or float(np.linalg.norm(gradient)) < self.norm
                self.w, self.value, self.gradient = w, value, gradient
                self.n_steps += 1
                self.monitor.show("fit", evaluation=self.n_evaluations, objective=value, gradient=self.norm)
                self.monitor.check()
                return moved
            length *= 0.5
        return False
