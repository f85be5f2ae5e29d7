"""The factor of all precisions that held-out data choose."""

import numpy as np
import pytest

from structune.learning.losses import LogLoss
from structune.learning.penalties import GroupedL2
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import MajorizeTuner
from structune.learning.tuning.majorize import best_factor
from structune.learning.tuning.problem import TuningProblem
from structune.running.monitor import BudgetExhausted, Monitor
from tiny import group, small

FACTORS = np.linspace(-5.0, 5.0, 41)


def problem_of(kind, folds=3):
    structure, shard = small(kind)
    groups = group(structure, "grouped")
    return TuningProblem.build(structure, LogLoss(), shard, groups, cv=folds)


def judged(problem, d, factor):
    """Held-out loss and the factor's prior."""
    precision = GroupedL2(problem.groups, d + factor).precision
    fits = (fit_l2(split.train, precision, tolerance=1e-8).w for split in problem.splits)
    losses = (split.heldout.value(w) for split, w in zip(problem.splits, fits, strict=True))
    return sum(losses) + 0.5 * (factor / 1.5) ** 2


@pytest.mark.parametrize(("kind", "level"), [("chain", -3.0), ("classes", 3.0)])
def test_it_is_close_to_the_best_of_many(kind, level):
    problem = problem_of(kind)
    d = np.full(len(problem.groups), level)
    w = np.zeros(problem.full.n_weights)
    found = best_factor(problem, d, w, 1e-6, Monitor())
    values = [judged(problem, d, other) for other in FACTORS]
    assert judged(problem, d, found.log) <= min(values) + 0.01 * abs(min(values))
    assert found.heldout_loss <= judged(problem, d, 0.0) * (1 + 1e-5)


def test_the_groups_keep_their_proportions():
    problem = problem_of("classes")
    plain, calibrated = (MajorizeTuner(calibrated=value).tune(problem) for value in (False, True))
    moved = calibrated.log_precision - plain.log_precision
    assert moved == pytest.approx(np.full(len(moved), moved[0]))
    assert moved[0] != 0.0
    assert plain.heldout_loss is None
    assert calibrated.heldout_loss <= judged(problem, plain.log_precision, 0.0) * (1 + 1e-3)
    assert calibrated.passes > plain.passes


class UpToTheFactors(Monitor):
    """Whose time is up when the first factor was tried."""

    def record(self, stage, **values):
        super().record(stage, **values)
        if stage == "calibrate":
            raise BudgetExhausted


def test_a_budget_that_ends_while_examples_are_held_out():
    problem = problem_of("classes")
    plain = MajorizeTuner().tune(problem)
    result = MajorizeTuner(calibrated=True).tune(problem, UpToTheFactors())
    assert result.status == "budget"
    assert result.log_precision == pytest.approx(plain.log_precision)
