"""What becomes of weights with precisions of their own (automatic relevance determination)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structune.errors import warn
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.majorize import MajorizeTuner
from structune.learning.tuning.problem import Tuner, TuningProblem, TuningResult
from structune.running.monitor import STOPPED, Monitor

_DETERMINED = 0.01  # share of a weight that the data determine, below which it may be switched off
_LEAST_LOSS = 1e-3  # that each weight is worth, or else it may be
_PARTS_PER_GROUP = 2  # held out, without which a precision is not determined


def switch_off(tuner: Tuner, problem: TuningProblem, result: TuningResult, monitor: Monitor) -> TuningResult:
    """Set weights to zero that cannot matter, where `MajorizeTuner` gave each a precision of its own.

    Those whose precision C is 99 times the curvature h of the loss or more, so that the data determine less
    than a hundredth of them (h / (h + C), MacKay 1992), and without which the loss rises by a thousandth at
    most: by w^2 (C + h / 2), in units of log-likelihood.
    """
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
            f"found {n_groups} precisions for {n_weights} weights and {n_parts} held-out parts (tokens, "
            f"examples): these are too few to choose so many, and groups by kind may well predict better; "
            f"tuning='majorize' learns precisions without held-out parts"
        )
