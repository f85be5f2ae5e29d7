"""Grid search over precisions: the baseline of both papers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.monitor import STOPS, BudgetExhausted, Monitor
from structune.solvers.lbfgs import TOLERANCE, fit_l2
from structune.structures.base import FloatArray
from structune.tuning.problem import PassCount, TuningProblem, TuningResult

_MOST_POINTS = 10_000


@dataclass
class GridTuner:
    """Tries every precision, and keeps the one of lowest held-out loss.

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
        passes = PassCount(problem)
        points = self._points(len(problem.groups))
        best: tuple[float, FloatArray, FloatArray] | None = None
        status = "converged"
        with monitor or Monitor() as monitor:
            try:
                starts: list[FloatArray | None] = [None] * len(problem.splits)
                for d in points:
                    loss, fits = self._try(problem, d, starts, monitor)
                    starts = list(fits) if self.warm else starts
                    monitor.record("grid", heldout_loss=loss, log_precision=d.tolist(), passes=passes.spent)
                    if best is None or loss < best[0]:
                        best = loss, d, fits[0]
                if self.refit and best is not None:
                    precision = np.exp(best[1])[problem.groups.index]
                    fit = fit_l2(problem.full, precision, tolerance=self.fit_tolerance, monitor=monitor)
                    best = best[0], best[1], fit.w
            except STOPS as stop:
                status = "budget" if isinstance(stop, BudgetExhausted) else "interrupted"
        if best is None:
            best = np.inf, points[0], np.zeros(problem.full.n_weights)
        return TuningResult(best[1], best[2], status, best[0], passes.spent, monitor.history)

    def _try(
        self, problem: TuningProblem, d: FloatArray, starts: Sequence[FloatArray | None], monitor: Monitor
    ) -> tuple[float, list[FloatArray]]:
        precision = np.exp(d)[problem.groups.index]
        loss, fits = 0.0, []
        for split, start in zip(problem.splits, starts, strict=True):
            fit = fit_l2(split.train, precision, start, tolerance=self.fit_tolerance, monitor=monitor)
            if fit.stopped:
                raise BudgetExhausted if fit.status == "budget" else KeyboardInterrupt
            loss += split.heldout.value(fit.w)
            fits.append(fit.w)
        return loss, fits
