"""Precisions integrated out: updates, direct search, noise of regression, and calibration."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from structune import Classifier, Regressor
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.flat.structure.linear import Linear
from structune.learning.losses import LogLoss, SquaredLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.penalties import NOISE_FLOOR, GroupedL2, IntegratedL2
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import DirectTuner, MajorizeTuner, TuningProblem
from structune.learning.tuning import majorize as module
from structune.learning.tuning.majorize import CollapseWarning, best_factor
from structune.running.monitor import BudgetExhausted, Monitor
from structune.structure import Groups
from structune.tagging.data.hmm import simulate_hmm
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.chain import Chain
from tiny import KINDS, Fuse, OneCtrlC, dense_hessian, exact_fit, group, margin_problem, small, tuning_problem

TIGHT = {"tolerance": 1e-5, "fit_tolerance": 1e-8, "max_iterations": 500}
WHICH = ["single", "grouped", "separate"]


def weight_precision(problem, result):
    return np.exp(result.log_precision)[problem.groups.index]


def energy(problem, result):
    return 0.5 * problem.groups.sum(result.w**2)


def records(result):
    return [r for r in result.history if r["stage"] == "majorize"]


@pytest.mark.filterwarnings("ignore::structune.learning.tuning.majorize.CollapseWarning")
@pytest.mark.parametrize(("kind", "which"), zip(KINDS, WHICH, strict=True))
@pytest.mark.parametrize("prior", [{}, {"alpha": 2.0, "beta": 0.3}])
def test_the_objective_never_rises(kind, which, prior):
    problem = tuning_problem(kind, which, splits=False)
    tuner = MajorizeTuner(count="all", tolerance=1e-3, **prior)
    objectives = [r["objective"] for r in records(tuner.tune(problem))]
    assert len(objectives) > 2
    assert np.all(np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]))


@pytest.mark.parametrize(("kind", "which"), zip(KINDS, WHICH, strict=True))
def test_it_ends_at_the_fixed_point(kind, which):
    problem = tuning_problem(kind, which, splits=False)
    tuner = MajorizeTuner(alpha=0.5, beta=2.0, count="all", **TIGHT)
    result = tuner.tune(problem)
    assert result.status == "converged"
    expected = (problem.groups.sizes / 2 + 0.5) / (energy(problem, result) + 2.0)
    assert_allclose(np.exp(result.log_precision), expected, rtol=1e-4)
    assert_allclose(result.w, exact_fit(problem.full, weight_precision(problem, result), result.w), atol=1e-5)


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_effective_counts_are_traces(kind):
    """By a matrix those of the dense inverse, else bounds of them that are less than all weights."""
    problem = tuning_problem(kind, "grouped", splits=False)
    groups = problem.groups
    steps = module._Steps(MajorizeTuner(), problem, Monitor())
    steps.log_precision, steps.w = np.full(len(groups), 0.7), 0.1 * np.cos(np.arange(groups.index.size))
    precision = np.exp(steps.log_precision)[groups.index]
    inverse = np.linalg.inv(dense_hessian(problem.full, steps.w) + np.diag(precision))
    exact = groups.sizes - groups.sum(precision * np.diag(inverse))
    assert steps.is_bounded == (kind == "chain")
    if kind == "classes":
        assert_allclose(steps._effective_counts(), exact)
        steps.is_bounded = True
    bound = steps._effective_counts()
    assert np.all((exact <= bound) & (bound < groups.sizes))


def sparse_chains(n_sequences=40, n_rare=5, seed=0):
    """Two relevant features, and many that occur once or twice: more weights than the data determine."""
    rng = np.random.default_rng(seed)
    y, x = simulate_hmm(n_sequences, 2, 2, length=6, agreement=0.9, random_state=rng)
    sequences = [[[f"x{j}={v}" for j, v in enumerate(token)] for token in row] for row in x.tolist()]
    for sequence in sequences:
        for token in sequence:
            token += [f"rare={k}" for k in rng.integers(0, 300, n_rare)]
    return sequences, [["ab"[k] for k in row] for row in y.tolist()]


def sparse_problem(states="all"):
    x, y = sparse_chains()
    chain = Chain.build(AttributeTable.from_items(x), y, states=states)
    shard = chain.encode(AttributeTable.from_items(x), y)
    test_x, test_y = sparse_chains(seed=1)
    test = chain.encode(AttributeTable.from_items(test_x), test_y)
    problem = TuningProblem.build(chain, LogLoss(), shard, Groups.single(chain.n_weights), splits=False)
    return problem, test


def loss_of(problem, w, shard):
    return (
        LogLoss().nonlinear(problem.full.structure, shard, w, None)
        + LogLoss().linear(problem.full.structure, shard) @ w
    )


def accuracy(problem, w, shard):
    return np.mean(problem.full.structure.best(w, shard)[0] == shard.labels)


def test_a_collapse_is_told():
    problem, _ = sparse_problem()
    with pytest.warns(CollapseWarning, match=r"Try count='effective', which uses the effective") as caught:
        result = MajorizeTuner(count="all", max_iterations=50).tune(problem)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    at_zero, first = problem.full.at_zero.value, records(result)[0]["loss"]
    assert at_zero - problem.full.value(result.w) < 0.5 * (at_zero - first)
    assert np.abs(result.w).max() < 0.2


def test_the_effective_number_does_not_collapse():
    problem, test = sparse_problem()
    with pytest.warns(CollapseWarning):
        collapsed = MajorizeTuner(count="all").tune(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = MajorizeTuner().tune(problem)
    assert all(r["effective"] for r in result.history)
    assert problem.full.value(result.w) < 0.7 * problem.full.value(collapsed.w)
    assert loss_of(problem, result.w, test) < 0.8 * loss_of(problem, collapsed.w, test)
    assert accuracy(problem, result.w, test) > 0.8


def test_automatic_turns_to_the_effective_number_at_a_collapse(monkeypatch):
    problem, test = sparse_problem()
    monkeypatch.setattr(problem.full, "weighted_parts", 1e9)  # as if there were enough tokens
    with pytest.warns(CollapseWarning, match="Tuning continues with the effective number") as caught:
        result = MajorizeTuner().tune(problem)
    assert len(caught) == 1
    effective = [r["effective"] for r in records(result)]
    assert effective == sorted(effective)
    assert not effective[0]
    assert effective[-1]
    assert accuracy(problem, result.w, test) > 0.8
    direct = MajorizeTuner(count="effective").tune(problem)
    assert problem.full.value(result.w) == pytest.approx(problem.full.value(direct.w), rel=0.1)


def test_an_unknown_count():
    with pytest.raises(DataError, match=r"count='some': expected one of"):
        MajorizeTuner(count="some").tune(tuning_problem(splits=False))


@pytest.mark.parametrize("count", ["all", "effective"])
def test_ctrl_c_at_any_time_leaves_the_last_fit(count):
    problem = tuning_problem(executor=(fuse := Fuse(10**9)), splits=False)
    before = fuse.left
    MajorizeTuner(count=count).tune(problem)
    n = before - fuse.left
    for stop in {*range(4, n, 1 + n // 5), n - 1}:
        risk_fuse = Fuse(10**9)
        problem = tuning_problem(executor=risk_fuse, splits=False)
        risk_fuse.left = stop
        result = MajorizeTuner(count=count).tune(problem)
        assert result.status == "interrupted"
        risk_fuse.left = 10**9
        assert problem.full.value(result.w) < problem.full.at_zero.value


KINKS = pytest.mark.parametrize("loss", [MarginLoss(), RampLoss()], ids=["margin", "ramp"])


def test_it_ends_at_the_fixed_point_with_kinks():
    problem = margin_problem("classes", MarginLoss(), splits=False)
    tuner = MajorizeTuner(alpha=0.5, beta=2.0, tolerance=1e-2, fit_tolerance=1e-6, max_iterations=100)
    result = tuner.tune(problem)
    assert result.status == "converged"
    expected = (problem.groups.sizes / 2 + 0.5) / (energy(problem, result) + 2.0)
    assert_allclose(np.exp(result.log_precision), expected, rtol=0.02)
    precision = weight_precision(problem, result)
    value = fit_l2(problem.full, precision, tolerance=1e-6).objective
    assert problem.full.value(result.w) + 0.5 * precision @ result.w**2 == pytest.approx(value, rel=2e-5)


@KINKS
def test_all_weights_count_where_there_is_no_hessian(loss):
    problem = margin_problem("classes", loss, splits=False)
    assert problem.full.n_weights * 10 > problem.full.n_parts
    assert not MajorizeTuner().tune(problem).history[-1]["effective"]
    found = type(loss).__name__
    with pytest.raises(CapabilityError, match=f"count='effective' needs a smooth loss, and {found}"):
        MajorizeTuner(count="effective").tune(problem)


def test_a_collapse_with_kinks_points_to_the_grid():
    """Every example has ten features of its own."""
    loss = MarginLoss()
    structure = Classes([0, 1], [f"x{k}" for k in range(200)], bias=False, reference=True)
    shard = structure.encode(np.kron(np.eye(20), np.ones(10)), [0, 1] * 10)
    problem = TuningProblem.build(structure, loss, shard, Groups.single(200), splits=False)
    with pytest.warns(CollapseWarning, match="the data can determine. Try tuning='grid'") as caught:
        MajorizeTuner().tune(problem)
    assert len(caught) == 1


def curve(n=300):
    rng = np.random.default_rng(0)
    x = np.linspace(-1.0, 1.0, n)[:, None]
    return x, np.sin(6.0 * x[:, 0]) + 0.1 * rng.normal(size=n)


def test_a_first_small_move_is_not_the_end():
    """The noise is thought to be large at first, and precisions fall faster and faster from there."""
    x, y = curve()
    model = make_pipeline(PolynomialFeatures(15), StandardScaler(), Regressor()).fit(x, y)
    peer = make_pipeline(PolynomialFeatures(15), StandardScaler(), BayesianRidge()).fit(x, y)
    assert model[-1].status_ == "converged"
    assert model.score(x, y) == pytest.approx(peer.score(x, y), abs=0.002)


@pytest.mark.parametrize("which", ["single", "grouped"])
def test_it_ends_near_the_fixed_point(which):
    problem = tuning_problem("classes", which)
    tight = {"tolerance": 1e-4, "max_iterations": 200, "fit_tolerance": 1e-7}
    found, far = (MajorizeTuner(count="effective", **ends).tune(problem) for ends in ({}, tight))
    assert found.status == far.status == "converged"
    assert_allclose(found.log_precision, far.log_precision, atol=0.3)


def test_stretched_moves_save_updates():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, size=(600, 2))
    y = (np.floor(2 * x).sum(axis=1) % 2).astype(int)
    model = make_pipeline(PolynomialFeatures(10), StandardScaler(), Classifier()).fit(x, y)
    updates = [record for record in model[-1].history_ if record["stage"] == "majorize"]
    assert model[-1].status_ == "converged"
    assert model.score(x, y) > 0.96
    assert len(updates) < 10  # twenty of plain updates were too few


# --- majorize regression -----------------------------------------------------------------------------------


TIGHTER = {"tolerance": 1e-6, "fit_tolerance": 1e-9, "max_iterations": 500}


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
def test_the_objective_never_rises_of_regression(n, p, which, hessian):
    problem = regression(n, p, which, hessian=hessian)
    found = objectives(MajorizeTuner(beta=1.0, count="all", tolerance=1e-4, max_iterations=100).tune(problem))
    assert len(found) > 2
    assert np.all(np.diff(found) <= 1e-9 * np.abs(found[:-1]))


@pytest.mark.parametrize("which", ["free", "separate"])
def test_it_ends_at_the_fixed_point_of_regression(which):
    problem = regression(40, 8, which)
    result = MajorizeTuner(alpha=0.5, beta=0.2, count="all", **TIGHTER).tune(problem)
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
    steps = MajorizeTuner(beta=1.0, count="all", **TIGHTER).tune(problem)
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
    for tuner in (MajorizeTuner(noise_floor=floor, **TIGHTER), DirectTuner(noise_floor=floor)):
        assert least <= tuner.tune(problem).noise < 3 * least


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


# --- calibration -------------------------------------------------------------------------------------------


FACTORS = np.linspace(-5.0, 5.0, 21)


def folded(kind, folds=3):
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
    problem = folded(kind)
    d = np.full(len(problem.groups), level)
    w = np.zeros(problem.full.n_weights)
    factor, heldout_loss, _ = best_factor(problem, d, w, 1e-6, Monitor())
    values = [judged(problem, d, other) for other in FACTORS]
    assert judged(problem, d, factor) <= min(values) + 0.01 * abs(min(values))
    assert heldout_loss <= judged(problem, d, 0.0) * (1 + 1e-5)


def test_the_groups_keep_their_proportions():
    problem = folded("classes")
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
    problem = folded("classes")
    plain = MajorizeTuner().tune(problem)
    result = MajorizeTuner(calibrated=True).tune(problem, UpToTheFactors())
    assert result.status == "budget"
    assert result.log_precision == pytest.approx(plain.log_precision)


# --- direct ------------------------------------------------------------------------------------------------


def objective(problem, w, **prior):
    return problem.full.value(w) + IntegratedL2(problem.groups, **prior).value_and_gradient(w)[0]


@pytest.mark.parametrize(("kind", "which"), zip(KINDS, ["single", "grouped", "separate"], strict=True))
def test_it_ends_at_a_stationary_point(kind, which):
    problem, prior = tuning_problem(kind, which, splits=False), {"alpha": 0.5, "beta": 2.0}
    result = DirectTuner(fit_tolerance=1e-6, **prior).tune(problem)
    assert result.status == "converged"
    slope = approx_fprime(result.w, lambda w: objective(problem, w, **prior), 1e-6)
    assert np.abs(slope).max() < 1e-3
    energy = 0.5 * problem.groups.sum(result.w**2)
    assert_allclose(np.exp(result.log_precision), (problem.groups.sizes / 2 + 0.5) / (energy + 2.0))
    assert result.history[-1]["objective"] == pytest.approx(objective(problem, result.w, **prior))


def test_a_degenerate_end_is_told():
    """More weights than examples: at w = 0 the prior of the many is a well that the search does not leave."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 400))
    y = (x[:, 0] + rng.normal(size=60) > 0).astype(int)
    structure = Classes([0, 1], [f"x{k}" for k in range(400)], bias=False)
    shard, groups = structure.encode(x, y), Groups.single(structure.n_weights)
    problem = TuningProblem.build(structure, LogLoss(), shard, groups, splits=False)
    with pytest.warns(CollapseWarning, match="tuning='direct' seldom leaves"):
        DirectTuner().tune(problem)
