"""A held-out loss minimised over the log precisions of the prior, by its gradient through the optimum.

Do, Foo & Ng 2007. First the search, then the gradient, and a model of the loss further off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import Bounds, minimize

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk, SideBySide
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.newton import FactoredSystem, HessianSystem, system_at
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

FARTHEST = 3.0  # that a log precision may be moved
GRID = np.linspace(-FARTHEST, FARTHEST, 13)
_FIRST_GAMMA = 0.5
_FIRST_RADIUS, _MOST_RADIUS = 2.5, FARTHEST  # of a move, in log precisions: far off, every slope is flat
_UNIT_OF_GAMMA = 0.25
_SPREAD = 2.5  # of the log precisions, around 0: a few held-out examples would choose them at random
_SPAN = 2.5  # of the box that the search may end in
_LEAST_CURVATURE = 0.3  # of the model's, that corrections leave: with none it would tell of gains
_GOOD, _BAD = 0.7, 0.25  # shares of the fall that was expected
_BEYOND = 1.5  # of it: the model has too much curvature
_SHRINK = 0.4  # of the radius, after a bad move
_FALL = 0.2  # of the possible gain, from its peak: where precisions are too low to matter, it is small too
_MOVES = 2  # that are made even where every slope is small, if there are any
_NOTHING = 1e-4  # of a gain that is enough
_SHARE = 0.25  # of what the next move should gain: what the values may be off
_ACCURACY = 0.5  # of the search's tolerance: that of the last values
_LEAST_ACCURATE = 2e-2
_DOUBT = 2.0  # accuracies that the lowest value may be off
_TIGHTER = 0.25  # how much better the next value is, or the fit that one is checked by
_LOOSE = 10.0  # tolerance of the first fit, relative to the last
_LOOSER = 2.0  # of each, relative to what was tight enough before
_OUTSIDE = 1e-9  # of bounds: what roundings lead to at most
_KEPT = ("n_evaluations", "n_moves", "radius", "peak_gain")
ACCURACY = 3e-4
MOST_COUPLED = 64  # groups: each takes a product with the Hessian on the held-out part
_TELLING = 5  # products: a system that takes fewer was solved before, and its solution tells nothing new
_TIGHTEST = 1e-10  # of all tolerances
# nearly free, and switched off: the papers' values lie between
BOUNDS = (-10 * np.log(2.0), 14 * np.log(2.0))


@dataclass
class ImplicitTuner:
    """Minimises a held-out loss over the log precisions, by its implicit gradient.

    Each move goes to the lowest point of a model in a box: of the curvature of Gauss and Newton, and of how
    far precisions move weights. To the held-out loss is added a prior of the log precisions, normal with mean
    0 and standard deviation 2.5: few examples tell little. Precisions stay between 2^-10 and 2^14.

    Parameters
    ----------
    start : float or array-like, shape (n_groups,)
        Precision of every group to begin with.
    max_evaluations : int
        Of the held-out loss; each is one warm-started fit and one linear system per split.
    tolerance : float
        Ends when the model can lower the held-out loss by less than this share, with log precisions that
        move by up to 2.5, and by a fifth at most of what it could have on the way.
    fit_tolerance, cg_tolerance : float
        Of the last fit, and of the last linear systems. The fits of the search are as loose as the values
        allow: see ``hypergradient``.
    refit : bool
        Fit on all data at the end. The precisions stay as they are: the loss is a sum over examples and the
        precision belongs to the prior of the weights, which more data does not change.
    hessian : {"exact", "complex-step", "finite-difference"}, optional
        How products with the Hessian of the loss are made; by default as the estimator makes them.
    """

    start: Any = 1.0
    max_evaluations: int = 30
    tolerance: float = 0.003
    fit_tolerance: float = TOLERANCE
    cg_tolerance: float = 0.04
    refit: bool = True
    hessian: str | None = None
    needs_splits = True

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Choose the precisions of `problem.groups`, and fit with them."""
        if not problem.splits:
            raise DataError("the implicit tuner needs held-out data: found a problem without splits")
        problem.require_smooth("the implicit tuner")
        if not are_positive(self.start):
            raise DataError(f"start={self.start!r}: expected a precision > 0")
        if self.hessian is not None:
            problem = problem.with_hessian(self.hessian)
        n_groups = len(problem.groups)
        if np.shape(self.start) not in ((), (1,), (n_groups,)):
            raise DataError(f"start={self.start!r}: expected one precision, or {n_groups}, one a group")
        with monitor or Monitor() as monitor:
            search = _Search(self, problem, monitor)
            status = search.run()
            return search.finish(status)


@dataclass(frozen=True)
class _Outcome:
    """Of the held-out losses at one point of the hyperparameters: the log precisions, and gamma."""

    d: FloatArray
    loss: float
    value: float  # what is minimised: the loss, and what is less likely at the start
    gradient: FloatArray
    response: Response  # of the value
    accuracy: float  # of the loss, relative to it


class _End(Exception):  # noqa: N818
    """The search is over; its argument is the status."""


class _Search:
    """The outer loop: the trust region, warm starts, tolerances, the best point."""

    def __init__(self, tuner: ImplicitTuner, problem: TuningProblem, monitor: Monitor) -> None:
        self.tuner, self.problem, self.monitor = tuner, problem, monitor
        self.passes = PassCount.of(monitor, *problem.risks)
        pairs = [(split.train, split.heldout) for split in problem.splits]
        self.splits = SideBySide(problem.full.executor, pairs, len(pairs))
        self.points: list[HyperGradient] = []  # of the best outcome, one a split
        self.n_evaluations = 0
        # hyperparameters: a log precision a group and, with a parent, gamma between 0 and 1, without a prior
        # and in steps of a quarter
        n, gammas = len(problem.groups), int(problem.parent is not None)
        self.low, self.high = (
            np.append(np.full(n, bound), np.full(gammas, of_gamma))
            for bound, of_gamma in zip(BOUNDS, (0.0, 1.0), strict=True)
        )
        self.unit = np.append(np.ones(n), np.full(gammas, _UNIT_OF_GAMMA))
        self.tightness = np.append(np.full(n, _SPREAD**-2), np.zeros(gammas))
        first = np.append(np.broadcast_to(np.log(tuner.start), n), np.full(gammas, _FIRST_GAMMA))
        self.first = np.clip(first, self.low, self.high)
        self.best: _Outcome | None = None
        self.rest: FloatArray | float = 0.0  # curvature that the models have not
        self.n_moves, self.radius, self.peak_gain = 0, _FIRST_RADIUS, 0.0
        self.unfinished = np.zeros(problem.full.n_weights)
        self.kept = monitor.kept_search(f"implicit {problem.name}")
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def run(self) -> str:
        try:
            if self.best is None:
                self.best, self.points = self.evaluate(self.first, _LEAST_ACCURATE)
                self._keep_move()
            while True:
                self.move()
        except STOPS as stop:
            self.unfinished = getattr(stop, "w", self.unfinished)
            return stop_status(stop)
        except _End as end:
            return str(end)

    def move(self) -> None:
        """To where the model is lowest, if that is lower; raises `_End` where little is to be gained."""
        best = self.best
        assert best is not None
        _, gain = self._within(best, _SPAN)
        self.peak_gain = max(self.peak_gain, gain)
        self.monitor.history[-1]["possible_gain"] = gain
        # ends where the model sees little to gain within 2.5 of all log precisions, and little of what it saw
        # at its peak: where precisions are too low to matter every slope is small, at the start, too
        enough = self.tuner.tolerance * abs(best.loss)
        little = _SHARE * enough if self.n_moves >= _MOVES else _NOTHING * enough
        if gain <= min(enough, _FALL * self.peak_gain) or gain <= little:
            raise _End("converged")
        step, expected = self._within(best, self.radius)
        if expected <= little:
            raise _End("stalled")
        # values need be no more accurate than a share of what the move should gain
        finest = _ACCURACY * self.tuner.tolerance
        share = _SHARE * expected / max(abs(best.loss), 1e-300)
        found, points = self.evaluate(best.d + step, max(finest, min(share, _LEAST_ACCURATE)))
        self.n_moves += 1
        doubt = _DOUBT * best.accuracy * abs(best.loss)
        if 0 <= found.value - best.value <= doubt and best.accuracy > finest:  # is it as low as it seems?
            tighter = max(finest, _TIGHTER * best.accuracy)
            self.best, self.points = self.evaluate(best.d, tighter)
        assert self.best is not None
        # a trust region: taken if it falls, or if rounding hides whether it does and less is left to gain
        # there; the box shrinks after less than a quarter of the fall expected, and grows after more than 7
        # tenths
        fall, length = self.best.value - found.value, float(np.max(np.abs(step) / self.unit))
        noise = finest * abs(best.loss)
        taken = fall > 0 or (fall > -noise and self._within(found, _SPAN)[1] < gain)
        is_bad = not taken or fall + noise < _BAD * expected
        if not _BAD * expected <= fall <= _BEYOND * expected or np.any(self.rest):
            self._learn_rest(best, found)
            if taken:
                self._learn_rest(found, best)
        if is_bad:
            self.radius = _SHRINK * length
        elif fall > _GOOD * expected and length > 0.9 * self.radius:
            self.radius = min(2.0 * self.radius, _MOST_RADIUS)
        if taken:
            self.best, self.points = found, points
        self._keep_move()

    def _learn_rest(self, at: _Outcome, other: _Outcome) -> None:
        """The curvature that would have told one point of the other, by Powell's symmetric secant."""
        if at.d.size > MOST_COUPLED:
            return
        # The symmetric matrix E of least norm with E s = y, y what the model missed of the change of the
        # slope (Powell 1970): E = (y s' + s y') / s's - (s'y) s s' / (s's)^2. No more is taken away than
        # leaves three tenths of the model's own curvature.
        step = other.d - at.d
        square = float(step @ step)
        expected, here = (at.response.change(s, self.rest)[1] for s in (step, np.zeros_like(step)))
        missed = (other.gradient - at.gradient) - (expected - here)
        both = np.outer(missed, step) / square
        rest = self.rest + both + both.T - (missed @ step) / square**2 * np.outer(step, step)
        most = (1.0 - _LEAST_CURVATURE) * positive_part(at.response.curvature)
        self.rest = positive_part(rest + most) - most

    def _within(self, found: _Outcome, radius: float) -> tuple[FloatArray, float]:
        """The best move from there, and what the model has to gain by it."""
        most = radius * self.unit
        low, high = np.maximum(self.low - found.d, -most), np.minimum(self.high - found.d, most)
        return found.response.lowest(low, high, self.rest)

    def evaluate(self, d: FloatArray, accuracy: float) -> tuple[_Outcome, list[HyperGradient]]:
        """The held-out losses there, and of which points they are the sums."""
        if self.n_evaluations == self.tuner.max_evaluations:
            raise _End("iterations")
        self.n_evaluations += 1
        points = self._hypergradients(d, accuracy)
        found = self._outcome(d.copy(), points, accuracy)
        self.monitor.record(
            "implicit",
            done=self.n_evaluations / self.tuner.max_evaluations,
            heldout_loss=found.loss,
            gradient_norm=float(np.linalg.norm(found.gradient)),
            gradient=found.gradient.tolist(),
            log_precision=self._parts(found.d)[0].tolist(),
            **({} if self.problem.parent is None else {"gamma": float(found.d[-1])}),
            fit_evaluations=sum(p.fit.n_evaluations for p in points),
            hessian_products=sum(p.n_products for p in points),
            passes=self.passes.spent,
        )
        return found, points

    def _outcome(self, d: FloatArray, points: list[HyperGradient], accuracy: float) -> _Outcome:
        # the prior of d is normal: 1/2 (d / 2.5)^2, and 1/2 ((d + s)^2 - d^2) / 2.5^2 = s (d + s / 2) / 2.5^2
        # is what it changes by a step s; splits add up, and the weights go as far as they do on average
        loss = sum(p.value for p in points)
        value = loss + 0.5 * float(np.sum(self.tightness * d * d))
        gradient = np.sum([p.gradient for p in points], axis=0) + self.tightness * d
        of_prior = self.tightness[:, None] * GRID * (d[:, None] + GRID / 2)
        linear = sum(p.response.linear for p in points) + of_prior
        length = np.mean([p.response.length for p in points], axis=0)
        response = Response(linear, length, np.sum([p.response.coupling for p in points], axis=0))
        return _Outcome(d, loss, value, gradient, response, accuracy)

    def _keep_move(self) -> None:
        best = self.best
        assert best is not None
        numbers = {name: getattr(self, name) for name in _KEPT}
        rest = {"rest": self.rest} if isinstance(self.rest, np.ndarray) else {}
        parts = [{**vars(point), **vars(point.response), "w": point.fit.w} for point in self.points]
        points = {name: np.array([part[name] for part in parts]) for name in self._shapes()}
        pairs = {f"pairs {k}": p.fit.pairs.rows() for k, p in enumerate(self.points) if p.fit.pairs}
        told = {**numbers, **rest, **points, **pairs, "d": best.d, "accuracy": best.accuracy}
        self.kept.keep(lambda: told)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the arrays that a checkpoint has of each point."""
        n_weights, k = self.problem.full.n_weights, self.low.size
        coupled = (k,) * (1 + (len(self.problem.groups) <= MOST_COUPLED))
        return {
            **dict.fromkeys(("value", "tolerance"), ()),
            **dict.fromkeys(("w", "x"), (n_weights,)),
            **dict.fromkeys(("linear", "length"), (k, GRID.size)),
            "gradient": (k,),
            "coupling": coupled,
        }

    def _restore(self, state: Restored) -> None:
        k, n_splits = self.low.size, len(self.problem.splits)
        d, self.radius = state.array("d", k), state.entry("radius", float)
        inside = np.all((self.low - _OUTSIDE <= d) & (d <= self.high + _OUTSIDE))
        if not (inside and 0.0 < self.radius <= _MOST_RADIUS):
            raise state.refuse("found a point out of bounds, or a radius that no search has")
        parts = [state.array(name, n_splits, *shape) for name, shape in self._shapes().items()]
        for at, part in enumerate(zip(*parts, strict=True)):
            value, tolerance, w, x, linear, length, gradient, coupling = part
            pairs = f"pairs {at}"
            known = Pairs.from_rows(state.array(pairs, None, 2, w.size)) if pairs in state else None
            # nobody asks a start for its objective or gradient: they are evaluated again
            fit = Solution(w, np.nan, np.full_like(w, np.nan), 0, "converged", pairs=known)
            response, own = Response(linear, length, coupling), self._parts(d)[0]
            found = HyperGradient(float(value), gradient, response, own, fit, x, 0, float(tolerance))
            self.points.append(found)
        self.best = self._outcome(d, self.points, state.entry("accuracy", float))
        self.rest = state.array("rest", k, k) if "rest" in state else 0.0
        self.n_evaluations, self.n_moves = state.count("n_evaluations"), state.count("n_moves")
        self.peak_gain = state.entry("peak_gain", float)

    def _hypergradients(self, d: FloatArray, accuracy: float) -> list[HyperGradient]:
        """Those of all splits; each starts from the best."""
        # a fit begins twice as loose as was tight enough at the best point; it tightens itself where it has
        # to
        tuner, last = self.tuner, max((point.tolerance for point in self.points), default=0.0)
        looser = _LOOSER if self.best is None or accuracy >= self.best.accuracy else 1.0
        options = {
            "tolerance": min(looser * last or np.inf, _LOOSE * tuner.fit_tolerance),
            "cg_tolerance": tuner.cg_tolerance,
            "accuracy": accuracy,
            "monitor": self.monitor,
        }
        parents = [split.parent for split in self.problem.splits]
        starts: Sequence[HyperGradient | None] = self.points or [None] * len(parents)
        shared = self.problem.groups, *self._parts(d), options
        return list(self.splits.map(_of_risks, range(len(parents)), parents, starts, shared=shared))

    def finish(self, status: str) -> TuningResult:
        # the precisions are those of the prior of the weights, which more data do not change: all data are
        # fitted with them as they are, from the mean of the splits' weights
        fits, problem = [point.fit for point in self.points], self.problem
        w = fits[0].w if fits else self.unfinished
        d = self.first if self.best is None else self.best.d
        log_precision, gamma = self._parts(d)
        if self.tuner.refit and status not in STOPPED:
            precision, start = np.exp(log_precision), np.mean([fit.w for fit in fits], axis=0)
            shared: dict[str, Any] = {"tolerance": self.tuner.fit_tolerance, "monitor": self.monitor}
            shared |= {"center": None if problem.parent is None else gamma * problem.parent}
            try:
                fit = fit_l2(
                    problem.full, problem.groups.spread(precision), start, pairs=fits[0].pairs, **shared
                )
                self.monitor.record("refit", objective=fit.objective, passes=self.passes.spent)
                fit.check()
                w = fit.w
            except STOPS as stop:
                w, status = getattr(stop, "w", w), stop_status(stop)
        value = None if self.best is None else self.best.loss
        mark_chosen(self.monitor.history, log_precision)
        found = TuningResult(log_precision, w, status, value, self.passes.spent, self.monitor.history)
        return found if problem.parent is None else replace(found, gamma=gamma)

    def _parts(self, d: FloatArray) -> tuple[FloatArray, float]:
        """The log precisions, and gamma."""
        n = len(self.problem.groups)
        return d[:n], float(d[n:].sum())


def _of_risks(
    risks: tuple[Risk, Risk], parent: FloatArray | None, start: HyperGradient | None, *given: Any
) -> HyperGradient:
    """That of one split, by its risks."""
    *where, options = given
    return hypergradient(Split(*risks, parent), *where, start=start, **options)


# --- a point ----------------------------------------------------------------------------------------------


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
        options = {"maxiter": 200, "ftol": 1e-10, "gtol": 0.0}
        ends: dict[str, Any] = {"bounds": Bounds(low, high), "options": options}
        function = self._value_and_gradient(rest)
        found = minimize(function, np.zeros(low.size), jac=True, method="L-BFGS-B", **ends)
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

    `slope` is that of the held-out loss as a weight goes, `weight` the diagonal of its Hessian.
    """
    # A weight that is `away` from the mean of its prior is b / (c + h) away, and goes with c:
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
    """A held-out loss as a function of the log precisions and, of a prior with a parent, gamma, the last."""

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

    One system (C + H) x = grad l_H by conjugate gradients, then -B'x: section 4 of Do, Foo & Ng 2007. A
    `start` from a point nearby gives the fit and the system their first iterates, and L-BFGS what it knew of
    the curvature.

    The first fit ends at `tolerance`, the linear system at a residual of `cg_tolerance`, relative to its
    right-hand side. The fit goes on while the value moves by more than its share `accuracy`.
    """
    # At the optimum C w + grad l_T(w) = 0, so dw/dd = -(C + H)^-1 B with B_ij = [i in group j] c_i w_i, and
    # the slope of l_H(w(d)) is -B' x with (C + H) x = grad l_H: one system, however many hyperparameters.
    fits, known = _Fits(split, groups, log_precision, gamma, start, monitor), np.inf
    while True:
        fits.go_on(tolerance)
        before = fits.n_products
        value = fits.corrected(fits.solve(cg_tolerance))
        # Where the fit goes on to a quarter of its tolerance and the corrected value moves by more than its
        # share, and by more again where the system is solved at the new weights, it goes on. A system that is
        # solved anew at better weights checks x as well as w. Newton's fits are exact enough.
        is_told = fits.n_products - before >= _TELLING and abs(value - known) <= accuracy * abs(value)
        at_zero = split.train.at_zero.gradient_norm
        if split.train.dense or fits.fit.status != "converged" or is_told or not at_zero:
            break
        # is the value as accurate as it is told? A tighter fit may correct it by no more than that
        tolerance = min(tolerance, fits.fit.gradient_norm / at_zero)
        fits.go_on(_TIGHTER * tolerance)
        first, value = value, fits.corrected(split.heldout.value(fits.fit.w))
        if abs(value - first) <= accuracy * abs(value) or tolerance < _TIGHTEST:
            break
        known, tolerance = value, _TIGHTER * tolerance
    gradient, response = fits.slopes()
    fit = replace(fits.fit, n_evaluations=fits.n_evaluations)
    return HyperGradient(value, gradient, response, log_precision, fit, fits.x, fits.n_products, tolerance)


class _Fits:
    """Fits on the training part, each from where the one before ended, and what their end tells."""

    fit: Solution
    system: FactoredSystem | HessianSystem
    x: Any = None

    def __init__(
        self,
        split: Split,
        groups: Groups,
        log_precision: FloatArray,
        gamma: float,
        start: HyperGradient | None,
        monitor: Monitor | None,
    ) -> None:
        self.split, self.groups, self.monitor = split, groups, monitor
        self.precision = groups.spread(np.exp(log_precision))
        self.center = None if split.parent is None else gamma * split.parent
        self.w: FloatArray | None = None
        self.pairs: Pairs | None = None
        if start is not None:
            self.w, self.x = start.fit.w, start.x
            if start.fit.pairs is not None:
                before = groups.spread(np.exp(start.log_precision))
                self.pairs = start.fit.pairs.under(self.precision - before)
        self.n_evaluations = self.n_products = 0

    def go_on(self, tolerance: float) -> None:
        """Fit to a tolerance."""
        # from the weights and the curvature of before: of a point nearby only the prior's share C s of each
        # pair is another, which `Pairs.under` has exchanged
        shared: dict[str, Any] = {"center": self.center, "pairs": self.pairs, "monitor": self.monitor}
        fit = fit_l2(self.split.train, self.precision, self.w, tolerance=tolerance, **shared)
        fit.check()
        self.fit, self.w, self.pairs = fit, fit.w, fit.pairs
        self.n_evaluations += fit.n_evaluations

    def solve(self, tolerance: float) -> float:
        """The held-out loss; and the system that tells how it moves with the fit is solved."""
        # the last solution is a good start, as x changes little between fits and between points
        w = self.fit.w
        try:
            loss, gradient = self.split.heldout.value_and_gradient(w)
            shared = {"monitor": self.monitor, "pairs": self.pairs}
            self.system = system_at(self.split.train, self.precision, w, **shared)
            solved = self.system.solve(gradient, self.x, tolerance=tolerance)
        except STOPS as stop:
            raise FitStopped(stop_status(stop), w) from None
        self.x, self.n_products = solved.x, self.n_products + solved.n_products
        return loss

    def corrected(self, loss: float) -> float:
        """The held-out loss at the optimum, which lies (C + H)^-1 r away, r the gradient that is left."""
        # l_H(w - (C + H)^-1 r) = l_H(w) - x' r + O(r^2), with the x of the system that is solved anyway
        return loss - float(np.einsum("i,i", self.x, self.fit.gradient))

    def slopes(self) -> tuple[FloatArray, Response]:
        """Of the held-out loss in the hyperparameters, and how it changes further off."""
        # A weight moves by -c (w - gamma w_p) / (c + h) with its log precision, if h is all that the Hessian
        # has, and the fit by (C + H)^-1 C w_p with gamma: linear in it, so the slope in it is x'C w_p.
        parent, x, c, total = self.split.parent, self.x, self.precision, self.system.diagonal
        away = self.fit.w if self.center is None else self.fit.w - self.center
        weight = self.split.heldout.variance(self.fit.w)
        gradient, moves = -self.groups.sum(x * c * away), -c * away / total
        linear, length = of_precisions(self.groups, c, np.maximum(total - c, 0.0), away, x * total, weight)
        of_gamma = None
        if parent is not None:
            gradient, of_gamma = np.append(gradient, np.sum(x * c * parent)), c * parent / total
            linear, length = np.vstack([linear, gradient[-1] * GRID]), np.vstack([length, GRID])
        return gradient, Response(linear, length, self._coupling(moves, of_gamma, weight))

    def _coupling(self, moves: FloatArray, of_gamma: FloatArray | None, weight: FloatArray) -> FloatArray:
        """The curvature of the held-out loss as each group goes by `moves`; between many groups, none."""

        def along(v: FloatArray) -> FloatArray:
            return np.append(self.groups.sum(moves * v), [] if of_gamma is None else [of_gamma @ v])

        if len(self.groups) > MOST_COUPLED:
            diagonal = self.groups.sum(weight * moves * moves)
            return np.append(diagonal, [] if of_gamma is None else [weight @ of_gamma**2])
        # G_jk = m_j' H_H m_k, m_j the moves of group j: Gauss and Newton, without the curvature of w(d)
        product, n = self.split.heldout.linearize(self.fit.w), len(self.groups)
        rows = [along(product(np.where(self.groups.index == j, moves, 0.0))) for j in range(n)]
        if of_gamma is not None:
            rows.append(along(product(of_gamma)))
        # partial labels may curve downward
        return positive_part(0.5 * (np.array(rows) + np.transpose(rows)))
