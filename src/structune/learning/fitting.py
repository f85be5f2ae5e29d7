"""How an estimator's weights are fitted: with given precisions, or with those that a tuner chooses."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from structune.errors import CapabilityError, DataError, warn
from structune.files.shards import ShardFolder
from structune.learning.estimator import StructuredEstimator
from structune.learning.losses import Loss
from structune.learning.parameters import FitsOnExecutor, Parameters
from structune.learning.penalties import GroupedL2
from structune.learning.relevance import switch_off, warn_of_many_groups
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning.problem import PassCount, Tuner, TuningProblem, TuningResult
from structune.running.blas import one_thread
from structune.running.checkpoints import Checkpoint, digest
from structune.running.monitor import STOPPED, Monitor
from structune.structure import FloatArray, Groups, Shard, Structure

_UNFINISHED = {  # statuses of which a warning tells
    "iterations": "ended at its limit of iterations; raise that, or the tolerance",
    "stalled": "ended where no step gained anything; scale the features, or raise the tolerance",
}
# between a fit and the one that goes on from its checkpoint
_MAY_CHANGE = ("checkpoint", "executor", "max_seconds", "n_jobs", "verbose", "warm_start")
_ADDRESS, _LONGEST = re.compile(" at 0x[0-9A-Fa-f]+"), 200  # letters, of a setting


def fit_weights(
    model: StructuredEstimator,
    structure: Structure,
    loss: Loss,
    shard: Shard | ShardFolder,
    groups: Groups,
    start: FloatArray | None,
    example_groups: Any,
    strata: Any,
) -> TuningResult:
    """The weights of a structure, as the parameters of an estimator say; see `StructuredEstimator._learn`."""
    if example_groups is not None and len(example_groups) != len(shard):
        raise DataError(f"found groups of {len(example_groups)} examples, expected {len(shard)}")
    origin = model._origin(structure)
    if origin is not None and start is not None:
        start = start - origin
    tuner = None if model.tuning is None else model._tuner(model.tuning)
    constraints = model._constraints(structure, loss, shard)
    l1 = _checked_l1(model, groups, loss, tuner, bool(constraints))
    with Monitor(model.verbose, model.max_seconds) as monitor, one_thread():
        options = {"executor": model._executor(), "hessian": model._hessian(structure), "origin": origin}
        if not isinstance(shard, ShardFolder):
            options |= {
                "example_groups": example_groups,
                "strata": strata,
                "random_state": model.random_state,
            }
        problem = _problem(model, tuner, options, structure, loss, shard, groups)
        monitor.passes = passes = PassCount(*problem.risks, *constraints)
        if not problem.full.weight:
            raise DataError("found a weight of zero for every example, expected a positive one")
        problem = model._prepared(replace(problem, l1=l1), start if tuner is None else None)
        checkpoint = begin_checkpoint(model, monitor, problem.full, groups)
        if tuner is None:
            result = _fit(model, problem, start, monitor, passes)
        else:
            warn_of_many_groups(tuner, problem)
            result = tuner.tune(problem, monitor)
        if constraints:
            result = model._fit_constrained(problem, constraints, result, monitor)
        elif tuner is not None:
            result = switch_off(tuner, problem, result, monitor)
        if checkpoint is not None:
            checkpoint.end(result.status not in STOPPED)
    if origin is not None:
        result.w = result.w + origin
    if result.status in _UNFINISHED:
        _warn_unfinished(model, result.status)
    return result


def _problem(
    model: StructuredEstimator, tuner: Tuner | None, options: dict[str, Any], *data: Any
) -> TuningProblem:
    """With the splits that the tuner needs, or can do with where there are examples enough."""
    build = TuningProblem.of_files if isinstance(data[2], ShardFolder) else TuningProblem.build
    if tuner is not None and tuner.needs_splits:
        return build(*data, **options, holdout=model.holdout, folds=model.folds)
    for folds in (model.folds, None) if getattr(tuner, "calibrated", False) else ():
        try:
            return build(*data, **options, holdout=model.holdout, folds=folds)
        except DataError:  # too few examples or groups of them: fewer parts, or none
            pass
    return build(*data, **options, splits=False)


def _warn_unfinished(model: StructuredEstimator, status: str) -> None:
    from sklearn.exceptions import ConvergenceWarning

    work, where = "the fit", ""
    if model.tuning is not None:  # the estimator's own are those of a fit without tuning
        work, where = "tuning", f", in tuning={type(model._tuner(model.tuning)).__name__}(...)"
    warn(f"{work} has not converged: it {_UNFINISHED[status]}{where}", ConvergenceWarning)


def _fit(
    model: StructuredEstimator,
    problem: TuningProblem,
    start: FloatArray | None,
    monitor: Monitor,
    passes: PassCount,
) -> TuningResult:
    """With the precisions that `penalty` gives."""
    risk = problem.full
    with np.errstate(divide="ignore"):  # beside an l1 penalty a precision may be 0
        penalty = GroupedL2(problem.groups, np.log(model._precisions(problem.groups)))
    # the rounds of a loss that is not convex are records, and bound it by other functions
    followed = monitor.recording(lambda: passes.spent) if risk.convex else nullcontext()
    with followed:
        fit = fit_l2(
            risk,
            penalty.precision,
            start,
            l1=None if problem.l1 is None else problem.groups.spread(problem.l1),
            tolerance=model.tolerance,
            max_iterations=model.max_iterations,
            monitor=monitor,
        )
    end = {"gradient_norm": fit.gradient_norm} if risk.smooth else {}
    if np.isfinite(fit.lower_bound):
        end["lower_bound"] = fit.lower_bound
    monitor.record("fit", objective=fit.objective, passes=passes.spent, **end)
    return TuningResult(
        penalty.log_precision, fit.w, fit.status, None, passes.spent, monitor.history, l1=problem.l1
    )


def _checked_l1(
    model: StructuredEstimator, groups: Groups, loss: Loss, tuner: Tuner | None, constrained: bool
) -> FloatArray:
    """Weights of the l1 penalty of groups; refused beside what cannot have one."""
    l1 = model._l1(groups)
    if not l1.any():
        return l1
    if constrained:
        raise DataError(f"l1={model.l1!r} with constraints: expected one of the two")
    if not loss.smooth:
        raise CapabilityError(f"l1={model.l1!r} with loss={model.loss!r}: expected a smooth loss")
    if not getattr(tuner, "takes_l1", tuner is None):
        raise DataError(f"l1={model.l1!r} with tuning={model.tuning!r}: expected tuning=None or 'grid'")
    return l1


def begin_checkpoint(
    model: FitsOnExecutor, monitor: Monitor, risk: Risk, groups: Groups
) -> Checkpoint | None:
    """Let the monitor have the checkpoint, with what it has of the same work."""
    if model.checkpoint is None:
        return None
    given = model.checkpoint
    checkpoint = given if isinstance(given, Checkpoint) else Checkpoint(given)
    settings = {
        name: _as_told(value)
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] not in _MAY_CHANGE
    }
    at_zero = {"loss at w = 0": risk.at_zero.value, "slope at w = 0": risk.at_zero.gradient_norm}
    sizes = {"weights": risk.n_weights, "parts": risk.n_parts, "groups of weights": digest(groups.index)}
    checkpoint.begin({"class": type(model).__name__, **settings, **sizes, **at_zero})
    monitor.checkpoint = checkpoint  # not before: a file of other work is not to be written over
    return checkpoint


def _as_told(value: Any) -> Any:
    """A setting as every process would tell it."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Parameters):
        return type(value).__name__  # its parameters are told beside it
    text = repr(value)
    if _ADDRESS.search(text):
        text = _ADDRESS.sub("", f"{text} {getattr(value, '__dict__', '')}")
    return text if len(text) <= _LONGEST else f"{text:.{_LONGEST}}... {digest(text)}"
