"""Smooth held-out scores against enumeration, and their slopes through the fit."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import GridTuner, ImplicitTuner, TuningProblem
from structune.learning.tuning.criterion import Criterion, criterion_of
from structune.learning.tuning.hypergradient import hypergradient
from structune.running.executors import ThreadExecutor
from structune.structure import Groups
from structune.tagging.data.hmm import hmm_attributes, simulate_hmm
from structune.tagging.structure.chain import Chain
from tiny import exact_fit, hmm_tuning_problem, margin_problem, tuning_problem

SCORES = ("accuracy", "f1")
LABELS = ["B", "I", "O"]


def chain_and_shard(n=6, length=4, labels=LABELS, seed=0, outside=False):
    """Short sentences of three labels, one of which is outside."""
    rng = np.random.default_rng(seed)
    y, x = simulate_hmm(n, 2, 3, length=length, random_state=rng)
    outputs = [["O" if outside else str(rng.choice(labels)) for _ in row] for row in y]
    chain = Chain.build(hmm_attributes(x), outputs, labels=labels, states="all", transitions="all")
    return chain, chain.encode(hmm_attributes(x), outputs, rng.uniform(0.5, 1.5, n)), outputs


def by_enumeration(chain, shard, outputs, w, name):
    """Expected cost or 1 - soft F1 from all labellings, one by one."""
    right = predicted = true = wrong = 0.0
    for s, own in enumerate(outputs):
        one, options = shard.take([s]), list(product(range(len(chain.labels)), repeat=len(own)))
        scores = np.array([chain.score(w, one, np.array(y))[0] for y in options])
        p = shard.weights[s] * np.exp(scores - logsumexp(scores))
        for share, labels in zip(p, options, strict=True):
            found = [chain.labels[y] for y in labels]
            wrong += share * sum(a != b for a, b in zip(found, own, strict=True))
            right += share * sum(a == b != "O" for a, b in zip(found, own, strict=True))
            predicted += share * sum(a != "O" for a in found)
        true += shard.weights[s] * sum(a != "O" for a in own)
    if name == "accuracy":
        return wrong
    return 1.0 - 2.0 * right / (predicted + true) if predicted + true else 0.0


def score_of(chain, shard, name, unit=1.0, n_threads=1):
    executor = ThreadExecutor(n_threads)
    risk = Risk(chain, LogLoss(), [shard.take([s]) for s in range(len(shard))], executor)
    return Criterion(name, unit).of(risk)


# --- values and slopes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
def test_values_are_enumerated(name, scale):
    chain, shard, outputs = chain_and_shard()
    w = scale * np.random.default_rng(1).normal(size=chain.n_weights)
    expected = by_enumeration(chain, shard, outputs, w, name)
    score = score_of(chain, shard, name, unit=3.0)
    assert score.value(w) == pytest.approx(3.0 * expected, rel=1e-10)
    assert score.value_and_gradient(w)[0] == pytest.approx(3.0 * expected, rel=1e-10)
    assert_array_equal(score.value(w), score_of(chain, shard, name, 3.0, n_threads=2).value(w))


@pytest.mark.parametrize("name", SCORES)
def test_gradients_are_differences(name):
    chain, shard, _ = chain_and_shard()
    rng, step = np.random.default_rng(2), 1e-5
    score, w = score_of(chain, shard, name), rng.normal(size=chain.n_weights)
    gradient = score.value_and_gradient(w)[1]
    for v in (rng.normal(size=w.size), np.eye(w.size)[3]):
        ahead, behind = (score.value(w + s * v) for s in (step, -step))
        assert gradient @ v == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("options", [{"length": 1}, {"labels": ["O"]}, {"outside": True}, {"n": 1}])
@pytest.mark.parametrize("name", SCORES)
def test_odd_sentences(name, options):
    """One token; nothing but the outside label, or nothing else that is true; one sentence."""
    chain, shard, outputs = chain_and_shard(**{"outside": options.get("labels") == ["O"], **options})
    w = np.random.default_rng(3).normal(size=chain.n_weights)
    value, gradient = score_of(chain, shard, name).value_and_gradient(w)
    assert value == pytest.approx(by_enumeration(chain, shard, outputs, w, name), rel=1e-10, abs=1e-12)
    assert np.isfinite(gradient).all()
    if len(chain.labels) == 1:
        assert_allclose(gradient, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", SCORES)
def test_the_unit_makes_both_the_same_at_zero(name):
    problem = tuning_problem("chain", folds=3)
    criterion, zeros = criterion_of(problem, name), np.zeros(problem.full.n_weights)
    risks = [split.heldout for split in problem.splits]
    scores, losses = (
        sum(judge.value(zeros) for judge in judges) for judges in (map(criterion.of, risks), risks)
    )
    assert scores == pytest.approx(losses, rel=1e-12)


def test_nothing_to_score_leaves_the_unit():
    structure = Classes(["a"], ["x"])
    shard = structure.encode(np.ones((10, 1)), ["a"] * 10)
    problem = TuningProblem.build(structure, LogLoss(), shard, Groups.single(2))
    assert criterion_of(problem, "accuracy").unit == 1.0
    assert GridTuner(criterion="accuracy").tune(problem).heldout_loss == 0.0


# --- tuners -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [("chain", "accuracy"), ("chain", "f1"), ("classes", "accuracy")])
@pytest.mark.parametrize("which", ["single", "grouped"])
def test_the_hypergradient_is_the_slope_of_the_refitted_score(kind, which, name):
    problem, step = tuning_problem(kind, which, holdout=0.3), 1e-3
    d = np.random.default_rng(0).uniform(-1.0, 1.0, len(problem.groups))
    criterion, split = criterion_of(problem, name), problem.splits[0]
    judge = criterion.of(split.heldout)
    point = hypergradient(split, problem.groups, d, criterion=criterion, tolerance=1e-12, cg_tolerance=1e-12)

    def refitted(d):
        return judge.value(exact_fit(split.train, np.exp(d)[problem.groups.index]))

    assert point.value == pytest.approx(refitted(d), rel=1e-9)
    for j, unit in enumerate(np.eye(d.size)):
        slope = (refitted(d + step * unit) - refitted(d - step * unit)) / (2 * step)
        scale = np.linalg.norm(point.gradient)
        assert point.gradient[j] == pytest.approx(slope, rel=1e-4, abs=1e-5 * scale)


@pytest.mark.parametrize("splits", [{"holdout": 0.3}, {"folds": 2}], ids=["holdout", "folds"])
@pytest.mark.parametrize("name", SCORES)
def test_the_score_falls_and_ends_low(name, splits):
    """Lower than at the start, than where the loss leads, and nearly as low as on a fine grid."""
    problem = hmm_tuning_problem(which="single", **splits)
    criterion = criterion_of(problem, name)
    result = ImplicitTuner(start=100.0, criterion=name, refit=False).tune(problem)
    values = [record["heldout_loss"] for record in result.history if "heldout_loss" in record]
    assert result.status == "converged"
    assert result.heldout_loss == min(values) < values[0]

    def lost(log_precision):
        precision = GroupedL2(problem.groups, np.atleast_1d(log_precision)).precision
        fits = [fit_l2(split.train, precision, tolerance=1e-8).w for split in problem.splits]
        judges = [criterion.of(split.heldout) for split in problem.splits]
        return sum(judge.value(w) for judge, w in zip(judges, fits, strict=True))

    assert result.heldout_loss == pytest.approx(lost(result.log_precision), rel=5e-3)
    assert result.heldout_loss <= lost(ImplicitTuner(refit=False).tune(problem).log_precision)
    grid = GridTuner([2.0**k for k in range(-8, 9)], criterion=name, refit=False).tune(problem)
    assert result.heldout_loss <= 1.01 * grid.heldout_loss


def test_the_grid_takes_the_point_of_the_lowest_score():
    problem = tuning_problem("classes")
    criterion = criterion_of(problem, "accuracy")
    result = GridTuner((0.1, 1.0, 10.0), fit_tolerance=1e-8, criterion="accuracy").tune(problem)
    expected = []
    for precision in (0.1, 1.0, 10.0):
        w = exact_fit(problem.splits[0].train, np.full(problem.full.n_weights, precision))
        expected.append(criterion.of(problem.splits[0].heldout).value(w))
    found = [record["heldout_loss"] for record in result.history if "heldout_loss" in record]
    assert_allclose(found, expected, rtol=1e-6)
    assert result.heldout_loss == min(found)


@pytest.mark.parametrize("tuner", [ImplicitTuner, GridTuner])
def test_the_loss_is_the_default(tuner):
    found = [tuner(**options).tune(tuning_problem()) for options in ({}, {"criterion": "loss"})]
    assert_array_equal(found[0].w, found[1].w)
    assert_array_equal(found[0].log_precision, found[1].log_precision)


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tuner", [ImplicitTuner, GridTuner])
@pytest.mark.parametrize("name", ["auc", None, 1])
def test_unknown_names_are_refused(tuner, name):
    with pytest.raises(DataError, match=f"criterion={name!r}: expected one of .*'accuracy'"):
        tuner(criterion=name).tune(tuning_problem())


@pytest.mark.parametrize("tuner", [ImplicitTuner, GridTuner])
def test_what_a_structure_cannot_count_is_refused(tuner):
    with pytest.raises(CapabilityError, match=r"criterion='f1' needs 'counts'.*classes"):
        tuner(criterion="f1").tune(tuning_problem("classes"))
    with pytest.raises(CapabilityError, match="found 'squared'"):
        tuner(criterion="accuracy").tune(tuning_problem("linear"))


def test_losses_without_probabilities_are_refused():
    with pytest.raises(CapabilityError, match="criterion='accuracy' needs the probabilities"):
        GridTuner(criterion="accuracy").tune(margin_problem("chain", MarginLoss()))


def test_partial_labels_have_no_score():
    with pytest.raises(DataError, match="no complete labels"):
        ImplicitTuner(criterion="accuracy").tune(tuning_problem("partial"))
