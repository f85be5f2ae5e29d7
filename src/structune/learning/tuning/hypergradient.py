"""A held-out loss, its slope in the hyperparameters through the optimum, and a model of it further off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import Bounds, minimize

from structune.learning.parameters import TOLERANCE
from structune.learning.penalties import GroupedL2
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.newton import FactoredSystem, HessianSystem, system_at
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.problem import Split
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, FitStopped, Monitor, stop_status
from structune.structure import FloatArray, Groups

FARTHEST = 3.0  # that a log precision may be moved
GRID = np.linspace(-FARTHEST, FARTHEST, 13)
ACCURACY = 3e-4
_TIGHTER = 0.25  # tolerance of the fit that a value is checked by
MOST_COUPLED = 64  # groups: each takes a product with the Hessian on the held-out part
_TELLING = 5  # products: a system that takes fewer was solved before, and its solution tells nothing new
_NUMBERS, _ARRAYS = ("value", "tolerance", "n_products"), ("gradient", "log_precision", "x")  # that are kept
_OF_RESPONSES = ("linear", "length", "coupling")
_TIGHTEST = 1e-10  # of all tolerances


def positive_part(matrix: FloatArray) -> FloatArray:
    """The symmetric matrix without its negative eigenvalues."""
    # of all positive semidefinite matrices the nearest one
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True)
class Response:
    """A model of the change of a held-out loss: ``sum_j l_j(s_j) + 1/2 t(s)' G t(s)`` of a step s.

    `linear` has l_j on `GRID`, the first-order change, and `length` has t_j: how far the weights go, where a
    small step takes them as far as it is long; one row a hyperparameter. `coupling` is G, with no curvature
    below zero, or its diagonal.
    """

    linear: FloatArray
    length: FloatArray
    coupling: FloatArray

    def change(self, step: FloatArray, rest: FloatArray | float = 0.0) -> tuple[float, FloatArray]:
        """Of the held-out loss by a step, and its gradient there; `rest` as for `lowest`."""
        return self._value_and_gradient(rest)(step)

    def lowest(
        self, low: FloatArray, high: FloatArray, rest: FloatArray | float = 0.0
    ) -> tuple[FloatArray, float]:
        """The step between `low` <= 0 and `high` >= 0 where the model is lowest, and how far it falls.

        `rest` is a matrix of curvature that the model has not.
        """
        found = minimize(
            self._value_and_gradient(rest),
            np.zeros(low.size),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": 200, "ftol": 1e-10, "gtol": 0.0},
        )
        return np.clip(found.x, low, high), max(0.0, -float(found.fun))

    @property
    def curvature(self) -> FloatArray:
        """The Hessian at a step of zero, of a `coupling` that is a matrix."""
        linear, length = self._curves
        zero = np.zeros(len(self.linear))
        # t(0) = 0, so that of 1/2 t(s)' G t(s) only t' G t' is left
        speed = length.at(zero)[1]
        return speed[:, None] * self.coupling * speed + np.diag(linear.bend(zero))

    @cached_property
    def _curves(self) -> tuple[_Curves, _Curves]:
        """Of both, for every model of the same point."""
        return _Curves(self.linear), _Curves(self.length)

    def _value_and_gradient(
        self, rest: FloatArray | float
    ) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        linear, length = self._curves

        def model(step: FloatArray) -> tuple[float, FloatArray]:
            (first, slope), (way, speed) = linear.at(step), length.at(step)
            # the chain rule through t(s): d/ds 1/2 t' G t = t'(s) * (G t)
            pull = self.coupling @ way if self.coupling.ndim == 2 else self.coupling * way
            more = np.dot(rest, step)
            return float(first.sum() + 0.5 * (way @ pull + step @ more)), slope + speed * pull + more

        return model


class _Curves:
    """Splines, each at a point of its own."""

    def __init__(self, rows: FloatArray) -> None:
        self._pieces = CubicSpline(GRID, rows.T).c

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and slopes."""
        # a x^3 + b x^2 + c x + d and 3 a x^2 + 2 b x + c, by Horner's rule; SciPy's splines take points one
        # by one
        (a, b, c, d), x = self._pieces_at(points)
        return ((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c

    def bend(self, points: FloatArray) -> FloatArray:
        """Second derivatives."""
        (a, b, _, _), x = self._pieces_at(points)
        return np.asarray(6.0 * a * x + 2.0 * b)

    def _pieces_at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cubics, the highest power first, and where on them the points lie."""
        k = np.clip(np.searchsorted(GRID, points, "right") - 1, 0, GRID.size - 2)
        return self._pieces[:, k, np.arange(points.size)], points - GRID[k]


def of_precisions(
    groups: Groups,
    precision: FloatArray,
    hessian: FloatArray,
    away: FloatArray,
    slope: FloatArray,
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The curves of log precisions, if the Hessian on the training part is diagonal.

    A weight that is `away` from the mean of its prior is then b / (c + h) away, and goes with c. `slope` is
    that of the held-out loss as the weight goes, `weight` the diagonal of the Hessian on the held-out part.
    """
    # b / (c + h) with the precision c e^s is w - move, move = w c (e^s - 1) / (c e^s + h); what the loss
    # changes to first order is slope . move, and the weighted norm of the moves is their length: t(s) is that
    # length in units of what a small step of s has, with the sign of s
    total = precision + hessian
    unit = groups.sum(weight * (precision * away / total) ** 2)
    linear, length = np.empty((2, len(groups), GRID.size))
    for k, s in enumerate(GRID):
        moves = -away * precision * np.expm1(s) / (precision * np.exp(s) + hessian)
        linear[:, k] = groups.sum(slope * moves)
        square = groups.sum(weight * moves * moves)
        length[:, k] = np.sign(s) * np.sqrt(
            np.divide(square, unit, out=np.full_like(unit, s * s), where=unit > 0)
        )
    return linear, length


@dataclass(frozen=True)
class HyperGradient:
    """A held-out loss as a function of the hyperparameters, at one point.

    These are the log precisions and, where the prior has its mean at gamma times the weights of a parent,
    gamma, the last.
    """

    value: float  # corrected to first order for what the fit on the training part left undone
    gradient: FloatArray
    response: Response  # how the value changes, by the curvature of Gauss and Newton
    log_precision: FloatArray
    fit: Solution  # on the training part
    x: FloatArray  # (C + H)^-1 times the gradient of the held-out loss
    n_products: int  # with the Hessian, that it took
    tolerance: float  # of the fit whose value a tighter fit confirmed


def hypergradient(
    split: Split,
    groups: Groups,
    log_precision: FloatArray,
    gamma: float = 0.0,
    *,
    start: HyperGradient | None = None,
    tolerance: float = TOLERANCE,
    cg_tolerance: float = 0.01,
    accuracy: float = ACCURACY,
    monitor: Monitor | None = None,
) -> HyperGradient:
    """Held-out loss of the weights fitted with exp(`log_precision`), its gradient in that, and a model of it.

    One system (C + H) x = grad l_H by conjugate gradients, then -B'x: section 4 of Do, Foo & Ng 2007. Where
    the prior has its mean at gamma times the weights w_p of a parent, the fit moves by (C + H)^-1 C w_p with
    gamma, so the slope in it is x'C w_p. `start`, from a point nearby, gives the fit and the system their
    first iterates, and L-BFGS what it knew of the curvature.

    Parameters
    ----------
    tolerance : float
        Of the first fit: norm of its gradient, relative to w = 0.
    cg_tolerance : float
        Residual of the linear system, relative to its right-hand side.
    accuracy : float
        Of the value, relative to it: where the fit goes on to a quarter of its tolerance and the corrected
        value moves by more, and by more again where the system is solved at the new weights, it goes on.
        Newton's fits are exact enough.
    """
    # At the optimum C w + grad l_T(w) = 0, so dw/dd = -(C + H)^-1 B with B_ij = [i in group j] c_i w_i, and
    # the slope of l_H(w(d)) is -B' x with (C + H) x = grad l_H: one system, however many hyperparameters.
    fits, known = _Fits(split, groups, log_precision, gamma, start, monitor), np.inf
    while True:
        fits.go_on(tolerance)
        before = fits.n_products
        value = fits.corrected(fits.solve(cg_tolerance))
        # a system that is solved anew at better weights checks x as well as w: then the value may be believed
        is_told = fits.n_products - before >= _TELLING and abs(value - known) <= accuracy * abs(value)
        at_zero = split.train.at_zero.gradient_norm
        if split.train.dense or fits.fit.status != "converged" or is_told or not at_zero:
            break
        # is the value as accurate as it is told? A tighter fit may correct it by no more than that
        tolerance = min(tolerance, fits.fit.gradient_norm / at_zero)
        fits.go_on(_TIGHTER * tolerance)
        first, value = value, fits.corrected(fits.heldout.value(fits.fit.w))
        if abs(value - first) <= accuracy * abs(value) or tolerance < _TIGHTEST:
            break
        known, tolerance = value, _TIGHTER * tolerance
    gradient, response = fits.slopes()
    assert fits.x is not None
    fit = replace(fits.fit, n_evaluations=fits.n_evaluations)
    return HyperGradient(value, gradient, response, log_precision, fit, fits.x, fits.n_products, tolerance)


def kept_points(points: Sequence[HyperGradient]) -> State:
    """What a checkpoint has of points."""
    told: dict[str, Any] = {}
    for k, point in enumerate(points):
        parts: dict[str, Any] = {n: getattr(point, n) for n in (*_NUMBERS, *_ARRAYS)}
        parts |= {n: getattr(point.response, n) for n in _OF_RESPONSES}
        parts |= {"w": point.fit.w, "n_evaluations": point.fit.n_evaluations}
        if point.fit.pairs is not None:
            parts["pairs"] = point.fit.pairs.rows()
        told |= {f"{k} {part}": value for part, value in parts.items()}
    return told


def restored_points(
    state: Restored, n_points: int, n_weights: int, n_groups: int, n: int
) -> list[HyperGradient]:
    """Points of which fits and systems nearby can start; of `n` hyperparameters."""

    def point(at: int) -> HyperGradient:
        w, x = (state.array(f"{at} {part}", n_weights) for part in ("w", "x"))
        pairs = f"{at} pairs"
        known = Pairs.from_rows(state.array(pairs, None, 2, n_weights)) if pairs in state else None
        count = state.count(f"{at} n_evaluations")
        # nobody asks a start for its objective or gradient: they are evaluated again
        fit = Solution(w, np.nan, np.full_like(w, np.nan), count, "converged", pairs=known)
        linear, length = (state.array(f"{at} {part}", n, GRID.size) for part in ("linear", "length"))
        coupled = [n] * (1 + (n_groups <= MOST_COUPLED))
        response = Response(linear, length, state.array(f"{at} coupling", *coupled))
        value, tolerance = (state.entry(f"{at} {part}", float) for part in ("value", "tolerance"))
        gradient, d = state.array(f"{at} gradient", n), state.array(f"{at} log_precision", n_groups)
        return HyperGradient(value, gradient, response, d, fit, x, state.count(f"{at} n_products"), tolerance)

    return [point(k) for k in range(n_points)]


class _Fits:
    """Fits on the training part, each from where the one before ended, and what their end tells."""

    def __init__(
        self,
        split: Split,
        groups: Groups,
        log_precision: FloatArray,
        gamma: float,
        start: HyperGradient | None,
        monitor: Monitor | None,
    ) -> None:
        self.heldout = split.heldout
        self.split, self.groups, self.gamma, self.monitor = split, groups, gamma, monitor
        self.precision = GroupedL2(groups, log_precision).precision
        self.w = None if start is None else start.fit.w
        self.x = None if start is None else start.x
        self.pairs: Pairs | None = None
        if start is not None and start.fit.pairs is not None:
            before = GroupedL2(groups, start.log_precision).precision
            self.pairs = start.fit.pairs.under(self.precision - before)
        self.n_evaluations = self.n_products = 0
        self.fit: Solution
        self.system: FactoredSystem | HessianSystem

    @property
    def _center(self) -> FloatArray | None:
        return None if self.split.parent is None else self.gamma * self.split.parent

    def go_on(self, tolerance: float) -> None:
        """Fit to a tolerance."""
        # from the weights and the curvature of before: of a point nearby only the prior's share C s of each
        # pair is another, which `Pairs.under` has exchanged
        fit = fit_l2(
            self.split.train,
            self.precision,
            self.w,
            center=self._center,
            tolerance=tolerance,
            pairs=self.pairs,
            monitor=self.monitor,
        )
        fit.check()
        self.fit, self.w, self.pairs = fit, fit.w, fit.pairs
        self.n_evaluations += fit.n_evaluations

    def solve(self, tolerance: float) -> float:
        """The held-out loss; and the system that tells how it moves with the fit is solved."""
        # the last solution is a good start, as x changes little between fits and between points
        w, pairs = self.fit.w, self.pairs
        try:
            loss, gradient = self.heldout.value_and_gradient(w)
            self.system = system_at(self.split.train, self.precision, w, self.monitor, pairs)
            solved = self.system.solve(gradient, self.x, tolerance=tolerance)
        except STOPS as stop:
            raise FitStopped(stop_status(stop), w) from None
        self.x, self.n_products = solved.x, self.n_products + solved.n_products
        return loss

    def corrected(self, loss: float) -> float:
        """The held-out loss at the optimum, which lies (C + H)^-1 r away, r the gradient that is left."""
        # l_H(w - (C + H)^-1 r) = l_H(w) - x' r + O(r^2), with the x of the system that is solved anyway
        assert self.x is not None
        return loss - float(np.einsum("i,i", self.x, self.fit.gradient))

    def slopes(self) -> tuple[FloatArray, Response]:
        """Of the held-out loss in the hyperparameters, and how it changes further off.

        A weight moves by -c (w - gamma w_p) / (c + h) with its log precision, and by c w_p / (c + h) with
        gamma, if h is all that the Hessian has.
        """
        assert self.x is not None
        center, parent, x, c = self._center, self.split.parent, self.x, self.precision
        away, total = self.fit.w if center is None else self.fit.w - center, self.system.diagonal
        weight = self.heldout.variance(self.fit.w)
        gradient = -self.groups.sum(x * c * away)
        linear, length = of_precisions(self.groups, c, np.maximum(total - c, 0.0), away, x * total, weight)
        moves = -c * away / total
        if parent is None:
            return gradient, Response(linear, length, self._coupling(moves, None, weight))
        # d/dgamma of the mean of the prior is w_p, so the fit moves by (C + H)^-1 C w_p: linear in gamma
        gradient = np.append(gradient, np.sum(x * c * parent))
        linear, length = np.vstack([linear, gradient[-1] * GRID]), np.vstack([length, GRID])
        return gradient, Response(linear, length, self._coupling(moves, c * parent / total, weight))

    def _coupling(self, moves: FloatArray, of_gamma: FloatArray | None, weight: FloatArray) -> FloatArray:
        """The curvature of the held-out loss as each group goes by `moves`; between many groups, none."""

        def along(v: FloatArray) -> FloatArray:
            return np.append(self.groups.sum(moves * v), [] if of_gamma is None else [of_gamma @ v])

        if len(self.groups) > MOST_COUPLED:
            diagonal = self.groups.sum(weight * moves * moves)
            return np.append(diagonal, [] if of_gamma is None else [weight @ of_gamma**2])
        # G_jk = m_j' H_H m_k, m_j the moves of group j: Gauss and Newton, without the curvature of w(d)
        product, n = self.heldout.linearize(self.fit.w), len(self.groups)
        rows = [along(product(np.where(self.groups.index == j, moves, 0.0))) for j in range(n)]
        if of_gamma is not None:
            rows.append(along(product(of_gamma)))
        # partial labels may curve downward
        return positive_part(0.5 * (np.array(rows) + np.transpose(rows)))
