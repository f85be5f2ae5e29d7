"""The hypergradient against differences of the fully re-solved held-out loss, and the tuner on top of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import ImplicitTuner
from structune.learning.tuning.implicit import BOUNDS, hypergradient
from structune.learning.tuning.problem import TuningProblem
from structune.running.monitor import Monitor
from structune.structure import Groups
from tiny import (
    KINDS,
    PRODUCTS,
    Budget,
    Fuse,
    exact_fit,
    hmm_tuning_problem,
    margin_problem,
    tuning_problem,
)

TIGHT = {"tolerance": 1e-12, "cg_tolerance": 1e-12}
STEP = 1e-3


def weight_precision(problem, d):
    return np.exp(d)[problem.groups.index]


def optima(problem, d, starts=None):
    """The weights fitted on each training part, to rounding."""
    starts = starts or [None] * len(problem.splits)
    precision = weight_precision(problem, d)
    return [exact_fit(s.train, precision, w) for s, w in zip(problem.splits, starts, strict=True)]


def heldout_loss(problem, fits):
    return sum(s.heldout.value(w) for s, w in zip(problem.splits, fits, strict=True))


def slope(problem, d, direction):
    """Of the held-out loss: central differences with Richardson's extrapolation, all fits solved again."""
    at = optima(problem, d)

    def difference(step):
        ahead, behind = (heldout_loss(problem, optima(problem, d + s * direction, at)) for s in (step, -step))
        return (ahead - behind) / (2 * step)

    return (4 * difference(STEP / 2) - difference(STEP)) / 3


def value_and_gradient(problem, d, **options):
    points = [hypergradient(split, problem.groups, d, **options) for split in problem.splits]
    return sum(p.value for p in points), np.sum([p.gradient for p in points], axis=0)


# --- the law ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", [{"holdout": 0.3}, {"folds": 3}], ids=["holdout", "folds"])
@pytest.mark.parametrize("which", ["single", "grouped", "separate"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_hypergradient_is_the_slope_of_the_refitted_loss(kind, which, splits, seed):
    rng = np.random.default_rng(seed)
    problem = tuning_problem(kind, which, seed=seed, random_state=seed % 1000, **splits)
    d = rng.uniform(-1.5, 2.5, len(problem.groups))
    value, gradient = value_and_gradient(problem, d, **TIGHT)
    assert value == pytest.approx(heldout_loss(problem, optima(problem, d)), rel=1e-10)
    for direction in (np.eye(d.size)[seed % d.size], rng.normal(size=d.size)):
        expected = slope(problem, d, direction)
        # rounding of the objective leaves fits, and so all slopes, an error of the whole gradient's size
        scale = max(np.abs(gradient) @ np.abs(direction), 0.1 * np.linalg.norm(gradient))
        assert gradient @ direction == pytest.approx(expected, rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize("gamma", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_in_gamma(kind, gamma):
    """Around gamma times given weights, the fits solved again; and the slopes in the precisions there."""
    problem, rng = tuning_problem(kind, "grouped"), np.random.default_rng(0)
    d = rng.uniform(-1.0, 1.0, len(problem.groups))
    split = replace(problem.splits[0], parent=rng.normal(size=problem.full.n_weights))

    def refitted(d, gamma):
        center = gamma * split.parent
        moved = exact_fit(split.train.around(center), weight_precision(problem, d))
        return split.heldout.value(center + moved)

    def difference(step_d, step_gamma):
        ahead, behind = (refitted(d + s * step_d, gamma + s * step_gamma) for s in (STEP, -STEP))
        return (ahead - behind) / (2 * STEP)

    point = hypergradient(split, problem.groups, d, gamma, **TIGHT)
    assert point.value == pytest.approx(refitted(d, gamma), rel=1e-9)
    scale = abs(point.gamma_slope) + np.linalg.norm(point.gradient)
    assert point.gamma_slope == pytest.approx(difference(0.0, 1.0), rel=1e-4, abs=1e-4 * scale)
    v = rng.normal(size=d.size)
    assert point.gradient @ v == pytest.approx(difference(v, 0.0), rel=1e-4, abs=1e-4 * scale)


def test_gamma_is_learned():
    """It rises to where the parent is right, and falls to zero where it says the opposite."""
    problem = tuning_problem("classes", "single")
    w = fit_l2(problem.full, np.full(problem.full.n_weights, 1e-2)).w
    for sign, ends in ((1.0, (0.7, 1.0)), (-1.0, (0.0, 0.1))):
        splits = tuple(replace(split, parent=sign * w) for split in problem.splits)
        result = ImplicitTuner().tune(replace(problem, splits=splits, parent=sign * w))
        assert ends[0] <= result.gamma <= ends[1]
        precision = weight_precision(problem, result.log_precision)
        center = result.gamma * sign * w
        assert_allclose(result.w, fit_l2(problem.full, precision, center=center).w, atol=1e-2)
    assert ImplicitTuner().tune(problem).gamma is None


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_the_hessian_methods_agree(kind):
    found = []
    for hessian in PRODUCTS:
        problem = tuning_problem(kind, "separate", hessian=hessian)
        found.append(
            value_and_gradient(problem, np.zeros(len(problem.groups)), tolerance=1e-9, cg_tolerance=1e-9)
        )
    for value, gradient in found[1:]:
        assert value == pytest.approx(found[0][0], rel=1e-9)
        assert_allclose(gradient, found[0][1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_loose_fit_left_undone_is_corrected(kind):
    """The error of the value is of second order in what the fit left undone."""
    problem = tuning_problem(kind, "grouped")
    d, split = np.zeros(len(problem.groups)), problem.splits[0]
    exact = heldout_loss(problem, optima(problem, d))
    corrected, plain = [], []
    for tolerance in (0.1, 0.03, 0.01, 0.003, 0.001):
        point = hypergradient(split, problem.groups, d, tolerance=tolerance, cg_tolerance=1e-10)
        corrected.append(abs(point.value - exact))
        plain.append(abs(split.heldout.value(point.fit.w) - exact))
    assert np.all(np.array(corrected) < np.array(plain))
    assert np.all(np.array(corrected[2:]) < 0.05 * np.array(plain[2:]))


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_change_the_cost_and_not_the_result(kind):
    problem = tuning_problem(kind, "separate")
    split, d = problem.splits[0], np.full(len(problem.groups), 0.3)
    options = {"tolerance": 1e-8, "cg_tolerance": 1e-8}
    nearby = hypergradient(split, problem.groups, d - 0.01, **options)
    warm = hypergradient(split, problem.groups, d, start=nearby, **options)
    cold = hypergradient(split, problem.groups, d, **options)
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    assert_allclose(warm.gradient, cold.gradient, rtol=1e-5, atol=1e-6)
    options = {"tolerance": 1e-3, "cg_tolerance": 1e-2}
    warm = hypergradient(split, problem.groups, d, start=nearby, **options)
    cold = hypergradient(split, problem.groups, d, **options)
    assert warm.fit.n_evaluations < cold.fit.n_evaluations
    assert warm.system.n_products < cold.system.n_products


def test_a_fit_that_leaves_much_undone_goes_on():
    """One feature makes most of the gradient at w = 0, and a loose fit tells little of the held-out loss."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 8))
    x[:, 0] += 1e3 * (x[:, 1] > 0)  # frequent, and of no use beside the others
    structure = Classes([0, 1], [f"x{k}" for k in range(8)], bias=False)
    shard = structure.encode(x, (x[:, 1:] @ np.ones(7) > 0).astype(int).tolist())
    problem = TuningProblem.build(structure, LogLoss(), shard, Groups.single(structure.n_weights))
    d = np.log([0.1])
    exact = heldout_loss(problem, optima(problem, d))
    loose = hypergradient(problem.splits[0], problem.groups, d, tolerance=0.3, cg_tolerance=1e-6)
    assert loose.value == pytest.approx(exact, rel=0.05)


# --- the tuner --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", [{"holdout": 0.3}, {"folds": 3}], ids=["holdout", "folds"])
@pytest.mark.parametrize("which", ["single", "grouped", "separate"])
def test_the_heldout_loss_falls(which, splits):
    problem = hmm_tuning_problem(which=which, **splits)
    result = ImplicitTuner().tune(problem)
    losses = [r["heldout_loss"] for r in result.history if r["stage"] == "implicit"]
    assert result.status == "converged"
    assert result.heldout_loss == min(losses) < losses[0]
    assert which == "single" or min(losses) < 0.99 * losses[0]
    best = heldout_loss(problem, optima(problem, result.log_precision))
    assert result.heldout_loss == pytest.approx(best, rel=1e-4)


def test_it_ends_where_the_gradient_is_small():
    problem = hmm_tuning_problem(folds=3)
    result = ImplicitTuner(tolerance=1e-5, fit_tolerance=1e-7, cg_tolerance=1e-6, max_evaluations=100).tune(
        problem
    )
    _, gradient = value_and_gradient(problem, result.log_precision, **TIGHT)
    inside = (result.log_precision > BOUNDS[0] + 1e-6) & (result.log_precision < BOUNDS[1] - 1e-6)
    assert result.status == "converged"
    assert np.abs(gradient[inside]).max() < 1e-4 * result.heldout_loss


def test_noise_gets_the_larger_precision():
    for seed in range(3):
        problem = hmm_tuning_problem(100, folds=3, seed=seed)
        result = ImplicitTuner(tolerance=1e-4, max_evaluations=50).tune(problem)
        d = dict(zip(problem.groups.names, result.log_precision, strict=True))
        assert d["noise"] > d["relevant"] + 1.0


@pytest.mark.parametrize("start", [1e-2, 1.0, 1e2])
def test_the_start_hardly_matters(start):
    problem = hmm_tuning_problem(folds=3)
    result = ImplicitTuner(start=start, max_evaluations=40).tune(problem)
    assert result.status == "converged"
    assert result.heldout_loss == pytest.approx(ImplicitTuner().tune(problem).heldout_loss, rel=0.01)


@pytest.mark.parametrize("start", [1e-9, 1e9])
def test_precisions_stay_within_bounds(start):
    d = ImplicitTuner(start=start).tune(hmm_tuning_problem()).log_precision
    assert np.all((BOUNDS[0] <= d) & (d <= BOUNDS[1]))


def test_the_model_is_fitted_again_on_all_data():
    problem = hmm_tuning_problem()
    result = ImplicitTuner(fit_tolerance=1e-8).tune(problem)
    precision = weight_precision(problem, result.log_precision)
    assert_allclose(result.w, exact_fit(problem.full, precision), atol=1e-6)
    assert result.history[-1]["stage"] == "refit"


@pytest.mark.parametrize("splits", [{"holdout": 0.3}, {"folds": 3}], ids=["holdout", "folds"])
def test_without_refit_the_model_is_that_of_the_training_part(splits):
    problem = hmm_tuning_problem(**splits)
    result = ImplicitTuner(fit_tolerance=1e-8, refit=False).tune(problem)
    assert_allclose(result.w, optima(problem, result.log_precision)[0], atol=1e-6)
    assert {r["stage"] for r in result.history} == {"implicit"}
    assert problem.full.passes == 0


def test_the_number_of_evaluations_is_kept():
    problem = hmm_tuning_problem(which="separate", folds=3)
    for most in (1, 2, 3, 5):
        result = ImplicitTuner(max_evaluations=most, tolerance=1e-9).tune(problem)
        assert result.status == "iterations"
        assert len([r for r in result.history if r["stage"] == "implicit"]) == most


def test_history():
    problem = hmm_tuning_problem(folds=3)
    monitor = Monitor()
    result = ImplicitTuner().tune(problem, monitor)
    assert result.history is monitor.history
    *records, refit = result.history
    for record in records:
        assert len(record["log_precision"]) == len(problem.groups)
        assert record["gradient_norm"] > 0
        assert record["fit_evaluations"] > 0 < record["hessian_products"]
    best = min(records, key=lambda r: r["heldout_loss"])
    assert_array_equal(best["log_precision"], result.log_precision)
    assert np.all(np.diff([r["passes"] for r in result.history]) > 0)
    assert np.all(np.diff([r["seconds"] for r in result.history]) >= 0)
    assert refit["passes"] == result.passes
    assert refit["objective"] == pytest.approx(penalised(problem, result), rel=1e-9)


def penalised(problem, result):
    precision = weight_precision(problem, result.log_precision)
    return problem.full.value(result.w) + 0.5 * precision @ result.w**2


def complete(problem):
    """A whole run: its result, and the number of times that the data was worked on."""
    counter = problem.full.executor
    left = counter.left
    return ImplicitTuner().tune(problem), left - counter.left


def test_ctrl_c_at_any_time_leaves_the_best():
    _, n = complete(tuning_problem(executor=Fuse(10**9), folds=2))
    seen = set()
    for stop in {*range(0, 12, 3), *range(12, n, 1 + n // 20), n - 5}:
        fuse = Fuse(10**9)
        problem = tuning_problem(executor=fuse, folds=2)
        fuse.left = stop
        result = ImplicitTuner().tune(problem)
        assert result.status == "interrupted"
        check_cut(problem, result, seen)
    assert seen == {"nothing", "training part", "refit"}


def check_cut(problem, result, seen):
    losses = [r["heldout_loss"] for r in result.history if r["stage"] == "implicit"]
    assert result.heldout_loss == (min(losses) if losses else None)
    assert np.all(np.isfinite(result.w))
    problem.full.executor.left = 10**9
    if result.history and result.history[-1]["stage"] == "refit":
        seen.add("refit")
    elif losses:
        seen.add("training part")
        split, precision = problem.splits[0], weight_precision(problem, result.log_precision)
        fit = fit_l2(split.train, precision)
        value = split.train.value(result.w) + 0.5 * precision @ result.w**2
        assert value <= fit.objective + 1e-2
    else:
        seen.add("nothing")


@pytest.mark.parametrize("n", [0, 1, 5, 20, 40])
def test_a_spent_budget_leaves_the_best(n):
    problem = tuning_problem(folds=2)
    result = ImplicitTuner().tune(problem, Budget(n))
    assert result.status == "budget"
    assert np.all(np.isfinite(result.w))
    if n >= 5:  # even a first fit cut short has learnt something
        assert problem.full.value(result.w) < 0.9 * problem.full.at_zero.value


def test_it_needs_heldout_data():
    with pytest.raises(DataError, match="needs held-out data"):
        ImplicitTuner().tune(tuning_problem(splits=False))


@pytest.mark.parametrize("loss", [MarginLoss(), RampLoss()])
def test_losses_with_kinks_are_refused(loss):
    problem = margin_problem("classes", loss)
    found = type(loss).__name__
    with pytest.raises(CapabilityError, match=f"the implicit tuner needs a smooth loss, found {found}"):
        ImplicitTuner().tune(problem)
    assert problem.full.passes == 0
