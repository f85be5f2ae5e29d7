"""Grid search over precisions, the baseline of both papers on tuning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk, SideBySide
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning.problem import PassCount, TuningProblem, TuningResult, are_positive
from structune.running.monitor import STOPS, FitStopped, Monitor, stop_status
from structune.structure import FloatArray, Groups

_MOST_POINTS = 10_000
_Point = tuple[FloatArray, FloatArray]


@dataclass
class GridTuner:
    """Tuner that tries all precisions of a grid and keeps the one with the lowest held-out loss.

    If precisions are equally good, the highest is kept. The precision (inverse prior variance) is the L2
    penalty. With an l1 penalty (elastic net) it tries all pairs of a precision and a factor of the l1
    penalty. Margin and ramp losses are bounds on the cost of predictions; for these the held-out cost itself
    decides.

    Parameters
    ----------
    values : sequence of float
        Precisions to try; by default 2^-10 .. 2^10, as in Do et al. (2007).
    product : bool
        Whether to try all combinations of values, one value per group. By default all groups share one value.
    l1 : sequence of float
        Factors of the l1 penalty to try. In falling order with `warm`, they form a regularization path.
    warm : bool
        Start each fit from the weights of the previous one. By default each fit starts at zero.
    fit_tolerance : float
        Tolerance of the fits, as in `fit_l2`.
    refit : bool
        Fit on all data at the end, with the best precisions.
    """

    values: Sequence[float] = tuple(2.0**k for k in range(-10, 11))
    product: bool = False
    l1: Sequence[float] = (1.0,)
    warm: bool = False
    fit_tolerance: float = TOLERANCE
    refit: bool = True
    needs_splits = True
    takes_l1 = True

    def _points(self, problem: TuningProblem) -> list[_Point]:
        """Logarithms of precisions, and l1 penalties, of all groups."""
        n_groups = len(problem.groups)
        axes = n_groups if self.product else 1
        for name in ("values", "l1"):
            given = getattr(self, name)
            if not are_positive(given) or np.ndim(given) != 1 or not len(given):
                raise DataError(f"{name}={given!r}: expected finite numbers > 0, at least one")
        if len(self.values) ** axes * len(self.l1) > _MOST_POINTS:
            raise DataError(
                f"a product grid of {len(self.values)} values for {axes} groups has too many points: "
                f"the limit is {_MOST_POINTS:,}. Use fewer values or fewer groups"
            )
        l1 = np.zeros(n_groups) if problem.l1 is None else problem.l1
        points = product(product(np.log(self.values), repeat=axes), self.l1)
        return [(np.broadcast_to(np.array(d), n_groups).copy(), factor * l1) for d, factor in points]

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Try all points of the grid, and fit with the best one."""
        if not problem.splits:
            raise DataError("the grid tuner needs held-out data, but the problem has no splits")
        points = self._points(problem)
        with monitor or Monitor() as monitor:
            return _Search(self, problem, monitor, points).run()


class _Search:
    """The best point so far."""

    loss: float | None = None
    n_done = 0

    def __init__(
        self, tuner: GridTuner, problem: TuningProblem, monitor: Monitor, points: list[_Point]
    ) -> None:
        self.tuner, self.problem, self.monitor, self.points = tuner, problem, monitor, points
        self.passes = PassCount.of(monitor, *problem.risks)
        self.w, (self.d, self.l1) = np.zeros(problem.full.n_weights), points[0]
        self.starts: Sequence[FloatArray | None] = [None] * len(problem.splits)
        self.shared = problem.groups, tuner.fit_tolerance, monitor
        self.kept = monitor.kept_search("grid")
        if (state := self.kept.state) is not None:
            self.n_done, self.loss = state.count("n", len(points)), state.entry("loss", float)
            self.d, self.l1 = (state.array(name, self.d.size) for name in ("d", "l1"))
            self.w = state.array("w", self.w.size)
            if tuner.warm:
                self.starts = list(state.array("last", len(problem.splits), self.w.size))

    def run(self) -> TuningResult:
        status = "converged"
        try:
            fits, n = self._fits(self.points[self.n_done :]), len(self.problem.splits)
            for point in self.points[self.n_done :]:
                self._judge(point, list(islice(fits, n)))
            if self.tuner.refit:
                self.w, _ = fit_and_judge((self.problem.full,), (self.d, self.l1), None, *self.shared)
        except STOPS as stop:
            status = stop_status(stop)
            if self.loss is None:
                self.w = getattr(stop, "w", self.w)
        spent, history = self.passes.spent, self.monitor.history
        return TuningResult(self.d, self.w, status, self.loss, spent, history, l1=self.l1)

    def _fits(self, points: list[_Point]) -> Iterator[tuple[FloatArray, float]]:
        """Weights and held-out losses of every split at every point."""
        warm, pairs = self.tuner.warm, [(split.train, split.heldout) for split in self.problem.splits]
        n = len(pairs)
        # warm fits of a split follow one another; cold ones may all run at once
        fits = SideBySide(self.problem.full.executor, pairs, n if warm else n * len(points))
        for batch in [[point] for point in points] if warm else [points]:
            columns = [(k, point, self.starts[k]) for point in batch for k in range(n)]
            found = []
            for result in fits.map(fit_and_judge, *zip(*columns, strict=True), shared=self.shared):
                if self.loss is None:
                    self.w = result[0]  # better than nothing, should the work end here
                found.append(result[0])
                yield result
            self.starts = found if warm else self.starts

    def _judge(self, point: _Point, fits: list[tuple[FloatArray, float]]) -> None:
        loss, (d, l1) = sum(loss for _, loss in fits), point
        # costs of predictions are often equal: of such points the simplest model
        higher = (d.sum(), l1.sum()) > (self.d.sum(), self.l1.sum())
        if self.loss is None or loss < self.loss or (loss == self.loss and higher):
            self.loss, self.d, self.l1, self.w = loss, d, l1, fits[0][0]
        self.n_done += 1
        told = {"heldout_loss": loss, "log_precision": d.tolist(), "passes": self.passes.spent}
        if l1.any():
            told["l1"] = float(l1.max())
        self.monitor.record("grid", done=self.n_done / len(self.points), **told)
        last = np.array([w for w, _ in fits]) if self.tuner.warm else np.empty(0)
        best = {"loss": self.loss, "d": self.d, "l1": self.l1, "w": self.w}
        self.kept.keep(lambda: {"n": self.n_done, **best, "last": last})


def fit_and_judge(
    risks: tuple[Risk, ...],
    point: _Point,
    start: FloatArray | None,
    groups: Groups,
    tolerance: float,
    monitor: Monitor,
) -> tuple[FloatArray, float]:
    """Weights learned by the first risk, and the loss by the others."""
    (train, *heldout), (d, l1) = risks, point
    precision, penalty = groups.spread(np.exp(d)), groups.spread(l1)
    fit = fit_l2(train, precision, start, l1=penalty, tolerance=tolerance, monitor=monitor)
    fit.check()
    try:
        return fit.w, sum(risk.heldout_loss(fit.w) for risk in heldout)
    except STOPS as stop:
        raise FitStopped(stop_status(stop), fit.w) from None
