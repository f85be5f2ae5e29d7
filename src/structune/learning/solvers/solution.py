"""What every solver is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structune.learning.solvers.pairs import Pairs
from structune.running.monitor import STOPPED, FitStopped
from structune.structure import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]


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
