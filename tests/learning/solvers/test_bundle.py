"""The bundle method, its planes, and the outputs that it has seen, against SciPy and brute force."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, minimize

from maxima import ENUMERATED, OUTER, enumerated, huge_features, margin_values, minimum, objective, risk_of
from structune.errors import DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, PerceptronLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers import bundle as module
from structune.learning.solvers.bundle import (
    Bundle,
    CuttingPlanes,
    SeenOutputs,
    maximize_on_simplex,
    minimize_bundle,
)
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


def test_the_perceptron_loss():
    """Its planes have no costs, whether outputs are kept or not."""
    problem = enumerated("chain")
    precision, risk = uniform(problem, 1.0), risk_of(problem, PerceptronLoss())
    center = np.linspace(-1.0, 1.0, problem.w.size)
    one, other = (solve(risk, precision, keep=keep, center=center, tolerance=TIGHT) for keep in (True, False))
    assert one.objective == pytest.approx(other.objective, rel=1e-4)
    away = one.w - center
    assert one.objective == pytest.approx(risk.value(one.w) + 0.5 * precision @ (away * away))


@pytest.mark.parametrize(("kind", "precision"), [("chain", 0.5), ("classes", 1.0)])
def test_lbfgs_agrees_on_log_loss(kind, precision):
    problem = enumerated(kind)
    precision, risk = uniform(problem, precision), risk_of(problem, LogLoss())
    check(solve(risk, precision, tolerance=TIGHT), fit_l2(risk, precision, tolerance=1e-9).objective)


@KEEP
@pytest.mark.parametrize(("kind", "most"), [("chain", 10), ("chain", 1000), ("rna", 10)])
def test_the_bound_never_falls(kind, most, keep, monkeypatch):
    """With ten planes too, which are enough, and it is never above the optimum."""
    problem = enumerated(kind)
    precision, bounds, monitor = uniform(problem, 0.5), [], Monitor()
    monkeypatch.setattr(monitor, "show", lambda *_, lower_bound, **__: bounds.append(lower_bound))
    value, _ = minimum(problem, precision)
    fit = solve(risk_of(problem), precision, keep=keep, most=most, tolerance=1e-4, monitor=monitor)
    check(fit, value, 1e-4)
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
@pytest.mark.parametrize("precision", [1e4, 1e5, 1e100])
@pytest.mark.parametrize("kind", ["chain", "ranking"])
def test_huge_precisions(kind, precision, keep):
    """What may be gained is within the tolerance, but directions decide what is predicted."""
    problem = enumerated(kind)
    fit = solve(risk_of(problem), uniform(problem, precision), keep=keep)
    at_zero = problem.shard.weights @ margin_values(problem, 0 * problem.w)
    assert fit.status == "converged"
    assert fit.lower_bound - 1e-12 * at_zero <= fit.objective <= at_zero
    assert fit.objective - fit.lower_bound <= max(0.03 * (at_zero - fit.objective), 1e-5 * at_zero)
    assert_allclose(fit.w, 0.0, atol=100 / precision)


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


# --- cutting planes ----------------------------------------------------------------------------------------


RNG = np.random.default_rng(0)
ROWS, OFFSETS = RNG.normal(size=(30, 4)), RNG.normal(size=30)
PRECISION = np.array([0.5, 1.0, 2.0, 4.0])
CENTER = np.array([1.0, -1.0, 0.5, 0.0])
LINEAR = np.array([0.3, -0.2, 0.0, 1.0])


def function(w):
    """Value and subgradient of a maximum of planes."""
    values = ROWS @ w + OFFSETS
    return values.max(), ROWS[values.argmax()]


def touch(planes, *points):
    for w in points:
        planes.add(w, *function(w))


def random_points(n, seed=1):
    return list(3.0 * np.random.default_rng(seed).normal(size=(n, 4)))


def peer(rows, offsets, precision=PRECISION, center=0.0):
    """The minimum of planes and prior by SciPy, and where."""

    def value(x):
        away = x[:4] - center
        return 0.5 * precision @ away**2 + x[4], np.append(precision * away, 1.0)

    slants = np.column_stack([-rows, np.ones(len(rows))])
    limits = {"type": "ineq", "fun": lambda x: slants @ x - offsets, "jac": lambda x: slants}
    start = np.append(np.zeros(4), offsets.max())
    found = minimize(value, start, jac=True, method="SLSQP", constraints=limits, options={"ftol": 1e-14})
    return found.fun, found.x[:4]


def minimize_by_planes(planes, n, adds=1):
    """The lower bounds of so many steps, each with so many planes: at the minimum, then at random."""
    w, bounds = planes.center, []
    for k in range(n):
        touch(planes, w, *random_points(adds - 1, seed=k))
        w, bound = planes.minimum()
        bounds.append(bound)
    return np.array(bounds)


@pytest.mark.parametrize("center", [None, CENTER])
@pytest.mark.parametrize("n", [1, 10])
def test_the_minimum_of_prior_and_planes(n, center):
    planes = CuttingPlanes(PRECISION, center)
    touch(planes, *random_points(n))
    touched = [function(w)[1] for w in random_points(n)]
    offsets = [function(w)[0] - function(w)[1] @ w for w in random_points(n)]
    w, bound = planes.minimum()
    value, where = peer(np.array(touched), np.array(offsets), center=0.0 if center is None else center)
    assert bound == pytest.approx(value, rel=1e-9)
    assert_allclose(w, where, atol=1e-6)
    assert len(planes) == n


@pytest.mark.parametrize("most", [2, 5, None])
@pytest.mark.parametrize("center", [None, CENTER])
def test_the_bound_rises_to_the_minimum_and_never_falls(most, center):
    planes = CuttingPlanes(PRECISION, center, most)
    bounds = minimize_by_planes(planes, 100)
    value, _ = peer(ROWS, OFFSETS, center=0.0 if center is None else center)
    assert np.all(np.diff(bounds) >= -1e-9)
    assert np.all(bounds <= value + 1e-9)
    assert bounds[-1] == pytest.approx(value, rel=1e-9 if most is None else 0.05)
    assert len(planes) <= (most or module._MOST)


def test_nor_does_it_rise_above_a_function_below_zero():
    planes = CuttingPlanes(PRECISION, None, 2)
    for w in random_points(5):
        value, gradient = function(w)
        planes.add(w, value - 100.0, gradient)
    assert planes.minimum()[1] <= peer(ROWS, OFFSETS - 100.0)[0]


@pytest.mark.parametrize("most", [2, 7])
def test_one_plane_too_many_keeps_the_minimum(most):
    """A new plane that counts for nothing changes nothing, whatever makes room for it."""
    planes = CuttingPlanes(PRECISION, CENTER, most)
    for k, w in enumerate(random_points(20)):
        touch(planes, w)
        before = planes.minimum()
        if k >= most:
            planes.add(np.zeros(4), -1e6, np.zeros(4))
            after = planes.minimum()
            assert after[1] == pytest.approx(before[1], rel=1e-7)
            assert_allclose(after[0], before[0], atol=1e-5)
        assert len(planes) <= most


@pytest.mark.parametrize(
    ("n_weights", "most"), [(0, module._MOST), (1000, module._MOST), (1 << 20, 32), (1 << 22, 10)]
)
def test_room_for_a_quarter_of_a_gigabyte(n_weights, most):
    assert CuttingPlanes(np.ones(n_weights))._offsets.size == most


@pytest.mark.parametrize("center", [None, CENTER])
def test_another_linear_function_and_precision(center):
    planes = CuttingPlanes(PRECISION, center)
    touch(planes, *random_points(3))
    planes.minimum()
    for k in range(5):  # there and back
        linear, precision = k % 3 * LINEAR, PRECISION + k
        planes.change(linear, precision)
        touch(planes, *random_points(1, seed=10 + k))
    fresh = CuttingPlanes(precision, center)
    fresh.change(linear)
    touch(fresh, *random_points(3), *(random_points(1, seed=10 + k)[0] for k in range(5)))
    assert len(fresh) == len(planes) == 8
    (w, bound), (expected, value) = planes.minimum(), fresh.minimum()
    assert bound == pytest.approx(value, rel=1e-10)
    assert_allclose(w, expected, atol=1e-7)
    assert planes.prior(w) == pytest.approx(fresh.prior(w))


@pytest.mark.parametrize("precision", [[1.0, 0.0], [np.nan, 1.0]])
def test_precisions_that_are_refused(precision):
    with pytest.raises(DataError, match="needs a positive precision for every weight"):
        CuttingPlanes(np.array(precision))


def test_room_for_one_plane():
    with pytest.raises(DataError, match="most=1: expected at least 2 planes"):
        CuttingPlanes(PRECISION, most=1)


def problem(n, rank, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank))
    return rows @ rows.T, rng.normal(size=n)


def on_simplex(gram, slope, tolerance=1e-11):
    """A point of the simplex from which no corner is uphill; the tolerance is that of rounding."""
    alpha = maximize_on_simplex(gram, slope)
    assert alpha.shape == slope.shape
    assert np.all(alpha >= 0.0)
    assert alpha.sum() == pytest.approx(1.0, rel=1e-14)
    uphill = slope - gram @ alpha
    assert uphill.max() - alpha @ uphill <= tolerance * max(np.abs(gram).max(), np.ptp(slope), 1e-300)
    return alpha


@pytest.mark.parametrize("rank", [1, 8])
def test_scipy_agrees_on_the_simplex(rank):
    gram, slope = problem(8, rank)
    peer = minimize(
        lambda a: (0.5 * a @ gram @ a - slope @ a, gram @ a - slope),
        np.full(8, 1 / 8),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 8,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14},
    )
    alpha = on_simplex(gram, slope)
    assert 0.5 * alpha @ gram @ alpha - slope @ alpha <= peer.fun + 1e-10
    assert_allclose(gram @ alpha, gram @ peer.x, atol=1e-5)


@pytest.mark.parametrize(("n", "rank"), [(8, 3), (8, 8), (100, 1), (100, 150)])
def test_grams_large_and_small_beside_the_slopes(n, rank):
    gram, slope = problem(n, rank)
    for scale in (1e-12, 1.0, 1e12):
        on_simplex(scale * gram, slope)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_does_not_matter(unit):
    gram, slope = problem(6, 4)
    alpha = maximize_on_simplex(unit * gram, unit * slope)
    assert_allclose(alpha, maximize_on_simplex(gram, slope), atol=1e-8)


def test_planes_that_are_flat():
    assert_allclose(on_simplex(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0])), [0.0, 1.0, 0.0], atol=1e-10)
    assert_allclose(on_simplex(np.zeros((3, 3)), np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5], atol=1e-6)
    assert_allclose(on_simplex(np.zeros((4, 4)), np.zeros(4)), 0.25)


def test_planes_that_are_the_same():
    row = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    alpha = on_simplex(row @ row.T, np.array([1.0, 1.0, 0.0]))
    assert np.all(np.isfinite(alpha))
    on_simplex(np.ones((5, 5)), np.ones(5))


def test_one_plane():
    for gram, slope in ((0.0, 0.0), (1e300, -1e300), (1e-300, 5.0)):
        assert maximize_on_simplex(np.array([[gram]]), np.array([slope])).tolist() == [1.0]


# --- seen outputs ------------------------------------------------------------------------------------------


LOSSES = [("margin", "hinge"), *(("slack", outer) for outer in OUTER), ("margin", "logistic")]
CASES = [("chain", *loss) for loss in LOSSES]
CASES += [(kind, "margin", "hinge") for kind in ("binary", "ranking", "rna")]


def points(risk, n=6, scale=1.0):
    rng = np.random.default_rng(0)
    return [np.zeros(risk.n_weights), *(scale * rng.normal(size=(n - 1, risk.n_weights)))]


def seen_at(risk, *places):
    seen = SeenOutputs(risk)
    for w in places:
        seen.decode(w)
    return seen


@pytest.mark.parametrize(("kind", "rescaling", "outer"), CASES)
def test_the_estimate_is_a_bound_that_touches(kind, rescaling, outer):
    risk = risk_of(enumerated(kind), MarginLoss(rescaling, outer))
    seen, places = SeenOutputs(risk), points(risk)
    for k, w in enumerate(places):
        value, gradient = seen.decode(w)
        assert value == pytest.approx(risk.nonlinear(w)[0], rel=1e-9)
        for v in places:
            estimate, slope = seen.estimate(v)
            truth = risk.nonlinear(v)[0]
            tolerance = 1e-9 * (1.0 + abs(truth))
            assert estimate <= truth + tolerance
            assert estimate >= value + gradient @ (v - w) - tolerance
            assert value >= estimate + slope @ (w - v) - tolerance
        for v in places[: k + 1]:
            assert seen.estimate(v)[0] == pytest.approx(risk.nonlinear(v)[0], rel=1e-9)


@pytest.mark.parametrize(("kind", "rescaling", "outer"), CASES)
def test_the_estimate_along_a_line(kind, rescaling, outer):
    risk = risk_of(enumerated(kind), MarginLoss(rescaling, outer))
    places = points(risk)
    seen = seen_at(risk, *places[:4])
    w, step = places[4:]
    line = seen.along(w, step)
    for t in (-1.0, 0.0, 0.3, 1.0, 2.0):
        value, slope = line(t)
        estimate, gradient = seen.estimate(w + t * step)
        assert value == pytest.approx(estimate, rel=1e-12)
        assert slope == pytest.approx(gradient @ step, rel=1e-9, abs=1e-9)


def test_a_decoding_is_a_pass_and_an_estimate_none():
    risk = risk_of(enumerated("chain"))
    seen, w = SeenOutputs(risk), points(risk)[1]
    assert (len(seen), risk.passes) == (0, 0)
    seen.decode(w)
    seen.estimate(w)
    seen.along(w, w)(1.0)
    assert (len(seen), risk.passes) == (16, 1)
    seen.decode(w)
    assert len(seen) == 16  # nothing is new


def test_the_cut_into_shards_does_not_matter():
    structure, shard = small("chain")
    one, many = (
        SeenOutputs(Risk(structure, MarginLoss(), pieces))
        for pieces in ([shard], [shard.take([k]) for k in range(len(shard))])
    )
    for w in points(one._risk):
        (value, gradient), (expected, slope) = many.decode(w), one.decode(w)
        assert value == pytest.approx(expected, rel=1e-12)
        assert_allclose(gradient, slope, atol=1e-12)
    assert_array_equal(many.example, one.example)
