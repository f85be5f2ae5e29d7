"""Minimize a risk plus a Gaussian prior, or an elastic net, with a suitable solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk
from structune.learning.solvers.bundle import Bundle, minimize_bundle
from structune.learning.solvers.cccp import minimize_cccp
from structune.learning.solvers.composite import LbfgsCurvatures, NewtonCurvatures, minimize_composite
from structune.learning.solvers.lbfgs import Pairs, minimize_smooth
from structune.learning.solvers.newton import minimize_newton, positive
from structune.learning.solvers.solution import ROUNDING, Objective, Solution
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_GAP = 10.0  # of bundle methods, relative to the tolerance
_FREE = 0.01  # of the mean precision: what weights without one get of bundle methods
_ABOVE = 4.0  # a penalty that leaves no weight is looked for in steps of this


def fit_l2(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    l1: FloatArray | None = None,
    center: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    decrement: float = 0.0,
    max_iterations: int = 1000,
    pairs: Pairs | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimize risk(w) + 1/2 sum_i precision_i (w_i - center_i)^2 (OPT1 of Do et al. 2007).

    The solver is Newton's method if the loss is quadratic or the risk uses a dense Hessian, and L-BFGS
    otherwise. Risks with kinks use a bundle method or the convex-concave procedure. With `l1`, the objective
    also has the sum of ``l1_i |w_i - center_i|`` (elastic net); see `minimize_composite`.

    Parameters
    ----------
    risk : Risk
        Risk to minimize.
    precision : ndarray, shape (n_weights,)
        Precision of the Gaussian prior (L2 penalty) of each weight. If the risk has kinks, a precision of 0
        is replaced by a hundredth of the mean of the others.
    start : ndarray, shape (n_weights,), optional
        Initial weights; the center by default.
    l1 : ndarray, shape (n_weights,), optional
        L1 penalty of each weight, not negative. The gradient of the solution is then the subgradient of
        least norm.
    center : ndarray, shape (n_weights,), optional
        Mean of the prior; zero by default.
    tolerance : float
        L-BFGS ends when the norm of the gradient (with `l1`, of the least subgradient) is at most this times
        the norm at the center. For Newton's method see `minimize_newton`. A bundle method ends at a gap of
        ten times this, relative to the objective.
    decrement : float
        L-BFGS and Newton's method also end when g' (C + H)^-1 g, twice the gain of a Newton step, is at most
        this. L-BFGS uses the diagonal of the Hessian H. With `l1` only L-BFGS has this criterion.
    max_iterations : int
        Maximum number of iterations.
    pairs : Pairs, optional
        Curvature that L-BFGS already knows, including that of the prior.
    monitor : Monitor, optional
        Records progress and keeps the time limit.

    Returns
    -------
    Solution
        Where the solver ended.

    Raises
    ------
    CapabilityError
        `l1` is given and the risk has kinks.
    """
    ends: dict[str, Any] = {"max_iterations": max_iterations, "monitor": monitor}
    if l1 is not None and not l1.any():
        l1 = None
    if not risk.smooth:
        if l1 is not None:
            name = type(risk.loss).__name__
            raise CapabilityError(f"an l1 penalty needs a smooth loss, and {name} is not smooth")
        return _fit_kinks(risk, precision, start, center, tolerance=_GAP * tolerance, **ends)
    if center is not None:
        # with v = w - center the prior has its mean at zero, and the risk is asked at v + center
        start = None if start is None else start - center
        around = risk.around(center)
        ends |= {"tolerance": tolerance, "decrement": decrement, "pairs": pairs}
        fit = fit_l2(around, precision, start, l1=l1, **ends)
        return replace(fit, w=fit.w + center)

    objective = penalised(risk, precision)
    w = np.zeros(risk.n_weights) if start is None else start
    gradient_tolerance = tolerance * risk.at_zero.gradient_norm
    if l1 is not None:
        ends["gradient_tolerance"] = gradient_tolerance
        if risk.dense:
            # the square of the tolerance, as of Newton's decrement, and not less than rounding hides
            gain = max(tolerance**2, ROUNDING) * risk.at_zero.value
            newton = NewtonCurvatures(risk, precision)
            fit = minimize_composite(objective, w, l1, newton, least_gain=gain, **ends)
            if fit.status != "stalled":
                return fit
            w = fit.w
        lbfgs = LbfgsCurvatures(curvature_scale(precision, risk.variance(w)), pairs)
        fit = minimize_composite(objective, w, l1, lbfgs, decrement=decrement, **ends)
        return replace(fit, pairs=lbfgs.pairs)
    if risk.dense or risk.quadratic:
        share = max(tolerance, (decrement / max(risk.at_zero.value, ROUNDING)) ** 0.5)
        fit = minimize_newton(objective, risk, precision, w, tolerance=share, **ends)
        if fit.status != "stalled":
            return fit
        start = w = fit.w  # where curvatures vanish, gradients still lead on
    variance = risk.at_zero.variance if start is None else risk.variance(start)
    scale = curvature_scale(precision, variance)
    ends |= {"gradient_tolerance": gradient_tolerance, "decrement": decrement, "pairs": pairs}
    return minimize_smooth(objective, w, scale=scale, **ends)


def penalised(risk: Risk, precision: FloatArray) -> Objective:
    """Return the function that gives risk(w) + 1/2 sum_i precision_i w_i^2 and its gradient at w."""

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = risk.value_and_gradient(w)
        pull = precision * w
        gradient += pull
        return value + 0.5 * float(pull @ w), gradient

    return objective


def curvature_scale(precision: FloatArray, variance: FloatArray) -> FloatArray:
    """What `minimize_smooth` divides variables by."""
    # scale^2 = (C + v)^(-1/2) is where L-BFGS begins: the full inverse begins faster and ends slower, as
    # features that occur together share their curvature
    return np.asarray(positive(precision + variance) ** -0.25)


def _fit_kinks(
    risk: Risk, precision: FloatArray, start: FloatArray | None, center: FloatArray | None, **ends: Any
) -> Solution:
    has, lifted = precision > 0, precision
    if has.any() and not has.all():
        lifted = np.where(has, precision, _FREE * precision[has].mean())
    if risk.convex:
        fit = minimize_bundle(risk, lifted, start, bundle=Bundle(risk, lifted, center), **ends)
    else:
        fit = minimize_cccp(risk, lifted, start, center=center, **ends)
    # what the lent precisions added is taken out again; the bound was one with them
    away = fit.w if center is None else fit.w - center
    extra = (lifted - precision) * away
    if not extra.any():
        return fit
    objective = fit.objective - 0.5 * float(extra @ away)
    return replace(fit, objective=objective, gradient=fit.gradient - extra, lower_bound=-np.inf)


# --- paths of l1 penalties --------------------------------------------------------------------------------


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
    """Minimize ``risk(w) + 1/2 sum_i precision_i w_i^2 + t sum_i l1_i |w_i|`` for falling factors t.

    Each fit starts from the weights of the previous one (Friedman, Hastie & Tibshirani 2010). Fits are
    computed on demand, so the loop may stop at any factor. To choose a factor by held-out loss, use
    `GridTuner`.

    Parameters
    ----------
    risk : Risk
        Risk of a smooth loss.
    precision, l1 : ndarray, shape (n_weights,)
        L2 and l1 penalty of each weight. By default, `l1` is 1 for all weights with a precision.
    factors : sequence of float, optional
        Factors t. By default `n_factors` values in equal ratios, from the smallest factor at which all
        weights with an l1 penalty are zero, down to `least` times that.
    n_factors : int
        Number of factors.
    least : float
        Last factor divided by the first.
    tolerance, monitor
        As in `fit_l2`.

    Yields
    ------
    factor : float
        Factor t.
    fit : Solution
        Fit with this factor.

    Raises
    ------
    DataError
        `factors`, `least` or `n_factors` is invalid.
    """
    shares = np.where(precision > 0, 1.0, 0.0) if l1 is None else l1
    start = None

    def fit_at(factor: float, start: FloatArray | None) -> Solution:
        return fit_l2(risk, precision, start, l1=factor * shares, tolerance=tolerance, monitor=monitor)

    if factors is None:
        if not (0 < least < 1 and n_factors >= 2 and shares.any()):
            raise DataError(
                f"n_factors={n_factors}, least={least}: n_factors must be at least 2, least between 0 and 1, "
                "and l1 > 0 for some weight"
            )
        most, start = _most(risk, shares, fit_at)
        factors = np.geomspace(most, least * most, n_factors).tolist()
    elif not all(np.isfinite(t) and t >= 0 for t in factors):
        raise DataError(f"factors={factors!r}: expected finite numbers >= 0")
    for factor in factors:
        fit = fit_at(factor, start)
        yield factor, fit
        fit.check()
        start = fit.w


def _most(
    risk: Risk, shares: FloatArray, fit_at: Callable[[float, FloatArray], Solution]
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
        fit = fit_at(factor, start)
        fit.check()
        start = fit.w
        if not start[held].any():
            return leaving(start), start
        factor *= _ABOVE
