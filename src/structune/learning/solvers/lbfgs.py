"""L-BFGS on smooth objectives, from what is known of their curvature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structune.learning.solvers.solution import Objective, Pairs, Solution
from structune.running.blas import one_thread
from structune.running.checkpoints import State
from structune.running.monitor import STOPS, Monitor, stop_status
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

    Ends when the Euclidean norm of the gradient is at most `gradient_tolerance`; as "stalled" when a step
    gains no more than `least_gain`, relative to the objective, for functions with kinks, whose gradients do
    not vanish at the minimum; as "converged" where `until`, which gets w after every step, says true. `pairs`
    is what is known of the curvature, from a function nearby; the solution has what is known at the end. The
    time budget of `monitor` is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    kept, n_steps = monitor.kept_fit(start, scale, gradient_tolerance), 0
    known = pairs.under() if pairs else Pairs(start.size)
    if kept.state is not None:
        start, n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
        known = Pairs.from_rows(kept.state.array("pairs", None, 2, start.size), known.most)
    with one_thread():
        # in the variables v = w / scale the identity is a good first Hessian: in w it is 1 / scale^2
        path = _Path(objective, start, scale * scale, known, monitor, gradient_tolerance, n_steps)
        status = "converged"
        try:
            kept.keep(path.state)
            monitor.check()
            while path.norm > gradient_tolerance:
                if path.n_steps >= max_iterations:
                    status = "iterations"
                    break
                before = path.value
                if not path.step():
                    status = "converged" if path.hidden else "stalled"
                    break
                if until is not None and until(path.w):
                    break
                least = least_gain * max(abs(before), abs(path.value), 1.0)
                if path.norm > gradient_tolerance and least_gain and before - path.value <= least:
                    status = "stalled"
                    break
                kept.keep(path.state)
        except STOPS as stop:
            status = stop_status(stop)
    w, value, gradient = path.best
    if status == "converged":  # among equal values, the end of the path
        w, value, gradient = path.w, path.value, path.gradient
    return Solution(w, value, gradient, path.n_evaluations, status, pairs=path.pairs)


class _Path:
    """The iterate, its gradient, and the steps that led there."""

    best: tuple[FloatArray, float, FloatArray]
    hidden = False  # whether rounding hides what the last direction could gain
    first_norm = 0.0

    def __init__(
        self,
        objective: Objective,
        start: FloatArray,
        metric: FloatArray,
        pairs: Pairs,
        monitor: Monitor,
        gradient_tolerance: float,
        n_steps: int,
    ) -> None:
        self.objective, self.metric, self.pairs, self.monitor = objective, metric, pairs, monitor
        self.gradient_tolerance, self.n_steps, self.n_evaluations = gradient_tolerance, n_steps, 0
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
        if self.n_evaluations == 1 or value <= self.best[1]:
            self.best = w, value, gradient
            norm = float(np.linalg.norm(gradient))
            self.first_norm = self.first_norm or norm
            done = share_done(norm, self.first_norm, self.gradient_tolerance)
            shown = {"evaluation": self.n_evaluations, "objective": value, "gradient": norm}
            self.monitor.show("fit", done=done, **shown)
        return value, gradient

    def step(self) -> bool:
        """Go along the quasi-Newton direction as far as Wolfe's conditions ask; whether that led lower."""
        direction = -self.pairs.times(self.gradient, self.metric)
        slope = float(direction @ self.gradient)
        # twice what a Newton step with the diagonal would gain
        gain = float(np.einsum("i,i,i", self.gradient, self.metric, self.gradient))
        self.hidden = gain <= _HIDDEN * max(abs(self.value), abs(self.first_value))
        # where nothing tells how far: a unit in the scaled variables at most, |d / scale|^2 = -g' d
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
        # Wolfe: f(w + t d) <= f(w) + c1 t g'd, and the slope there is at least c2 g'd (both negative). A step
        # that fails the first is too long, one that fails the second too short; between two such the cubic
        # decides. Rounding of f may hide the first near the minimum: there a slope that is no steeper is
        # enough.
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
                # both conditions hold; where rounding makes values equal a smaller gradient counts as
                # progress
                moves = value < self.value or np.linalg.norm(gradient) < self.norm
                return (w, value, gradient) if moves else found
            length = 2.0 * length if high is None else _between(low, high)
        return found


def _between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """The minimum of the cubic through two points and slopes, kept off the ends."""
    # Nocedal & Wright 2006, equation 3.59
    (a, of_a, slope_a), (b, of_b, slope_b) = low, high
    first = slope_a + slope_b - 3.0 * (of_a - of_b) / (a - b)
    with np.errstate(all="ignore"):
        second = np.sign(b - a) * np.sqrt(first * first - slope_a * slope_b)
        found = b - (b - a) * (slope_b + second - first) / (slope_b - slope_a + 2.0 * second)
    # not too close to an end, or brackets shrink by little; where rounding leaves no cubic, the middle
    least, most = min(a, b) + _INSIDE * abs(b - a), max(a, b) - _INSIDE * abs(b - a)
    return float(np.clip(found, least, most)) if np.isfinite(found) else 0.5 * (a + b)


def share_done(norm: float, first: float, last: float) -> float | None:
    """Share of the way from the first to the last norm of a gradient, on a log scale."""
    if not 0 < last < first:
        return None
    return float(np.clip(np.log(first / max(norm, 1e-300)) / np.log(first / last), 0.0, 1.0))
