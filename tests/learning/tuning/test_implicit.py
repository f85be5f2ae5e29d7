"""The search for the lowest held-out loss; its gradient against differences of that loss solved again."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import CubicSpline

from structune import SequenceTagger
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner
from structune.learning.tuning.implicit import (
    BOUNDS,
    GRID,
    SPREAD,
    _Search,
    hypergradient,
    of_l1,
    of_precisions,
)
from structune.learning.tuning.problem import TuningProblem
from structune.plots.learning import chosen_step
from structune.running.checkpoints import Restored
from structune.running.monitor import Kept, Monitor
from structune.structure import Groups
from tiny import (
    Fuse,
    exact_fit,
    heldout_loss,
    hmm_tuning_problem,
    margin_problem,
    optima,
    tuning_problem,
    value_and_gradient,
    weight_precision,
)

TIGHT = {"tolerance": 1e-12, "cg_tolerance": 1e-12}


@pytest.mark.parametrize(("which", "splits"), [("grouped", {"cv": 3}), ("separate", {"cv": 0.3})])
def test_the_heldout_loss_falls(which, splits):
    problem, monitor = hmm_tuning_problem(which=which, **splits), Monitor()
    result = ImplicitTuner().tune(problem, monitor)
    steps = [record for record in result.history if record["stage"] == "implicit"]
    assert result.history is monitor.history
    assert steps[-1]["possible_gain"] <= ImplicitTuner().tolerance * result.heldout_loss
    assert np.all(np.diff([record["passes"] for record in result.history]) > 0)
    assert result.history[-1]["passes"] == result.passes
    losses = [step["heldout_loss"] for step in steps]
    assert result.status == "converged"
    chosen = steps[chosen_step(steps)]
    assert chosen["heldout_loss"] == result.heldout_loss
    assert_array_equal(chosen["log_precision"], result.log_precision)
    assert result.heldout_loss in losses[1:]
    before = heldout_loss(problem, optima(problem, np.zeros(len(problem.groups))))
    assert result.heldout_loss < (0.99 if which == "grouped" else 1.0) * before
    best = heldout_loss(problem, optima(problem, result.log_precision))
    assert result.heldout_loss == pytest.approx(best, rel=1e-3)


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


def test_an_l1_penalty_is_learned():
    """Where few features count the held-out loss falls, and many weights are zero, of the factor learned."""
    problem = hmm_tuning_problem(n_relevant=2, n_features=40, which="grouped", cv=2)
    shares = np.array([1.0, 1.0, 0.0])
    result = ImplicitTuner(fit_tolerance=1e-8).tune(replace(problem, l1=shares))
    steps = [record for record in result.history if record["stage"] == "implicit"]
    assert result.status == "converged"
    assert result.heldout_loss < 0.99 * steps[0]["heldout_loss"]
    assert result.l1.max() == steps[-1]["l1"]
    assert np.all((result.l1 > 0) == (shares > 0))
    penalty = problem.groups.spread(result.l1)
    assert np.mean(result.w[penalty > 0] == 0.0) > 0.3
    precision = weight_precision(problem, result.log_precision)
    again = fit_l2(problem.full, precision, l1=penalty, tolerance=1e-8)
    assert_allclose(result.w, again.w, atol=1e-5)
    splits = tuple(replace(split, parent=result.w) for split in problem.splits)
    with pytest.raises(DataError, match="an l1 penalty and a parent"):
        ImplicitTuner().tune(replace(problem, l1=shares, splits=splits, parent=result.w))


def test_it_ends_where_the_gradient_is_small():
    problem = hmm_tuning_problem(cv=0.3)
    result = ImplicitTuner(max_evaluations=100, tolerance=1e-6).tune(problem)
    _, gradient = value_and_gradient(problem, result.log_precision, **TIGHT)
    inside = (result.log_precision > BOUNDS[0] + 1e-6) & (result.log_precision < BOUNDS[1] - 1e-6)
    assert result.status == "converged"
    prior = result.log_precision / SPREAD**2
    assert np.abs((gradient + prior)[inside]).max() < 1e-3 * result.heldout_loss


def test_the_start_hardly_matters():
    problem = hmm_tuning_problem(cv=3)
    results = [ImplicitTuner(start=start, max_evaluations=40).tune(problem) for start in (1e-2, 1.0, 1e2)]
    assert {result.status for result in results} == {"converged"}
    losses = [result.heldout_loss for result in results]
    assert_allclose(losses, losses[1], rtol=0.005)


def test_the_model_is_fitted_again_on_all_data():
    problem = hmm_tuning_problem()
    result = ImplicitTuner(fit_tolerance=1e-8).tune(problem)
    precision = weight_precision(problem, result.log_precision)
    assert_allclose(result.w, exact_fit(problem.full, precision), atol=1e-6)
    assert result.history[-1]["stage"] == "refit"
    problem = hmm_tuning_problem()
    alone = ImplicitTuner(fit_tolerance=1e-8, refit=False).tune(problem)
    assert_allclose(alone.w, optima(problem, alone.log_precision)[0], atol=1e-5)
    assert {r["stage"] for r in alone.history} == {"implicit"}
    assert problem.full.passes == 0


def test_the_number_of_evaluations_is_kept():
    problem = hmm_tuning_problem(which="separate", cv=3)
    for most in (1, 3):
        result = ImplicitTuner(max_evaluations=most, tolerance=1e-9).tune(problem)
        assert result.status == "iterations"
        assert len([r for r in result.history if r["stage"] == "implicit"]) == most


def test_ctrl_c_at_any_time_leaves_the_best():
    problem, seen = tuning_problem(executor=(whole := Fuse(10**9)), cv=2), set()
    before = whole.left
    ImplicitTuner().tune(problem)
    n = before - whole.left
    for stop in {*range(0, 12, 3), *range(12, n, 1 + n // 8), n - 5}:
        fuse = Fuse(10**9)
        problem = tuning_problem(executor=fuse, cv=2)
        fuse.left = stop
        result = ImplicitTuner().tune(problem)
        assert result.status == "interrupted"
        check_cut(problem, result, seen)
    assert seen == {"nothing", "training part", "refit"}


def check_cut(problem, result, seen):
    losses = [r["heldout_loss"] for r in result.history if r["stage"] == "implicit"]
    assert (result.heldout_loss in losses) if losses else (result.heldout_loss is None)
    assert np.all(np.isfinite(result.w))
    problem.full.executor.left = 10**9
    if result.history and result.history[-1]["stage"] == "refit":
        seen.add("refit")
    elif losses:
        seen.add("training part")
        split, precision = problem.splits[0], weight_precision(problem, result.log_precision)
        fit = fit_l2(split.train, precision)
        value = split.train.value(result.w) + 0.5 * precision @ result.w**2
        assert value <= fit.objective + 0.2
    else:
        seen.add("nothing")


def test_what_chance_explains_is_not_taken():
    """Where labels have nothing to do with features, usual precisions that are high stay."""
    rng = np.random.default_rng(0)
    structure = Classes([0, 1], [f"x{k}" for k in range(40)], bias=False)
    for told, usual in ((0, 100.0), (3, 1.0)):
        x = rng.normal(size=(200, 40))
        y = (x[:, :told].sum(axis=1) + rng.normal(size=200) > 0).astype(int)
        groups = Groups.by_name([f"g{k % 10}" for k in range(structure.n_weights)])
        problem = TuningProblem.build(structure, LogLoss(), structure.encode(x, y), groups, cv=2)
        result = ImplicitTuner().tune(replace(problem, usual=np.full(10, usual)))
        assert np.all(result.log_precision == np.log(usual)) == (told == 0)


@pytest.mark.parametrize("tuner", [ImplicitTuner(), GridTuner()])
def test_it_needs_heldout_data(tuner):
    with pytest.raises(DataError, match="needs held-out data"):
        tuner.tune(tuning_problem(splits=False))


@pytest.mark.parametrize(("name", "tuner"), [("implicit", ImplicitTuner()), ("direct", DirectTuner())])
def test_losses_with_kinks_are_refused(name, tuner):
    problem = margin_problem("classes", MarginLoss())
    told = f"the {name} tuner needs a smooth loss, and MarginLoss is not smooth: use tuning='gr"
    with pytest.raises(CapabilityError, match=told):
        tuner.tune(problem)
    assert problem.full.passes == 0


def test_many_groups(monkeypatch):
    """Of more than a matrix is made for; and a search of so many goes on from a checkpoint."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 400))
    y = (x[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    structure = Classes([0, 1], [f"x{k}" for k in range(400)], bias=False)
    problem = TuningProblem.build(structure, LogLoss(), structure.encode(x, y), structure.groups())
    whole = ImplicitTuner(max_evaluations=8).tune(problem)
    assert whole.heldout_loss < next(r["heldout_loss"] for r in whole.history if r["stage"] == "implicit")
    search, again = (_Search(ImplicitTuner(max_evaluations=2), problem, Monitor()) for _ in range(2))
    told = []
    monkeypatch.setattr(search, "kept", Kept(None, lambda state: told.append(state())))
    search.run()
    again._restore(Restored(told[-1]))
    assert_array_equal(again._model(), search._model())


def test_one_label_only():
    """Nothing to learn, and nothing to divide by."""
    model = SequenceTagger().fit([[["w=a"], ["w=b"]]] * 6, [["O", "O"]] * 6)
    assert not model.coef_.any()
    assert np.all(model.fit([[["a"]]] * 6, [["O"], ["P"]] * 3, sample_weight=[1] + [0] * 5).penalty_ == 1.0)


# --- hypergradient -----------------------------------------------------------------------------------------


STEP = 1e-3


def slope(problem, d, direction):
    """Of the held-out loss: central differences with Richardson's extrapolation, all fits solved again."""
    at = optima(problem, d)

    def difference(step):
        ahead, behind = (heldout_loss(problem, optima(problem, d + s * direction, at)) for s in (step, -step))
        return (ahead - behind) / (2 * step)

    return (4 * difference(STEP / 2) - difference(STEP)) / 3


@pytest.mark.parametrize(
    ("kind", "which", "splits"),
    [
        ("chain", "grouped", {"cv": 3}),
        ("chain", "separate", {"cv": 0.3}),
        ("classes", "single", {"cv": 0.3}),
        ("partial", "grouped", {"cv": 0.3}),
    ],
)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_hypergradient_is_the_slope_of_the_refitted_loss(kind, which, splits, seed):
    rng = np.random.default_rng(seed)
    problem = tuning_problem(kind, which, seed=seed, random_state=seed % 1000, **splits)
    d = rng.uniform(-1.5, 2.5, len(problem.groups))
    value, gradient = value_and_gradient(problem, d, **TIGHT)
    assert value == pytest.approx(heldout_loss(problem, optima(problem, d)), rel=1e-8)
    for direction in (np.eye(d.size)[seed % d.size], rng.normal(size=d.size)):
        expected = slope(problem, d, direction)
        # rounding of the objective leaves fits, and so all slopes, an error of the whole gradient's size
        scale = max(np.abs(gradient) @ np.abs(direction), 0.1 * np.linalg.norm(gradient))
        assert gradient @ direction == pytest.approx(expected, rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize(("kind", "gamma"), [("chain", 0.4), ("classes", 1.0), ("partial", 0.0)])
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
    scale = np.linalg.norm(point.gradient)
    assert point.gradient[-1] == pytest.approx(difference(0.0, 1.0), rel=1e-4, abs=1e-4 * scale)
    v = rng.normal(size=d.size)
    assert point.gradient[:-1] @ v == pytest.approx(difference(v, 0.0), rel=1e-4, abs=1e-4 * scale)


@pytest.mark.parametrize(
    ("kind", "hessian"), [("chain", "exact"), ("classes", "exact"), ("classes", "dense")]
)
def test_the_slopes_beside_an_l1_penalty(kind, hessian):
    """In the log precisions and in the log of the penalty: zeros stay, and the others move."""
    problem, rng = tuning_problem(kind, "grouped", hessian=hessian), np.random.default_rng(0)
    n = len(problem.groups)

    def at(d):
        l1 = np.full(n, np.exp(d[-1]))
        ends = {"tolerance": 1e-11, "cg_tolerance": 1e-12}
        return hypergradient(problem.splits[0], problem.groups, d[:-1], l1=l1, **ends)

    d = np.append(rng.uniform(-2.0, 1.0, n), 0.0)
    point, moves = at(d), 1e-3 * np.eye(n + 1)
    found = [(at(d + move).value - at(d - move).value) / 2e-3 for move in moves]
    assert 5 < np.count_nonzero(point.fit.w == 0.0) < point.fit.w.size
    assert np.all(point.x[point.fit.w == 0.0] == 0.0)
    assert_allclose(point.gradient, found, rtol=1e-4, atol=1e-5)
    assert_allclose(CubicSpline(GRID, point.model[:-1].T)(0.0, 1), point.gradient[:-1], rtol=0.02, atol=1e-3)


def test_the_model_beside_an_l1_penalty_is_the_same_by_a_matrix():
    """Weights that enter the support move by their own curvature, not by their precision alone."""
    found = []
    for hessian in ("exact", "dense"):
        problem = tuning_problem("classes", "grouped", hessian=hessian)
        where, l1 = np.full(len(problem.groups), -5.0), np.full(len(problem.groups), 4.0)
        ends = {"tolerance": 1e-10, "cg_tolerance": 1e-11}
        found.append(hypergradient(problem.splits[0], problem.groups, where, l1=l1, **ends).model)
    assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("s", [-3.0, -0.5, 0.5, 3.0])
def test_independent_weights_and_an_l1_penalty(s):
    """Some become zero as it rises, and some begin to count as it falls."""
    rng = np.random.default_rng(1)
    total, heldout, pushed, other = rng.uniform(0.5, 5.0, (4, 20))
    l1 = np.full(20, 2.0)

    def w(s):
        return np.maximum(pushed - l1 * np.exp(s), 0.0) / total

    def loss(s):
        return np.sum(0.5 * heldout * (w(s) - other) ** 2)

    assert 0 < np.count_nonzero(w(0.0)) < 20
    model = of_l1(l1, pushed, total, heldout * (w(0.0) - other), heldout)
    assert model[list(GRID).index(s)] == pytest.approx(loss(s) - loss(0.0), rel=1e-9)


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_warm_starts_change_the_cost_and_not_the_result(kind):
    problem = tuning_problem(kind, "separate")
    split, d = problem.splits[0], np.full(len(problem.groups), 0.3)
    options = {"tolerance": 1e-8, "cg_tolerance": 1e-8}
    nearby = hypergradient(split, problem.groups, d - 0.01, **options)
    warm = hypergradient(split, problem.groups, d, start=nearby, **options)
    cold = hypergradient(split, problem.groups, d, **options)
    assert warm.value == pytest.approx(cold.value, rel=1e-8)
    assert_allclose(warm.gradient, cold.gradient, rtol=1e-5, atol=1e-6)
    options = {"tolerance": 1e-3, "cg_tolerance": 1e-2}
    warm = hypergradient(split, problem.groups, d, start=nearby, **options)
    cold = hypergradient(split, problem.groups, d, **options)
    assert warm.fit.n_evaluations < cold.fit.n_evaluations
    assert warm.n_products < cold.n_products


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_a_fit_leaves_undone_what_it_may(kind):
    problem = tuning_problem(kind, "grouped")
    split, d = problem.splits[0], np.zeros(len(problem.groups))
    precision = weight_precision(problem, d)
    lowest = fit_l2(split.train, precision, tolerance=1e-9).objective
    for undone in (1.0, 0.1):
        point = hypergradient(split, problem.groups, d, undone=undone)
        assert point.undone <= 2.0 * undone
        assert point.fit.objective - lowest < 4.0 * undone


@pytest.mark.parametrize("kind", ["chain", "classes", "partial"])
def test_the_model_has_the_slopes_of_the_loss(kind):
    problem = tuning_problem(kind, "separate")
    point = hypergradient(problem.splits[0], problem.groups, np.full(len(problem.groups), 1.0), **TIGHT)
    slopes = CubicSpline(GRID, point.model.T)(0.0, 1)
    assert_allclose(slopes, point.gradient, rtol=0.02, atol=0.01 * np.abs(point.gradient).max())
    assert np.all(point.model[:, GRID == 0.0] == 0.0)


@pytest.mark.parametrize("s", [-3.0, -1.0, -0.5, 0.5, 1.0, 3.0])
def test_independent_weights(s):
    """Their loss is known far from where it was measured: one weight a group, quadratics all."""
    rng = np.random.default_rng(0)
    hessian, heldout, best, other = rng.uniform(0.5, 5.0, (4, 3))
    precision, groups = np.ones(3), Groups(np.arange(3), ("a", "b", "c"))

    def loss(log_precision):
        w = hessian * best / (np.exp(log_precision) + hessian)
        return 0.5 * heldout * (w - other) ** 2

    w = hessian * best / (precision + hessian)
    model = of_precisions(groups, precision, hessian, w, heldout * (w - other), heldout)
    assert_allclose(model[:, list(GRID).index(s)], loss(s) - loss(0.0), rtol=1e-9)
