"""Majorisation-minimisation: it descends, ends at its fixed point, and does not collapse."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from structune import Classifier, Regressor
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import MajorizeTuner, TuningProblem
from structune.learning.tuning import majorize as module
from structune.learning.tuning.majorize import CollapseWarning
from structune.running.monitor import Monitor
from structune.structure import Groups
from structune.tagging.data.hmm import simulate_hmm
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.chain import Chain
from tiny import KINDS, Fuse, dense_hessian, exact_fit, margin_problem, tuning_problem

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
    """Hutchinson's estimate comes close to the dense trace, with standard errors that say how close."""
    problem = tuning_problem(kind, "grouped", splits=False)
    groups = problem.groups
    found = []
    for seed in range(30):
        steps = module._Steps(MajorizeTuner(random_state=seed, cg_tolerance=1e-10), problem, Monitor())
        steps.log_precision, steps.w = np.full(len(groups), 0.7), 0.1 * np.cos(np.arange(groups.index.size))
        found.append(steps._effective_counts())
    precision = np.exp(steps.log_precision)[groups.index]
    inverse = np.linalg.inv(dense_hessian(problem.full, steps.w) + np.diag(precision))
    exact = groups.sizes - groups.sum(precision * np.diag(inverse))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 4 * error + 1e-9)
    assert np.all(error < 0.1 * exact)
    assert np.all((exact > 0) & (exact < groups.sizes))


def sparse_chains(n_sequences=40, n_rare=5, seed=0):
    """Two relevant features, and many that occur once or twice: more weights than the data determine."""
    rng = np.random.default_rng(seed)
    y, x = simulate_hmm(n_sequences, 2, 2, length=6, agreement=0.9, random_state=rng)
    sequences = [
        [[f"x{j}={v}" for j, v in enumerate(token)] for token in sequence] for sequence in x.tolist()
    ]
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
    with pytest.warns(CollapseWarning, match=r"count='effective' goes on with the effective") as caught:
        result = MajorizeTuner(count="all", max_iterations=50).tune(problem)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    first = records(result)[0]["loss"]
    assert problem.full.at_zero.value - problem.full.value(result.w) < 0.5 * (
        problem.full.at_zero.value - first
    )
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
    with pytest.warns(CollapseWarning, match="going on with the effective number") as caught:
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
    with pytest.raises(CapabilityError, match=f"count='effective' needs a smooth loss, found {found}"):
        MajorizeTuner(count="effective").tune(problem)


def test_a_collapse_with_kinks_points_to_the_grid():
    """Every example has ten features of its own."""
    loss = MarginLoss()
    structure = Classes([0, 1], [f"x{k}" for k in range(200)], bias=False, reference=True)
    shard = structure.encode(np.kron(np.eye(20), np.ones(10)), [0, 1] * 10)
    problem = TuningProblem.build(structure, loss, shard, Groups.single(200), splits=False)
    with pytest.warns(CollapseWarning, match="the data determine; tuning='grid' may do better") as caught:
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
    found = MajorizeTuner(count="effective").tune(problem)
    far = MajorizeTuner(count="effective", tolerance=1e-4, max_iterations=200, fit_tolerance=1e-7).tune(
        problem
    )
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
