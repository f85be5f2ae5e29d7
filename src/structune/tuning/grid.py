"""Grid search over precisions: the baseline of both papers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.monitor import STOPS, Monitor, stop_status
from structune.penalties import GroupedL2
from structune.risk import Risk
from structune.solvers.l2 import fit_l2
from structune.solvers.solution import TOLERANCE
from structune.structures.base import FloatArray
from structune.tuning.problem import PassCount, TuningProblem, TuningResult

_MOST_POINTS = 10_000


@dataclass
class GridTuner:
    """Tries every precision, and keeps the one of lowest held-out loss; of equals, the highest.

    Of losses with kinks, which bound the cost of predictions, that cost itself is what is held out.

    Parameters
    ----------
    values : sequence of float
        Precisions; 2^-10 .. 2^10 by default, as in the papers.
    product : bool
        A product grid, one value a group; by default one value for all.
    warm : bool
        Start each fit at the weights of the one before. Off, as in the papers, each starts at zero.
    fit_tolerance : float
    refit : bool
        Fit on all data at the end.
    """

    values: Sequence[float] = tuple(2.0**k for k in range(-10, 11))
    product: bool = False
    warm: bool = False
    fit_tolerance: float = TOLERANCE
    refit: bool = True
    needs_splits = True

    def _points(self, n_groups: int) -> list[FloatArray]:
        axes = n_groups if self.product else 1
        if not len(self.values) or not np.all(np.isfinite(self.values) & (np.array(self.values) > 0)):
            raise DataError(f"values={self.values!r}: expected finite numbers > 0, one at least")
        if len(self.values) ** axes > _MOST_POINTS:
            raise DataError(
                f"a product grid of {len(self.values)} values for {axes} groups has too many points"
            )
        points = itertools.product(np.log(self.values), repeat=axes)
        return [np.broadcast_to(np.array(point), n_groups).copy() for point in points]

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Try the grid, and fit with its best point."""
        if not problem.splits:
            raise DataError("the grid needs held-out data: found a problem without splits")
        points = self._points(len(problem.groups))
        with monitor or Monitor() as monitor:
            return _Search(self, problem, monitor).run(points)


class _Search:
    """The best point so far, and the weights to start from."""

    def __init__(self, tuner: GridTuner, problem: TuningProblem, monitor: Monitor) -> None:
        self.tuner, self.problem, self.monitor = tuner, problem, monitor
        self.passes = PassCount(problem)
        self.starts: list[FloatArray | None] = [None] * len(problem.splits)
        self.loss: float | None = None
        self.w, self.d = np.zeros(problem.full.n_weights), np.zeros(len(problem.groups))

    def run(self, points: list[FloatArray]) -> TuningResult:
        status, self.d = "converged", points[0]
        try:
            for k, d in enumerate(points):
                self._try(d, done=(k + 1) / len(points))
            if self.tuner.refit:
                self.w = self._fit(self.problem.full, self.d, None)
        except STOPS as stop:
            status = stop_status(stop)
        return TuningResult(self.d, self.w, status, self.loss, self.passes.spent, self.monitor.history)

    def _fit(self, risk: Risk, d: FloatArray, start: FloatArray | None) -> FloatArray:
        precision, tolerance = GroupedL2(self.problem.groups, d).precision, self.tuner.fit_tolerance
        fit = fit_l2(risk, precision, start, tolerance=tolerance, monitor=self.monitor)
        if self.loss is None:
            self.w = fit.w  # better than nothing, should the work end here
        fit.check()
        return fit.w

    def _try(self, d: FloatArray, done: float) -> None:
        loss, fits = 0.0, []
        for split, start in zip(self.problem.splits, self.starts, strict=True):
            fits.append(self._fit(split.train, d, start))
            loss += split.heldout.heldout_loss(fits[-1])
        if self.tuner.warm:
            self.starts = list(fits)
        if self.loss is None or loss < self.loss or (loss == self.loss and d.sum() > self.d.sum()):
            self.loss, self.d, self.w = loss, d, fits[0]
        self.monitor.record(
            "grid", done=done, heldout_loss=loss, log_precision=d.tolist(), passes=self.passes.spent
        )
