"""Quadratics that stand for a smooth function near a point, and how L-BFGS makes one of its last steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from structune.learning.risk import Risk
from structune.learning.solvers.cholesky import solve_dense
from structune.learning.solvers.pairs import is_curved
from structune.running.checkpoints import Restored, State
from structune.structure import FloatArray, IntArray

_HISTORY_CELLS, _LEAST_PAIRS, _MOST_PAIRS = 1 << 23, 5, 20  # doubles; beyond, more costs what it saves


class Quadratic(Protocol):
    """A positive definite matrix B."""

    def product(self, v: FloatArray) -> FloatArray:
        """B v."""

    def solve(self, free: IntArray, b: FloatArray) -> FloatArray:
        """The solution x of B_FF x = b, F the indices `free`."""


class Curvatures(Protocol):
    """Where a solver has its quadratics from.

    Attributes
    ----------
    share : float
        Of the slope: what may be left of it at the minimum of a quadratic, which is worth no more.
    given : ndarray, shape (n_weights,)
        What they were made with, for checkpoints of fits.
    """

    share: float
    given: FloatArray

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """The weights that may move from `w`, and the quadratic of these alone.

        `slope` is the subgradient of least norm; a weight that is 0 moves where it is not.
        """

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Learn from a step that was taken, and the change of the gradient along it."""

    def state(self) -> State:
        """What was learned, for a checkpoint."""

    def restore(self, state: Restored) -> None:
        """Learn it again."""


class NewtonCurvatures:
    """The Hessian of a penalised risk, as a matrix."""

    share = 1e-3

    def __init__(self, risk: Risk, precision: FloatArray) -> None:
        self._risk, self.given = risk, precision

    def at(self, w: FloatArray, slope: FloatArray) -> tuple[IntArray, Quadratic]:
        """All weights, and the Hessian."""
        return np.arange(w.size), _Whole(self._risk.hessian_matrix(w), self.given)

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Learn nothing: the Hessian is known."""

    def state(self) -> State:
        return {}

    def restore(self, state: Restored) -> None:
        pass


class _Whole:
    """A matrix H + diag(C)."""

    def __init__(self, hessian: FloatArray, precision: FloatArray) -> None:
        self._hessian, self._precision = hessian, precision

    def product(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._hessian @ v + self._precision * v)

    def solve(self, free: IntArray, b: FloatArray) -> FloatArray:
        return solve_dense(self._hessian[np.ix_(free, free)], self._precision[free], b)


class LbfgsCurvatures:
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
        # products of steps with steps in the metric, and with changes
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
        rows, x = self._rows[:, free], b / self._diagonal[free]
        scaled = rows / self._diagonal[free]
        return np.asarray(x + np.linalg.solve(self._middle - scaled @ rows.T, rows @ x) @ scaled)
