"""What every solver is given, and what it gives back: weights, and what it learned of the curvature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import daxpy

from structune.running.monitor import STOPPED, FitStopped
from structune.structure import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
_CELLS = 1 << 24  # doubles that all pairs may have, 128 MB
_FEWEST, _MOST = 5, 20
_MOST_NEARBY = 40  # of a function that is nearly the one before: old steps still tell
_LEAST_COSINE = 1e-10  # of a step and the change of the gradient along it


class Pairs:
    """The inverse Hessian that BFGS makes of the last steps and changes of the gradient.

    At most `most` pairs are kept, and fewer of long weights.
    """

    def __init__(self, n_weights: int, most: int = _MOST) -> None:
        self.n_weights, self.most = n_weights, most
        n = int(np.clip(_CELLS // (2 * max(n_weights, 1)), _FEWEST, most))
        self.steps, self.changes = deque[FloatArray](maxlen=n), deque[FloatArray](maxlen=n)
        self._products = deque[float](maxlen=n)  # of each step and its change

    @classmethod
    def from_rows(cls, rows: FloatArray, most: int | None = None) -> Pairs:
        """What `rows` gave, with room for no more unless `most` says so."""
        pairs = cls(rows.shape[2], len(rows) if most is None else most)
        for step, change in rows:
            pairs.add(step, change)
        return pairs

    def rows(self) -> FloatArray:
        """Steps and changes, shape (n_pairs, 2, n_weights)."""
        pairs = [*zip(self.steps, self.changes, strict=True)]
        return np.reshape(pairs, (len(pairs), 2, self.n_weights))

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a pair, unless the function does not curve upward along the step."""
        if is_curved(step, change):
            self.steps.append(step)
            self.changes.append(change)
            self._products.append(float(step @ change))

    def under(self, extra: FloatArray | None = None) -> Pairs:
        """The pairs of the function to which a quadratic of the diagonal Hessian `extra` was added."""
        pairs = Pairs(self.n_weights, _MOST_NEARBY)
        for step, change in zip(self.steps, self.changes, strict=True):
            # exact for any `extra`: the gradient of 1/2 w' D w changes by D s along a step s
            pairs.add(step, change if extra is None else change + extra * step)
        return pairs

    def times(self, v: FloatArray, metric: FloatArray) -> FloatArray:
        """The inverse Hessian times `v`, by two loops (Nocedal 1980).

        It begins with a multiple of the diagonal matrix `metric` that fits the last pair.
        """
        if not self.steps:
            return metric * v
        rows = [*zip(self.steps, self.changes, self._products, strict=True)]
        # With rho = 1 / s'y, H+ = (I - rho s y') H (I - rho y s') + rho s s'. The first loop applies the
        # right factors from the last pair to the first, the second loop the left ones in the opposite order
        # (Nocedal & Wright 2006, algorithm 7.4).
        left, shares = v.copy(), []
        for step, change, product in reversed(rows):
            shares.append(float(step @ left) / product)
            left = daxpy(change, left, a=-shares[-1])
        # H_0 = (s'y / y'My) M, with the last pair's s and y: about as long as the true inverse along y
        step, change, product = rows[-1]
        left *= metric
        left *= product / float(np.einsum("i,i,i", change, metric, change))
        for step, change, product in rows:
            left = daxpy(step, left, a=shares.pop() - float(change @ left) / product)
        return left


def is_curved(step: FloatArray, change: FloatArray) -> bool:
    """Whether a function curves upward along a step, by the change of its gradient."""
    # s'y > 0 keeps the BFGS matrix positive definite
    least = _LEAST_COSINE * float(np.linalg.norm(step) * np.linalg.norm(change))
    return bool(float(step @ change) > least)


@dataclass(frozen=True)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    w : ndarray, shape (n_weights,)
        The best iterate.
    objective : float
    gradient : ndarray, shape (n_weights,)
        There.
    n_evaluations : int
    status : {"converged", "stalled", "iterations", "budget", "interrupted"}
        "stalled": the line search found nothing lower, though there is more to gain than rounding hides.
    lower_bound : float
        Of the minimum, from solvers that know one.
    pairs : Pairs, optional
        What the solver has learned of the curvature.
    """

    w: FloatArray
    objective: float
    gradient: FloatArray
    n_evaluations: int
    status: str
    lower_bound: float = -np.inf
    pairs: Pairs | None = None

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def stopped(self) -> bool:
        """Whether the work was cut short from outside."""
        return self.status in STOPPED

    def check(self) -> None:
        """Raise `FitStopped` if the work was cut short."""
        if self.stopped:
            raise FitStopped(self.status, self.w)
