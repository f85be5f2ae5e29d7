"""Proximal Newton and quasi-Newton steps on a smooth function plus a weighted sum of absolute values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from structune.learning.risk import Risk
from structune.learning.solvers.lbfgs import share_done
from structune.learning.solvers.linear import solve_dense
from structune.learning.solvers.solution import Objective, Solution, is_curved
from structune.running.blas import one_thread
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray, IntArray

_DECREASE, _MOST_HALVINGS = 1e-4, 40  # of a step
_MOST_STEPS = 50  # toward the minimum of a quadratic
_HISTORY_CELLS, _LEAST_PAIRS, _MOST_PAIRS = 1 << 23, 5, 20  # doubles; beyond, more costs what it saves
ROUNDING = 8 * np.finfo(float).eps


def minimize_composite(
    objective: Objective,
    start: FloatArray,
    l1: FloatArray,
    curvatures: Curvatures,
    *,
    gradient_tolerance: float,
    least_gain: float = np.inf,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimise ``f(w) + l1 @ |w|``, f smooth; weights of the minimum may be exactly zero.

    A step goes to the minimum of a quadratic for f plus the absolute values, or part of the way (Lee, Sun &
    Saunders 2014; with the quadratics of L-BFGS, for conditional random fields, Zhong et al. 2014).

    Ends when the norm of the subgradient of least norm is at most `gradient_tolerance`, and a step has been
    taken that gained no more than `least_gain`; if that is infinite, without a step too. `objective` gives
    value and gradient of f, `curvatures` makes the quadratics. The time budget of `monitor` is kept; Ctrl-C
    too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, l1, curvatures.given, gradient_tolerance, least_gain)
    n_steps, status = 0, "iterations"
    gain = np.inf if np.isfinite(least_gain) else 0.0
    if kept.state is not None:
        start, n_steps = kept.state.array("w", start.size), kept.state.count("n_steps")
        curvatures.restore(kept.state)
    path = _Path(objective, start, l1, monitor, n_steps)
    try:
        with one_thread():
            while path.n_steps < max_iterations and not path.ended:
                path.show(gradient_tolerance)
                monitor.check()
                near, before = path.slope <= gradient_tolerance, path.value
                if near and gain <= least_gain:
                    path.ended = "converged"
                elif not path.descend(curvatures, least_gain if near else -np.inf):
                    path.ended = "converged" if near else "stalled"
                gain = before - path.value
                kept.keep(lambda: {"w": path.w, "n_steps": path.n_steps, **curvatures.state()})
    except STOPS as stop:
        status = stop_status(stop)
    return path.solution(path.ended or status)


class _Path:
    """The iterate, and the way it has come."""

    def __init__(
        self, objective: Objective, start: FloatArray, l1: FloatArray, monitor: Monitor, n_steps: int
    ) -> None:
        self.objective, self.l1, self.monitor = objective, l1, monitor
        self.n_evaluations, self.n_steps, self.ended = 0, n_steps, ""
        self._move_to(start, *self._evaluate(start))
        self.first_slope = self.slope

    def _evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        smooth, gradient = self.objective(w)
        self.n_evaluations += 1
        return smooth + float(self.l1 @ np.abs(w)), gradient

    def _move_to(self, w: FloatArray, value: float, gradient: FloatArray) -> None:
        pull = least_subgradient(gradient, w, self.l1)
        self.w, self.value, self.gradient, self.pull = w, value, gradient, pull

    @property
    def slope(self) -> float:
        return float(np.linalg.norm(self.pull))

    def descend(self, curvatures: Curvatures, enough: float) -> bool:
        """Go as far toward the minimum of the quadratic as the objective falls; whether it did.

        A step that may gain no more than `enough` is tried once, as in `minimize_newton`.
        """
        active, quadratic = curvatures.at(self.w, self.pull)
        w, l1, gradient = self.w[active], self.l1[active], self.gradient[active]
        nearest = minimize_l1_quadratic(quadratic, gradient, w, l1, curvatures.share * self.slope)
        # the change that f to first order and the absolute values would have: negative, and what the decrease
        # is measured against, as Armijo's rule does with the slope of a smooth function
        slope = float(gradient @ (nearest - w) + l1 @ (np.abs(nearest) - np.abs(w)))
        slack = ROUNDING * abs(self.value)
        for halvings in range(1 if -slope <= max(enough, slack) else _MOST_HALVINGS):
            length = 0.5**halvings
            # part of the way to the minimum of the model, not a projection: the sum of absolute values is
            # convex along it, so that the objective falls for lengths that are small enough
            reached = self.w.copy()
            reached[active] = nearest if length == 1.0 else w + length * (nearest - w)  # zeros stay exact
            value, gradient = self._evaluate(reached)
            if value <= self.value + _DECREASE * length * slope + slack:
                before = self.value, self.slope
                curvatures.add(reached - self.w, gradient - self.gradient)
                self._move_to(reached, value, gradient)
                self.n_steps += 1
                return value < before[0] or self.slope < before[1]
            self.monitor.check()
        return False

    def show(self, gradient_tolerance: float) -> None:
        done = share_done(self.slope, self.first_slope, gradient_tolerance)
        shown = {"evaluation": self.n_evaluations, "objective": self.value, "gradient": self.slope}
        self.monitor.show("fit", done=done, **shown)

    def solution(self, status: str) -> Solution:
        return Solution(self.w, self.value, self.pull, self.n_evaluations, status)


def least_subgradient(gradient: FloatArray, w: FloatArray, l1: FloatArray) -> FloatArray:
    """Of all subgradients of ``f(w) + l1 @ |w|`` that of least norm; `gradient` is that of f."""
    # at w_i = 0 the subdifferential is [g_i - l1_i, g_i + l1_i]: its point nearest to 0 is a soft threshold
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.asarray(np.where(w != 0.0, gradient + l1 * np.sign(w), at_zero))


def minimize_l1_quadratic(
    quadratic: Quadratic, gradient: FloatArray, w: FloatArray, l1: FloatArray, tolerance: float
) -> FloatArray:
    """Go from `w` toward the minimum over z of ``g @ (z - w) + 1/2 (z - w)' B (z - w) + l1 @ |z|``.

    Each step ends at the minimum of the orthant that z is in, or that its zeros are drawn to, but what would
    leave the orthant stays at zero; zeros that would be drawn out of it are left where they are (as in the
    feature-sign search of Lee et al. 2006, with many zeros at a time). Every step falls. Ends when the norm
    of the least subgradient is at most `tolerance`.
    """
    z, slope, value = w, gradient, 0.0
    before = float(l1 @ np.abs(w))
    for _ in range(_MOST_STEPS):
        pull = least_subgradient(slope, z, l1)
        if float(np.linalg.norm(pull)) <= tolerance:
            break
        # inside an orthant |z| = orthant . z, so that the function is a quadratic there; a step may end zeros
        # on the faces of the orthant, but crosses none
        orthant = np.where(z != 0.0, np.sign(z), -np.sign(pull))
        step = _step(quadratic, z, slope + l1 * orthant, orthant)
        for halvings in range(_MOST_HALVINGS):
            end = z + 0.5**halvings * step
            end[end * orthant < 0.0] = 0.0
            image = quadratic.product(end - w)
            reached = float((gradient + 0.5 * image) @ (end - w) + l1 @ np.abs(end)) - before
            if reached < value:
                break
        else:
            break
        z, slope, value = end, gradient + image, reached
    return z


def _step(quadratic: Quadratic, z: FloatArray, slope: FloatArray, orthant: FloatArray) -> FloatArray:
    """To the minimum in an orthant, of all weights but of zeros that it would draw out of it."""
    # a zero that the step would draw to the other side has no slope toward this one: it stays, and the others
    # are solved for again; each round leaves fewer free
    free = np.flatnonzero(orthant)
    while True:
        step = np.zeros_like(z)
        step[free] = quadratic.solve(free, -slope[free])
        inward = (z[free] != 0.0) | (step[free] * orthant[free] >= 0.0)  # never all zeros are drawn out
        if inward.all():
            return step
        free = free[inward]


class Quadratic(Protocol):
    """A positive definite matrix B."""

    def product(self, v: FloatArray) -> FloatArray:
        """B v."""

    def solve(self, free: IntArray, b: FloatArray) -> FloatArray:
        """The solution x of B_FF x = b, F the indices `free`."""


class Curvatures(ABC):
    """Where a solver has its quadratics from."""

    share: float  # of the slope: what may be left at the minimum of a quadratic, which is worth no more
    given: FloatArray  # what they were made with, for checkpoints of fits

    @abstractmethod
    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """The weights that may move from `w`, and the quadratic of these alone.

        `slope` is the subgradient of least norm; a weight that is 0 moves where it is not.
        """

    def add(self, step: FloatArray, change: FloatArray) -> None:  # noqa: B027
        """Learn from a step that was taken, and the change of the gradient along it."""

    def state(self) -> State:
        """What was learned, for a checkpoint."""
        return {}

    def restore(self, state: Restored) -> None:  # noqa: B027
        """Learn it again."""


class NewtonCurvatures(Curvatures):
    """The Hessian of a penalised risk, as a matrix."""

    share = 1e-3

    def __init__(self, risk: Risk, precision: FloatArray) -> None:
        self._risk, self.given = risk, precision

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """All weights, and the Hessian."""
        return np.arange(w.size), _Whole(self._risk.hessian_matrix(w), self.given)


class _Whole:
    """A matrix H + diag(C)."""

    def __init__(self, hessian: FloatArray, precision: FloatArray) -> None:
        self._hessian, self._precision = hessian, precision

    def product(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._hessian @ v + self._precision * v)

    def solve(self, free: IntArray, b: FloatArray) -> FloatArray:
        return solve_dense(self._hessian[np.ix_(free, free)], self._precision[free], b)


class LbfgsCurvatures(Curvatures):
    """The BFGS matrix of the last steps, in its compact form (Byrd, Nocedal & Schnabel 1994).

    It begins with sigma / scale^2 on the diagonal, sigma as the last step tells.
    """

    share = 0.5

    def __init__(self, scale: FloatArray) -> None:
        n, self.given = scale.size, scale
        self._n_pairs = int(np.clip(_HISTORY_CELLS // (2 * max(n, 1)), _LEAST_PAIRS, _MOST_PAIRS))
        self._metric = scale**-2.0
        self._sigma = 0.0
        self._order: list[int] = []  # rows, from the oldest step to the last one
        self._next = 0  # row
        self._steps, self._changes = np.zeros((2, self._n_pairs, n))
        # products of steps with steps in the metric, S' M S, and with changes, S' Y
        self._squares, self._mixed = np.zeros((2, self._n_pairs, self._n_pairs))

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a step in place of the oldest one, unless the function does not curve upward along it."""
        if not is_curved(step, change):
            return
        row, self._next = self._next, (self._next + 1) % self._n_pairs
        self._order = [*self._order, row][-self._n_pairs :]
        self._steps[row], self._changes[row] = step, change
        self._squares[row] = self._squares[:, row] = self._steps @ (self._metric * step)
        self._mixed[row], self._mixed[:, row] = self._changes @ step, self._steps @ change
        # y' M^-1 y / s' y: with it sigma M curves along the last step as the function does
        self._sigma = float(change @ (change / self._metric)) / self._mixed[row, row]

    def state(self) -> State:
        return {"steps": self._steps[self._order], "changes": self._changes[self._order]}

    def restore(self, state: Restored) -> None:
        steps = state.array("steps", None, self._metric.size)
        changes = state.array("changes", *steps.shape)
        for step, change in zip(steps, changes, strict=True):
            self.add(step, change)

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """The weights that are not 0 or will not stay so, and the matrix on these."""
        active = np.flatnonzero((w != 0) | (slope != 0))
        metric, order = self._metric[active], np.array(self._order, np.int64)
        if not order.size:  # the first step has length 1 at most in the metric
            return active, _LowRank(
                metric * max(1.0, float(np.linalg.norm(slope))), np.empty((0, active.size)), np.empty((0, 0))
            )
        # B = D - [D S, Y] K^-1 [D S, Y]' with D = sigma M and K = [[S' D S, L], [L', -E]], where L is the
        # part of S' Y below its diagonal, and E that diagonal (theorem 2.3 there)
        pairs = np.ix_(order, order)
        squares, mixed = self._sigma * self._squares[pairs], self._mixed[pairs]
        lower = np.tril(mixed, -1)
        middle = np.block([[squares, lower], [lower.T, -np.diag(np.diag(mixed))]])
        which = np.ix_(order, active)
        rows = np.concatenate((self._sigma * metric * self._steps[which], self._changes[which]))
        return active, _LowRank(self._sigma * metric, rows, middle)


class _LowRank:
    """diag(d) - R' M^-1 R."""

    def __init__(self, diagonal: FloatArray, rows: FloatArray, middle: FloatArray) -> None:
        self._diagonal, self._rows, self._middle = diagonal, rows, middle

    def product(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._diagonal * v - np.linalg.solve(self._middle, self._rows @ v) @ self._rows)

    def solve(self, free: IntArray, b: FloatArray) -> FloatArray:
        # the inverse by Sherman, Morrison and Woodbury: a system of two unknowns a step, however many weights
        rows, x = self._rows[:, free], b / self._diagonal[free]
        scaled = rows / self._diagonal[free]
        return np.asarray(x + np.linalg.solve(self._middle - scaled @ rows.T, rows @ x) @ scaled)
