"""The convex-concave procedure: minimize a difference of convex risks, plus a Gaussian prior."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from structune.learning.margin_losses import EquivalentMarginLoss
from structune.learning.risk import Ray, Risk
from structune.learning.solvers.bundle import GAP, Bundle, minimize_bundle
from structune.learning.solvers.solution import Solution
from structune.running.checkpoints import Restored
from structune.running.monitor import STOPPED, STOPS, Kept, Monitor, stop_status
from structune.structure import FloatArray

_MOST_ROUNDS = 50
_ROUNDS = 1  # what a checkpoint knows rounds by, beside the bundle of the same data
_LOOSEST, _SHARE = 0.01, 0.1  # gap of a round, and as a share of what the one before gained


def minimize_cccp(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    center: FloatArray | None = None,
    tolerance: float = GAP,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimize a difference of convex risks, plus a prior, starting from the minimum of the margin loss.

    This is algorithm 1 of Chapelle et al. 2008. Each round replaces the subtracted function by its tangent
    and minimizes the resulting convex risk. The procedure ends when a round gains less than `tolerance` times
    the objective. A round increases the objective by its gap at most.

    With partially known outputs there is no margin loss. The first tangent is then taken at the start. The
    loss relative to the best output that agrees with the known part is minimized before the risk itself. If
    the risk has initial weights (`Risk.beginning_at`), the first tangent is taken there.

    Parameters
    ----------
    risk : Risk
        Risk to minimize.
    precision : ndarray, shape (n_weights,)
        Precision of the prior of each weight, positive.
    start : ndarray, shape (n_weights,), optional
        Initial weights of the first, convex minimization; the center by default. With partially known
        outputs, the point of the first tangent; by default the center, or else the structure's guess.
    center : ndarray, shape (n_weights,), optional
        Mean of the prior; zero by default.
    tolerance : float
        Relative tolerance of the objective and of the gap of the last rounds. Earlier rounds are looser while
        they gain much.
    max_iterations : int
        Maximum number of passes of a round.
    monitor : Monitor, optional
        Keeps the time limit. After the limit or Ctrl-C, the best weights so far are returned.
    """
    monitor = monitor or Monitor()
    rounds = _Rounds(risk, precision, center, max_iterations, monitor)
    if monitor.checkpoint is not None:
        given = precision, rounds.bundle.planes.center, rounds.convex.at_zero.name, start, tolerance
        rounds.kept = monitor.kept_fit(_ROUNDS, *given)
    status, first, earlier = "iterations", 0, rounds.kept.state
    phases, agreeing = [risk], EquivalentMarginLoss()
    if risk.is_partly_known and risk.loss.name != agreeing.name:
        phases = [risk.under(agreeing), risk]  # what is minimised, the risk itself last
    try:
        if earlier is not None:
            first = earlier.count("phase", len(phases) - 1)
            rounds.restore(earlier, phases[first])
        elif risk.beginning is not None:
            rounds.ray, rounds.slope = risk.beginning, risk.beginning.tangent(risk)  # the first tangent
        elif not risk.is_partly_known:
            rounds.run(risk.bound(), start, tolerance)
        for k, phase in enumerate(phases[first:], first):
            if risk.is_partly_known and (earlier is None or k > first):
                rounds.turn_to(phase, center if start is None else start)
            status = rounds.descend(tolerance, k)
    except STOPS as stop:
        if not rounds.n:
            raise
        status = stop_status(stop)
    return rounds.solution(risk, status)


class _Rounds:
    """The convex minimisations, each of which starts with the planes and outputs of those before."""

    fit: Solution
    objective: float = float(np.finfo(float).max)
    ray: Ray | None = None
    gradient: FloatArray
    slope: FloatArray

    def __init__(
        self,
        risk: Risk,
        precision: FloatArray,
        center: FloatArray | None,
        max_iterations: int,
        monitor: Monitor,
    ) -> None:
        self.risk, self.precision, self.monitor = risk, precision, monitor
        self.max_iterations = max_iterations
        # one bundle for all rounds: their convex functions differ in the linear part alone
        convex = risk.bound(np.zeros_like(precision))
        self.convex, self.bundle = convex, Bundle(convex, precision, center)
        self.n = self.n_rounds = 0  # evaluations, and rounds of a phase
        self.gap = np.inf
        self.kept = Kept()

    def restore(self, state: Restored, risk: Risk) -> None:
        w, self.risk = state.array("w", self.precision.size), risk
        self.objective, self.gap = state.entry("objective", float), state.entry("gap", float)
        self.n, self.n_rounds = state.count("n"), state.count("n_rounds", _MOST_ROUNDS - 1)
        self.fit = Solution(w, np.nan, np.full_like(w, np.nan), self.n, "iterations")
        # the tangent is that at the weights kept; planes and outputs come back with the bundle
        self.slope = risk.concave(w)[1]

    def turn_to(self, risk: Risk, start: FloatArray | None) -> None:
        """Go on with another risk, whose planes and outputs are the same; the first starts at `start`."""
        if self.n:
            start = self.fit.w
        elif start is None:
            start = risk.structure.guess()
        self.risk, self.slope = risk, risk.concave(start)[1]
        self.objective, self.n_rounds = _Rounds.objective, 0

    def descend(self, tolerance: float, phase: int) -> str:
        """Rounds until one gains little; how the last one ended."""
        # a round need not be solved more exactly than the next one gains: its gap is a tenth of what the last
        # gained, from a hundredth on down to the tolerance
        if not self.n_rounds:
            self.gap = max(_LOOSEST, tolerance)
        while self.n_rounds < _MOST_ROUNDS:
            if self.n:
                numbers = {"objective": self.objective, "gap": self.gap, "n": self.n}
                self.kept.keep(partial(dict, numbers, n_rounds=self.n_rounds, w=self.fit.w, phase=phase))
            before = self.objective
            self.run(self.risk.bound(self.slope), self.fit.w if self.n else None, self.gap)
            gain = (before - self.objective) / max(abs(before), 1e-300)
            if gain <= tolerance and (self.gap <= tolerance or self.fit.status != "converged"):
                return self.fit.status
            self.gap = max(tolerance, min(_LOOSEST, _SHARE * gain))
            self.n_rounds += 1
        return "iterations"

    def run(self, convex: Risk, start: FloatArray | None, gap: float) -> None:
        ends: dict[str, Any] = {"max_iterations": self.max_iterations, "monitor": self.monitor}
        shared: dict[str, Any] = {"ray": self.ray, "bundle": self.bundle}
        self.fit = minimize_bundle(convex, self.precision, start, tolerance=gap, **shared, **ends)
        self.n += self.fit.n_evaluations
        self.fit.check()
        # of u - v, u and v convex, the round minimised u(w) - v'(w_k) . w + prior: a bound that touches at
        # w_k, so that u - v has fallen too (Yuille & Rangarajan 2003); now v itself takes the tangent's place
        value, self.slope = self.risk.concave(self.fit.w)
        self.objective = self.fit.objective - float(convex.linear @ self.fit.w) - value
        self.gradient = self.fit.gradient - convex.linear - self.slope
        passes = self.monitor.passes
        spent = self.risk.passes if passes is None else passes.spent
        self.monitor.record("cccp", objective=self.objective, surrogate=self.fit.objective, passes=spent)

    def solution(self, risk: Risk, status: str) -> Solution:
        w, planes = self.fit.w, self.bundle.planes
        if status in STOPPED:  # in a round, whose objective is another
            value, gradient = risk.value_and_gradient(w)
            self.objective = value + planes.prior(w)
            self.gradient = gradient + planes.pull(w)
        return Solution(w, self.objective, self.gradient, self.n, status)
