"""L-BFGS on smooth objectives, from what is known of their curvature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structune.learning.solvers.solution import Objective, Pairs, Solution
from structune.running.checkpoints import State
from structune.running.executors import one_thread
from structune.running.monitor import STOPS, Kept, Monitor, stop_status
from structune.structure import FloatArray

_DECREASE, _CURVATURE = 1e-4, 0.9  # of the conditions of Wolfe
_MOST_TRIALS = 30  # of one step
_ROUNDING = 8 * np.finfo(float).eps
_HIDDEN = 1e-12  # of the objective: what no line search can gain
_INSIDE = 0.1  # of a bracket: what an interpolated step keeps from its ends


def minimize_smooth(
    objective: Objective,
    start: FloatArray,
    *,
    scale: FloatArray,
    gradient_tolerance: float,
    least_gain: float = 0.0,
    max_iterations: int = 1000,
    until: Callable[[FloatArray], bool] | None = None,
    pairs: Pairs | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise a smooth function by L-BFGS in the variables w / scale (Nocedal & Wright 2006, chapter 7).

    Parameters
    ----------
    objective : callable
        w -> value and gradient.
    start, scale : ndarray, shape (n_weights,)
    gradient_tolerance : float
        Ends when the Euclidean norm of the gradient is at most this.
    least_gain : float
        Ends, as "stalled", when a step gains no more than this, relative to the objective: for functions with
        kinks, whose gradients do not vanish at the minimum.
    max_iterations : int
    until : callable, optional
        Gets w after every step; ends, as "converged", where it says true.
    pairs : Pairs, optional
        What is known of the curvature, from a function nearby; the solution has what is known at the end.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, scale, gradient_tolerance)
    path = _Path(
        objective, scale * scale, pairs.copy() if pairs else Pairs(start.size), monitor, gradient_tolerance
    )
    with one_thread():
        if kept.state is not None:
            start, path.n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
            path.pairs = Pairs.of(kept.state.array("pairs", None, 2, start.size), path.pairs.most)
        path.begin(start)
        try:
            status = _descend(path, kept, least_gain, max_iterations, until)
        except STOPS as stop:
            status = stop_status(stop)
    return path.solution(status)


def _descend(
    path: _Path,
    kept: Kept,
    least_gain: float,
    max_iterations: int,
    until: Callable[[FloatArray], bool] | None,
) -> str:
    kept.keep(path.state)
    path.monitor.check()
    while path.norm > path.gradient_tolerance:
        if path.n_steps >= max_iterations:
            return "iterations"
        before = path.value
        if not path.step():
            return "converged" if path.hidden else "stalled"
        if until is not None and until(path.w):
            return "converged"
        least = least_gain * max(abs(before), abs(path.value), 1.0)
        if path.norm > path.gradient_tolerance and least_gain and before - path.value <= least:
            return "stalled"
        kept.keep(path.state)
    return "converged"


class _Path:
    """The iterate, its gradient, and the steps that led there."""

    def __init__(
        self,
        objective: Objective,
        metric: FloatArray,
        pairs: Pairs,
        monitor: Monitor,
        gradient_tolerance: float,
    ) -> None:
        self.objective, self.metric, self.pairs, self.monitor = objective, metric, pairs, monitor
        self.gradient_tolerance = gradient_tolerance
        self.n_evaluations = self.n_steps = 0
        self.first_norm, self.first_value = 0.0, 0.0
        self.hidden = False  # whether rounding hides what the last direction could gain
        self.best: tuple[FloatArray, float, FloatArray] | None = None

    def begin(self, start: FloatArray) -> None:
        self.w = np.array(start)
        self.value, self.gradient = self._evaluate(self.w)
        self.first_value = self.value

    def state(self) -> State:
        return {"w": self.w, "pairs": self.pairs.rows(), "n_steps": self.n_steps}

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    def _evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective(w)
        self.n_evaluations += 1
        if self.best is None or value <= self.best[1]:
            self.best = w, value, gradient
            norm = float(np.linalg.norm(gradient))
            self.first_norm = self.first_norm or norm
            shown = {"evaluation": self.n_evaluations, "objective": value, "gradient": norm}
            self.monitor.show("fit", done=self._done(norm), **shown)
        return value, gradient

    def _done(self, norm: float) -> float | None:
        """Share of the way that the gradient norm has come, on a log scale."""
        if not 0 < self.gradient_tolerance < self.first_norm:
            return None
        way = np.log(self.first_norm / self.gradient_tolerance)
        return float(np.clip(np.log(self.first_norm / max(norm, 1e-300)) / way, 0.0, 1.0))

    def step(self) -> bool:
        """Go along the quasi-Newton direction as far as Wolfe's conditions ask; whether that led lower."""
        direction = -self.pairs.times(self.gradient, self.metric)
        slope = float(direction @ self.gradient)
        gain = float(np.einsum("i,i,i", self.gradient, self.metric, self.gradient))
        self.hidden = gain <= _HIDDEN * max(abs(self.value), abs(self.first_value))
        # where nothing tells how far: a unit in the scaled variables at most
        most = np.inf if self.pairs.steps else 1.0 / np.sqrt(max(-slope, 1e-300))
        found = self._search(direction, slope, min(1.0, most))
        if found is None:
            return False
        w, value, gradient = found
        self.pairs.add(w - self.w, gradient - self.gradient)
        self.w, self.value, self.gradient = w, value, gradient
        self.n_steps += 1
        return True

    def _search(
        self, direction: FloatArray, slope: float, length: float
    ) -> tuple[FloatArray, float, FloatArray] | None:
        """A point along `direction` that is lower, and less steep; or just lower, at last."""
        low, high = (0.0, self.value, slope), None
        slack, found = _ROUNDING * abs(self.value), None
        for _ in range(_MOST_TRIALS):
            w = self.w + length * direction
            value, gradient = self._evaluate(w)
            self.monitor.check()
            steep = float(direction @ gradient)
            if not value <= self.value + _DECREASE * length * slope + slack * (abs(steep) <= abs(slope)):
                high = length, value, steep
            elif steep < _CURVATURE * slope:
                low = length, value, steep
                found = (w, value, gradient) if value < self.value else found
            else:
                moves = value < self.value or np.linalg.norm(gradient) < self.norm
                return (w, value, gradient) if moves else found
            length = 2.0 * length if high is None else _between(low, high)
        return found

    def solution(self, status: str) -> Solution:
        assert self.best is not None
        w, value, gradient = self.best
        if status == "converged":  # among equal values, the end of the path
            w, value, gradient = self.w, self.value, self.gradient
        return Solution(w, value, gradient, self.n_evaluations, status, pairs=self.pairs)


def _between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """The minimum of the cubic through two points and slopes, kept off the ends."""
    (a, of_a, slope_a), (b, of_b, slope_b) = low, high
    first = slope_a + slope_b - 3.0 * (of_a - of_b) / (a - b)
    with np.errstate(all="ignore"):
        second = np.sign(b - a) * np.sqrt(first * first - slope_a * slope_b)
        found = b - (b - a) * (slope_b + second - first) / (slope_b - slope_a + 2.0 * second)
    least, most = min(a, b) + _INSIDE * abs(b - a), max(a, b) - _INSIDE * abs(b - a)
    return float(np.clip(found, least, most)) if np.isfinite(found) else 0.5 * (a + b)
