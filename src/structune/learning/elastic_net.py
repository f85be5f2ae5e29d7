"""Fits with falling l1 penalties, each from the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.solution import Solution
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_ABOVE = 4.0  # a penalty that leaves no weight is looked for in steps of this


def elastic_net_path(
    risk: Risk,
    precision: FloatArray,
    l1: FloatArray | None = None,
    *,
    factors: Sequence[float] | None = None,
    n_factors: int = 20,
    least: float = 0.01,
    tolerance: float = TOLERANCE,
    monitor: Monitor | None = None,
) -> Iterator[tuple[float, Solution]]:
    """Minimise ``risk(w) + 1/2 sum_i precision_i w_i^2 + t sum_i l1_i |w_i|`` for falling factors t.

    Each fit starts at the weights of the one before (Friedman, Hastie & Tibshirani 2010). It is made when the
    caller asks for it, who may stop at any. To choose a factor by held-out loss, see `GridTuner`.

    Parameters
    ----------
    risk : Risk
        Smooth.
    precision : ndarray, shape (n_weights,)
    l1 : ndarray, shape (n_weights,), optional
        1 for all weights with a precision by default.
    factors : sequence of float, optional
        By default `n_factors` in equal ratios, from the smallest that leaves no weight with an l1 penalty
        to `least` times that.
    n_factors : int
    least : float
    tolerance : float
        As of `fit_l2`.
    monitor : Monitor, optional

    Yields
    ------
    factor : float
    fit : Solution

    Raises
    ------
    DataError
        Factors, `least` or `n_factors` that make no path.
    """
    shares = np.where(precision > 0, 1.0, 0.0) if l1 is None else l1
    start = None
    if factors is None:
        if not (0 < least < 1 and n_factors >= 2 and shares.any()):
            raise DataError(
                f"n_factors={n_factors}, least={least}: expected 2 at least, a share, and l1 > 0 somewhere"
            )
        most, start = _most(risk, precision, shares, tolerance, monitor)
        factors = np.geomspace(most, least * most, n_factors).tolist()
    elif not all(np.isfinite(t) and t >= 0 for t in factors):
        raise DataError(f"factors={factors!r}: expected finite numbers >= 0")
    for factor in factors:
        fit = fit_l2(risk, precision, start, l1=factor * shares, tolerance=tolerance, monitor=monitor)
        yield factor, fit
        fit.check()
        start = fit.w


def _most(
    risk: Risk, precision: FloatArray, shares: FloatArray, tolerance: float, monitor: Monitor | None
) -> tuple[float, FloatArray]:
    """The smallest factor that leaves no weight with an l1 penalty, and the weights without one there."""
    # Weights of the penalty t l1 stay at zero where |d loss / d w_i| <= t l1_i for all of them, the weights
    # without one at their optimum. That moves with t no more once the others are zero, so any t that is large
    # enough tells the smallest: t = max |d loss / d w_i| / l1_i.
    held, start = shares > 0, np.zeros(risk.n_weights)

    def leaving(w: FloatArray) -> float:
        return float(np.abs(risk.value_and_gradient(w)[1][held] / shares[held]).max()) or 1.0

    factor = leaving(start)
    while True:
        fit = fit_l2(risk, precision, start, l1=factor * shares, tolerance=tolerance, monitor=monitor)
        fit.check()
        start = fit.w
        if not start[held].any():
            return leaving(start), start
        factor *= _ABOVE
