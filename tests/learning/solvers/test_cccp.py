"""The convex-concave procedure: it descends from the convex minimum, and keeps its best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxima import (
    ENUMERATED,
    enumerated,
    equivalent_values,
    huge_features,
    minimum,
    objective,
    ramp_values,
    risk_of,
)
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.rows import residues_of
from structune.flat.structure.classes import Classes
from structune.learning.margin_losses import EquivalentMarginLoss, MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers import cccp as module
from structune.learning.solvers.bundle import minimize_bundle
from structune.learning.solvers.cccp import minimize_cccp
from structune.running.monitor import FitStopped, Monitor
from tiny import OneCtrlC

CASES = [(kind, "margin") for kind in ENUMERATED] + [("chain", "slack"), ("classes", "slack")]
EVERY_CASE = pytest.mark.parametrize(("kind", "rescaling"), CASES)
PRECISION = {"rna": 0.05, "ranking": 0.01}  # so low that ramp and convex bound are not the same


def precision_of(problem, kind):
    return np.full(problem.w.size, PRECISION.get(kind, 0.03))


def value_by_hand(problem, w, precision, rescaling):
    return problem.shard.weights @ ramp_values(problem, w, rescaling) + 0.5 * precision @ w**2


@pytest.fixture
def fits(monkeypatch):
    """What the convex minimisations gave."""
    found = []

    def spy(*args, **options):
        found.append(minimize_bundle(*args, **options))
        return found[-1]

    monkeypatch.setattr(module, "minimize_bundle", spy)
    return found


def rounds_of(monitor):
    return [record for record in monitor.history if record["stage"] == "cccp"]


@EVERY_CASE
def test_it_descends_from_the_convex_minimum_to_where_its_tangent_has_its_own(kind, rescaling, fits):
    problem, monitor, loss = enumerated(kind), Monitor(), RampLoss(rescaling)
    precision, risk = precision_of(problem, kind), risk_of(problem, loss)
    fit = minimize_cccp(risk, precision, tolerance=1e-4, monitor=monitor)
    told = [record["objective"] for record in rounds_of(monitor)]
    values = [value_by_hand(problem, f.w, precision, rescaling) for f in fits]
    assert fit.status == "converged"
    assert len(values) >= 2
    assert_allclose(told, values, rtol=1e-7)
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert_array_equal(fit.w, fits[-1].w)
    assert fit.n_evaluations == sum(f.n_evaluations for f in fits)
    # where it began
    value, w = minimum(problem, precision, rescaling=rescaling)
    assert fits[0].objective == pytest.approx(value, rel=1e-3)
    assert fit.objective <= objective(problem, w, precision, loss) * 1.01
    assert fit.objective < value or kind in ("ranking", "rna")  # where the bound is about as tight
    # what is told of its end
    assert fit.objective == pytest.approx(values[-1], rel=1e-8)
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision, risk.loss), rel=1e-12)
    assert_allclose(fit.gradient, risk.value_and_gradient(fit.w)[1] + precision * fit.w, atol=1e-12)
    # and where that is
    slope, own = risk.concave(fit.w)[1], np.zeros(fit.w.size)
    if rescaling == "margin":  # the score of the own output is in the planes, and not in the loss
        problem.structure.features(problem.shard, own)
    least, _ = minimum(problem, precision, rescaling=rescaling, linear=own - slope)
    assert least <= fit.objective * (1 + 1e-6)
    assert fit.objective - least <= 5e-4 * fit.objective


def test_the_least_loss_over_equivalent_outputs(fits):
    problem = enumerated("ranking")
    precision = np.full(3, 0.01)
    fit = minimize_cccp(risk_of(problem, EquivalentMarginLoss()), precision, tolerance=1e-6)
    values = [
        problem.shard.weights @ equivalent_values(problem, f.w) + 0.5 * precision @ f.w**2 for f in fits
    ]
    assert fit.status == "converged"
    assert fit.objective == pytest.approx(values[-1], rel=1e-9)
    assert np.all(np.diff(values) <= 1e-9)
    assert values[-1] < values[0]


@pytest.mark.parametrize(("kind", "t"), [("ranking", 1e-4), ("classes", 1e4)])
def test_it_may_begin_with_weights_of_any_scale(kind, t, fits):
    """The tangent of the first round is that of the weights, and it finds their best multiple."""
    problem = enumerated(kind)
    precision, loss = precision_of(problem, kind), RampLoss()
    w = minimize_cccp(risk_of(problem, loss), precision).w
    fits.clear()
    risk = risk_of(problem, loss).beginning_at(t * w)
    fit = minimize_cccp(risk, precision)
    first = risk.bound(risk.concave(w)[1])
    multiples = [first.value(s * w) + 0.5 * s * s * precision @ w**2 for s in np.linspace(0.0, 3.0, 61)]
    assert fit.status == "converged"
    assert fits[0].objective <= min(multiples) * (1 + 1e-2)
    assert fit.objective <= objective(problem, w, precision, loss) * (1 + 1e-2)


def test_what_is_on_the_ray_is_asked_once():
    problem = enumerated("classes")
    risk = risk_of(problem, RampLoss()).beginning_at(np.ones(problem.w.size))
    passes = []
    for _ in range(2):
        before = risk.passes
        fit = minimize_cccp(risk, precision_of(problem, "classes"))
        passes.append(risk.passes - before)
    assert passes[1] <= passes[0] - 4
    assert_array_equal(fit.w, minimize_cccp(risk, precision_of(problem, "classes")).w)


def partly_known(loss):
    """Alignments of two pairs, of which some columns are not known."""
    structure = Alignment("affine")
    rows = [("HEAGAWGHE-E", "---paW-HEAE"), ("GAWGHE", "-AW-hE")]
    shard = structure.encode([residues_of(pair) for pair in rows], rows)
    return Risk(structure, loss, [shard]), np.full(structure.n_weights, 0.01)


def test_the_best_output_that_agrees_comes_first(fits):
    risk, precision = partly_known(EquivalentMarginLoss())
    minimize_cccp(risk, precision)
    agreeing = [fit.w for fit in fits]
    fits.clear()
    risk, precision = partly_known(RampLoss())
    fit = minimize_cccp(risk, precision)
    assert_array_equal([f.w for f in fits[: len(agreeing)]], agreeing)
    values = [risk.value(f.w) + 0.5 * precision @ f.w**2 for f in fits[len(agreeing) - 1 :]]
    assert np.all(np.diff(values) <= 1e-9)
    assert fit.objective == pytest.approx(values[-1], rel=1e-9)
    assert risk.task_cost(fit.w) == 0.0


def test_the_first_tangent_is_at_the_start():
    risk, precision = partly_known(EquivalentMarginLoss())
    guessed = minimize_cccp(risk, precision)
    assert_array_equal(minimize_cccp(risk, precision, risk.structure.guess()).w, guessed.w)
    far_off = minimize_cccp(risk, precision, -risk.structure.guess())
    assert np.any(far_off.w != guessed.w)


def errors_of(solve, loss, seed):
    """Of two classes, where a tenth of the examples of one have the other's label, and lie far out."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2)) + [1.0, 0.0] * rng.choice([-1, 1], size=(200, 1))
    right = x.sum(axis=1) > 0
    wrong = (rng.random(200) < 0.1) & ~right
    x[wrong] *= 3.0
    structure = Classes([False, True], ["x", "y"], reference=True)
    shard, truth = structure.encode(x, (right ^ wrong).tolist()), structure.encode(x, right.tolist())
    w = solve(Risk(structure, loss, [shard]), np.full(3, 0.1)).w
    return structure.cost(truth, structure.best(w, truth)[0]).sum()


def test_wrong_labels_are_given_up():
    convex = [errors_of(minimize_bundle, MarginLoss(), seed) for seed in range(2)]
    ramp = [errors_of(minimize_cccp, RampLoss(), seed) for seed in range(2)]
    assert sum(ramp) < 0.7 * sum(convex)


def test_a_huge_precision():
    problem = enumerated("chain")
    fit = minimize_cccp(risk_of(problem, RampLoss()), np.full(problem.w.size, 1e10))
    expected = problem.shard.weights @ [costs.max() for costs in problem.costs]
    assert (fit.status, fit.objective) == ("converged", pytest.approx(expected, rel=1e-6))
    assert_allclose(fit.w, 0.0, atol=1e-8)


def test_passes_run_out_in_the_convex_phase():
    """The rounds that follow have as many again."""
    n, problem, monitor = 3, enumerated("chain"), Monitor()
    precision = precision_of(problem, "chain")
    fit = minimize_cccp(risk_of(problem, RampLoss()), precision, max_iterations=n, monitor=monitor)
    assert fit.n_evaluations > n
    assert fit.objective == pytest.approx(value_by_hand(problem, fit.w, precision, "margin"), rel=1e-8)
    assert np.all(np.diff([record["objective"] for record in rounds_of(monitor)]) <= 1e-9)


def test_the_rounds_run_out(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROUNDS", 1)
    problem = enumerated("classes")
    fit = minimize_cccp(risk_of(problem, RampLoss()), precision_of(problem, "classes"))
    assert fit.status == "iterations"


def passes_of(kind):
    problem, executor = enumerated(kind), OneCtrlC(0)
    risk = risk_of(problem, RampLoss(), executor)
    minimize_cccp(risk, precision_of(problem, kind))
    return -executor.left


@pytest.mark.parametrize("kind", ["chain", "ranking"])
def test_ctrl_c_at_any_time_leaves_the_best(kind):
    problem, n = enumerated(kind), passes_of(kind)
    precision = precision_of(problem, kind)
    last = np.inf
    for stop in [*range(7, n - 1, 1 + n // 4), n - 2]:
        risk, monitor = risk_of(problem, RampLoss(), OneCtrlC(stop)), Monitor()
        fit = minimize_cccp(risk, precision, monitor=monitor)
        assert fit.status == "interrupted", stop
        told = [record["objective"] for record in rounds_of(monitor)]
        assert fit.objective <= min(told, default=np.inf) * (1 + 1e-9)
        assert fit.objective == pytest.approx(value_by_hand(problem, fit.w, precision, "margin"), rel=1e-8)
        if len(told):  # past the convex phase, more time is never worse
            assert fit.objective <= last * (1 + 1e-9)
            last = fit.objective
        with pytest.raises(FitStopped):
            fit.check()


def test_a_round_that_does_not_converge_and_gains_nothing_is_the_last():
    risk = huge_features(RampLoss())
    fit = minimize_cccp(risk, np.full(risk.n_weights, 1e-8), max_iterations=300)
    assert fit.status in ("stalled", "iterations")
    assert fit.n_evaluations < 1000
