"""Result of all solvers, and the descent that some of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.running.checkpoints import State
from structune.running.monitor import STOPPED, STOPS, FitStopped, Kept, Monitor, stop_status
from structune.structure import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
DECREASE = 1e-4  # of the slope: what a step has to gain (Nocedal & Wright 2006, section 3.1)
MOST_HALVINGS = 40  # of a step
ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class Solution:
    """Result of a solver.

    Attributes
    ----------
    w : ndarray, shape (n_weights,)
        Best weights found.
    objective : float
        Objective at `w`.
    gradient : ndarray, shape (n_weights,)
        Gradient at `w`.
    n_evaluations : int
        Number of evaluations of the objective.
    status : {"converged", "stalled", "iterations", "budget", "interrupted"}
        How the solver ended. "stalled": the line search found no lower value, although the gradient is not
        small.
    lower_bound : float
        Lower bound of the minimum, if the solver knows one.
    pairs : Pairs, optional
        Curvature that L-BFGS collected.
    """

    w: FloatArray
    objective: float
    gradient: FloatArray
    n_evaluations: int
    status: str
    lower_bound: float = -np.inf
    pairs: Any = None

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def stopped(self) -> bool:
        """Whether a time limit or an interrupt stopped the solver."""
        return self.status in STOPPED

    def check(self) -> None:
        """Raise `FitStopped` if a time limit or an interrupt stopped the solver."""
        if self.stopped:
            raise FitStopped(self.status, self.w)


class Descent:
    """The iterate of a solver of ``f(w) + l1 @ |w|``, f smooth, and the way it has come.

    `gradient` is that of f, `pull` the subgradient of least norm of the whole.
    """

    def __init__(
        self,
        objective: Objective,
        start: FloatArray,
        monitor: Monitor,
        kept: Kept,
        l1: FloatArray | None = None,
    ) -> None:
        self.objective, self.monitor, self.kept, self.l1 = objective, monitor, kept, l1
        self.n_evaluations = self.n_steps = 0
        if kept.state is not None:
            start, self.n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
        self.move_to(start, *self.evaluate(start))

    def evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective(w)
        self.n_evaluations += 1
        return (value if self.l1 is None else value + float(self.l1 @ np.abs(w))), gradient

    def move_to(self, w: FloatArray, value: float, gradient: FloatArray) -> None:
        self.w, self.value, self.gradient = w, value, gradient
        self.pull = gradient if self.l1 is None else least_subgradient(gradient, w, self.l1)

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.pull))

    def go(self, reach: Callable[[float], FloatArray], slope: float, trials: int) -> bool:
        """Go to ``reach(length)``, length halved from 1 on until the function falls; whether it did."""
        # Armijo's rule, with slack for the rounding of the objective
        slack = ROUNDING * abs(self.value)
        for halvings in range(trials):
            length = 0.5**halvings
            w = reach(length)
            value, gradient = self.evaluate(w)
            if value <= self.value + DECREASE * length * slope + slack:
                before = self.value, self.norm
                self.move_to(w, value, gradient)
                self.n_steps += 1
                return value < before[0] or self.norm < before[1]
            self.monitor.check()
        return False

    def run(
        self, step: Callable[[], str], max_iterations: int, learned: Callable[[], State] = dict
    ) -> Solution:
        """Take steps until one says how the way ended; a checkpoint has what was `learned`, too."""

        def keep() -> None:
            self.kept.keep(lambda: {"w": self.w, "n_steps": self.n_steps, **learned()})

        status = ""
        try:
            keep()
            while not status and self.n_steps < max_iterations:
                status = step()
                keep()
        except STOPS as stop:
            status = stop_status(stop)
        return self.solution(status or "iterations")

    def solution(self, status: str) -> Solution:
        return Solution(self.w, self.value, self.pull, self.n_evaluations, status)


def least_subgradient(gradient: FloatArray, w: FloatArray, l1: FloatArray) -> FloatArray:
    """Of all subgradients of ``f(w) + l1 @ |w|`` that of least norm; `gradient` is that of f."""
    # at w_i = 0 the subdifferential is [g_i - l1_i, g_i + l1_i]: its point nearest to 0 is a soft threshold
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.asarray(np.where(w != 0.0, gradient + l1 * np.sign(w), at_zero))


def share_done(norm: float, first: float, last: float) -> float | None:
    """Share of the way from the first to the last norm of a gradient, on a log scale."""
    if not 0 < last < first:
        return None
    return float(np.clip(np.log(first / max(norm, 1e-300)) / np.log(first / last), 0.0, 1.0))
