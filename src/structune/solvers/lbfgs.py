"""L-BFGS on smooth objectives, in variables scaled by the curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from structune.monitor import STOPS, FitStopped, Monitor, stop_status
from structune.risk import Risk
from structune.structures.base import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
TOLERANCE = 1e-4
_HISTORY_CELLS = 1 << 22  # doubles in the L-BFGS history: for large models more costs what it saves


@dataclass(frozen=True)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    w : ndarray, shape (n_weights,)
        The best iterate.
    objective : float
    gradient : ndarray, shape (n_weights,)
        There.
    n_evaluations : int
    status : {"converged", "stalled", "iterations", "budget", "interrupted"}
        "stalled": the line search found nothing lower, as it does where rounding hides the rest.
    """

    w: FloatArray
    objective: float
    gradient: FloatArray
    n_evaluations: int
    status: str

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def stopped(self) -> bool:
        """Whether the work was cut short from outside."""
        return self.status in ("budget", "interrupted")

    def check(self) -> None:
        """Raise `FitStopped` if the work was cut short."""
        if self.stopped:
            raise FitStopped(self.status, self.w)


class _Converged(Exception):  # noqa: N818
    pass


class _Track:
    """The objective in scaled variables; remembers the best iterate, and raises where the work ends."""

    def __init__(
        self, objective: Objective, scale: FloatArray, gradient_tolerance: float, monitor: Monitor
    ) -> None:
        self.objective, self.scale, self.monitor = objective, scale, monitor
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


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def minimize_smooth(
    objective: Objective,
    start: FloatArray,
    *,
    scale: FloatArray,
    gradient_tolerance: float,
    max_iterations: int = 1000,
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
    max_iterations : int
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    track = _Track(objective, scale, gradient_tolerance, monitor or Monitor())
    memory = int(np.clip(_HISTORY_CELLS // (2 * max(start.size, 1)), 5, 20))
    options: Any = {
        "maxcor": memory,
        "maxiter": max_iterations,
        "maxfun": 10**9,
        "ftol": 0.0,
        "gtol": 0.0,
        "maxls": 30,
    }
    try:
        # L-BFGS factors tiny matrices, where threads of BLAS only wait for each other
        with _blas().limit(limits=1, user_api="blas"):
            end = minimize(track, start / scale, jac=True, method="L-BFGS-B", options=options)
        status = "iterations" if end.nit >= max_iterations else "stalled"
    except _Converged:
        status = "converged"
    except STOPS as stop:
        if track.best is None:
            raise
        status = stop_status(stop)
    assert track.best is not None
    return Solution(*track.best, track.n, status)


def fit_l2(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise risk(w) + 1/2 sum_i precision_i w_i^2 (OPT1 of Do et al. 2007).

    Parameters
    ----------
    risk : Risk
    precision : ndarray, shape (n_weights,)
        C, the diagonal of the Gaussian prior's inverse covariance.
    start : ndarray, shape (n_weights,), optional
        Zero by default.
    tolerance : float
        Ends when the norm of the gradient is at most this times its norm at w = 0.

    Notes
    -----
    Variables are scaled by the square root of what a Newton step on the diagonal would use, at the start.
    The full power begins faster and ends slower: features that occur together share their curvature.
    """

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = risk.value_and_gradient(w)
        pull = precision * w
        gradient += pull
        return value + 0.5 * float(pull @ w), gradient

    variance = risk.at_zero.variance if start is None else risk.variance(start)
    return minimize_smooth(
        objective,
        np.zeros(risk.n_weights) if start is None else start,
        scale=(precision + variance) ** -0.25,
        gradient_tolerance=tolerance * risk.at_zero.gradient_norm,
        max_iterations=max_iterations,
        monitor=monitor,
    )
