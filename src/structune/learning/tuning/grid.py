"""Grid search over precisions: the baseline of both papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from structune.errors import DataError
from structune.learning.defaults import TOLERANCE
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.side_by_side import SideBySide
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning.problem import PassCount, TuningProblem, TuningResult
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, FitStopped, Monitor, stop_status
from structune.structure import FloatArray, Groups

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
        points = product(np.log(self.values), repeat=axes)
        return [np.broadcast_to(np.array(point), n_groups).copy() for point in points]

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Try the grid, and fit with its best point."""
        if not problem.splits:
            raise DataError("the grid needs held-out data: found a problem without splits")
        points = self._points(len(problem.groups))
        with monitor or Monitor() as monitor:
            return _Search(self, problem, monitor, points).run()


class _Search:
    """The best point so far."""

    def __init__(
        self, tuner: GridTuner, problem: TuningProblem, monitor: Monitor, points: list[FloatArray]
    ) -> None:
        self.tuner, self.problem, self.monitor, self.points = tuner, problem, monitor, points
        self.passes = PassCount(problem)
        self.loss: float | None = None
        self.w, self.d = np.zeros(problem.full.n_weights), points[0].copy()
        self.starts: Sequence[FloatArray | None] = [None] * len(problem.splits)
        self.n_done = 0
        self.kept = monitor.kept_search("grid")
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def run(self) -> TuningResult:
        status, points = "converged", self.points
        try:
            fits, n = self._fits(points[self.n_done :]), len(self.problem.splits)
            while self.n_done < len(points):
                self._judge(points[self.n_done], list(islice(fits, n)))
            if self.tuner.refit:
                self.w = self._refit()
        except STOPS as stop:
            status = stop_status(stop)
            if self.loss is None:
                self.w = getattr(stop, "w", self.w)
        return TuningResult(self.d, self.w, status, self.loss, self.passes.spent, self.monitor.history)

    def _fits(self, points: list[FloatArray]) -> Iterator[tuple[FloatArray, float]]:
        """Weights and held-out losses of every split at every point."""
        splits, warm = self.problem.splits, self.tuner.warm
        n, shared = len(splits), (self.problem.groups, self.tuner.fit_tolerance, self.monitor)
        pairs = [(split.train, split.heldout) for split in splits]
        fits = SideBySide(self.problem.full.executor, pairs, n if warm else n * len(points))
        for batch in [[d] for d in points] if warm else [points]:
            columns = [(k, d, self.starts[k]) for d in batch for k in range(n)]
            found = []
            for result in fits.map(_fit_and_judge, *zip(*columns, strict=True), shared=shared):
                if self.loss is None:
                    self.w = result[0]  # better than nothing, should the work end here
                found.append(result[0])
                yield result
            self.starts = found if warm else self.starts

    def _judge(self, d: FloatArray, fits: list[tuple[FloatArray, float]]) -> None:
        loss = sum(loss for _, loss in fits)
        if self.loss is None or loss < self.loss or (loss == self.loss and d.sum() > self.d.sum()):
            self.loss, self.d, self.w = loss, d, fits[0][0]
        self.n_done += 1
        done = self.n_done / len(self.points)
        self.monitor.record(
            "grid", done=done, heldout_loss=loss, log_precision=d.tolist(), passes=self.passes.spent
        )

        last = np.array([w for w, _ in fits]) if self.tuner.warm else np.empty(0)
        self.kept.keep(lambda: self._state(last))

    def _state(self, last: FloatArray) -> State:
        passes = self.passes.spent
        return {"n": self.n_done, "loss": self.loss, "d": self.d, "w": self.w, "last": last, "passes": passes}

    def _restore(self, state: Restored) -> None:
        n = self.problem.full.n_weights
        self.n_done, self.loss = state.count("n", len(self.points)), state.entry("loss", float)
        self.d, self.w = state.array("d", self.d.size), state.array("w", n)
        if self.tuner.warm:
            self.starts = list(state.array("last", len(self.problem.splits), n))
        self.problem.full.count_passes(state.entry("passes", float))

    def _refit(self) -> FloatArray:
        precision, tolerance = GroupedL2(self.problem.groups, self.d).precision, self.tuner.fit_tolerance
        fit = fit_l2(self.problem.full, precision, tolerance=tolerance, monitor=self.monitor)
        fit.check()
        return fit.w


def _fit_and_judge(
    risks: tuple[Risk, Risk],
    d: FloatArray,
    start: FloatArray | None,
    groups: Groups,
    tolerance: float,
    monitor: Monitor,
) -> tuple[FloatArray, float]:
    """Weights learned by the first risk, and the loss by the second."""
    train, heldout = risks
    fit = fit_l2(train, GroupedL2(groups, d).precision, start, tolerance=tolerance, monitor=monitor)
    fit.check()
    try:
        return fit.w, heldout.heldout_loss(fit.w)
    except STOPS as stop:
        raise FitStopped(stop_status(stop), fit.w) from None
