"""The bundle method against SciPy on problems written out, L-BFGS on smooth losses, and what stops it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from maxima import ENUMERATED, OUTER, enumerated, huge_features, margin_values, minimum, objective, risk_of
from structune.errors import DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers.bundle import Bundle, CuttingPlanes, minimize_bundle
from structune.learning.solvers.l2 import fit_l2
from structune.running.monitor import FitStopped, Monitor
from tiny import Budget, Fuse, small

KEEP = pytest.mark.parametrize("keep", [True, False], ids=["outputs kept", "planes alone"])
TIGHT = 1e-6


def uniform(problem, precision):
    return np.full(problem.w.size, float(precision))


def solve(risk, precision, start=None, keep=None, center=None, most=None, **options):
    bundle = Bundle(risk, precision, center, keep_outputs=keep, most_planes=most)
    return minimize_bundle(risk, precision, start, bundle=bundle, **options)


def check(fit, value, tolerance=TIGHT):
    """The optimum lies between the objective and the bound, and they as near as was asked for."""
    assert fit.status == "converged"
    slack = 5e-7 * abs(value)  # of the peer
    assert fit.lower_bound <= value + slack
    assert value - slack <= fit.objective
    assert fit.objective - fit.lower_bound <= tolerance * abs(fit.objective)


@pytest.mark.parametrize(("precision", "tolerance"), [(0.01, 1e-3), (1.0, TIGHT)])
@pytest.mark.parametrize("kind", ENUMERATED)
def test_scipy_agrees(kind, precision, tolerance):
    problem = enumerated(kind)
    precision = uniform(problem, precision)
    value, w = minimum(problem, precision)
    for keep in (True, False):
        fit = solve(risk_of(problem), precision, keep=keep, tolerance=tolerance)
        check(fit, value, tolerance)
        assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-8)
        # the objective is curved as the prior is
        assert 0.5 * precision @ (fit.w - w) ** 2 <= 2 * tolerance * value


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_scipy_agrees_on_every_loss(rescaling, outer):
    problem = enumerated("chain")
    precision = np.geomspace(0.3, 3.0, problem.w.size)
    value, _ = minimum(problem, precision, rescaling=rescaling, outer=outer)
    for keep in (True, False):
        risk = risk_of(problem, MarginLoss(rescaling, outer))
        check(solve(risk, precision, keep=keep, tolerance=1e-4), value, 1e-4)


@KEEP
def test_a_center(keep):
    problem = enumerated("chain")
    precision, center = uniform(problem, 2.0), problem.rng.normal(size=problem.w.size)
    value, w = minimum(problem, precision, center)
    risk = risk_of(problem)
    fit = solve(risk, precision, keep=keep, center=center, tolerance=1e-5)
    check(fit, value, 1e-5)
    away = fit.w - center
    assert fit.objective == pytest.approx(risk.value(fit.w) + 0.5 * precision @ away**2, rel=1e-8)
    assert_allclose(fit.w, w, atol=0.05)
    first = solve(risk, precision, keep=keep, center=center, max_iterations=1)
    assert_array_equal(first.w, center)


@pytest.mark.parametrize(("kind", "precision"), [("chain", 0.05), ("classes", 1.0)])
def test_lbfgs_agrees_on_log_loss(kind, precision):
    problem = enumerated(kind)
    precision, risk = uniform(problem, precision), risk_of(problem, LogLoss())
    value = fit_l2(risk, precision, tolerance=1e-9).objective
    check(solve(risk, precision, tolerance=TIGHT), value)


@KEEP
@pytest.mark.parametrize("kind", ["chain", "rna"])
def test_ten_planes_are_enough(kind, keep):
    problem = enumerated(kind)
    precision = uniform(problem, 0.5)
    value, _ = minimum(problem, precision)
    check(solve(risk_of(problem), precision, keep=keep, most=10, tolerance=1e-4), value, 1e-4)


@KEEP
def test_the_bound_never_falls(keep, monkeypatch):
    """With few planes too, and it is never above the optimum."""
    problem = enumerated("chain")
    precision, bounds = uniform(problem, 0.5), []
    monitor = Monitor()
    monkeypatch.setattr(monitor, "show", lambda *_, lower_bound, **__: bounds.append(lower_bound))
    value, _ = minimum(problem, precision)
    for most in (10, 30, 1000):
        bounds.clear()
        solve(risk_of(problem), precision, keep=keep, most=most, tolerance=1e-4, monitor=monitor)
        assert len(bounds) > 3
        assert np.all(np.diff(bounds[1:]) >= -1e-9 * value)  # the first is none
        assert max(bounds) <= value * (1 + 1e-9)


@KEEP
def test_a_bundle_serves_again_with_another_precision(keep):
    problem = enumerated("chain")
    risk, first = risk_of(problem), uniform(problem, 1.0)
    bundle, w = Bundle(risk, first, keep_outputs=keep), None
    for scale in (1.0, 1.3, 0.2, 5.0):
        value, _ = minimum(problem, scale * first)
        fit = minimize_bundle(risk, scale * first, w, bundle=bundle)
        cold = solve(risk, scale * first, keep=keep)
        check(fit, value, 1e-3)
        assert scale == 1.0 or fit.n_evaluations < cold.n_evaluations
        w = fit.w


@KEEP
def test_a_bundle_serves_again_with_another_linear_part(keep):
    problem = enumerated("classes")
    risk, precision = risk_of(problem), uniform(problem, 1.0)
    bundle = Bundle(risk, precision, keep_outputs=keep)
    minimize_bundle(risk, precision, bundle=bundle)
    other = problem.rng.normal(size=problem.w.size)
    risk.linear = risk.linear + other
    value, _ = minimum(problem, precision, linear=other)
    check(minimize_bundle(risk, precision, bundle=bundle), value, 1e-3)


@KEEP
@pytest.mark.parametrize("precision", [1e5, 1e100])
@pytest.mark.parametrize("kind", ["chain", "ranking"])
def test_huge_precisions(kind, precision, keep):
    problem = enumerated(kind)
    fit = solve(risk_of(problem), uniform(problem, precision), keep=keep)
    at_zero = problem.shard.weights @ margin_values(problem, 0 * problem.w)
    assert fit.status == "converged"
    assert fit.lower_bound - 1e-12 * at_zero <= fit.objective <= at_zero
    assert fit.objective - fit.lower_bound <= max(0.03 * (at_zero - fit.objective), 1e-5 * at_zero)
    assert_allclose(fit.w, 0.0, atol=100 / precision)


@KEEP
@pytest.mark.parametrize("kind", ["chain", "ranking"])
def test_a_strong_prior_ends_near_its_minimum(kind, keep):
    """Its objective may be all within the tolerance, but directions decide what is predicted."""
    problem = enumerated(kind)
    precision = uniform(problem, 1e4)
    at_zero = problem.shard.weights @ margin_values(problem, 0 * problem.w)
    fit, (value, _) = solve(risk_of(problem), precision, keep=keep), minimum(problem, precision)
    assert at_zero - fit.objective >= 0.96 * (at_zero - value) - 1e-5 * at_zero


@KEEP
def test_tiny_precisions(keep):
    problem = enumerated("binary")
    fits = [solve(risk_of(problem), uniform(problem, c), keep=keep) for c in (1e-5, 1e-3, 0.1)]
    assert [fit.status for fit in fits] == ["converged"] * 3
    for less, more in pairwise(fits):
        assert less.lower_bound <= more.objective
    peer, _ = minimum(problem, uniform(problem, 1e-3))
    check(fits[1], peer, 1e-3)


def separable():
    x = np.random.default_rng(0).normal(size=(30, 2))
    structure = Classes([False, True], ["x", "y"], bias=False, reference=True)
    return Risk(structure, MarginLoss(), [structure.encode(x, (x[:, 0] > 0).tolist())])


@KEEP
def test_no_loss_at_all(keep):
    """Where classes can be told apart, the objective is the prior of the hard-margin solution."""
    risk = separable()
    fit = solve(risk, np.full(2, 1e-7), keep=keep)
    assert fit.status == "converged"
    assert risk.value(fit.w) <= 1e-3 * fit.objective + 1e-9
    assert np.all(risk.shards[0].design.matrix @ fit.w * (2.0 * risk.shards[0].outputs - 1.0) >= 1.0 - 1e-3)


@KEEP
def test_weights_of_examples_that_leave_the_range(keep):
    structure, shard = small("chain")
    risk = Risk(structure, MarginLoss(), [replace(shard, weights=np.full(len(shard), 1e300))])
    with pytest.raises(DataError, match="the loss or its gradient is not finite"):
        solve(risk, np.ones(structure.n_weights), keep=keep)


@KEEP
@pytest.mark.parametrize("n", [1, 5])
def test_the_iterations_run_out(n, keep):
    problem = enumerated("chain")
    risk, precision = risk_of(problem), uniform(problem, 0.1)
    fit = solve(risk, precision, keep=keep, max_iterations=n, tolerance=TIGHT)
    assert (fit.status, fit.n_evaluations, risk.passes) == ("iterations", n, n)
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-8)
    assert fit.lower_bound <= minimum(problem, precision)[0]


class Listener(Budget):
    """Its time is up after `n` passes, and it hears the objectives."""

    def __init__(self, n):
        super().__init__(n)
        self.objectives = []

    def show(self, stage, **values):
        self.objectives.append(values["objective"])


@KEEP
@pytest.mark.parametrize("n", [0, 15])
def test_a_spent_budget_leaves_the_best_iterate(n, keep):
    problem = enumerated("chain")
    precision, listener = uniform(problem, 0.1), Listener(n)
    fit = solve(risk_of(problem), precision, keep=keep, tolerance=1e-9, monitor=listener)
    assert fit.status == "budget"
    assert fit.objective == min(listener.objectives)
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-8)
    with pytest.raises(FitStopped):
        fit.check()


@KEEP
@pytest.mark.parametrize("n", [2, 8])
def test_ctrl_c_leaves_the_best_iterate(n, keep):
    problem, fuse = enumerated("chain"), Fuse(10**9)
    risk, precision = risk_of(problem, executor=fuse), uniform(problem, 0.1)
    bundle = Bundle(risk, precision, keep_outputs=keep)
    fuse.left = n
    fit = minimize_bundle(risk, precision, bundle=bundle, tolerance=1e-9)
    assert (fit.status, fit.n_evaluations) == ("interrupted", n)
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-8)
    assert fit.objective <= objective(problem, 0 * fit.w, precision)
    # what was learned before Ctrl-C serves again
    fuse.left = 10**9
    again = minimize_bundle(risk, precision, fit.w, bundle=bundle)
    check(again, minimum(problem, precision)[0], 1e-3)


def test_a_loss_that_is_not_convex_is_refused():
    problem = enumerated("classes")
    with pytest.raises(DataError, match="the ramp loss is not convex"):
        solve(risk_of(problem, RampLoss()), uniform(problem, 1.0))


@KEEP
def test_huge_features_leave_no_wrong_bound(keep):
    """Whether a fit stalls there, or goes on to no avail, is for rounding to decide."""
    risk = huge_features()
    fit = solve(risk, np.full(risk.n_weights, 1e-8), keep=keep, max_iterations=60)
    value = least_hinge_loss(risk.shards[0])  # the prior of weights that small is nothing
    assert fit.objective >= value * (1 - 1e-9)
    assert fit.lower_bound <= value * (1 + 1e-6)
    assert (fit.status == "stalled") == (fit.lower_bound == -np.inf)
    assert fit.status != "converged" or fit.objective <= value * 1.001


def least_hinge_loss(shard):
    """Of two classes, without a prior, by linear programming."""
    x = np.column_stack([shard.design.matrix / np.abs(shard.design.matrix).max(), np.ones(len(shard))])
    margins, n = (2.0 * shard.outputs - 1.0)[:, None] * x, x.shape[1]
    costs, bounds = np.repeat([0.0, 1.0], [n, len(x)]), [(None, None)] * n + [(0.0, None)] * len(x)
    return linprog(costs, np.hstack([-margins, -np.eye(len(x))]), -np.ones(len(x)), bounds=bounds).fun


@KEEP
@pytest.mark.parametrize(("excess", "status"), [(1e-5, "stalled"), (1e-7, "converged")])
def test_no_bound_where_rounding_puts_it_above_the_objective(excess, status, keep, monkeypatch):
    """Above by more than a little."""
    problem = enumerated("chain")
    at_zero = problem.shard.weights @ margin_values(problem, 0 * problem.w)
    minimum = CuttingPlanes.minimum
    monkeypatch.setattr(CuttingPlanes, "minimum", lambda self: (minimum(self)[0], (1 + excess) * at_zero))
    fit = solve(risk_of(problem), uniform(problem, 1.0), keep=keep)
    assert (fit.status, fit.n_evaluations, fit.objective) == (status, 1, pytest.approx(at_zero))
    assert (fit.lower_bound == -np.inf) == (status == "stalled")
