"""L-BFGS on the integrated objective itself: the baseline of Foo, Do & Ng 2009."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.errors import warn
from structune.learning.parameters import TOLERANCE
from structune.learning.penalties import NOISE_FLOOR, IntegratedL2, IntegratedNoise
from structune.learning.solvers.lbfgs import minimize_smooth
from structune.learning.tuning.majorize import CollapseWarning
from structune.learning.tuning.problem import PassCount, TuningProblem, TuningResult
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_LARGE = 10  # weights: fewer are switched off for what they tell
_MOST_NAMED = 5


@dataclass
class DirectTuner:
    """Minimises ``loss + sum_j (n_j / 2 + alpha) log(1/2 |w_j|^2 + beta)`` at once, from w = 0.

    The baseline of the paper. Not convex: where a group has many weights, w = 0 is a minimum of it, and the
    search seldom leaves. `MajorizeTuner` minimises the same objective from the other side, and does better.

    Parameters
    ----------
    alpha, beta : float
        The Gamma prior of each precision.
    max_iterations : int
    fit_tolerance : float
    noise_floor : float
        As that of `MajorizeTuner`.
    """

    alpha: float = 0.0
    beta: float = 1.0
    max_iterations: int = 1000
    fit_tolerance: float = TOLERANCE
    noise_floor: float = NOISE_FLOOR
    needs_splits = False

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Fit on all data; the precisions are those of the majorising quadratic at the end."""
        problem.require_smooth("the direct tuner")
        monitor, risk = monitor or Monitor(), problem.full
        passes = PassCount.of(monitor, *problem.risks)
        # with the noise integrated out the objective is not scaled by it: gradient and penalty are those of
        # (m / 2) log |r|^2 + sum_j (n_j / 2 + alpha) log(1/2 |w_j|^2 + beta)
        penalty = IntegratedL2(problem.groups, self.alpha, self.beta)
        integrated = IntegratedNoise(risk, self.noise_floor)
        noise = integrated.variance(risk.at_zero.value)

        def objective(w: FloatArray) -> tuple[float, FloatArray]:
            loss, gradient = risk.value_and_gradient(w)
            extra, pull = penalty.value_and_gradient(w)
            return integrated.value(loss) + extra, gradient / integrated.variance(loss) + pull

        with monitor:
            fit = minimize_smooth(
                objective,
                np.zeros(risk.n_weights),
                # as of `curvature_scale`, with a precision of 1
                scale=(1.0 + risk.at_zero.variance / noise) ** -0.25,
                gradient_tolerance=self.fit_tolerance * risk.at_zero.gradient_norm / noise,
                max_iterations=self.max_iterations,
                monitor=monitor,
            )
            log_precision = np.log(penalty.precision(fit.w))
            # most weights in groups whose prior is about as narrow as at w = 0
            sizes, small = problem.groups.sizes, 0.5 * problem.groups.sum(fit.w * fit.w) < self.beta
            is_off = small & (sizes >= _LARGE)
            if sizes[is_off].sum() > 0.5 * sizes.sum():
                names = ", ".join(np.array(problem.groups.names)[is_off][:_MOST_NAMED])
                warn(
                    f"most weights are switched off: half the square of those in the groups {names} is less "
                    f"than beta={self.beta:g}. tuning='direct' seldom leaves that minimum; expected a "
                    "smaller beta, or tuning='majorize', which has the same objective",
                    CollapseWarning,
                )
            monitor.record(
                "direct", objective=fit.objective, log_precision=log_precision.tolist(), passes=passes.spent
            )
            noise = integrated.variance_of(fit.objective - penalty.value_and_gradient(fit.w)[0])
        learned = integrated.of_result(noise)
        return TuningResult(log_precision, fit.w, fit.status, None, passes.spent, monitor.history, learned)
