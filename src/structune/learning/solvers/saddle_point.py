"""Extended saddle point search: minimize a smooth function under constraints that may have kinks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.learning.parameters import TOLERANCE, Range, check_number
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import curvature_scale, penalised
from structune.learning.solvers.lbfgs import minimize_smooth
from structune.learning.solvers.solution import Objective, Solution
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

SCHEDULES = ("balanced", "doubling")
MOST_ROUNDS, MOST_MULTIPLIER = 20, 1e12
_MOST_KNOWN = 3  # iterates whose values are kept: rounds begin and end at known ones
_FIRST_STEP = 1e-9  # c of equation 15
_FIRST_SHARE = 0.1  # of the gradient at w = 0: what the first penalty pulls
_SLACK = 0.01  # of gamma: what counts as met
_PROJECTIONS = 20
_STEPS = 10  # of a round with penalties: before they are high enough its minimum is of no use
_PROMISING = 0.8  # of the violation 10 steps before: f is minimised further before anything is penalised
_LEAST_GAIN = 0.1  # of the tolerance: minimisations creep at kinks, and gradients do not vanish there


class Constraint(Protocol):
    """A function that is to stay below a bound; a `Risk` is one."""

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The function at `w`, and its gradient or a subgradient."""


@dataclass(frozen=True)
class SaddlePoint(Solution):
    """Result of a saddle point search; `objective` and `gradient` exclude the penalties of the constraints.

    Attributes
    ----------
    status : {"converged", "infeasible", "iterations", "budget", "interrupted"}
        How the search ended. "infeasible": no weights met the constraints, and `w` has the smallest
        violation. "iterations": `w` meets them, but the last minimization ended at other weights.
    multipliers, constraint_values : ndarray, shape (n_constraints,)
        Multiplier beta_j and value h_j of each constraint.
    n_rounds : int
        Number of minimizations over w.
    """

    multipliers: FloatArray = field(default_factory=lambda: np.empty(0))
    constraint_values: FloatArray = field(default_factory=lambda: np.empty(0))
    n_rounds: int = 0


def minimize_saddle_point(
    objective: Objective,
    constraints: Sequence[Constraint],
    start: FloatArray,
    *,
    gamma: float,
    scale: FloatArray | None = None,
    multipliers: FloatArray | None = None,
    schedule: str = "balanced",
    tolerance: float = TOLERANCE,
    max_rounds: int = MOST_ROUNDS,
    max_multiplier: float = MOST_MULTIPLIER,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> SaddlePoint:
    """Minimize f(w) subject to h_j(w) <= gamma for all j (Chen et al. 2009, section 4).

    Each round minimizes L = f + sum_j beta_j max(0, h_j - gamma) (equation 10) over w by L-BFGS, and then
    raises the multipliers beta_j of violated constraints. If the multipliers are high enough, the penalties
    are exact: the minimum of L meets the constraints.

    L-BFGS gets stuck at kinks. Therefore each round with penalties starts where the last one ended, after
    projections onto planes of violated constraints and, if this lowers L, closer to zero. If many kinks meet
    at the minimum, the search ends near it, not exactly at it.

    Parameters
    ----------
    objective : callable
        Function that takes w and returns f and its gradient.
    constraints : sequence of Constraint
        Functions h_j.
    start : ndarray, shape (n_weights,)
        Initial weights.
    gamma : float
        Bound of the constraints, positive.
    scale : ndarray, shape (n_weights,), optional
        Scale of each weight; L-BFGS works in w / scale.
    multipliers : ndarray, shape (n_constraints,), optional
        Initial beta; zero by default, so that the first round minimizes f.
    schedule : {"balanced", "doubling"}
        How multipliers are raised. "balanced": when h_j is first violated, beta_j is set so that the gradient
        of its penalty is a tenth of that of f at w = 0; then it doubles. "doubling" (Chen et al. 2009):
        beta_j += c max(0, h_j - gamma), with c doubling from 1e-9 (equations 15 and 16); needs more rounds.
    tolerance : float
        A round ends when the norm of the gradient is at most this times that at w = 0. As gradients at kinks
        are not small, it also ends when a step gains less than a tenth of this, relative to L or to the
        difference of L from its value at w = 0, whichever is less.
    max_rounds : int
        Maximum number of rounds.
    max_multiplier : float
        The search ends when all violated constraints have this multiplier.
    max_iterations : int
        Maximum number of iterations of rounds without penalties. Rounds with penalties have 10 steps; once
        the constraints are met, the search continues without raising the multipliers.
    monitor : Monitor, optional
        Gets one record per round and keeps the time limit. After the limit or Ctrl-C, the best weights so far
        are returned.

    Returns
    -------
    SaddlePoint
        The evaluated weights with the smallest f among those with h_j <= 1.01 gamma. If there are none, those
        with the smallest violation, and the status "infeasible".
    """
    if schedule not in SCHEDULES:
        raise DataError(f"schedule={schedule!r}: expected one of {SCHEDULES}")
    check_number("gamma", gamma, Range(0, open=True))
    monitor, w, n_rounds, n_raised = monitor or Monitor(), start, 0, 0
    scale = np.ones_like(start) if scale is None else scale
    search = _Search(Remembered(objective), constraints, gamma, scale, tolerance)
    beta = np.zeros(len(constraints)) if multipliers is None else multipliers
    status, kept = "iterations", monitor.kept_search("saddle point")
    if kept.state is not None:
        w, beta = kept.state.array("w", w.size), kept.state.array("multipliers", beta.size)
        n_rounds, n_raised = (kept.state.count(name, max_rounds) for name in ("n_rounds", "n_raised"))
    try:
        search.at_zero, slope = search.objective(np.zeros_like(start))
        search.pull = float(np.linalg.norm(slope))
        if kept.state is not None:
            search.evaluate(kept.state.array("best", w.size))
        while n_rounds < max_rounds:
            n_rounds += 1
            # The first round minimises f, or L with the multipliers given. If that violates a constraint, f
            # alone is minimised further (free, not first), as a minimum that is not found to the last digit
            # may violate what the true one meets, and only then are multipliers raised.
            free, first = not beta.any(), n_rounds == 1
            fit = search.minimise(w, beta, first, max_iterations, monitor)
            w, end = fit.w, search.evaluate(fit.w)
            fit.check()
            told = {"objective": end.objective, "violation": end.violation}
            told |= {"evaluations": search.objective.n, "multipliers": beta.tolist()}
            monitor.record("saddle point", **told)
            # a minimum of L that meets all constraints is the constrained minimum: its penalties are 0 there
            if not end.violation and (free or fit.status != "iterations"):
                status = "converged"
                break
            if end.violation and not (free and first):
                if np.all(beta[end.excess > 0] >= max_multiplier):
                    break
                n_raised += 1
                if schedule == "doubling":  # equations 15 and 16
                    raised = beta + _FIRST_STEP * 2.0 ** (n_raised - 1) * end.excess
                else:
                    raised = _balanced(beta, end, search.pull)
                beta = np.minimum(raised, max_multiplier)
            assert search.best is not None
            state = {"best": search.best.w, "w": w, "multipliers": beta}
            kept.keep(partial(dict, state, n_rounds=n_rounds, n_raised=n_raised))
    except STOPS as stop:
        if search.best is None:
            raise
        status = stop_status(stop)
    best = search.best
    assert best is not None
    if status == "iterations" and best.violation:
        status = "infeasible"
    found = best.w, best.objective, best.gradient, search.objective.n, status
    return SaddlePoint(*found, multipliers=beta, constraint_values=best.values, n_rounds=n_rounds)


def fit_constrained(
    risk: Risk,
    precision: FloatArray,
    constraints: Sequence[Constraint],
    start: FloatArray,
    *,
    tolerance: float = TOLERANCE,
    **options: Any,
) -> SaddlePoint:
    """Minimize risk(w) + 1/2 sum_i precision_i w_i^2 of a smooth loss by `minimize_saddle_point`.

    The best `start` is the result of `fit_l2`, with which the first round ends at once.
    """
    if not risk.smooth:
        raise CapabilityError(f"constraints need a smooth loss, and {type(risk.loss).__name__} is not smooth")
    scale = curvature_scale(precision, risk.at_zero.variance)
    return minimize_saddle_point(
        penalised(risk, precision), constraints, start, scale=scale, tolerance=tolerance, **options
    )


@dataclass(frozen=True)
class _Iterate:
    w: FloatArray
    objective: float
    gradient: FloatArray
    values: FloatArray  # of the constraints
    slopes: FloatArray
    excess: FloatArray  # max(0, h - gamma), 0 where that is as good as met

    @property
    def violation(self) -> float:
        return float(self.excess.max(initial=0.0))


@dataclass
class _Search:
    """f and the constraints, the best iterate at which they were evaluated, and minimisations of L."""

    objective: Remembered
    constraints: Sequence[Constraint]
    gamma: float
    scale: FloatArray
    tolerance: float
    best: _Iterate | None = None
    at_zero: float = 0.0  # f at w = 0
    pull: float = 0.0  # the norm of its gradient there
    n_steps: int = 0
    last_violation: float = float(np.finfo(float).max)

    def __post_init__(self) -> None:
        self.constrain = Remembered(self._constrain)

    def _constrain(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, slopes and excesses of the constraints."""
        found = [constraint.value_and_gradient(w) for constraint in self.constraints]
        values, slopes = np.array([h for h, _ in found]), np.array([slope for _, slope in found])
        # within a hundredth of gamma is met: the minimum of L lies on the boundary, up to its tolerance
        return values, slopes, np.where(values <= (1 + _SLACK) * self.gamma, 0.0, values - self.gamma)

    def evaluate(self, w: FloatArray) -> _Iterate:
        iterate = _Iterate(w, *self.objective(w), *self.constrain(w))
        key = iterate.violation, iterate.objective
        if self.best is None or key < (self.best.violation, self.best.objective):
            self.best = iterate
        return iterate

    def lagrangian(self, multipliers: FloatArray) -> Objective:
        """L and its gradient (equations 10 and 11) at the multipliers."""
        if not multipliers.any():
            return self.objective

        def function(w: FloatArray) -> tuple[float, FloatArray]:
            # L = f + sum_j beta_j max(0, h_j - gamma), and its subgradient: 0 of a constraint that is met
            found = self.evaluate(w)
            excess = np.maximum(found.values - self.gamma, 0.0)
            pull = np.where(excess > 0.0, multipliers, 0.0)
            return found.objective + float(pull @ excess), found.gradient + pull @ found.slopes

        return function

    def minimise(
        self, w: FloatArray, multipliers: FloatArray, first: bool, max_iterations: int, monitor: Monitor
    ) -> Solution:
        """Minimise L: first from `w`, with penalties from nearby, and f alone further while that helps."""
        free, lagrangian = not multipliers.any(), self.lagrangian(multipliers)
        further = free and not first
        if not free:  # kinks bend no quasi-Newton matrix: rounds are short, and begin off the kinks
            max_iterations = min(max_iterations, _STEPS)
            w = w if first else _halved(lagrangian, self.projected(w))
        # how far L is from its value at w = 0, relative to L: near w = 0 all gains are small
        tolerance, value = 0.0 if further else self.tolerance, lagrangian(w)[0]
        share = min(1.0, abs(self.at_zero - value) / max(abs(value), 1e-300))
        return minimize_smooth(
            lagrangian,
            w,
            scale=self.scale,
            gradient_tolerance=tolerance * self.pull,
            least_gain=_LEAST_GAIN * tolerance * share,
            max_iterations=max_iterations,
            until=self.is_settled if further else None,
            monitor=monitor,
        )

    def is_settled(self, w: FloatArray) -> bool:
        """After every tenth step: whether the violation is gone, or no longer falls."""
        self.n_steps += 1
        if self.n_steps % _STEPS:
            return False
        before, self.last_violation = self.last_violation, self.evaluate(w).violation
        return not self.last_violation or self.last_violation > _PROMISING * before

    def projected(self, w: FloatArray) -> FloatArray:
        """`w` after some projections on the plane of the constraint that is violated most (Polyak 1969)."""
        # off ridges of kinks, on which no quasi-Newton direction descends, and closer to every point that
        # meets convex constraints with half of gamma to spare, the objective unseen
        for _ in range(_PROJECTIONS):
            values, slopes, excess = self.constrain(w)
            j = int(np.argmax(excess))
            if not excess[j] or not slopes[j].any():
                break
            # onto the plane h_j(w) + grad h_j . (v - w) = gamma / 2, the nearest point of it
            w = w - (values[j] - 0.5 * self.gamma) / float(slopes[j] @ slopes[j]) * slopes[j]
        return w


def _halved(lagrangian: Objective, w: FloatArray) -> FloatArray:
    """`w`, halved while that lowers L, as where w = 0 meets the constraints and much has to shrink."""
    value = lagrangian(w)[0]
    while (lower := lagrangian(w / 2)[0]) < value:
        w, value = w / 2, lower
    return w


def _balanced(multipliers: FloatArray, end: _Iterate, pull: float) -> FloatArray:
    """Twice the multipliers of what is violated, and at least a share of the `pull` of f."""
    # beta_j |grad h_j| = a tenth of |grad f(0)|: of penalties whose units are unknown the pull alone compares
    slope = np.linalg.norm(end.slopes, axis=1)
    first = np.maximum(_FIRST_SHARE * pull / np.where(slope > 0, slope, np.inf), _FIRST_STEP)
    return np.where(end.excess > 0, np.maximum(2 * multipliers, first), multipliers)


class Remembered:
    """A function of w that knows its last values."""

    def __init__(self, function: Callable[[FloatArray], Any]) -> None:
        self._function, self.n = function, 0
        self._known = deque[tuple[FloatArray, Any]](maxlen=_MOST_KNOWN)

    def __call__(self, w: FloatArray) -> Any:
        for at, value in self._known:
            if np.array_equal(at, w):
                return value
        value = self._function(w)
        self._known.append((w, value))
        self.n += 1
        return value
