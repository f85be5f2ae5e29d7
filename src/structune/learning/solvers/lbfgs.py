"""L-BFGS on smooth objectives, in variables scaled by the curvature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from structune.learning.solvers.curvature import Curvature, is_curved
from structune.learning.solvers.solution import Objective, Solution
from structune.running.blas import one_thread
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

_ROUNDING = 1e-12  # of the objective: what no line search can gain
_HISTORY_CELLS = 1 << 22  # doubles in the L-BFGS history: for large models more costs what it saves


class _Converged(Exception):  # noqa: N818
    pass


class _Variables:
    """Weights as L-BFGS has them: scaled steps from a start."""

    def __init__(self, start: FloatArray, scale: FloatArray) -> None:
        self.start, self.scale = start, scale
        self._curvature, self._unit = Curvature([], []), 1.0

    def go_on(self, path: _Path) -> None:
        """Begin where a path ends, with what it tells of the Hessian."""
        self.start, gradient = path.end
        steps, changes = (s / self.scale for s in path.steps), (y * self.scale for y in path.changes)
        self._curvature = Curvature(steps, changes)
        if path.steps:  # SciPy's first step has length 1, which may be far beyond the minimum
            self._unit = min(1.0, float(np.linalg.norm(self.gradient(gradient)))) or 1.0

    def weights(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.start + self.scale * self._curvature.times(self._unit * v))

    def gradient(self, of_weights: FloatArray) -> FloatArray:
        return self._unit * self._curvature.transposed_times(of_weights * self.scale)


class _Path:
    """The last steps, and how the gradient changed along them."""

    def __init__(self, n_steps: int) -> None:
        self.steps, self.changes = deque[FloatArray](maxlen=n_steps), deque[FloatArray](maxlen=n_steps)
        self.end: tuple[FloatArray, FloatArray] = np.empty(0), np.empty(0)  # point, and gradient

    def add(self, w: FloatArray, gradient: FloatArray) -> None:
        if self.end[0].size:
            step, change = w - self.end[0], gradient - self.end[1]
            if is_curved(step, change):
                self.steps.append(step)
                self.changes.append(change)
        self.end = w, gradient

    def state(self) -> State:
        w, gradient = self.end
        shape = len(self.steps), w.size
        steps, changes = (np.reshape(rows, shape) for rows in (self.steps, self.changes))
        return {"w": w, "gradient": gradient, "steps": steps, "changes": changes}

    def restore(self, state: Restored, n: int) -> None:
        self.end = state.array("w", n), state.array("gradient", n)
        self.steps.extend(state.array("steps", None, n))
        self.changes.extend(state.array("changes", len(state["steps"]), n))


class _Track:
    """The objective of variables; remembers the best iterate, and raises where the work ends."""

    def __init__(
        self,
        objective: Objective,
        variables: _Variables,
        gradient_tolerance: float,
        monitor: Monitor,
        follow: Callable[[FloatArray, FloatArray], None],
    ) -> None:
        self.objective, self.variables, self.monitor = objective, variables, monitor
        self.gradient_tolerance, self.follow = gradient_tolerance, follow
        self.n = 0
        self.first_value, self.first_norm, self.least_norm = 0.0, 0.0, np.inf
        self.best: tuple[FloatArray, float, FloatArray] | None = None
        self.last: tuple[FloatArray, FloatArray]

    def __call__(self, v: FloatArray) -> tuple[float, FloatArray]:
        w = self.variables.weights(v)
        value, gradient = self.objective(w)
        self.n += 1
        self.last = w, gradient
        if self.n == 1:
            self.first_value = value
            self.follow(*self.last)
        if self.best is None or value <= self.best[1]:
            self.best = w, value, gradient
            norm = float(np.linalg.norm(gradient))
            self.monitor.show("fit", done=self._done(norm), evaluation=self.n, objective=value, gradient=norm)
            if norm <= self.gradient_tolerance:
                raise _Converged
        self.monitor.check()
        return value, self.variables.gradient(gradient)

    def is_at_rounding(self, inverse_hessian: Any) -> bool:
        """Whether a Newton step from the best iterate would gain less than sums of floats can tell."""
        assert self.best is not None
        _, value, gradient = self.best
        slope = self.variables.gradient(gradient)
        gain = float(slope @ inverse_hessian.matvec(slope))
        return gain <= _ROUNDING * max(abs(value), abs(self.first_value))

    def _done(self, norm: float) -> float | None:
        """Share of the way that the gradient norm has come, on a log scale."""
        self.first_norm = self.first_norm or norm
        self.least_norm = min(self.least_norm, norm)
        if not 0 < self.gradient_tolerance < self.first_norm:
            return None
        way = np.log(self.first_norm / self.gradient_tolerance)
        return float(min(1.0, np.log(self.first_norm / max(self.least_norm, 1e-300)) / way))


def minimize_smooth(
    objective: Objective,
    start: FloatArray,
    *,
    scale: FloatArray,
    gradient_tolerance: float,
    least_gain: float = 0.0,
    max_iterations: int = 1000,
    until: Callable[[FloatArray], bool] | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise a smooth function by SciPy's L-BFGS in the variables w / scale.

    Parameters
    ----------
    objective : callable
        w -> value and gradient.
    start, scale : ndarray, shape (n_weights,)
    gradient_tolerance : float
        Ends when the Euclidean norm of the gradient is at most this, or where rounding hides what is left.
    least_gain : float
        Ends, as "stalled", when a step gains no more than this, relative to the objective: for functions with
        kinks, whose gradients do not vanish at the minimum.
    max_iterations : int
    until : callable, optional
        Gets w after every step; ends, as "converged", where it says true.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """

    def follow(w: FloatArray, gradient: FloatArray) -> None:
        if keeps:
            path.add(w, gradient)
            kept.keep(path.state)

    def after_step(xk: FloatArray) -> None:  # SciPy goes by the name, and has just evaluated there
        follow(*track.last)
        if until is not None and until(track.last[0]):
            raise _Converged

    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, scale, gradient_tolerance)
    memory = int(np.clip(_HISTORY_CELLS // (2 * max(start.size, 1)), 5, 20))
    variables, path, keeps = _Variables(start, scale), _Path(memory), monitor.checkpoint is not None
    if kept.state is not None:
        path.restore(kept.state, start.size)
        variables.go_on(path)
    track = _Track(objective, variables, gradient_tolerance, monitor, follow)
    options: Any = {
        "maxcor": memory,
        "maxiter": max_iterations,
        "maxfun": 10**9,
        "ftol": least_gain,
        "gtol": 0.0,
        "maxls": 30,
    }
    try:
        with one_thread():
            end = minimize(
                track,
                np.zeros(start.size),
                jac=True,
                method="L-BFGS-B",
                callback=after_step,
                options=options,
            )
        status = "converged" if track.is_at_rounding(end.hess_inv) else "stalled"
        status = "iterations" if end.nit >= max_iterations else status
    except _Converged:
        status = "converged"
    except STOPS as stop:
        if track.best is None:
            raise
        status = stop_status(stop)
    assert track.best is not None
    return Solution(*track.best, track.n, status)
