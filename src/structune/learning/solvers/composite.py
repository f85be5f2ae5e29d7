"""L-BFGS and Newton steps on a smooth function plus a weighted sum of absolute values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structune.learning.risk import Risk
from structune.learning.solvers import solution
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.newton import solve_dense
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import FloatArray, IntArray

_MOST_STEPS = 50  # toward the minimum of a quadratic


@one_thread()
def minimize_composite(
    objective: solution.Objective,
    start: FloatArray,
    l1: FloatArray,
    curvatures: Curvatures,
    *,
    gradient_tolerance: float,
    least_gain: float = np.inf,
    decrement: float = 0.0,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> solution.Solution:
    """Minimize ``f(w) + l1 @ |w|`` for a smooth f; weights of the minimum may be exactly zero.

    A step goes to the minimum of a quadratic for f plus the absolute values, or part of the way (Lee, Sun &
    Saunders 2014; with the quadratics of L-BFGS, for conditional random fields, Zhong et al. 2014).

    The solver ends when the norm of the least subgradient p is at most `gradient_tolerance` and the last step
    gained at most `least_gain`; if that is infinite, no step is needed. With the quadratics of L-BFGS it also
    ends when p' D p is at most `decrement`, with D = scale^4, about the inverse of the diagonal of the
    Hessian of f. `objective` gives value and gradient of f, `curvatures` makes the quadratics. After the time
    limit of `monitor` or Ctrl-C, the best weights so far are returned.
    """
    monitor = monitor or Monitor()
    kept = monitor.kept_fit(start, l1, curvatures.given, gradient_tolerance, least_gain)
    pairs = curvatures.pairs
    if kept.state is not None and pairs is not None:
        rows = kept.state.array("pairs", None, 2, start.size)
        pairs = curvatures.pairs = Pairs.from_rows(rows, pairs.most)
    path = solution.Descent(objective, start, monitor, kept, l1)
    first, gain = path.norm, np.inf if np.isfinite(least_gain) else 0.0

    def step() -> str:
        nonlocal gain
        norm, before = path.norm, path.value
        done = solution.share_done(norm, first, gradient_tolerance)
        shown = {"evaluation": path.n_evaluations, "objective": before, "gradient": norm}
        monitor.show("fit", done=done, weights=path.w, **shown)
        monitor.check()
        near = norm <= gradient_tolerance or (decrement > 0.0 and curvatures.gain(path.pull) <= decrement)
        if near and gain <= least_gain:
            return "converged"
        moved = _go_toward_minimum(path, l1, curvatures, least_gain if near else -np.inf)
        gain = before - path.value
        return "" if moved else "converged" if near else "stalled"

    return path.run(step, max_iterations, lambda: {} if pairs is None else {"pairs": pairs.rows()})


def _go_toward_minimum(path: solution.Descent, l1: FloatArray, curvatures: Curvatures, enough: float) -> bool:
    """Go as far toward the minimum of the quadratic as the objective falls; whether it did."""
    before, slopes = path.w, path.gradient
    active, quadratic = curvatures.at(before, path.pull)
    w, l1, gradient = before[active], l1[active], slopes[active]
    nearest = minimize_l1_quadratic(quadratic, gradient, w, l1, curvatures.share * path.norm)
    # the change that f to first order and the absolute values would have: negative, and what the decrease is
    # measured against, as Armijo's rule does with the slope of a smooth function
    slope = float(gradient @ (nearest - w) + l1 @ (np.abs(nearest) - np.abs(w)))

    def reach(length: float) -> FloatArray:
        # part of the way to the minimum of the model, not a projection: the sum of absolute values is convex
        # along it, so that the objective falls for lengths that are small enough
        reached = before.copy()
        reached[active] = nearest if length == 1.0 else w + length * (nearest - w)  # zeros stay exact
        return reached

    # a step that may gain no more than `enough` is tried once, as in `minimize_newton`
    is_last = -slope <= max(enough, solution.ROUNDING * abs(path.value))
    moved = path.go(reach, slope, 1 if is_last else solution.MOST_HALVINGS)
    if path.w is not before and curvatures.pairs is not None:
        curvatures.pairs.add(path.w - before, path.gradient - slopes)
    return moved


def minimize_l1_quadratic(
    quadratic: Quadratic, gradient: FloatArray, w: FloatArray, l1: FloatArray, tolerance: float
) -> FloatArray:
    """Go from `w` toward the minimum over z of ``g @ (z - w) + 1/2 (z - w)' B (z - w) + l1 @ |z|``.

    Ends when the norm of the least subgradient is at most `tolerance`.
    """
    # Each step ends at the minimum of the orthant that z is in, or that its zeros are drawn to, but what
    # would leave the orthant stays at zero; zeros that would be drawn out of it are left where they are (as
    # in the feature-sign search of Lee et al. 2006, with many zeros at a time). Every step falls.
    z, slope, value = w, gradient, 0.0
    before = float(l1 @ np.abs(w))
    for _ in range(_MOST_STEPS):
        pull = solution.least_subgradient(slope, z, l1)
        if float(np.linalg.norm(pull)) <= tolerance:
            break
        # inside an orthant |z| = orthant . z, so that the function is a quadratic there; a step may end zeros
        # on the faces of the orthant, but crosses none
        orthant = np.where(z != 0.0, np.sign(z), -np.sign(pull))
        step = _step(quadratic, z, slope + l1 * orthant, orthant)
        for halvings in range(solution.MOST_HALVINGS):
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


class Quadratic(NamedTuple):
    """A positive definite matrix B: products B v, and solutions x of B_FF x = b, F the indices `free`."""

    product: Callable[[FloatArray], FloatArray]
    solve: Callable[[IntArray, FloatArray], FloatArray]


def whole(hessian: FloatArray, precision: FloatArray) -> Quadratic:
    """H + diag(C)."""
    return Quadratic(
        lambda v: np.asarray(hessian @ v + precision * v),
        lambda free, b: solve_dense(hessian[np.ix_(free, free)], precision[free], b),
    )


def low_rank(diagonal: FloatArray, rows: FloatArray, middle: FloatArray) -> Quadratic:
    """diag(d) - R' M^-1 R."""

    def solve(free: IntArray, b: FloatArray) -> FloatArray:
        # the inverse by Sherman, Morrison and Woodbury: a system of two unknowns a step, however many weights
        own, x = rows[:, free], b / diagonal[free]
        scaled = own / diagonal[free]
        return np.asarray(x + np.linalg.solve(middle - scaled @ own.T, own @ x) @ scaled)

    return Quadratic(lambda v: np.asarray(diagonal * v - np.linalg.solve(middle, rows @ v) @ rows), solve)


# --- where the quadratics come from -----------------------------------------------------------------------


class NewtonCurvatures:
    """The Hessian of a penalised risk, as a matrix, of all weights."""

    share = 1e-3  # of the slope: what may be left at the minimum of a quadratic, which is worth no more
    pairs: Pairs | None = None  # what is learned of steps and the changes of the gradient along them

    def __init__(self, risk: Risk, precision: FloatArray) -> None:
        self._risk, self.given = risk, precision

    def gain(self, slope: FloatArray) -> float:
        """About twice what is left to gain: not known before a step, which tells it exactly."""
        return np.inf

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """The weights that may move from `w`, and the quadratic of these alone.

        `slope` is the subgradient of least norm; a weight that is 0 moves where it is not.
        """
        return np.arange(w.size), whole(self._risk.hessian_matrix(w), self.given)


class LbfgsCurvatures:
    """The BFGS matrix of the last steps, in its compact form (Byrd, Nocedal & Schnabel 1994).

    It begins with sigma / scale^2 on the diagonal, sigma as the last step tells, and is that of the weights
    that are not 0 or will not stay so.
    """

    share = 0.5
    pairs: Pairs | None

    def __init__(self, scale: FloatArray, pairs: Pairs | None = None) -> None:
        self.given, self._metric = scale, scale**-2.0
        self.pairs = pairs.under() if pairs else Pairs(scale.size)

    def gain(self, slope: FloatArray) -> float:
        """Estimate twice the decrease of the objective that is still possible, from its slope."""
        return float(np.sum((slope / self._metric) ** 2))

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        moves = (w != 0) | (slope != 0)
        active = np.flatnonzero(moves)
        assert self.pairs is not None
        metric, pairs = self._metric[active], self.pairs.kept
        if not pairs:  # the first step has length 1 at most in the metric
            diagonal = metric * max(1.0, float(np.linalg.norm(slope)))
            return active, low_rank(diagonal, np.empty((0, active.size)), np.empty((0, 0)))
        # most steps of most weights are zero: what has moved, or may, is enough for all products
        known = np.flatnonzero(np.logical_or.reduce([moves, *(step != 0 for step, _, _ in pairs)]))
        steps = np.array([step[known] for step, _, _ in pairs])
        changes = np.array([change[known] for _, change, _ in pairs])
        mixed = steps @ changes.T
        # y' M^-1 y / s' y: with it sigma M curves along the last step as the function does
        sigma = float(pairs[-1][1] @ (pairs[-1][1] / self._metric)) / mixed[-1, -1]
        # B = D - [D S, Y] K^-1 [D S, Y]' with D = sigma M and K = [[S' D S, L], [L', -E]], where L is the
        # part of S' Y below its diagonal, and E that diagonal (theorem 2.3 there)
        squares, lower = sigma * (steps @ (self._metric[known] * steps).T), np.tril(mixed, -1)
        middle = np.block([[squares, lower], [lower.T, -np.diag(np.diag(mixed))]])
        own = moves[known]
        ends = np.concatenate((sigma * metric * steps[:, own], changes[:, own]))
        return active, low_rank(sigma * metric, ends, middle)


Curvatures = NewtonCurvatures | LbfgsCurvatures
