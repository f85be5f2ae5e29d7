"""L-BFGS on smooth objectives, in variables scaled by the curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from structune.blas import one_thread
from structune.monitor import STOPS, Kept, Monitor, stop_status
from structune.solvers.solution import Objective, Solution
from structune.structures.base import FloatArray

_HISTORY_CELLS = 1 << 22  # doubles in the L-BFGS history: for large models more costs what it saves


class _Converged(Exception):  # noqa: N818
    pass


class _Track:
    """The objective in scaled variables; remembers the best iterate, and raises where the work ends."""

    def __init__(
        self, objective: Objective, scale: FloatArray, gradient_tolerance: float, monitor: Monitor, kept: Kept
    ) -> None:
        self.objective, self.scale, self.monitor, self.kept = objective, scale, monitor, kept
        self.gradient_tolerance = gradient_tolerance
        self.n = 0
        self.first_norm, self.least_norm = 0.0, np.inf
        self.best: tuple[FloatArray, float, FloatArray] | None = None

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray]:
        w = u * self.scale
        value, gradient = self.objective(w)
        self.n += 1
        if self.best is None or value <= self.best[1]:
            self.best = w, value, gradient
            self.kept.keep(lambda: {"w": w})
            norm = float(np.linalg.norm(gradient))
            self.monitor.show("fit", done=self._done(norm), evaluation=self.n, objective=value, gradient=norm)
            if norm <= self.gradient_tolerance:
                raise _Converged
        self.monitor.check()
        return value, gradient * self.scale

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
        Ends when the Euclidean norm of the gradient is at most this.
    least_gain : float
        Ends, as "stalled", when a step gains no more than this, relative to the objective: for functions with
        kinks, whose gradients do not vanish at the minimum.
    max_iterations : int
    until : callable, optional
        Gets w after every step; ends, as "converged", where it says true.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """

    def after_step(xk: FloatArray) -> None:  # SciPy goes by the name
        if until is not None and until(xk * scale):
            raise _Converged

    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, scale, gradient_tolerance)
    if kept.state is not None:
        start = kept.state.array("w", start.size)
    track = _Track(objective, scale, gradient_tolerance, monitor, kept)
    memory = int(np.clip(_HISTORY_CELLS // (2 * max(start.size, 1)), 5, 20))
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
                track, start / scale, jac=True, method="L-BFGS-B", callback=after_step, options=options
            )
        status = "iterations" if end.nit >= max_iterations else "stalled"
    except _Converged:
        status = "converged"
    except STOPS as stop:
        if track.best is None:
            raise
        status = stop_status(stop)
    assert track.best is not None
    return Solution(*track.best, track.n, status)
