"""Fit of the weights of a structure, with given precisions or with those that a tuner chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from structune.errors import DataError, warn
from structune.files.shards import ShardFolder
from structune.learning.constraints import Constraints
from structune.learning.losses import Loss
from structune.learning.parameters import PARTS
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.majorize import MajorizeTuner
from structune.learning.tuning.problem import PassCount, Tuner, TuningProblem, TuningResult
from structune.running.blas import one_thread
from structune.running.checkpoints import digest
from structune.running.executors import PreparedRun
from structune.running.monitor import STOPPED, Monitor
from structune.structure import FloatArray, Groups, Shard, Structure

_UNFINISHED = {  # statuses of which a warning tells
    "iterations": "reached its limit of iterations; raise the limit or the tolerance",
    "stalled": "found no step that improves the objective; scale the features, or raise the tolerance",
}
_DETERMINED = 0.01  # share of a weight that the data determine, below which it may be switched off
_LEAST_LOSS = 1e-3  # that each weight is worth, or else it may be
_PARTS_PER_GROUP = 2  # held out, without which a precision is not determined


def fit(
    structure: Structure,
    loss: Loss,
    data: Shard | ShardFolder,
    groups: Groups,
    *,
    penalty: FloatArray,
    l1: FloatArray,
    run: PreparedRun,
    tuner: Tuner | None = None,
    cv: Any = None,
    splitting: Mapping[str, Any],
    start: FloatArray | None = None,
    origin: FloatArray | None = None,
    constraints: Constraints | None = None,
    prepare: Callable[[TuningProblem, FloatArray | None], TuningProblem] | None = None,
    hessian: str = "exact",
) -> TuningResult:
    """Fit the weights of a structure, with the precisions `penalty` or with those that `tuner` chooses.

    `cv`, `splitting` (`example_groups`, `strata` and `random_state`), `origin` and `hessian` are those of
    `TuningProblem.build`. A fit without tuning starts at `start`. `constraints` must be met in addition.
    `prepare` is a function from the problem and the start to the problem that is then tuned or fitted.
    """
    example_groups = splitting["example_groups"]
    if example_groups is not None and len(example_groups) != len(data):
        raise DataError(f"groups has {len(example_groups)} entries, but there are {len(data)} examples")
    # with an origin all weights are told from there: the prior has its mean at zero again
    if origin is not None and start is not None:
        start = start - origin
    functions = [] if constraints is None else constraints.functions
    with Monitor(run.verbose, run.max_seconds) as monitor, one_thread():
        monitor.listener = run.listener
        options = {**splitting, "executor": run.executor, "hessian": hessian, "origin": origin}
        problem = _problem(tuner, cv, partial(TuningProblem.build, structure, loss, data, groups, **options))
        monitor.passes = passes = PassCount(*problem.risks, *functions)
        if not problem.full.weight:
            raise DataError("the weight of every example is zero: at least one must be positive")
        problem = replace(problem, l1=l1, usual=penalty)
        if prepare is not None:
            problem = prepare(problem, start if tuner is None else None)
        # after the problem is known: by its loss at w = 0 a checkpoint knows the data that it is of
        run.begin_checkpoint(monitor, partial(told_data, problem.full, groups, problem.dealt))
        if tuner is None:
            result = _fit_given(problem, penalty, start, run, monitor, passes)
        else:
            warn_of_many_groups(tuner, problem)
            result = tuner.tune(problem, monitor)
        if constraints is not None:
            result = constraints.meet(problem, result, run, monitor)
        elif tuner is not None:
            result = switch_off(tuner, problem, result, monitor)
        run.end_checkpoint(result.status not in STOPPED)
    if origin is not None:
        result.w = result.w + origin
    if result.status in _UNFINISHED:
        from sklearn.exceptions import ConvergenceWarning

        work, where = "the fit", ""
        if tuner is not None:  # the estimator's own are those of a fit without tuning
            work, where = "tuning", f", in tuning={type(tuner).__name__}(...)"
        warn(f"{work} has not converged: it {_UNFINISHED[result.status]}{where}", ConvergenceWarning)
    return replace(result, risk=problem.full)


def _problem(tuner: Tuner | None, cv: Any, build: Callable[..., TuningProblem]) -> TuningProblem:
    """With the splits that the tuner needs, or can do with where there are examples enough."""
    calibrated = getattr(tuner, "calibrated", False)
    if isinstance(tuner, MajorizeTuner) and calibrated is None:
        whole = build(splits=False)
        if not (calibrated := tuner.calibrates(whole)):
            return whole
    # splits that were given are not replaced by others
    if tuner is not None and (tuner.needs_splits or (calibrated and cv is not None and cv not in PARTS)):
        return build(cv=cv)
    for each in (cv, 0.2) if calibrated else ():
        with suppress(DataError):  # too few examples or groups of them: fewer parts, or none
            return build(cv=each)
    return build(splits=False)


def _fit_given(
    problem: TuningProblem,
    precisions: FloatArray,
    start: FloatArray | None,
    run: PreparedRun,
    monitor: Monitor,
    passes: PassCount,
) -> TuningResult:
    """Fit on all data with precisions that are given, and tell of it as tuners do."""
    risk, groups = problem.full, problem.groups
    with np.errstate(divide="ignore"):  # beside an l1 penalty a precision may be 0
        penalty = GroupedL2(groups, np.log(precisions))
    # the rounds of a loss that is not convex are records, and bound it by other functions
    with monitor.recording(lambda: passes.spent) if risk.convex else nullcontext():
        l1 = None if problem.l1 is None else groups.spread(problem.l1)
        ends: dict[str, Any] = {"tolerance": run.tolerance, "max_iterations": run.max_iterations}
        found = fit_l2(risk, penalty.precision, start, l1=l1, monitor=monitor, **ends)
    end = {"gradient_norm": found.gradient_norm} if risk.smooth else {}
    if np.isfinite(found.lower_bound):
        end["lower_bound"] = found.lower_bound
    monitor.record("fit", objective=found.objective, passes=passes.spent, **end)
    return TuningResult(
        penalty.log_precision, found.w, found.status, None, passes.spent, monitor.history, l1=problem.l1
    )


def told_data(risk: Risk, groups: Groups, dealt: str = "") -> dict[str, Any]:
    """What a checkpoint knows the data by; `dealt` names the splits."""
    sizes = {"weights": risk.n_weights, "parts": risk.n_parts, "groups of weights": digest(groups.index)}
    at_zero = {"loss at w = 0": risk.at_zero.value, "slope at w = 0": risk.at_zero.gradient_norm}
    return sizes | at_zero | {"held-out examples": dealt}


def switch_off(tuner: Tuner, problem: TuningProblem, result: TuningResult, monitor: Monitor) -> TuningResult:
    """Set weights to zero that cannot matter, where `MajorizeTuner` gave each a precision of its own."""
    # Automatic relevance determination: those whose precision C is 99 times the curvature h of the loss or
    # more, so that the data determine less than a hundredth of them (h / (h + C), MacKay 1992), and without
    # which the loss rises by a thousandth at most: by w^2 (C + h / 2), in units of log-likelihood.
    risk, groups = problem.full, problem.groups
    separate = len(groups) > 1 and bool(np.all(groups.sizes == 1))
    learned = isinstance(tuner, MajorizeTuner) and result.status not in STOPPED
    if not (separate and learned and risk.smooth and "hessian" in risk.structure.capabilities):
        return result
    precision, curvature = groups.spread(result.precision), risk.variance(result.w)
    loss = result.w**2 * (precision + 0.5 * curvature) / (result.noise or 1.0)
    off = (curvature < _DETERMINED * (curvature + precision)) & (loss <= _LEAST_LOSS)
    monitor.record("relevance", switched_off=int(np.count_nonzero(off)), weights=risk.n_weights)
    return replace(result, w=np.where(off, 0.0, result.w), history=monitor.history)


def warn_of_many_groups(tuner: Tuner, problem: TuningProblem) -> None:
    """Warn where nearly each weight has a precision, and held-out examples are too few to choose them."""
    n_groups, n_weights = len(problem.groups), int(problem.groups.sizes.sum())
    n_parts = sum(split.heldout.n_parts for split in problem.splits)
    few = n_groups * _PARTS_PER_GROUP > n_parts
    if isinstance(tuner, ImplicitTuner) and few and 2 * n_groups > n_weights > 1:
        warn(
            f"{n_groups:,} penalties for {n_weights:,} weights are tuned on {n_parts:,} held-out parts "
            "(tokens, examples), which is too few: the penalties may overfit them. Use fewer groups of "
            "weights, or tuning='majorize', which needs no held-out parts"
        )
