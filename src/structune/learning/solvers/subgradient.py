"""Subgradient steps: the simplest way to minimise a risk that has kinks, plus a Gaussian prior."""

from __future__ import annotations

import numpy as np

from structune.errors import DataError
from structune.learning.risk import Risk
from structune.learning.solvers.solution import Solution
from structune.running.blas import one_thread
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

_RAISE, _LOWER = 1.5, 0.995  # of what the next step hopes to gain, after a success and a failure
_FIRST_HOPE = 1.0  # of the objective at the start


def minimize_subgradient(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise risk(w) + 1/2 sum_i precision_i w_i^2 by Polyak's step towards a level that adapts.

    The step would reach the level ``best - hope`` if the objective were linear; hope grows where the level
    was reached and shrinks where it was not (the dynamic rule of Nedic & Bertsekas 2001, section 2.2, with
    all examples at once). There is no bound of the minimum.

    Parameters
    ----------
    risk : Risk
    precision : ndarray, shape (n_weights,)
        Positive; also the metric of the steps.
    start : ndarray, shape (n_weights,), optional
        Zero by default.
    tolerance : float
        Ends, as "stalled", when hope is below this times the objective: nothing tells how far the minimum is.
    max_iterations : int
        Passes over the data.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    w = np.zeros(risk.n_weights) if start is None else start
    best: tuple[FloatArray, float, FloatArray] | None = None
    status, n, hope, level = "iterations", 0, 0.0, -np.inf
    try:
        with one_thread():
            while n < max_iterations:
                value, gradient = risk.value_and_gradient(w)
                gradient = gradient + precision * w
                value += 0.5 * float(precision @ (w * w))
                n += 1
                if best is None:
                    best, hope = (w, value, gradient), _FIRST_HOPE * abs(value)
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
    if best is None:
        raise DataError(f"max_iterations={max_iterations}: expected 1 at least")
    return Solution(*best, n, status)
