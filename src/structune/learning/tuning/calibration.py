"""One factor of all precisions, by held-out loss: the evidence tells the groups apart, not how sure to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.learning.side_by_side import SideBySide
from structune.learning.tuning.grid import fit_and_judge
from structune.learning.tuning.problem import TuningProblem
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_STEP = np.log(4.0)  # from factor to factor
_FARTHEST = 4  # steps
_ENOUGH = 250  # held-out parts (examples, tokens): no more splits than hold out so many
_SPREAD = 1.5  # standard deviation of the factor's logarithm around 0, before anything was held out


@dataclass(frozen=True)
class Factor:
    """The best factor of all precisions.

    Attributes
    ----------
    log : float
        Its logarithm.
    heldout_loss : float
        The lowest of those tried, each with the factor's prior.
    w : ndarray, shape (n_weights,)
        Mean of the weights that led to that, one fit a split.
    """

    log: float
    heldout_loss: float
    w: FloatArray


def best_factor(
    problem: TuningProblem,
    log_precision: FloatArray,
    w: FloatArray,
    tolerance: float,
    monitor: Monitor,
) -> Factor:
    """The factor of all precisions that held-out examples choose.

    Factors a quarter and four times as large are tried until the lowest lies between two others, and of the
    parabola through these three the lowest point is taken. To the held-out loss is added a prior of the
    factor's logarithm, normal with mean 0 and standard deviation 1.5: few examples tell little.

    Parameters
    ----------
    w : ndarray, shape (n_weights,)
        Where the first fit of every split starts.
    tolerance : float
        Of the fits.
    """
    search = _Factors(problem, log_precision, w, tolerance, monitor)
    at, step = 0, -1 if search.value(-1) < search.value(0) else 1
    while abs(at + step) < _FARTHEST and search.value(at + step) < search.value(at):
        at += step
    before, lowest, after = (search.value(at + side) for side in (-1, 0, 1))
    bend = before - 2.0 * lowest + after
    vertex = float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else 0.0
    return Factor(_STEP * (at + vertex), search.losses[at], search.means[at])


class _Factors:
    """Held-out losses of the factors that were asked for."""

    def __init__(
        self,
        problem: TuningProblem,
        log_precision: FloatArray,
        w: FloatArray,
        tolerance: float,
        monitor: Monitor,
    ) -> None:
        self.log_precision, self.shared = log_precision, (problem.groups, tolerance, monitor)
        self.monitor = monitor
        pairs = [(split.train, split.heldout) for split in problem.splits]
        sizes = np.cumsum([heldout.n_parts for _, heldout in pairs])
        pairs = pairs[: int(np.searchsorted(sizes, _ENOUGH)) + 1]
        self.splits, self.starts = SideBySide(problem.full.executor, pairs, len(pairs)), [w] * len(pairs)
        self.losses: dict[int, float] = {}
        self.means: dict[int, FloatArray] = {}

    def value(self, step: int) -> float:
        """Held-out loss and prior so many steps from the precisions given."""
        if step not in self.losses:
            point = self.log_precision + step * _STEP, np.zeros_like(self.log_precision)
            which = range(len(self.starts))
            points = [point] * len(which)
            fits = list(self.splits.map(fit_and_judge, which, points, self.starts, shared=self.shared))
            self.starts = [fit for fit, _ in fits]
            self.means[step] = np.mean(self.starts, axis=0)
            self.losses[step] = float(sum(loss for _, loss in fits))
            self.monitor.record("calibrate", factor=float(np.exp(step * _STEP)), held_out=self.losses[step])
        return self.losses[step] + 0.5 * float(step * _STEP / _SPREAD) ** 2
