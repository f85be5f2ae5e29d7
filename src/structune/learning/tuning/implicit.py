"""Minimizes a held-out loss over the log precisions of the prior, by its gradient through the optimum.

Do, Foo & Ng 2007. First the search, then the gradient, and a model of the loss further off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk, SideBySide
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.newton import system_at
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.problem import (
    PassCount,
    Split,
    TuningProblem,
    TuningResult,
    are_positive,
    mark_chosen,
)
from structune.running.checkpoints import Restored
from structune.running.monitor import STOPPED, STOPS, FitStopped, Monitor, stop_status
from structune.structure import FloatArray, Groups

# nearly free, and switched off: the papers' values lie between
BOUNDS = (-10 * np.log(2.0), 14 * np.log(2.0))
FARTHEST = 3.0  # that a log precision may be moved at once
SPREAD = (BOUNDS[1] - BOUNDS[0]) / 4  # of their prior, around the usual ones
_SHRINK, _GROW = 0.5, 1.5  # of a box: their product is below 1, so that no way to and fro goes on for ever
_SHARE = 0.01  # of what a move should gain: what the fits that tell of it may leave undone
_EASY = 0.03  # of the loss at w = 0: a held-out loss that is lower counts as that much where the search ends
_L1 = 0.1  # the usual factor of an l1 penalty: of 0.1, 0.2 and 0.3 the lowest held-out loss over four corpora
_MOST_PRODUCTS = 6  # for each linear system of the search: it goes on from the solution before

GRID = np.linspace(-FARTHEST, FARTHEST, 13)
_FINE = np.linspace(-FARTHEST, FARTHEST, 241)
_UNIT_OF_GAMMA = 1.0 / FARTHEST  # gamma, from 0 to 1, may go from one end to the other at once
_KEPT = ("n_evaluations", "first_loss", "first_doubt", "status")


@dataclass
class ImplicitTuner:
    """Tuner that minimizes a held-out loss over the log precisions, along its gradient.

    The precision (inverse prior variance) of a group is its L2 penalty. A normal prior of the log precisions,
    around those of a fit without tuning, is added to the held-out loss; with few examples it dominates.
    Precisions stay between 2^-10 and 2^14, a range of four standard deviations of that prior.

    Parameters
    ----------
    start : float or array-like, shape (n_groups,), optional
        Initial precision of every group; by default that of a fit without tuning.
    max_evaluations : int
        Maximum number of evaluations of the held-out loss. Each needs one warm-started fit and one linear
        system per split.
    tolerance : float
        The search ends when the next move is expected to lower the held-out loss by less than this share of
        it. If the held-out loss is below 3 % of its value at w = 0, these 3 % take its place.
    fit_tolerance : float
        Tolerance of the final fit on all data.
    refit : bool
        Fit on all data at the end, with the same precisions: a precision belongs to the prior, which does not
        change with more data.
    hessian : {"exact", "complex-step", "finite-difference"}, optional
        How products with the Hessian of the loss are computed; by default as in the estimator.

    Notes
    -----
    Each log precision moves to the minimum of a model of the loss within a box. When the slope changes its
    sign, the box shrinks to half the last move. Otherwise it grows by half when the move ended at its edge,
    as in resilient propagation (Riedmiller & Braun 1993). The model is a Gauss-Newton model with a diagonal
    Hessian. It predicts how weights change with their precision. Fits are as exact as the expected gain
    requires, and start from the previous ones (Pedregosa 2016).

    At the end, the result is compared with a fit without tuning. The precisions without tuning are kept
    unless the held-out loss is lower by more than the number of precisions that the held-out data determine,
    which is what chance alone would gain (Akaike 1974; MacKay 1992 for the number).

    With an l1 penalty, the logarithm of its factor is one more hyperparameter. Derivatives use the nonzero
    weights (Bertrand et al. 2022). The result is not compared with a fit without tuning, which has no zeros.
    """

    start: Any = None
    max_evaluations: int = 30
    tolerance: float = 0.003
    fit_tolerance: float = TOLERANCE
    refit: bool = True
    hessian: str | None = None
    needs_splits = True
    learns_l1 = True

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Choose the precisions of `problem.groups`, and fit with them."""
        if not problem.splits:
            raise DataError("the implicit tuner needs held-out data, but the problem has no splits")
        problem.require_smooth("the implicit tuner")
        if problem.l1 is not None and not problem.l1.any():
            problem = replace(problem, l1=None)
        if problem.l1 is not None and problem.parent is not None:
            raise DataError("an l1 penalty and a parent cannot be combined")
        if self.start is not None and not are_positive(self.start):
            raise DataError(f"start={self.start!r}: expected a precision > 0")
        if self.hessian is not None:
            problem = problem.with_hessian(self.hessian)
        n_groups = len(problem.groups)
        if np.shape(self.start) not in ((), (1,), (n_groups,)):
            raise DataError(f"start={self.start!r}: expected one precision, or {n_groups}, one per group")
        with monitor or Monitor() as monitor:
            search = _Search(self, problem, monitor)
            status = search.run()
            return search.finish(status)


class _Search:
    """From point to point: boxes, warm starts, and what was learned at the last point."""

    def __init__(self, tuner: ImplicitTuner, problem: TuningProblem, monitor: Monitor) -> None:
        self.tuner, self.problem, self.monitor = tuner, problem, monitor
        self.passes = PassCount.of(monitor, *problem.risks)
        pairs = [(split.train, split.heldout) for split in problem.splits]
        self.splits = SideBySide(problem.full.executor, pairs, len(pairs))
        # hyperparameters: a log precision a group, the log factor of an l1 penalty and, with a parent, gamma
        # in thirds, without a prior
        n, gammas = len(problem.groups), int(problem.parent is not None)
        has_l1 = problem.l1 is not None
        n_logs = n + has_l1
        self.low, self.high = (
            np.append(np.full(n_logs, bound), np.full(gammas, of_gamma / _UNIT_OF_GAMMA))
            for bound, of_gamma in zip(BOUNDS, (0.0, 1.0), strict=True)
        )
        self.tightness = np.append(np.full(n_logs, SPREAD**-2), np.zeros(gammas))
        usual = np.zeros(n) if problem.usual is None else np.log(problem.usual)
        middle = np.append(np.full(int(has_l1), np.log(_L1)), np.full(gammas, 0.5 / _UNIT_OF_GAMMA))
        self.center = np.clip(np.append(usual, middle), self.low, self.high)
        start = usual if tuner.start is None else np.broadcast_to(np.log(tuner.start), n)
        self.d = np.clip(np.append(start, middle), self.low, self.high)  # the next point
        self.points: list[HyperGradient] = []  # of the last one, one a split
        self.at, self.slope = self.d, np.zeros(self.d.size)  # the last point, and the slope there
        self.radius = np.full(self.d.size, FARTHEST)
        self.n_evaluations, self.status = 0, ""
        self.loss = self.first_loss = self.first_doubt = np.inf
        self.expected: float | None = None  # what the next point should gain
        self.unfinished = np.zeros(problem.full.n_weights)
        self.kept = monitor.kept_search(f"implicit {problem.name}")
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def run(self) -> str:
        """Go from point to point to the end; returns how it ended."""
        try:
            while not self.status:
                if self.n_evaluations == self.tuner.max_evaluations:
                    return "iterations"
                self.go()
                self.kept.keep(self._state)
            return self.status
        except STOPS as stop:
            self.unfinished = getattr(stop, "w", self.unfinished)
            return stop_status(stop)

    def go(self) -> None:
        """To the next point, and find the one after it."""
        points, step = self.evaluate(self.d, self.expected), self.d - self.at
        slope = self._slope(points, self.d)
        if self.points:
            # steps are whole multiples of the finest, and the edge of a small box is seldom one
            turned, finest = slope * self.slope < 0, _FINE[1] - _FINE[0]
            at_edge = np.abs(step) > np.minimum(0.9 * self.radius, self.radius - 1.1 * finest)
            grown = np.where(at_edge, np.minimum(_GROW * self.radius, FARTHEST), self.radius)
            self.radius = np.where(turned, np.maximum(_SHRINK * np.abs(step), finest), grown)
        self.loss, undone = _loss(points), sum(point.undone for point in points)
        if not self.points:
            self.first_loss, self.first_doubt = self.loss, undone
        self.points, self.at, self.slope = points, self.d, slope
        step, gain = self._lowest()
        self.monitor.history[-1]["possible_gain"] = gain
        # what loose fits expect is not believed; those that were asked for less than is enough are not loose
        enough, asked = self._enough, self.expected
        exact = (asked is not None and asked <= enough) or undone <= enough
        if gain <= enough and exact:
            self.status = "converged"
        self.d, self.expected = self.at + step, gain

    def evaluate(self, d: FloatArray, expected: float | None, stage: str = "implicit") -> list[HyperGradient]:
        """The held-out losses there, of fits that are as exact as a gain of `expected` asks for."""
        self.n_evaluations += 1
        own, l1, gamma = self._parts(d)
        n = len(self.problem.splits)
        parents = [split.parent for split in self.problem.splits]
        # the first fits are as exact as the last: where loose ones lead, later ones are slow to leave
        first = self.tuner.tolerance * sum(split.train.at_zero.value for split in self.problem.splits)
        undone = [_SHARE * (first if expected is None else expected) / n] * n
        starts: Sequence[HyperGradient | None] = self.points or [None] * n
        # a gain is of second order in the slopes, and these are as exact as their linear systems
        share = 1.0 if expected is None or not self.loss else (expected / abs(self.loss)) ** 0.5
        options = {
            "cg_tolerance": min(_SHARE, share),
            "max_products": _MOST_PRODUCTS,
            "monitor": self.monitor,
        }
        shared = self.problem.groups, own, gamma, l1, options
        points = list(self.splits.map(_of_risks, range(n), parents, starts, undone, shared=shared))
        self.monitor.record(
            stage,
            done=self.n_evaluations / self.tuner.max_evaluations,
            heldout_loss=_loss(points),
            gradient=self._slope(points, d).tolist(),
            log_precision=own.tolist(),
            **({} if self.problem.parent is None else {"gamma": gamma}),
            **({} if l1 is None else {"l1": float(l1.max())}),
            fit_evaluations=sum(p.fit.n_evaluations for p in points),
            hessian_products=sum(p.n_products for p in points),
            passes=self.passes.spent,
        )
        return points

    @property
    def _enough(self) -> float:
        """The gain below which the search ends."""
        # where nearly all is predicted a share of what is left is no gain that anybody would see
        least = _EASY * sum(split.heldout.at_zero.value for split in self.problem.splits)
        return self.tuner.tolerance * max(abs(self.loss), least)

    def _slope(self, points: list[HyperGradient], d: FloatArray) -> FloatArray:
        """Of the loss and its prior, in the hyperparameters."""
        slope = np.sum([point.gradient for point in points], axis=0)
        if self.problem.parent is not None:
            slope[-1] *= _UNIT_OF_GAMMA
        return np.asarray(slope + self.tightness * (d - self.center))

    def _lowest(self) -> tuple[FloatArray, float]:
        """The best move of each hyperparameter in its box, and what the models have to gain by all."""
        # the prior is 1/2 t d^2: by a step s it changes by t s (d + s / 2)
        of_prior = self.tightness[:, None] * GRID * ((self.at - self.center)[:, None] + GRID / 2)
        curves = CubicSpline(GRID, (self._model() + of_prior).T)(_FINE).T
        reached = self.at[:, None] + _FINE
        inside = (np.abs(_FINE) <= self.radius[:, None]) & (reached >= self.low[:, None])
        # downhill alone: a slope that keeps its sign would never shrink a box that is left to and fro
        inside &= (reached <= self.high[:, None]) & (_FINE * self.slope[:, None] <= 0.0)
        inside |= _FINE == 0.0
        curves = np.where(inside, curves, np.inf)
        best = curves.argmin(axis=1)
        falls = -curves[np.arange(best.size), best]
        return np.where(falls > 0, _FINE[best], 0.0), float(np.maximum(falls, 0.0).sum())

    def _model(self) -> FloatArray:
        """How the loss changes as each hyperparameter moves by `GRID`; shape (k, 13)."""
        return np.asarray(np.sum([point.model for point in self.points], axis=0))

    def _check_fall(self) -> None:
        """Go back to the precisions without tuning, unless the loss fell by more than chance explains."""
        if self.problem.usual is None or np.array_equal(self.at, self.center):
            return
        # Of k parameters that are chosen by a loss its fall exceeds that on new data by k on average (Akaike
        # 1974), if that is in units of log likelihood. With a prior of tightness t, in units of the loss, a
        # parameter of curvature h is determined by the share h / (h + t) (MacKay 1992).
        step = GRID.size // 2
        before, middle, after = (self._model()[:, step + k] for k in (-1, 0, 1))
        curvature = np.maximum((before - 2.0 * middle + after) / (GRID[1] - GRID[0]) ** 2, 0.0)
        unit = 1.0
        if self.problem.full.quadratic:  # half the squares are in units of the variance of the noise
            unit = 2.0 * self.loss / sum(split.heldout.weight for split in self.problem.splits)
        chance = unit * float(np.sum(curvature / (curvature + np.maximum(self.tightness, 1e-300))))
        if self.tuner.start is None and self.first_loss - self.first_doubt - self.loss > chance:
            return
        points = self.evaluate(self.center, self._enough, "untuned")
        untuned = _loss(points)
        if untuned - self.loss <= chance:
            self.points, self.at, self.loss = points, self.center, untuned

    def _state(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in _KEPT}
        vectors = {name: getattr(self, name) for name in ("d", "at", "slope", "radius")}
        points = self.points
        learned = {name: np.array([vars(p)[name] for p in points]) for name in ("x", "model", "value")}
        learned["w"] = np.array([point.fit.w for point in points])
        pairs = {f"pairs {k}": p.fit.pairs.rows() for k, p in enumerate(points) if p.fit.pairs}
        return {**numbers, **vectors, **learned, **pairs, "expected": float(self.expected or 0.0)}

    def _restore(self, state: Restored) -> None:
        """Go on from a checkpoint; raises an error where it has what no search has."""
        k, n, n_weights = self.low.size, len(self.problem.splits), self.problem.full.n_weights
        for name in ("d", "at", "slope", "radius"):
            setattr(self, name, state.array(name, k))
        inside = [np.all((self.low <= each) & (each <= self.high)) for each in (self.d, self.at)]
        if not (all(inside) and np.all((self.radius > 0) & (self.radius <= FARTHEST))):
            raise state.refuse("found a point out of bounds, or a radius that no search has")
        for name in ("first_loss", "first_doubt", "expected"):
            setattr(self, name, state.entry(name, float))
        self.n_evaluations, self.status = state.count("n_evaluations"), state.entry("status", str)
        if self.status not in ("", "converged"):
            raise state.refuse(f"found the status {self.status!r}, which no search has")
        parts = [state.array(name, n, n_weights) for name in ("w", "x")]
        parts += [state.array("model", n, k, GRID.size), state.array("value", n)]
        for at, (w, x, model, value) in enumerate(zip(*parts, strict=True)):
            pairs = f"pairs {at}"
            known = Pairs.from_rows(state.array(pairs, None, 2, w.size)) if pairs in state else None
            # nobody asks a start for its objective or gradient: they are evaluated again
            fit = Solution(w, np.nan, np.full_like(w, np.nan), 0, "converged", pairs=known)
            own = self._parts(self.at)[0]
            self.points.append(HyperGradient(float(value), np.zeros(k), model, own, fit, x, 0, 0.0))
        self.loss = _loss(self.points)

    def finish(self, status: str) -> TuningResult:
        # the precisions are those of the prior of the weights, which more data do not change: all data are
        # fitted with them as they are, from the mean of the splits' weights
        problem, is_over = self.problem, status not in STOPPED
        try:
            if is_over and problem.l1 is None:  # a fit without tuning would not be sparse
                self._check_fall()
        except STOPS as stop:
            status, is_over = stop_status(stop), False
        fits = [point.fit for point in self.points]
        w = fits[0].w if fits else self.unfinished
        log_precision, l1, gamma = self._parts(self.at)
        if is_over:
            # the fits of the search are loose: the last one is on all data, or on the training part
            refit, parent = self.tuner.refit, problem.parent
            risk = problem.full if refit else problem.splits[0].train
            start = np.mean([fit.w for fit in fits], axis=0) if refit else w
            shared: dict[str, Any] = {"tolerance": self.tuner.fit_tolerance, "monitor": self.monitor}
            shared |= {"pairs": fits[0].pairs, "center": None if parent is None else gamma * parent}
            shared |= {"l1": None if l1 is None else problem.groups.spread(l1)}
            try:
                fit = fit_l2(risk, problem.groups.spread(np.exp(log_precision)), start, **shared)
                if refit:
                    self.monitor.record("refit", objective=fit.objective, passes=self.passes.spent)
                fit.check()
                w = fit.w
            except STOPS as stop:
                w, status = getattr(stop, "w", w), stop_status(stop)
        value = self.loss if fits else None
        mark_chosen(self.monitor.history, log_precision)
        found = TuningResult(log_precision, w, status, value, self.passes.spent, self.monitor.history, l1=l1)
        return found if problem.parent is None else replace(found, gamma=gamma)

    def _parts(self, d: FloatArray) -> tuple[FloatArray, FloatArray | None, float]:
        """The log precisions, the weights of an l1 penalty, and gamma."""
        n, shares = len(self.problem.groups), self.problem.l1
        if shares is not None:
            return d[:n], shares * np.exp(d[n]), 0.0
        return d[:n], None, _UNIT_OF_GAMMA * float(d[n:].sum())


def _loss(points: list[HyperGradient]) -> float:
    """The held-out losses of all splits together."""
    return sum(point.value for point in points)


def _of_risks(
    risks: tuple[Risk, Risk],
    parent: FloatArray | None,
    start: HyperGradient | None,
    undone: float,
    *given: Any,
) -> HyperGradient:
    """That of one split, by its risks."""
    *where, options = given
    return hypergradient(Split(*risks, parent), *where, start=start, undone=undone, **options)


# --- a point ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HyperGradient:
    """A held-out loss as a function of the log precisions and, the last, of a log factor of l1, or gamma."""

    value: float
    gradient: FloatArray
    model: FloatArray  # its change as each log precision alone moves by `GRID`, gamma by thirds of that
    log_precision: FloatArray
    fit: Solution  # on the training part
    x: FloatArray  # (C + H)^-1 times the gradient of the held-out loss
    n_products: int  # with the Hessian, that it took
    undone: float  # about what the fit has still to gain on the training part


def hypergradient(
    split: Split,
    groups: Groups,
    log_precision: FloatArray,
    gamma: float = 0.0,
    l1: FloatArray | None = None,
    *,
    start: HyperGradient | None = None,
    undone: float = 0.0,
    tolerance: float = TOLERANCE,
    cg_tolerance: float = 0.1,
    max_products: int = 1000,
    monitor: Monitor | None = None,
) -> HyperGradient:
    """Held-out loss of the weights fitted with exp(`log_precision`), its gradient in that, and a model of it.

    `l1` has the weight of an l1 penalty of each group.

    One system (C + H) x = grad l_H by conjugate gradients, then -B'x: section 4 of Do, Foo & Ng 2007. A
    `start` from a point nearby gives the fit and the system their first iterates, and L-BFGS what it knew of
    the curvature.

    The fit ends at its `tolerance`, or where about as much as `undone` is left to gain, in units of the loss;
    the linear system at a residual of `cg_tolerance` relative to its right-hand side, or after `max_products`
    products with the Hessian.
    """
    # At the optimum C w + grad l_T(w) = 0, so dw/dd = -(C + H)^-1 B with B_ij = [i in group j] c_i w_i, and
    # the slope of l_H(w(d)) is -B' x with (C + H) x = grad l_H: one system, however many hyperparameters.
    # With an l1 penalty C w + grad l_T(w) + l1 sign(w) = 0 where w is not zero, and zeros stay: the system is
    # that of the others, and a factor e^s of the penalty moves them by -(C + H)^-1 l1 sign(w) s.
    c, parent = groups.spread(np.exp(log_precision)), split.parent
    pull = None if l1 is None else groups.spread(l1)
    center, w, x, pairs = None if parent is None else gamma * parent, None, None, None
    if start is not None:
        w, x = start.fit.w, start.x
        if start.fit.pairs is not None:  # of a point nearby only the prior's share C s of a pair is another
            pairs = start.fit.pairs.under(c - groups.spread(np.exp(start.log_precision)))
    ends: dict[str, Any] = {"tolerance": tolerance, "decrement": 2.0 * undone, "monitor": monitor}
    fit = fit_l2(split.train, c, w, l1=pull, center=center, pairs=pairs, **ends)
    fit.check()
    support = None if l1 is None else fit.w != 0.0
    try:
        value, slope = split.heldout.value_and_gradient(fit.w)
        system = system_at(split.train, c, fit.w, support, monitor=monitor, pairs=fit.pairs)
        solved = system.solve(slope, x, tolerance=cg_tolerance, max_products=max_products)
        weight, product = split.heldout.variance(fit.w), split.heldout.linearize(fit.w)
    except STOPS as stop:
        raise FitStopped(stop_status(stop), fit.w) from None
    x, total = solved.x, system.diagonal
    away = fit.w if center is None else fit.w - center
    gradient = -groups.sum(x * c * away)
    # the curvature of a group, as all go the way that their slopes tell: one product for all groups
    moves, ways = -c * away / total, np.append(-np.sign(gradient), 0.0)
    along = ways[:-1] * groups.sum(moves * product(ways[groups.index] * moves))
    alone = groups.sum(weight * moves**2)
    share = np.minimum(np.abs(np.divide(along, alone, out=np.zeros_like(alone), where=alone > 0)), 1.0)
    lighter = weight * np.append(share, 0.0)[groups.index]
    model = of_precisions(groups, c, np.maximum(total - c, 0.0), away, x * total, lighter)
    if parent is not None:
        # the fit moves by (C + H)^-1 C w_p with gamma: linear in it, so the slope in it is x'C w_p
        gradient = np.append(gradient, np.sum(x * c * parent))
        steps, moves = _UNIT_OF_GAMMA * GRID, c * parent / total
        model = np.vstack([model, gradient[-1] * steps + 0.5 * (weight @ moves**2) * steps**2])
    if pull is not None:
        gradient = np.append(gradient, -np.sum(x * pull * np.sign(fit.w)))
        # weights that are zero go, too, once others have followed them: with their part of grad l_H - H x
        ways = np.where(fit.w != 0.0, x * total, slope - system.hessian_product(x))
        pushed = total * fit.w - c * fit.w - split.train.value_and_gradient(fit.w)[1]
        model = np.vstack([model, of_l1(pull, pushed, total, ways, weight)])
    undone = 0.5 * float(np.sum(fit.gradient**2 / total))
    return HyperGradient(value, gradient, model, log_precision, fit, x, solved.n_products, undone)


def of_precisions(
    groups: Groups,
    precision: FloatArray,
    hessian: FloatArray,
    away: FloatArray,
    slope: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """The change of a held-out loss as each log precision moves by `GRID`; shape (n_groups, 13).

    As if the Hessian on the training part were diagonal. `slope` is that of the held-out loss as a weight
    goes, `weight` the diagonal of its Hessian.
    """
    # A weight that is `away` from the mean of its prior is b / (c + h) away, and goes with c:
    # b / (c + h) with the precision c e^s is w - move, move = w c (e^s - 1) / (c e^s + h); the loss changes
    # by slope . move + 1/2 move' W move (Gauss and Newton)
    model = np.empty((len(groups), GRID.size))
    for k, s in enumerate(GRID):
        moves = -away * precision * np.expm1(s) / (precision * np.exp(s) + hessian)
        model[:, k] = groups.sum(moves * (slope + 0.5 * weight * moves))
    return model


def of_l1(
    l1: FloatArray, pushed: FloatArray, total: FloatArray, slope: FloatArray, weight: FloatArray
) -> FloatArray:
    """The same as an l1 penalty is multiplied by e^s, s of `GRID`; shape (13,)."""
    # As if c + h were the Hessian on the training part, w is (|b| - l1)+ sign(b) / (c + h) with b = h w -
    # grad l_T(w): weights become zero as the penalty rises, and others begin to count as it falls
    pushes = np.abs(pushed)
    before, model = np.maximum(pushes - l1, 0.0), np.empty(GRID.size)
    for k, s in enumerate(GRID):
        moves = np.sign(pushed) * (np.maximum(pushes - l1 * np.exp(s), 0.0) - before) / total
        model[k] = np.sum(moves * (slope + 0.5 * weight * moves))
    return model
