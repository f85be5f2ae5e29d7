"""Majorisation where the noise variance is integrated out, beside the precisions."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune.flat.structure.linear import Linear
from structune.learning.losses import SquaredLoss
from structune.learning.penalties import NOISE_FLOOR
from structune.learning.tuning import DirectTuner, MajorizeTuner, TuningProblem
from structune.learning.tuning.majorize import CollapseWarning
from tiny import OneCtrlC, exact_fit, group

TIGHT = {"tolerance": 1e-6, "fit_tolerance": 1e-9, "max_iterations": 500}


def regression(n, p, which="free", seed=0, noise=0.5, **options):
    """Features of two groups, of which only the second tells anything."""
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(n, p)), rng.uniform(0.5, 1.5, n)
    y = 1.0 + x @ (rng.normal(size=p) * (np.arange(p) % 2)) + noise * rng.normal(size=n)
    structure = Linear([f"{'ab'[k % 2]}={k}" for k in range(p)])
    groups, shard = group(structure, which), structure.encode(x, y, weights)
    return TuningProblem.build(structure, SquaredLoss(), shard, groups, **{"splits": False, **options})


def objectives(result):
    return [record["objective"] for record in result.history if record["stage"] in ("majorize", "direct")]


def penalty_of(problem, result):
    """Of each weight, beside half the squares of the residuals."""
    return problem.groups.spread(np.exp(result.log_precision)) * result.noise


@pytest.mark.parametrize(
    ("n", "p", "which", "hessian"),
    [(60, 4, "free", "dense"), (20, 15, "separate", "exact"), (10, 20, "single", "dense")],
)
def test_the_objective_never_rises(n, p, which, hessian):
    problem = regression(n, p, which, hessian=hessian)
    found = objectives(MajorizeTuner(beta=1.0, count="all", tolerance=1e-4, max_iterations=100).tune(problem))
    assert len(found) > 2
    assert np.all(np.diff(found) <= 1e-9 * np.abs(found[:-1]))


@pytest.mark.parametrize("which", ["free", "separate"])
def test_it_ends_at_the_fixed_point(which):
    problem = regression(40, 8, which)
    result = MajorizeTuner(alpha=0.5, beta=0.2, count="all", **TIGHT).tune(problem)
    groups, risk = problem.groups, problem.full
    assert result.status == "converged"
    energy = 0.5 * groups.sum(result.w**2)
    assert_allclose(np.exp(result.log_precision), (groups.sizes / 2 + 0.5) / (energy + 0.2), rtol=1e-5)
    floor = NOISE_FLOOR * 2 * risk.at_zero.value / risk.weight
    assert result.noise == pytest.approx(2 * risk.value(result.w) / risk.weight + floor, rel=1e-5)
    assert_allclose(result.w, exact_fit(risk, penalty_of(problem, result)), atol=1e-6)


@pytest.mark.parametrize("which", ["single", "free"])
def test_direct_finds_the_same_optimum_where_it_is_easy(which):
    problem = regression(100, 6, which)
    steps = MajorizeTuner(beta=1.0, count="all", **TIGHT).tune(problem)
    direct = DirectTuner(beta=1.0, fit_tolerance=1e-9).tune(problem)
    assert objectives(direct)[-1] == pytest.approx(objectives(steps)[-1], rel=1e-9)
    assert_allclose(direct.w, steps.w, atol=1e-4)
    assert_allclose(direct.log_precision, steps.log_precision, atol=1e-3)
    assert direct.noise == pytest.approx(steps.noise, rel=1e-4)


@pytest.mark.parametrize("count", ["auto", "all", "effective"])
@pytest.mark.parametrize("hessian", ["dense", "exact"])
@pytest.mark.parametrize(("n", "p", "which"), [(10, 10, "separate"), (3, 30, "single"), (1, 4, "free")])
def test_results_are_finite(n, p, which, hessian, count):
    problem = regression(n, p, which, hessian=hessian)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        result = MajorizeTuner(count=count).tune(problem)
    assert np.all(np.isfinite(result.log_precision))
    assert np.all(np.isfinite(result.w))
    floor = NOISE_FLOOR * 2 * problem.full.at_zero.value / problem.full.weight
    assert result.noise >= floor
    assert problem.full.value(result.w) <= problem.full.at_zero.value


@pytest.mark.parametrize("floor", [1e-2, 1e-4])
def test_the_floor_bounds_the_noise(floor):
    problem = regression(10, 30, noise=0.0)
    least = floor * 2 * problem.full.at_zero.value / problem.full.weight
    for tuner in (MajorizeTuner(noise_floor=floor, **TIGHT), DirectTuner(noise_floor=floor)):
        assert least <= tuner.tune(problem).noise < 3 * least


def problem_of(y, x=None):
    structure = Linear(["a", "b"])
    x = np.random.default_rng(0).normal(size=(len(y), 2)) if x is None else x
    shard = structure.encode(x, y)
    return TuningProblem.build(structure, SquaredLoss(), shard, group(structure, "free"), splits=False)


@pytest.mark.parametrize(("tuner", "n_determined"), [(MajorizeTuner(), 1), (DirectTuner(), 0)])
def test_features_that_are_all_zero(tuner, n_determined):
    y = np.arange(10.0)
    result = tuner.tune(problem_of(y, np.zeros((10, 2))))
    assert_allclose(result.w, [0.0, 0.0, 4.5], rtol=1e-4)
    assert result.noise == pytest.approx(np.var(y, ddof=n_determined), rel=1e-3)


@pytest.mark.parametrize("hessian", ["dense", "exact"])
@pytest.mark.parametrize("tuner", [MajorizeTuner(tolerance=1e-4), DirectTuner()])
def test_one_ctrl_c_is_enough(tuner, hessian):
    """At some of the times when it may come."""
    problem = regression(30, 6, executor=(whole := OneCtrlC(10**9)), hessian=hessian)
    before = whole.left
    tuner.tune(problem)
    n = before - whole.left
    for stop in range(5, n, 1 + n // 12):
        problem = regression(30, 6, executor=(fuse := OneCtrlC(10**9)), hessian=hessian)
        fuse.left = stop
        result = tuner.tune(problem)
        fuse.left = 10**9
        assert result.status == "interrupted"
        assert np.all(np.isfinite(result.w))
        assert np.isfinite(result.noise)
        assert problem.full.value(result.w) <= problem.full.at_zero.value
