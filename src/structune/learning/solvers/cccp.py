"""The convex-concave procedure: minimise a difference of convex risks, plus a Gaussian prior."""

from __future__ import annotations

from functools import partial

import numpy as np

from structune.learning.margin_losses import EquivalentMarginLoss
from structune.learning.ray import Ray
from structune.learning.risk import Risk
from structune.learning.solvers.bundle import GAP, Bundle, minimize_bundle
from structune.learning.solvers.solution import Solution
from structune.running.checkpoints import State
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
    """Minimise a difference of convex risks, plus a prior, from the minimum of the margin loss on.

    Chapelle et al. 2008, algorithm 1: replace the function that is subtracted by its tangent, minimise the
    convex risk that is left, and so on. The objective never increases. Ends when a round gains less than
    `tolerance` times the objective.

    Where outputs are known in part there is no margin loss. Then the first tangent is that at the start, and
    the losses are minimised one after the other: that relative to the best output that agrees with what is
    known, then the risk itself. Where the risk has weights to begin with, the first tangent is that there.

    Parameters
    ----------
    risk : Risk
    precision : ndarray, shape (n_weights,)
        Positive.
    start : ndarray, shape (n_weights,), optional
        Where the first, convex minimisation starts; the center by default. With outputs known in part, where
        the first tangent is; the center, if there is one, or what the structure guesses by default.
    center : ndarray, shape (n_weights,), optional
        The mean of the prior; zero by default.
    tolerance : float
        Relative, of the objective and of the gap of the last rounds; others are looser while much is gained.
    max_iterations : int
        Passes of one round.
    monitor : Monitor, optional
        Its time budget is kept; Ctrl-C too gives the best iterate so far.
    """
    monitor = monitor or Monitor()
    rounds = _Rounds(risk, precision, center, max_iterations, monitor)
    status, first, earlier = "iterations", 0, rounds.kept.state
    phases = _phases(risk) if risk.partial else [risk]
    if earlier is not None:
        start, first = earlier.array("w", precision.size), earlier.entry("phase", int)
        if not 0 <= first < len(phases):
            raise earlier.refuse(f"found the phase {first}, expected one of {len(phases)}")
    try:
        if earlier is None and risk.beginning is not None:
            rounds.begin_on(risk.beginning)
        elif earlier is None and not risk.partial:
            rounds.run(risk.bound(), start, tolerance)
        for k, phase in enumerate(phases[first:], first):
            if risk.partial or earlier is not None:
                rounds.turn_to(phase, center if start is None else start)
            status = rounds.descend(tolerance, k)
    except STOPS as stop:
        if not rounds.n:
            raise
        status = stop_status(stop)
    return rounds.solution(risk, status)


def _phases(risk: Risk) -> list[Risk]:
    """What is minimised if outputs are known in part, the risk itself last."""
    agreeing = EquivalentMarginLoss()
    return [risk] if risk.loss.name == agreeing.name else [risk.under(agreeing), risk]


def _state(w: FloatArray, phase: int) -> State:
    return {"w": w, "phase": phase}


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
        convex = risk.bound(np.zeros_like(precision))
        self.bundle = Bundle(convex, precision, center)
        self.n = 0
        self.kept = Kept()
        if monitor.checkpoint is not None:
            self.kept = monitor.kept_fit(_ROUNDS, precision, self.bundle.planes.center, convex.at_zero.name)

    def begin_on(self, ray: Ray) -> None:
        """Take the first tangent there."""
        self.ray, self.slope = ray, ray.tangent(self.risk)

    def turn_to(self, risk: Risk, start: FloatArray | None) -> None:
        """Go on with another risk, whose planes and outputs are the same; the first starts at `start`."""
        if self.n:
            start = self.fit.w
        elif start is None:
            start = risk.structure.guess()
        self.risk, self.slope = risk, risk.concave(start)[1]
        self.objective = _Rounds.objective

    def descend(self, tolerance: float, phase: int) -> str:
        """Rounds until one gains little; how the last one ended."""
        gap = max(_LOOSEST, tolerance)
        for _ in range(_MOST_ROUNDS):
            before = self.objective
            self.run(self.risk.bound(self.slope), self.fit.w if self.n else None, gap)
            self.kept.keep(partial(_state, self.fit.w, phase))
            gain = (before - self.objective) / max(abs(before), 1e-300)
            if gain <= tolerance and (gap <= tolerance or self.fit.status != "converged"):
                return self.fit.status
            gap = max(tolerance, min(_LOOSEST, _SHARE * gain))
        return "iterations"

    def run(self, convex: Risk, start: FloatArray | None, gap: float) -> None:
        self.fit = minimize_bundle(
            convex,
            self.precision,
            start,
            ray=self.ray,
            bundle=self.bundle,
            tolerance=gap,
            max_iterations=self.max_iterations,
            monitor=self.monitor,
        )
        self.n += self.fit.n_evaluations
        self.fit.check()
        value, self.slope = self.risk.concave(self.fit.w)
        self.objective = self.fit.objective - float(convex.linear @ self.fit.w) - value
        self.gradient = self.fit.gradient - convex.linear - self.slope
        self.monitor.record(
            "cccp", objective=self.objective, surrogate=self.fit.objective, passes=self.risk.passes
        )

    def solution(self, risk: Risk, status: str) -> Solution:
        if status in STOPPED:  # in a round, whose objective is another
            self._evaluate(risk)
        return Solution(self.fit.w, self.objective, self.gradient, self.n, status)

    def _evaluate(self, risk: Risk) -> None:
        value, gradient = risk.value_and_gradient(self.fit.w)
        pull = self.precision * (self.fit.w - self.bundle.planes.center)
        self.objective = value + self.bundle.planes.prior(self.fit.w)
        self.gradient = gradient + pull
