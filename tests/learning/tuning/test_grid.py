"""Grid search against brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.flat.structure.classes import Classes
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import GridTuner, TuningProblem
from structune.learning.tuning.problem import Split
from structune.structure import Groups
from tiny import Budget, Fuse, exact_fit, margin_problem, tuning_problem

VALUES = (0.1, 10.0)


def brute_force(problem, points):
    losses = []
    for d in points:
        precision = np.exp(d)[problem.groups.index]
        losses.append(sum(s.heldout.value(exact_fit(s.train, precision)) for s in problem.splits))
    return losses


def grid_records(result):
    return [r for r in result.history if r["stage"] == "grid"]


def test_a_product_grid():
    problem = tuning_problem("classes")
    assert len(problem.groups) == 3
    result = GridTuner(VALUES, product=True, fit_tolerance=1e-7).tune(problem)
    points = [np.log(point) for point in product(VALUES, repeat=3)]
    assert_allclose([r["log_precision"] for r in grid_records(result)], points)
    losses = [r["heldout_loss"] for r in grid_records(result)]
    assert_array_equal(result.log_precision, points[int(np.argmin(losses))])


@pytest.mark.parametrize(("splits", "warm"), [({"cv": 0.3}, False), ({"cv": 3}, True)])
def test_one_value_for_all(splits, warm):
    problem, values = tuning_problem(**splits), GridTuner().values[:: 4 if warm else 1]
    result = GridTuner(values, warm=warm, fit_tolerance=1e-7).tune(problem)
    points = [np.full(len(problem.groups), np.log(value)) for value in values]
    expected = brute_force(problem, points)
    assert_allclose([r["heldout_loss"] for r in grid_records(result)], expected, rtol=1e-5)
    assert_allclose([r["log_precision"] for r in grid_records(result)], points)
    assert_array_equal(result.log_precision, points[int(np.argmin(expected))])
    assert result.heldout_loss == pytest.approx(min(expected), rel=1e-5)
    assert result.status == "converged"


def test_refit_or_not():
    problem = tuning_problem(cv=3)
    tuners = (GridTuner(VALUES, refit=refit, fit_tolerance=1e-7) for refit in (True, False))
    again, once = (tuner.tune(problem) for tuner in tuners)
    precision = np.exp(again.log_precision)[problem.groups.index]
    assert_allclose(again.w, exact_fit(problem.full, precision), atol=1e-5)
    assert_allclose(once.w, exact_fit(problem.splits[0].train, precision), atol=1e-5)
    assert again.passes > once.passes


@pytest.mark.parametrize("values", [(), (1.0, 0.0), (np.nan,)])
def test_values_that_are_no_precisions(values):
    with pytest.raises(DataError, match="expected finite numbers > 0"):
        GridTuner(values).tune(tuning_problem())


def test_too_many_points():
    with pytest.raises(DataError, match=r"21 values for \d+ groups has too many points"):
        GridTuner(product=True).tune(tuning_problem(which="separate"))


def test_ctrl_c_at_any_time_leaves_the_best():
    problem = tuning_problem(executor=(fuse := Fuse(10**9)), cv=2)
    before = fuse.left
    GridTuner(VALUES).tune(problem)
    n = before - fuse.left
    for stop in {4, 6, *range(10, n, n // 6), n - 1}:
        check_cut(stop)


def check_cut(stop):
    fuse = Fuse(10**9)
    problem = tuning_problem(executor=fuse, cv=2)
    fuse.left = stop
    result = GridTuner(VALUES).tune(problem)
    losses = [r["heldout_loss"] for r in grid_records(result)]
    assert result.status == "interrupted"
    assert result.heldout_loss == (min(losses) if losses else None)
    fuse.left = 10**9
    assert problem.full.value(result.w) < problem.full.at_zero.value
    if losses:
        precision = np.exp(result.log_precision)[problem.groups.index]
        expected = fit_l2(problem.splits[0].train, precision).w
        assert_allclose(result.w, expected, atol=1e-9)


def test_a_spent_budget_leaves_the_best():
    result = GridTuner().tune(tuning_problem(), Budget(60))
    assert result.status == "budget"
    assert result.heldout_loss == min(r["heldout_loss"] for r in grid_records(result))
    nothing = GridTuner().tune(tuning_problem(), Budget(0))
    assert (nothing.status, nothing.heldout_loss) == ("budget", None)
    assert_array_equal(nothing.w, 0.0)
    problem = tuning_problem()
    first_fit = GridTuner().tune(problem, Budget(4))
    assert first_fit.heldout_loss is None
    assert problem.full.value(first_fit.w) < problem.full.at_zero.value


@pytest.mark.parametrize("loss", [MarginLoss(), RampLoss()])
def test_the_cost_of_predictions_is_held_out(loss):
    problem = margin_problem("classes", loss, cv=2)
    result = GridTuner(VALUES).tune(problem)
    costs = []
    for value in VALUES:
        precision = np.full(problem.full.n_weights, value)
        fits = [(fit_l2(split.train, precision).w, split.heldout) for split in problem.splits]
        costs.append(sum(cost_by_hand(heldout, w) for w, heldout in fits))
    assert_allclose([r["heldout_loss"] for r in grid_records(result)], costs)
    assert_allclose(np.exp(result.log_precision), VALUES[int(np.argmin(costs))])
    assert result.heldout_loss == pytest.approx(min(costs))
    assert result.status == "converged"


def cost_by_hand(risk, w):
    """Weighted sum of the examples whose label is not that of the highest score."""
    (shard,), structure = risk.shards, risk.structure
    return shard.weights @ (structure.scores(w, shard).argmax(axis=1) != shard.outputs)


def far_out():
    """Two classes, and held out with others an example on the wrong side, so far that no loss bears it."""
    structure = Classes([False, True], ["x"], bias=False, reference=True)
    x = np.array([[-1.0], [1.0]] * 10)
    parts = [(x, x[:, 0] > 0), (np.append(x, [[200.0]], axis=0), np.append(x[:, 0] > 0, False))]
    risks = [Risk(structure, MarginLoss(), [structure.encode(a, b.tolist())]) for a, b in parts]
    return TuningProblem(risks[0], Groups.single(1), (Split(*risks),))


def test_the_cost_decides_and_not_the_loss():
    problem, values = far_out(), (1e12, 1.0)
    (split,) = problem.splits
    fits = [fit_l2(split.train, np.array([value])).w for value in values]
    assert [split.heldout.value(w) for w in fits] == pytest.approx([21.0, 201.0], rel=1e-2)
    result = GridTuner(values).tune(problem)
    assert [r["heldout_loss"] for r in grid_records(result)] == [10.0, 1.0]
    assert_allclose(np.exp(result.log_precision), 1.0)


def test_of_equal_costs_the_highest_precision_is_kept():
    result = GridTuner((1.0, 1e-3, 100.0)).tune(far_out())
    assert [r["heldout_loss"] for r in grid_records(result)] == [1.0, 1.0, 1.0]
    assert_allclose(np.exp(result.log_precision), 100.0)


def test_precisions_and_multiples_of_an_l1_penalty():
    problem = tuning_problem()
    problem = replace(problem, l1=np.linspace(0.5, 1.0, len(problem.groups)))
    grid = GridTuner([0.1, 1.0], l1=[4.0, 1.0, 0.25], warm=True, fit_tolerance=1e-7)
    result = grid.tune(problem)
    points = list(product([0.1, 1.0], [4.0, 1.0, 0.25]))
    (split,), ones, expected = problem.splits, np.ones(problem.full.n_weights), []
    for value, factor in points:
        l1 = problem.groups.spread(factor * problem.l1)
        fit = fit_l2(split.train, value * ones, l1=l1, tolerance=1e-7)
        expected.append(split.heldout.value(fit.w))
    assert_allclose([r["heldout_loss"] for r in grid_records(result)], expected, rtol=1e-5)
    assert [r["l1"] for r in grid_records(result)] == [factor for _, factor in points]
    value, factor = points[int(np.argmin(expected))]
    assert_allclose(np.exp(result.log_precision), value)
    assert_allclose(result.l1, factor * problem.l1)


@pytest.mark.parametrize("l1", [[], [-1.0, 1.0]])
def test_multiples_that_are_refused(l1):
    problem = tuning_problem()
    with pytest.raises(DataError, match=r"l1=.*: expected finite numbers > 0, at least one"):
        GridTuner(l1=l1).tune(replace(problem, l1=np.ones(len(problem.groups))))
