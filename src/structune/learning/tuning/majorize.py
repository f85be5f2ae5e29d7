"""Majorization-minimization with the hyperparameters integrated out (Foo, Do & Ng 2009)."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError, warn
from structune.learning.parameters import TOLERANCE
from structune.learning.penalties import NOISE_FLOOR, IntegratedL2, IntegratedNoise
from structune.learning.risk import Risk, SideBySide
from structune.learning.solvers.l2 import curvature_scale, fit_l2
from structune.learning.solvers.lbfgs import minimize_smooth
from structune.learning.solvers.newton import FactoredSystem
from structune.learning.tuning.grid import fit_and_judge
from structune.learning.tuning.problem import PassCount, TuningProblem, TuningResult
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, Monitor, stop_status
from structune.structure import FloatArray

_LOOSE = 10.0
_BETA_EFFECTIVE = 0.01
_MOST_GRADIENTS = 80  # that an exact count may take
_FEW_UPDATES = 2  # with bounds of counts: more do not lower the held-out loss
_PARTS_PER_WEIGHT = 10  # where there are more, all weights are determined
_SMALL_GROUPS = 10  # weights on average: too few to collapse
_LEAST_HELD_OUT = 10  # parts (examples, tokens): fewer say nothing
_NO_MOVE = 1e-9  # of a log precision
_LEAST_STRETCHED, _MOST_STRETCHED = 0.5, 4.0
_MOST_ADDED = 2.0  # to a log precision: a secant of few weights may point anywhere
_STEP = np.log(4.0)  # from one factor of all precisions to the next
_FARTHEST = 4  # steps
_ENOUGH = 250  # held-out parts (examples, tokens): no more splits than hold out so many
_SPREAD = 1.5  # standard deviation of the factor's logarithm around 0, before anything was held out
_LARGE = 10  # weights of a group: fewer are switched off for what they tell
_MOST_NAMED = 5
COUNTS = ("auto", "all", "effective")
_KEPT: dict[str, type] = {
    **dict.fromkeys(("noise", "loss", "first_loss"), float),
    **dict.fromkeys(("effective", "collapsed"), bool),
    "n_updates": int,
}


def are_many(n_weights: int, weighted_parts: float) -> bool:
    """Whether so many weights are not all determined by so many labeled parts."""
    return n_weights * _PARTS_PER_WEIGHT > weighted_parts


class CollapseWarning(UserWarning):
    """Tuning drives most weights to zero, because the data cannot determine so many weights."""


@dataclass
class MajorizeTuner:
    """Tuner that alternates updates of the precisions with fits (algorithm 2 of Foo, Do & Ng 2009).

    The precision (inverse prior variance) of a group is its L2 penalty. The update for group j is
    ``C_j = (n_j / 2 + alpha) / (1/2 |w_j|^2 + beta)``; `count` defines n_j.

    Parameters
    ----------
    alpha, beta : float
        Shape and rate of the Gamma prior of each precision. By default, beta is 1 if all weights count, as in
        Foo et al. (2009), and 0.01 with the effective number of weights, so that groups can be switched off.
    count : {"auto", "all", "effective"}
        What n_j counts in the update. "all": all m_j weights of the group. "effective": the weights that the
        data determine, m_j - C_j tr[(C + H)^-1]_jj with the Hessian H of the loss (MacKay 1992). If H is too
        costly, there are only two updates, with the upper bound sum_i h_i / (C_j + h_i) over the weights of
        the group, where h is the diagonal of H. "auto" means "effective" for smooth losses with fewer than
        ten labeled parts (tokens, examples) per weight, unless that would need the bound and groups have
        fewer than ten weights on average. Otherwise it means "all"; if "all" collapses, that is, if the fit
        loses half of the first fit's gain over w = 0, smooth losses change to "effective".
    start : float, optional
        Initial precision of every group. By default 1; in regression, where features may
        have any unit, the mean square of the group's features.
    max_iterations : int
        Maximum number of updates.
    tolerance : float
        The updates end when every log precision is within this distance of its estimated limit, which is
        extrapolated from the last two moves. With the effective number of weights, each move goes to this
        limit at once, but at most four times as far as the update says.
    fit_tolerance : float
        Tolerance of the final fit, as in `fit_l2`. Earlier fits are ten times looser, or a hundred times if
        one precision for all weights is calibrated.
    noise_floor : float
        Smallest noise variance in regression, as a share of the mean square of the outputs. Without it, the
        variance could vanish if there are as many weights as examples.
    calibrated : bool, optional
        Whether to multiply all precisions at the end by one factor, the one with the lowest held-out loss.
        The update ignores that the loss is less curved at larger weights, and so regularizes too much; this
        step corrects it. It is skipped if the splits hold out fewer than ten examples (tokens). By default it
        is done if the upper bounds above are used, because they raise the precisions further.
    """

    alpha: float = 0.0
    beta: float | None = None
    count: str = "auto"
    start: float | None = None
    max_iterations: int = 20
    tolerance: float = 0.1
    fit_tolerance: float = TOLERANCE
    noise_floor: float = NOISE_FLOOR
    calibrated: bool | None = None
    needs_splits = False

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Choose the precisions of `problem.groups`, and fit with them on all data."""
        if self.count not in COUNTS:
            raise DataError(f"count={self.count!r}: expected one of {COUNTS}")
        with monitor or Monitor() as monitor:
            return _Steps(self, problem, monitor).run()

    def calibrates(self, problem: TuningProblem) -> bool:
        """Return whether held-out examples choose a final factor of all precisions."""
        if self.calibrated is None:
            return self.counts_effective(problem) and not _is_countable(problem.full)
        return self.calibrated

    def counts_effective(self, problem: TuningProblem) -> bool:
        """Return whether updates use the effective numbers of weights from the first one on."""
        risk, groups = problem.full, problem.groups
        n = int(groups.sizes.sum())
        many = risk.smooth and are_many(n, risk.weighted_parts)
        many &= n >= _SMALL_GROUPS * len(groups) or _is_countable(risk)
        return self.count == "effective" or (self.count == "auto" and many)


def _is_countable(risk: Risk) -> bool:
    """Whether the inverse of a matrix counts weights at a low cost."""
    known = "dense_hessian" in risk.structure.capabilities
    cheap = known and 2.0 * risk.seconds_of_factor <= _MOST_GRADIENTS * risk.seconds_of_gradient
    return risk.dense or cheap


class _Steps:
    """Updates and fits in turns, from the first precisions or a checkpoint on."""

    def __init__(self, tuner: MajorizeTuner, problem: TuningProblem, monitor: Monitor) -> None:
        self.tuner, self.monitor = tuner, monitor
        self.problem, self.risk, self.groups = problem, problem.full, problem.groups
        self.heldout_loss: float | None = None
        self.passes = PassCount.of(monitor, *problem.risks)
        self.integrated = IntegratedNoise(self.risk, tuner.noise_floor)
        self.noise = self.integrated.variance(self.risk.at_zero.value)
        if tuner.count == "effective":
            problem.require_smooth("count='effective'")
        self.effective = tuner.counts_effective(problem)
        held_out = sum(split.heldout.n_parts for split in problem.splits)
        self.is_calibrated = tuner.calibrates(problem) and held_out >= _LEAST_HELD_OUT
        # one precision for all weights, which held-out examples will choose anew, may be anywhere near
        is_rough = len(self.groups) == 1 and self.is_calibrated
        self.is_bounded = is_rough or not _is_countable(self.risk)
        # with a convex loss any progress on the majorising quadratic lowers the integrated objective, so that
        # fits before the last are loose; the convex-concave procedure starts every fit anew, and may not
        self.loose = tuner.fit_tolerance * (_LOOSE**2 if is_rough else _LOOSE)
        self.log_precision = self._first_log_precision()
        self.w = np.zeros(self.risk.n_weights)
        self.first_loss: float | None = None
        self.collapsed = False
        self.n_updates = 0
        self.moves = np.zeros((2, len(self.groups) + 1))  # the last update, and what was made of it
        self.kept = monitor.kept_search("majorize")
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def _first_log_precision(self) -> FloatArray:
        """Of C at t = 0."""
        given = self.tuner.start
        if given is not None and np.ndim(given):
            raise DataError(f"start={given!r}: expected one precision for all groups")
        if given is not None or not self.risk.quadratic:
            return np.full(len(self.groups), np.log(given or 1.0))
        # the variance of w . x is 1 / C times the mean square of the features: C = that, for scores of about
        # 1
        sums = self.groups.sum(self.risk.at_zero.variance)
        mean_square = sums / np.maximum(self.groups.sizes, 1) / self.risk.weight
        return np.log(np.where(mean_square > 0, mean_square, 1.0))

    def run(self) -> TuningResult:
        """Update and fit by turns until precisions settle, set their level, and fit to the end."""
        status = "iterations"
        try:
            if self.first_loss is None:
                self._fit(self.loose)
                self.kept.keep(self._state)
            while self.n_updates < self.tuner.max_iterations:
                few = self.effective and self.n_updates >= _FEW_UPDATES and self.is_bounded
                if few or self._update() <= self.tuner.tolerance:
                    status = "converged"
                    break
                self._fit(self.loose)
                self.n_updates += 1
                self._check_collapse()
                self.kept.keep(self._state)
            if self.is_calibrated:
                at, tolerance = self.log_precision + np.log(self.noise), _LOOSE * self.tuner.fit_tolerance
                found = best_factor(self.problem, at, self.w, tolerance, self.monitor)
                factor, self.heldout_loss, self.w = found
                self.log_precision = self.log_precision + factor
            self._fit(self.tuner.fit_tolerance)
        except STOPS as stop:
            status = stop_status(stop)
        spent, history = self.passes.spent, self.monitor.history
        noise = self.integrated.of_result(self.noise)
        return TuningResult(self.log_precision, self.w, status, self.heldout_loss, spent, history, noise)

    def _state(self) -> State:
        arrays = {name: getattr(self, name) for name in ("log_precision", "w", "first_w", "moves")}
        numbers = {name: getattr(self, name) for name in _KEPT}
        return arrays | numbers

    def _restore(self, state: Restored) -> None:
        n = self.risk.n_weights
        self.log_precision = state.array("log_precision", len(self.groups))
        self.w, self.first_w = state.array("w", n), state.array("first_w", n)
        self.moves = state.array("moves", 2, len(self.groups) + 1)
        vars(self).update({name: state.entry(name, kind) for name, kind in _KEPT.items()})

    @property
    def penalty(self) -> IntegratedL2:
        by_default = _BETA_EFFECTIVE if self.effective else 1.0
        beta = by_default if self.tuner.beta is None else self.tuner.beta
        return IntegratedL2(self.groups, self.tuner.alpha, beta)

    @property
    def _precision(self) -> FloatArray:
        """Beside a squared loss that is not divided by the noise variance."""
        return self.groups.spread(np.exp(self.log_precision)) * self.noise

    def _fit(self, tolerance: float) -> None:
        precision = self._precision
        start = None if self.first_loss is None else self.w
        fit = fit_l2(self.risk, precision, start, tolerance=tolerance, monitor=self.monitor)
        self.w = fit.w
        # the solver minimised loss + noise * prior: the loss alone, in its own units
        loss = fit.objective - 0.5 * float(precision @ (fit.w * fit.w))
        objective = self.integrated.value(loss) + self.penalty.value_and_gradient(fit.w)[0]
        told = {"objective": objective, "loss": loss, "log_precision": self.log_precision.tolist()}
        told |= {"fit_evaluations": fit.n_evaluations, "effective": self.effective}
        self.monitor.record("majorize", **told, passes=self.passes.spent)
        fit.check()
        self.loss = loss
        if self.first_loss is None:
            self.first_loss, self.first_w = loss, fit.w

    def _check_collapse(self) -> None:
        assert self.first_loss is not None
        at_zero = self.risk.at_zero.value
        # more weights than the data determine: C = n / |w|^2 grows with n, w shrinks, and C grows again
        kept = at_zero - self.loss >= 0.5 * (at_zero - self.first_loss)
        if kept or self.effective or self.collapsed:
            return
        self.collapsed, self.effective = True, self.tuner.count == "auto" and self.risk.smooth
        remedy = "Tuning continues with" if self.effective else "Try count='effective', which uses"
        remedy += " the effective number of weights"
        if not self.risk.smooth:
            remedy = "Try tuning='grid'"
        warnings.warn(
            f"the penalties grow and the weights collapse to zero: the training loss rose from "
            f"{self.first_loss:.6g} to {self.loss:.6g} ({at_zero:.6g} at w = 0). There are more weights than "
            f"the data can determine. {remedy}",
            CollapseWarning,
            stacklevel=4,
        )
        if self.effective:
            self.log_precision, self.w = self._first_log_precision(), self.first_w
            self.loss, self.noise = self.first_loss, self.integrated.variance(self.first_loss)
            self.moves, self.n_updates = np.zeros_like(self.moves), 0

    def _update(self) -> float:
        """New precisions and noise; how far the fixed point of their logarithms seems to be, at most."""
        # C_j <- (n_j / 2 + alpha) / (1/2 |w_j|^2 + beta), the tangent of the integrated prior at w; and the
        # noise s <- |r|^2 / (m - n), n the weights that are determined. In logarithms, where moves shrink
        # evenly.
        before = np.append(self.log_precision, np.log(self.noise))
        counts = self._effective_counts() if self.effective else None
        log_precision = np.log(self.penalty.precision(self.w, counts))
        taken = 0.0  # of the examples, by weights; no bound, which may be more than there are
        if counts is not None and not self.is_bounded:
            taken = float(counts.sum()) + np.count_nonzero(self.groups.index < 0)
        noise = self.integrated.variance(self.loss, taken)
        move = np.append(log_precision, np.log(noise)) - before
        # A move is zero at the fixed point. By the secant through the last two moves, m_0 and m_1 with the
        # step s between them, that lies m_1 s / (m_0 - m_1) ahead: s / (m_0 - m_1) moves, within limits. A
        # few updates are not stretched: groups that tell the same would be switched off by turns.
        last, went = self.moves
        change = np.divide(last - move, went, out=np.ones_like(move), where=np.abs(went) > _NO_MOVE)
        way = move / np.clip(change, 1.0 / _MOST_STRETCHED, 1.0 / _LEAST_STRETCHED)
        stretched = self.effective and not self.is_bounded
        step = move + np.clip(way - move, -_MOST_ADDED, _MOST_ADDED) if stretched else move
        is_first, self.moves = not np.any(self.moves), np.array([move, step])
        *log_precision, log_noise = before + step
        self.log_precision = np.array(log_precision)
        self.noise = max(float(np.exp(log_noise)), self.integrated.variance(0.0))
        return np.inf if is_first and np.any(move) else float(np.max(np.abs(way)))

    def _effective_counts(self) -> FloatArray:
        """n_j - C_j tr[(C + H)^-1]_jj, or its bound by the diagonal h of H, the sum of h / (C + h)."""
        if self.is_bounded:
            return self.groups.sum(1.0 - self._precision / (self._precision + self.risk.variance(self.w)))
        return self.groups.sum(FactoredSystem(self.risk, self._precision, self.w).determined())


def best_factor(
    problem: TuningProblem, log_precision: FloatArray, w: FloatArray, tolerance: float, monitor: Monitor
) -> tuple[float, float, FloatArray]:
    """The factor of all precisions that held-out examples choose; the first fit of a split starts at `w`.

    To the held-out loss is added a prior of the factor's logarithm, normal with mean 0 and standard deviation
    1.5: few examples tell little.

    Returns
    -------
    log : float
        The logarithm of the factor.
    heldout_loss : float
        The lowest of the factors tried, each with its prior.
    w : ndarray, shape (n_weights,)
        The mean of the weights that led to that, one fit a split.
    """
    pairs = [(split.train, split.heldout) for split in problem.splits]
    sizes = np.cumsum([heldout.n_parts for _, heldout in pairs])
    pairs = pairs[: int(np.searchsorted(sizes, _ENOUGH)) + 1]
    splits = SideBySide(problem.full.executor, pairs, len(pairs))
    losses, means = dict[tuple[int, int], float](), defaultdict[int, Any](float)
    starts = [w] * len(pairs)

    def heldout(step: int, n: int = len(pairs)) -> float:
        """Held-out loss of the first `n` splits, which were fitted there."""
        return sum(losses[step, k] for k in range(n))

    def value(step: int, n: int = len(pairs)) -> float:
        """Held-out loss of the first `n` splits, and prior, so many steps from the precisions given."""
        if new := [k for k in range(n) if (step, k) not in losses]:
            point = log_precision + step * _STEP, np.zeros_like(log_precision)
            shared = problem.groups, tolerance, monitor
            columns = new, [point] * len(new), [starts[k] for k in new]
            for k, (fit, loss) in zip(new, splits.map(fit_and_judge, *columns, shared=shared), strict=True):
                starts[k], losses[step, k] = fit, loss
                means[step] += fit / len(pairs)
            told = {"factor": float(np.exp(step * _STEP)), "held_out": heldout(step, n)}
            monitor.record("calibrate", **told, n_splits=n)
        return heldout(step, n) + 0.5 * float(step * _STEP / _SPREAD) ** 2

    # downhill in steps of log 4, by two splits and then by all, until the lowest of three lies in the middle;
    # the vertex of their parabola, at (f(-1) - f(1)) / (2 (f(-1) - 2 f(0) + f(1))), in steps from it
    at = 0
    for n in (min(2, len(pairs)), len(pairs)):
        step = -1 if value(at - 1, n) < value(at, n) else 1
        while abs(at + step) < _FARTHEST and value(at + step, n) < value(at, n):
            at += step
    before, lowest, after = (value(at + side) for side in (-1, 0, 1))
    bend = before - 2.0 * lowest + after
    vertex = float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else 0.0
    return _STEP * (at + vertex), heldout(at), means[at]


# --- the same objective at once ---------------------------------------------------------------------------


@dataclass
class DirectTuner:
    """Tuner that minimizes ``loss + sum_j (n_j / 2 + alpha) log(1/2 |w_j|^2 + beta)`` by L-BFGS, from w = 0.

    This is the baseline of Foo, Do & Ng 2009; w_j are the n_j weights of group j. The objective is not
    convex. In groups with many weights, w = 0 is a local minimum, which the search seldom leaves.
    ``MajorizeTuner(count="all")`` minimizes the same objective and does better.

    Parameters
    ----------
    alpha, beta : float
        Shape and rate of the Gamma prior of each precision.
    max_iterations : int
        Maximum number of iterations of L-BFGS.
    fit_tolerance, noise_floor
        As in `MajorizeTuner`.
    """

    alpha: float = 0.0
    beta: float = 1.0
    max_iterations: int = 1000
    fit_tolerance: float = TOLERANCE
    noise_floor: float = NOISE_FLOOR
    needs_splits = False

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Fit on all data; the precisions follow from the final weights as in `MajorizeTuner`."""
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
                scale=curvature_scale(np.ones(risk.n_weights), risk.at_zero.variance / noise),
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
                    f"most weights are practically zero: in the groups {names}, half their sum of squares is "
                    f"less than beta={self.beta:g}. tuning='direct' seldom leaves that minimum. Use a "
                    "smaller beta, or tuning='majorize', which seldom ends there",
                    CollapseWarning,
                )
            told = {"objective": fit.objective, "log_precision": log_precision.tolist()}
            monitor.record("direct", **told, passes=passes.spent)
            noise = integrated.variance_of(fit.objective - penalty.value_and_gradient(fit.w)[0])
        learned = integrated.of_result(noise)
        return TuningResult(log_precision, fit.w, fit.status, None, passes.spent, monitor.history, learned)
