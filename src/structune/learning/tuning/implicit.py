"""The gradient of a held-out loss in the hyperparameters, through the optimum (Do, Foo & Ng 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from structune.errors import DataError
from structune.learning.defaults import TOLERANCE
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.side_by_side import SideBySide
from structune.learning.solvers.cholesky import system_at
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.linear import LinearSolution
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.problem import PassCount, Split, TuningProblem, TuningResult
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPPED, STOPS, FitStopped, Monitor, stop_status
from structune.structure import FloatArray, Groups

_FALL = 0.2  # of the slope, from its peak: where precisions are too low to matter, it is small too
_REACH = 2.5  # of one search, in log precisions: far off, every slope is flat
_MOST_LEFT = 0.1  # of the held-out loss: what its correction for an unfinished fit may be
_TIGHTER = (1.0, 0.1, 0.01, 0.001)  # tolerances that are tried, until it is
_FIRST_GAMMA = 0.5
_LOOSE = 3.0  # tolerances of the first fits and systems, relative to the last
# nearly free, and switched off: the papers' values lie between
BOUNDS = (-10 * np.log(2.0), 14 * np.log(2.0))


@dataclass(frozen=True)
class HyperGradient:
    """A held-out loss as a function of the hyperparameters, at one point.

    Attributes
    ----------
    value : float
        Held-out loss, corrected to first order for what the fit on the training part left undone.
    gradient : ndarray, shape (n_groups,)
    gamma_slope : float
        In gamma, where the prior has its mean at gamma times the weights of a parent; 0 elsewhere.
    fit : Solution
        On the training part.
    system : LinearSolution
        Its x is (C + H)^-1 times the gradient of the held-out loss.
    """

    value: float
    gradient: FloatArray
    gamma_slope: float
    fit: Solution
    system: LinearSolution


def hypergradient(
    split: Split,
    groups: Groups,
    log_precision: FloatArray,
    gamma: float = 0.0,
    *,
    start: HyperGradient | None = None,
    tolerance: float = TOLERANCE,
    cg_tolerance: float = 0.01,
    monitor: Monitor | None = None,
) -> HyperGradient:
    """Held-out loss of the weights fitted with exp(`log_precision`), and its gradient in that.

    One system (C + H) x = grad l_H by conjugate gradients, then -B'x: section 4 of Do, Foo & Ng 2007. Where
    the prior has its mean at gamma times the weights w_p of a parent, the fit moves by (C + H)^-1 C w_p with
    gamma, so the slope in it is x'C w_p. `start`, from a point nearby, gives the fit and the system their
    first iterates.

    Parameters
    ----------
    tolerance : float
        Of the fit: norm of its gradient, relative to w = 0. Where few features make most of that norm, it may
        leave much undone: the fit goes on until the correction is a tenth of the loss at most, or to a
        thousandth of this tolerance.
    cg_tolerance : float
        Residual of the linear system, relative to its right-hand side.
    """
    precision = GroupedL2(groups, log_precision).precision
    parent = np.zeros(precision.size) if split.parent is None else split.parent
    center = None if split.parent is None else gamma * parent
    first_w, first_x = (start.fit.w, start.system.x) if start else (None, None)
    n_evaluations = 0
    for tighter in _TIGHTER:
        ends: dict[str, Any] = {"tolerance": tighter * tolerance, "monitor": monitor}
        fit = fit_l2(split.train, precision, first_w, center=center, **ends)
        fit.check()
        n_evaluations += fit.n_evaluations
        try:
            loss, gradient = split.heldout.value_and_gradient(fit.w)
            system = system_at(split.train, precision, fit.w, monitor)
            solved = system.solve(gradient, first_x, tolerance=cg_tolerance)
        except STOPS as stop:
            raise FitStopped(stop_status(stop), fit.w) from None
        # the optimum lies (C + H)^-1 r away, r the gradient that is left: the loss falls by x . r on the way
        left = float(solved.x @ fit.gradient)
        if abs(left) <= _MOST_LEFT * abs(loss) or fit.status != "converged":
            break
        first_w, first_x = fit.w, solved.x
    value = loss - left
    pull = solved.x * precision
    slope = -groups.sum(pull * (fit.w - gamma * parent))
    fit = replace(fit, n_evaluations=n_evaluations)
    return HyperGradient(value, slope, float(pull @ parent), fit, solved)


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


def _warm(w: FloatArray, x: FloatArray) -> HyperGradient:
    """A point of which fits and systems nearby can start."""
    fit = Solution(w, np.nan, np.full_like(w, np.nan), 0, "converged")
    return HyperGradient(np.nan, np.empty(0), np.nan, fit, LinearSolution(x, 0, "", True))


@dataclass
class ImplicitTuner:
    """Minimises a held-out loss over the log precisions by L-BFGS on its implicit gradient.

    Parameters
    ----------
    start : float or array-like, shape (n_groups,)
        Precision of every group to begin with.
    max_evaluations : int
        Of the held-out loss; each is one warm-started fit and one linear system per split.
    tolerance : float
        Ends when a step of length 1 down the gradient in the log precisions would lower the held-out loss by
        less than this share, to first order, and by a fifth at most of what it would have on the way.
    fit_tolerance, cg_tolerance : float
        Of the last fits and linear systems; the first ones are three times looser, in step with the norm of
        the gradient.
    refit : bool
        Fit on all data at the end. The precisions stay as they are: the loss is a sum over examples and the
        precision belongs to the prior of the weights, which more data does not change.
    """

    start: Any = 1.0
    max_evaluations: int = 20
    tolerance: float = 0.005
    fit_tolerance: float = TOLERANCE
    cg_tolerance: float = 0.04
    refit: bool = True
    needs_splits = True

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Choose the precisions of `problem.groups`, and fit with them."""
        if not problem.splits:
            raise DataError("the implicit tuner needs held-out data: found a problem without splits")
        problem.require_smooth("the implicit tuner")
        if not np.all(np.asarray(self.start) > 0):
            raise DataError(f"start={self.start!r}: expected a precision > 0")
        with monitor or Monitor() as monitor:
            search = _Search(self, problem, monitor)
            status = search.run()
            return search.finish(status)


class _End(Exception):  # noqa: N818
    """The search is over; its argument is the status."""


class _Search:
    """The outer loop: warm starts, tolerances, the best point."""

    def __init__(self, tuner: ImplicitTuner, problem: TuningProblem, monitor: Monitor) -> None:
        self.tuner, self.problem, self.monitor = tuner, problem, monitor
        self.passes = PassCount(problem)
        pairs = [(split.train, split.heldout) for split in problem.splits]
        self.splits = SideBySide(problem.full.executor, pairs, len(pairs))
        self.points: list[HyperGradient] = []
        self.best_points: list[HyperGradient] = []
        self.journal: list[tuple[FloatArray, float, FloatArray]] = []  # every point, its value and gradient
        self.n_evaluations = 0
        n, gammas = len(problem.groups), int(problem.parent is not None)
        self.low, self.high = (
            np.append(np.full(n, bound), np.full(gammas, of_gamma))
            for bound, of_gamma in zip(BOUNDS, (0.0, 1.0), strict=True)
        )
        first = np.append(np.broadcast_to(np.log(tuner.start), n), np.full(gammas, _FIRST_GAMMA))
        self.best_outcome: tuple[float, FloatArray] = np.inf, np.zeros(n + gammas)
        self.best_d = np.clip(first, self.low, self.high)  # the log precisions, and gamma
        self.unfinished = np.zeros(problem.full.n_weights)
        self.first_norm, self.last_norm = 0.0, np.inf
        self.peak_slope = 0.0
        self.kept = monitor.kept_search(f"implicit {problem.name}")
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def run(self) -> str:
        try:
            self.evaluate(self.best_d)
            status = "moved"
            while status == "moved":
                status = self._descend()
            return status
        except STOPS as stop:
            self.unfinished = getattr(stop, "w", self.unfinished)
            return stop_status(stop)
        except _End as end:
            return str(end)

    def _descend(self) -> str:
        """L-BFGS-B in a box around the best point; "moved" where it ran into a side of the box."""
        start, (value, gradient) = self.best_d, self.best_outcome
        options: Any = {"ftol": 1e-3 * self.tuner.tolerance, "gtol": 0.0, "maxls": 8}
        low, high = np.maximum(self.low, start - _REACH), np.minimum(self.high, start + _REACH)
        # inside bounds L-BFGS-B begins with minus the gradient: make that a factor e where it is steepest
        scale = 1.0 / max(float(np.max(np.abs(gradient))), 1e-300)

        def objective(d: FloatArray) -> tuple[float, FloatArray]:
            outcome = (value, gradient) if np.array_equal(d, start) else self.evaluate(d)
            return outcome[0] * scale, outcome[1] * scale

        def stop_at_side(d: Any) -> None:
            if np.any((d <= low) & (low > self.low) | (d >= high) & (high < self.high)):
                raise StopIteration

        found = minimize(  # type: ignore[call-overload]
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            callback=stop_at_side,
            options=options,
        )
        return {0: "converged", 1: "iterations", 99: "moved"}.get(found.status, "stalled")

    def evaluate(self, d: FloatArray) -> tuple[float, FloatArray]:
        if self.n_evaluations == self.tuner.max_evaluations:
            raise _End("iterations")
        k, self.n_evaluations = self.n_evaluations, self.n_evaluations + 1
        is_known = k < len(self.journal) and np.array_equal(self.journal[k][0], d)
        if not is_known:
            looseness = _LOOSE * min(1.0, self.last_norm / self.first_norm) if self.first_norm else _LOOSE
            self.points = self._hypergradients(d, max(1.0, looseness))
            slopes = [np.append(p.gradient, p.gamma_slope)[: d.size] for p in self.points]
            found = d.copy(), sum(p.value for p in self.points), np.sum(slopes, axis=0)
            self.journal[k:] = [found]
        _, value, gradient = self.journal[k]
        self.last_norm = float(np.linalg.norm(gradient))
        self.first_norm = self.first_norm or self.last_norm
        if value < self.best_outcome[0]:
            self.best_outcome, self.best_d = (value, gradient), d.copy()
            self.best_points = self.best_points if is_known else list(self.points)
        if not is_known:
            self._record(d, value)
            self.kept.keep(self._state)
        if self._is_flat(d, value, gradient) and value <= self.best_outcome[0]:
            raise _End("converged")
        return value, gradient

    def _record(self, d: FloatArray, value: float) -> None:
        points = self.points
        self.monitor.record(
            "implicit",
            done=self.n_evaluations / self.tuner.max_evaluations,
            heldout_loss=value,
            gradient_norm=self.last_norm,
            log_precision=self._parts(d)[0].tolist(),
            **({} if self.problem.parent is None else {"gamma": float(d[-1])}),
            fit_evaluations=sum(p.fit.n_evaluations for p in points),
            hessian_products=sum(p.system.n_products for p in points),
            systems_converged=all(p.system.converged for p in points),
            passes=self.passes.spent,
        )

    def _state(self) -> State:
        """What a search that goes on from here has to know: all outcomes, and the weights of two points."""
        points, values, gradients = zip(*self.journal, strict=True)
        return {
            "points": np.array(points),
            "values": np.array(values),
            "gradients": np.array(gradients),
            "best": np.array([point.fit.w for point in self.best_points]),
            "last": np.array([point.fit.w for point in self.points]),
            "solved": np.array([point.system.x for point in self.points]),
            "passes": self.passes.spent,
        }

    def _restore(self, state: Restored) -> None:
        n_splits, n, k = len(self.problem.splits), self.problem.full.n_weights, self.low.size
        points = state.array("points", None, k)
        values, gradients = state.array("values", len(points)), state.array("gradients", len(points), k)
        self.journal = list(zip(points, values.tolist(), gradients, strict=True))
        last, solved = (state.array(name, n_splits, n) for name in ("last", "solved"))
        self.points = [_warm(w, x) for w, x in zip(last, solved, strict=True)]
        self.best_points = [_warm(w, w) for w in state.array("best", n_splits, n)]
        self.problem.full.count_passes(state.entry("passes", float))

    def _hypergradients(self, d: FloatArray, looseness: float) -> list[HyperGradient]:
        """Those of all splits."""
        tolerances = {
            "tolerance": looseness * self.tuner.fit_tolerance,
            "cg_tolerance": looseness * self.tuner.cg_tolerance,
        }
        parents = [split.parent for split in self.problem.splits]
        starts: Sequence[HyperGradient | None] = self.points or [None] * len(parents)
        shared = (self.problem.groups, *self._parts(d), tolerances, self.monitor)
        return list(self.splits.map(_of_risks, range(len(parents)), parents, starts, shared=shared))

    def _is_flat(self, d: FloatArray, value: float, gradient: FloatArray) -> bool:
        """Whether the slope within the bounds is small beside the loss, and beside its own peak."""
        room = np.where(gradient > 0, d - self.low, self.high - d)
        slope = float(np.linalg.norm(gradient * np.minimum(room, 1.0)))
        self.peak_slope = max(self.peak_slope, slope)
        return slope <= min(self.tuner.tolerance * abs(value), _FALL * self.peak_slope)

    def finish(self, status: str) -> TuningResult:
        fits = [point.fit.w for point in self.best_points or self.points]
        w = fits[0] if fits else self.unfinished
        if self.tuner.refit and status not in STOPPED:
            try:
                w = self._refit(np.mean(fits, axis=0))
            except STOPS as stop:
                w, status = getattr(stop, "w", w), stop_status(stop)
        value = float(self.best_outcome[0]) if self.best_points else None
        d, gamma = self._parts(self.best_d)
        found = TuningResult(d, w, status, value, self.passes.spent, self.monitor.history)
        return found if self.problem.parent is None else replace(found, gamma=gamma)

    def _parts(self, d: FloatArray) -> tuple[FloatArray, float]:
        """The log precisions, and gamma."""
        n = len(self.problem.groups)
        return d[:n], float(d[n:].sum())

    def _refit(self, w: FloatArray) -> FloatArray:
        d, gamma = self._parts(self.best_d)
        precision, parent = GroupedL2(self.problem.groups, d).precision, self.problem.parent
        risk, tolerance = self.problem.full, self.tuner.fit_tolerance
        center = None if parent is None else gamma * parent
        fit = fit_l2(risk, precision, w, center=center, tolerance=tolerance, monitor=self.monitor)
        self.monitor.record("refit", objective=fit.objective, passes=self.passes.spent)
        fit.check()
        return fit.w
