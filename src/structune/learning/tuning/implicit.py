"""A held-out loss minimised over the log precisions of the prior (Do, Foo & Ng 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk, SideBySide
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.hypergradient import (
    FARTHEST,
    GRID,
    MOST_COUPLED,
    HyperGradient,
    Response,
    hypergradient,
    kept_points,
    positive_part,
    restored_points,
)
from structune.learning.tuning.problem import (
    PassCount,
    Split,
    TuningProblem,
    TuningResult,
    are_positive,
    mark_chosen,
)
from structune.running.checkpoints import Restored
from structune.running.monitor import STOPPED, STOPS, Monitor, stop_status
from structune.structure import FloatArray, Groups

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
_DOUBT, _TIGHTER = 2.0, 0.25  # accuracies that the lowest value may be off, and how much better the next is
_LOOSE = 10.0  # tolerance of the first fit, relative to the last
_LOOSER = 2.0  # of each, relative to what was tight enough before
_OUTSIDE = 1e-9  # of bounds: what roundings lead to at most
_KEPT = ("n_evaluations", "n_moves", "radius", "peak_gain")
# nearly free, and switched off: the papers' values lie between
BOUNDS = (-10 * np.log(2.0), 14 * np.log(2.0))


@dataclass
class ImplicitTuner:
    """Minimises a held-out loss over the log precisions, by its implicit gradient.

    Each move goes to the lowest point of a model in a box: of the curvature of Gauss and Newton, and of how
    far precisions move weights (``response``). To the held-out loss is added a
    prior of the log precisions, normal with mean 0 and standard deviation 2.5: few examples tell little.

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
        """Let a checkpoint have what a search that goes on after a move has to know."""
        best = self.best
        assert best is not None
        rest = {"rest": self.rest} if isinstance(self.rest, np.ndarray) else {}
        numbers = {name: getattr(self, name) for name in _KEPT}
        points = kept_points(self.points)
        told = {**points, **numbers, **rest, "d": best.d, "accuracy": best.accuracy}
        self.kept.keep(lambda: told)

    def _restore(self, state: Restored) -> None:
        n, k = self.problem.full.n_weights, self.low.size
        self.points = restored_points(state, len(self.problem.splits), n, len(self.problem.groups), k)
        d, self.radius = state.array("d", k), state.entry("radius", float)
        inside = np.all((self.low - _OUTSIDE <= d) & (d <= self.high + _OUTSIDE))
        if not (inside and 0.0 < self.radius <= _MOST_RADIUS):
            raise state.refuse("found a point out of bounds, or a radius that no search has")
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
        tolerances = {
            "tolerance": min(looser * last or np.inf, _LOOSE * tuner.fit_tolerance),
            "cg_tolerance": tuner.cg_tolerance,
            "accuracy": accuracy,
        }
        parents = [split.parent for split in self.problem.splits]
        starts: Sequence[HyperGradient | None] = self.points or [None] * len(parents)
        shared = (self.problem.groups, *self._parts(d), tolerances, self.monitor)
        return list(self.splits.map(_of_risks, range(len(parents)), parents, starts, shared=shared))

    def finish(self, status: str) -> TuningResult:
        # the precisions are those of the prior of the weights, which more data do not change: all data are
        # fitted with them as they are, from the mean of the splits' weights
        fits = [point.fit for point in self.points]
        w = fits[0].w if fits else self.unfinished
        d = self.first if self.best is None else self.best.d
        if self.tuner.refit and status not in STOPPED:
            try:
                w = self._refit(d, fits)
            except STOPS as stop:
                w, status = getattr(stop, "w", w), stop_status(stop)
        value = None if self.best is None else self.best.loss
        log_precision, gamma = self._parts(d)
        mark_chosen(self.monitor.history, log_precision)
        found = TuningResult(log_precision, w, status, value, self.passes.spent, self.monitor.history)
        return found if self.problem.parent is None else replace(found, gamma=gamma)

    def _parts(self, d: FloatArray) -> tuple[FloatArray, float]:
        """The log precisions, and gamma."""
        n = len(self.problem.groups)
        return d[:n], float(d[n:].sum())

    def _refit(self, at: FloatArray, fits: Sequence[Solution]) -> FloatArray:
        d, gamma = self._parts(at)
        precision, parent = GroupedL2(self.problem.groups, d).precision, self.problem.parent
        fit = fit_l2(
            self.problem.full,
            precision,
            np.mean([fit.w for fit in fits], axis=0),
            center=None if parent is None else gamma * parent,
            tolerance=self.tuner.fit_tolerance,
            pairs=fits[0].pairs,
            monitor=self.monitor,
        )
        self.monitor.record("refit", objective=fit.objective, passes=self.passes.spent)
        fit.check()
        return fit.w


def _of_risks(
    risks: tuple[Risk, Risk],
    parent: FloatArray | None,
    start: HyperGradient | None,
    groups: Groups,
    log_precision: FloatArray,
    gamma: float,
    tolerances: dict[str, float],
    monitor: Monitor,
) -> HyperGradient:
    split = Split(*risks, parent)
    return hypergradient(split, groups, log_precision, gamma, start=start, monitor=monitor, **tolerances)
