"""L-BFGS on smooth objectives, from what is known of their curvature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import daxpy

from structune.learning.solvers.solution import DECREASE, ROUNDING, Descent, Objective, Solution, share_done
from structune.running.blas import one_thread
from structune.running.monitor import Kept, Monitor
from structune.structure import FloatArray

_CURVATURE = 0.9  # of the second condition of Wolfe (Nocedal & Wright 2006, section 3.1)
_MOST_TRIALS = 30  # of one step
_HIDDEN = 1e-12  # of the objective: what no line search can gain
_INSIDE = 0.1  # of a bracket: what an interpolated step keeps from its ends
_CELLS = 1 << 24  # doubles that all pairs may have, 128 MB
_FEWEST, _MOST = 5, 20  # pairs (Nocedal & Wright 2006, section 7.2)
_MOST_NEARBY = 40  # of a function that is nearly the one before: old steps still tell
_LEAST_COSINE = 1e-10  # of a step and the change of the gradient along it


class Pairs:
    """The inverse Hessian that BFGS makes of the last steps and changes of the gradient.

    At most `most` pairs are kept, and fewer of long weights; `kept` has each with the product of the two.
    """

    def __init__(self, n_weights: int, most: int = _MOST) -> None:
        self.n_weights, self.most = n_weights, most
        n = int(np.clip(_CELLS // (2 * max(n_weights, 1)), _FEWEST, most))
        self.kept = deque[tuple[FloatArray, FloatArray, float]](maxlen=n)

    @classmethod
    def from_rows(cls, rows: FloatArray, most: int | None = None) -> Pairs:
        """What `rows` gave, with room for no more unless `most` says so."""
        pairs = cls(rows.shape[2], len(rows) if most is None else most)
        for step, change in rows:
            pairs.add(step, change)
        return pairs

    def rows(self) -> FloatArray:
        """Steps and changes, shape (n_pairs, 2, n_weights)."""
        pairs = [(step, change) for step, change, _ in self.kept]
        return np.reshape(pairs, (len(pairs), 2, self.n_weights))

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a pair, unless the function does not curve upward along the step."""
        # s'y > 0 keeps the BFGS matrix positive definite
        product = float(step @ change)
        if product > _LEAST_COSINE * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.kept.append((step, change, product))

    def under(self, extra: FloatArray | None = None) -> Pairs:
        """The pairs of the function to which a quadratic of the diagonal Hessian `extra` was added."""
        pairs = Pairs(self.n_weights, _MOST_NEARBY)
        for step, change, _ in self.kept:
            # exact for any `extra`: the gradient of 1/2 w' D w changes by D s along a step s
            pairs.add(step, change if extra is None else change + extra * step)
        return pairs

    def times(self, v: FloatArray, metric: FloatArray) -> FloatArray:
        """The inverse Hessian times `v`, by two loops (Nocedal 1980), from a diagonal `metric` on."""
        if not self.kept:
            return metric * v
        # With rho = 1 / s'y, H+ = (I - rho s y') H (I - rho y s') + rho s s'. The first loop applies the
        # right factors from the last pair to the first, the second loop the left ones in the opposite order
        # (Nocedal & Wright 2006, algorithm 7.4).
        left, shares = v.copy(), []
        for step, change, product in reversed(self.kept):
            shares.append(float(step @ left) / product)
            left = daxpy(change, left, a=-shares[-1])
        # H_0 = (s'y / y'My) M, with the last pair's s and y: about as long as the true inverse along y
        step, change, product = self.kept[-1]
        left *= metric
        left *= product / float(np.einsum("i,i,i", change, metric, change))
        for step, change, product in self.kept:
            left = daxpy(step, left, a=shares.pop() - float(change @ left) / product)
        return left


@one_thread()
def minimize_smooth(
    objective: Objective,
    start: FloatArray,
    *,
    scale: FloatArray,
    gradient_tolerance: float,
    decrement: float = 0.0,
    least_gain: float = 0.0,
    max_iterations: int = 1000,
    until: Callable[[FloatArray], bool] | None = None,
    pairs: Pairs | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimize a smooth function by L-BFGS in the variables w / scale (Nocedal & Wright 2006, chapter 7).

    The solver ends when the Euclidean norm of the gradient g is at most `gradient_tolerance`, when g' D g is
    at most `decrement`, with D = scale^4, about the diagonal of the inverse Hessian, or when ``until(w)`` is
    true after a step. For functions with kinks, whose gradients do not vanish at the minimum, it ends as
    "stalled" when a step gains at most `least_gain` times the objective. `pairs` is the known curvature of a
    similar function; the solution has the curvature known at the end. After the time limit of `monitor` or
    Ctrl-C, the best weights so far are returned.
    """
    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, scale, gradient_tolerance)
    known = pairs.under() if pairs else Pairs(start.size)
    if kept.state is not None:
        known = Pairs.from_rows(kept.state.array("pairs", None, 2, start.size), known.most)
    # in the variables v = w / scale the identity is a good first Hessian: in w it is 1 / scale^2
    path = _Path(objective, start, monitor, kept, scale * scale, known, gradient_tolerance)

    def is_flat() -> bool:
        # a gradient of zero is within any tolerance: without a decrement to reach none is computed
        return path.norm <= gradient_tolerance or (decrement > 0.0 and path.decrement <= decrement)

    def step() -> str:
        if path.n_evaluations == 1:
            monitor.check()
            if is_flat():
                return "converged"
        before = path.value
        if not path.step():
            return "converged" if path.hidden else "stalled"
        if is_flat() or (until is not None and until(path.w)):
            return "converged"
        least = least_gain * max(abs(before), abs(path.value), 1.0)
        return "stalled" if least_gain and before - path.value <= least else ""

    return path.run(step, max_iterations, lambda: {"pairs": known.rows()})


class _Path(Descent):
    """A way of quasi-Newton steps; it ends at the best point that a line search has met."""

    best: tuple[FloatArray, float, FloatArray]
    hidden = False  # whether rounding hides what the last direction could gain
    first_norm = 0.0

    def __init__(
        self,
        objective: Objective,
        start: FloatArray,
        monitor: Monitor,
        kept: Kept,
        metric: FloatArray,
        pairs: Pairs,
        gradient_tolerance: float,
    ) -> None:
        self.metric, self.pairs, self.gradient_tolerance = metric, pairs, gradient_tolerance
        super().__init__(objective, np.array(start), monitor, kept)
        self.first_value = self.value

    @property
    def decrement(self) -> float:
        return float(np.sum((self.metric * self.gradient) ** 2))

    def solution(self, status: str) -> Solution:
        w, value, gradient = self.best
        if status == "converged":  # among equal values, the end of the path
            w, value, gradient = self.w, self.value, self.gradient
        return Solution(w, value, gradient, self.n_evaluations, status, pairs=self.pairs)

    def evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = super().evaluate(w)
        if self.n_evaluations == 1 or value <= self.best[1]:
            self.best = w, value, gradient
            norm = float(np.linalg.norm(gradient))
            self.first_norm = self.first_norm or norm
            done = share_done(norm, self.first_norm, self.gradient_tolerance)
            shown = {"evaluation": self.n_evaluations, "objective": value, "gradient": norm}
            self.monitor.show("fit", done=done, weights=w, **shown)
        return value, gradient

    def step(self) -> bool:
        """Go along the quasi-Newton direction as far as Wolfe's conditions ask; whether that led lower."""
        direction = -self.pairs.times(self.gradient, self.metric)
        slope = float(direction @ self.gradient)
        # twice what a Newton step with the diagonal would gain
        gain = float(np.einsum("i,i,i", self.gradient, self.metric, self.gradient))
        self.hidden = gain <= _HIDDEN * max(abs(self.value), abs(self.first_value))
        # where nothing tells how far: a unit in the scaled variables at most, |d / scale|^2 = -g' d
        most = np.inf if self.pairs.kept else 1.0 / np.sqrt(max(-slope, 1e-300))
        found = self._search(direction, slope, min(1.0, most))
        if found is None:
            return False
        w, _, gradient = found
        self.pairs.add(w - self.w, gradient - self.gradient)
        self.move_to(*found)
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
        slack, found = ROUNDING * abs(self.value), None
        for _ in range(_MOST_TRIALS):
            w = self.w + length * direction
            value, gradient = self.evaluate(w)
            self.monitor.check()
            steep = float(direction @ gradient)
            if not value <= self.value + DECREASE * length * slope + slack * (abs(steep) <= abs(slope)):
                high = length, value, steep
            elif steep < _CURVATURE * slope:
                low = length, value, steep
                found = (w, value, gradient) if value < self.value else found
            else:
                # both conditions hold; where rounding makes values equal a smaller gradient is progress
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
