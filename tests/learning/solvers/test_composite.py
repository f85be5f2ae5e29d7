"""Elastic nets and their paths by optimality conditions and brute force, and fits that are cut short."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from maxima import enumerated
from maxima import risk_of as margin_risk
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning import elastic_net_path
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.risk import Risk
from structune.learning.solvers.composite import (
    LbfgsCurvatures,
    NewtonCurvatures,
    minimize_l1_quadratic,
    whole,
)
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.lbfgs import Pairs
from structune.learning.solvers.solution import least_subgradient
from structune.running.monitor import FitStopped
from tiny import FLAT, Budget, dense_hessian, risk_of

EVERY = ("chain", "partial", *FLAT)


def penalties(n, seed, l2, l1):
    """Some weights without the one, the other or both."""
    rng = np.random.default_rng(seed)
    return l2 * rng.choice([0.0, 0.3, 1.0], n), l1 * rng.choice([0.0, 0.5, 1.0], n)


def objective(risk, precision, l1, w):
    return risk.value(w) + 0.5 * precision @ (w * w) + l1 @ np.abs(w)


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(EVERY),
    seed=st.integers(0, 50),
    l2=st.sampled_from([0.1, 1.0, 10.0]),
    l1=st.sampled_from([0.1, 1.0, 5.0, 50.0]),
    hessian=st.sampled_from(["exact", "dense"]),
)
def test_optimality_conditions(kind, seed, l2, l1, hessian):
    """Where a weight is not zero the slopes cancel; where it is, the loss pulls less than the penalty."""
    risk = risk_of(kind, seed % 7, hessian=hessian if kind in FLAT else "exact")
    precision, l1 = penalties(risk.n_weights, seed, l2, l1)
    precision = np.maximum(precision, 1e-3)
    fit = fit_l2(risk, precision, l1=l1, tolerance=1e-6)
    slope = risk.value_and_gradient(fit.w)[1] + precision * fit.w
    most = 1e-6 * risk.at_zero.gradient_norm
    zero = fit.w == 0
    assert_allclose(slope[~zero], -(l1 * np.sign(fit.w))[~zero], atol=most)
    assert np.all(np.abs(slope[zero]) <= l1[zero] + most)
    assert fit.status == "converged"
    assert fit.gradient_norm <= most
    assert fit.objective == pytest.approx(objective(risk, precision, l1, fit.w), rel=1e-12)


@pytest.mark.parametrize("kind", FLAT)
def test_both_routes_end_at_the_same_weights(kind):
    n = risk_of(kind).n_weights
    precision, l1 = np.full(n, 0.1), np.linspace(0.0, 3.0, n)
    risks = (risk_of(kind, hessian=hessian) for hessian in ("exact", "dense"))
    one, other = (fit_l2(risk, precision, l1=l1, tolerance=1e-9) for risk in risks)
    assert_allclose(one.w, other.w, atol=1e-6)
    assert_array_equal(one.w == 0, other.w == 0)
    assert other.n_evaluations < one.n_evaluations


@pytest.mark.parametrize(("seed", "l1"), [(0, 0.5), (2, 8.0)])
def test_brute_force_of_two_weights(seed, l1):
    rng = np.random.default_rng(seed)
    structure, x = Classes([False, True], ["x", "y"], False, reference=True), rng.normal(size=(30, 2))
    shard = structure.encode(x, (x[:, 0] + rng.normal(size=30) > 0).tolist())
    risk = Risk.over(structure, LogLoss(), shard)
    precision, penalty = np.array([0.1, 0.5]), np.array([l1, 1.5 * l1])
    fit = fit_l2(risk, precision, l1=penalty, tolerance=1e-8)
    center = np.zeros(2)
    for width in 4.0 / 3.0 ** np.arange(12):  # ever finer grids, that zero is on
        axes = [np.append(c + width * np.linspace(-1, 1, 9), 0.0) for c in center]
        points = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
        center = min(points, key=lambda w: objective(risk, precision, penalty, w))
    assert_allclose(fit.w, center, atol=1e-4)
    assert_array_equal(fit.w == 0, center == 0)


def test_a_center():
    """Weights are drawn to it, and many end there exactly."""
    risk = risk_of("chain")
    precision, l1 = np.full(20, 0.1), np.full(20, 2.0)
    center = np.cos(np.arange(20))
    fit = fit_l2(risk, precision, l1=l1, center=center, tolerance=1e-8)
    assert 0 < np.count_nonzero(fit.w == center) < 20
    away = fit.w - center
    assert fit.objective == pytest.approx(
        risk.value(fit.w) + 0.05 * away @ away + 2.0 * np.abs(away).sum(), rel=1e-12
    )


def test_a_start_near_the_end():
    risk, penalty = risk_of("chain"), (np.full(20, 0.1), np.full(20, 1.0))
    fit = fit_l2(risk, penalty[0], l1=penalty[1], tolerance=1e-8)
    again = fit_l2(risk, penalty[0], fit.w, l1=penalty[1], tolerance=1e-8)
    assert (again.status, again.n_evaluations) == ("converged", 1)
    near = fit_l2(risk, penalty[0], fit.w, l1=0.9 * penalty[1], tolerance=1e-6)
    cold = fit_l2(risk, penalty[0], l1=0.9 * penalty[1], tolerance=1e-6)
    assert near.n_evaluations < cold.n_evaluations
    assert_allclose(near.w, cold.w, atol=1e-4)


def test_kinks_are_refused():
    loss = MarginLoss()
    problem = enumerated("chain")
    with pytest.raises(CapabilityError, match=f"needs a smooth loss, and {type(loss).__name__}"):
        fit_l2(margin_risk(problem, loss), np.ones(20), l1=np.ones(20))


@pytest.mark.parametrize("hessian", ["exact", "dense"])
@pytest.mark.parametrize("n", [0, 5])
def test_the_time_is_up(n, hessian):
    risk = risk_of("classes", hessian=hessian)
    precision, l1 = np.full(risk.n_weights, 0.1), np.full(risk.n_weights, 0.5)
    fit = fit_l2(risk, precision, l1=l1, tolerance=1e-8, monitor=Budget(n))
    assert fit.status == "budget"
    with pytest.raises(FitStopped):
        fit.check()
    assert np.isfinite(fit.objective)


def quadratic(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + 0.01 * np.eye(n)
    return matrix, rng.normal(size=n) * 5, rng.normal(size=n) * rng.integers(0, 2, n), rng.uniform(0, 3, n)


def by_orthants(matrix, gradient, w, l1):
    """The best of the minima of all orthants and their faces."""
    found = [(np.inf, w)]
    for sign in map(np.array, product((-1.0, 0.0, 1.0), repeat=w.size)):
        free, z = sign != 0, np.zeros_like(w)
        linear = gradient - matrix @ w + l1 * sign
        z[free] = -np.linalg.solve(matrix[np.ix_(free, free)], linear[free])
        if np.all(z * sign >= 0):
            away = z - w
            found.append((gradient @ away + away @ matrix @ away / 2 + l1 @ abs(z), z))
    return min(found, key=lambda pair: pair[0])[1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_the_minimum_over_all_orthants(seed, n):
    matrix, gradient, w, l1 = quadratic(seed, n)
    found = minimize_l1_quadratic(whole(matrix, np.zeros(n)), gradient, w, l1, 1e-9)
    assert_allclose(found, by_orthants(matrix, gradient, w, l1), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([1, 2, 5, 40]))
def test_the_minimum_of_a_quadratic(seed, n):
    """No slope is left, and zeros are exact."""
    matrix, gradient, w, l1 = quadratic(seed, n)
    found = minimize_l1_quadratic(whole(matrix, np.zeros(n)), gradient, w, 3 * l1, 1e-8)
    left = least_subgradient(gradient + matrix @ (found - w), found, 3 * l1)
    assert np.linalg.norm(left) <= 1e-8
    assert n < 40 or np.count_nonzero(found) < 40


@pytest.mark.parametrize(
    ("gradient", "w", "l1", "expected"),
    [
        (3.0, 0.0, 2.0, 1.0),
        (-3.0, 0.0, 2.0, -1.0),
        (1.5, 0.0, 2.0, 0.0),
        (2.0, 0.0, 2.0, 0.0),
        (1.0, 0.5, 2.0, 3.0),
        (1.0, -0.5, 2.0, -1.0),
        (1.0, 0.0, 0.0, 1.0),
    ],
)
def test_the_least_subgradient(gradient, w, l1, expected):
    assert least_subgradient(np.array([gradient]), np.array([w]), np.array([l1])) == [expected]


N = 7
SCALE = np.geomspace(0.3, 3.0, N)
RNG = np.random.default_rng(0)
A = np.diag(np.arange(1.0, N + 1)) + 0.2
STEPS = RNG.normal(size=(9, N))


def bfgs(steps):
    """The BFGS matrix, update by update (equation 2.18 of Byrd, Nocedal & Schnabel 1994)."""
    last, change = steps[-1], A @ steps[-1]
    matrix = np.diag(SCALE**-2.0) * (change @ (change * SCALE**2)) / (last @ change)
    for s in steps:
        y = A @ s
        image = matrix @ s
        matrix = matrix - np.outer(image, image) / (s @ image) + np.outer(y, y) / (s @ y)
    return matrix


def as_matrix(quadratic, n):
    return np.array([quadratic.product(e) for e in np.eye(n)])


@pytest.mark.parametrize("n_steps", [1, 9])
def test_the_bfgs_matrix(n_steps):
    """Of the last four steps."""
    curvatures = LbfgsCurvatures(SCALE)
    curvatures.pairs = Pairs(N, 4)
    for step in STEPS[:n_steps]:
        curvatures.pairs.add(step, A @ step)
    w, slope = np.array([1.0, 0.0, -2.0, 0.0, 0.0, 3.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    active, quadratic = curvatures.at(w, slope)
    assert active.tolist() == [0, 1, 2, 5, 6]
    expected = bfgs(STEPS[:n_steps][-4:])[np.ix_(active, active)]
    assert_allclose(as_matrix(quadratic, 5), expected, rtol=1e-9, atol=1e-9)
    free, b = np.array([0, 3, 4]), np.array([1.0, -2.0, 0.5])
    assert_allclose(quadratic.solve(free, b), np.linalg.solve(expected[np.ix_(free, free)], b), rtol=1e-8)


def test_the_first_step_is_short():
    slope = np.full(N, 100.0)
    active, quadratic = LbfgsCurvatures(np.ones(N)).at(np.zeros(N), slope)
    assert np.linalg.norm(quadratic.solve(active, slope)) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", FLAT)
def test_the_hessian(kind):
    risk = risk_of(kind, hessian="dense")
    n = risk.n_weights
    precision, w = np.linspace(0.1, 1.0, n), 0.3 * np.cos(np.arange(n))
    matrix = dense_hessian(risk_of(kind), w) + np.diag(precision)
    active, quadratic = NewtonCurvatures(risk, precision).at(w, np.zeros(n))
    assert active.tolist() == list(range(n))
    assert_allclose(as_matrix(quadratic, n), matrix, rtol=1e-9, atol=1e-9)
    free = np.arange(0, n, 2)
    found = quadratic.solve(free, np.ones(free.size))
    assert_allclose(found, np.linalg.solve(matrix[np.ix_(free, free)], np.ones(free.size)), rtol=1e-8)


# --- elastic net -------------------------------------------------------------------------------------------


KINDS = ("chain", "classes")


def path(kind="chain", free=2, **options):
    risk = risk_of(kind)
    precision = np.full(risk.n_weights, 0.1)
    precision[-free:] = 0.0
    return risk, precision, elastic_net_path(risk, precision, **{"tolerance": 1e-7, **options})


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_is_the_minimum(kind):
    _, precision, points = path(kind, n_factors=5)
    for factor, fit in points:
        l1 = factor * (precision > 0)
        cold = fit_l2(risk_of(kind), precision, l1=l1, tolerance=1e-7)
        assert fit.objective == pytest.approx(cold.objective, rel=1e-7)
        assert_allclose(fit.w, cold.w, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_begins_where_the_first_weight_leaves_zero(kind):
    risk, precision, points = path(kind, n_factors=7, least=1e-3)
    points = list(points)
    held = precision > 0
    assert not points[0][1].w[held].any()
    most = points[0][0]
    assert fit_l2(risk, precision, l1=0.99 * most * held, tolerance=1e-7).w[held].any()
    assert_allclose([b / a for (a, _), (b, _) in pairwise(points)], 1e-3 ** (1 / 6))
    assert np.count_nonzero(points[-1][1].w) > np.count_nonzero(points[1][1].w)


def test_factors_and_shares_that_are_given():
    shares = np.linspace(0.0, 1.0, 20)
    risk, precision, _ = path()
    found = list(elastic_net_path(risk, precision, shares, factors=[3.0, 1.0, 0.0], tolerance=1e-7))
    assert [factor for factor, _ in found] == [3.0, 1.0, 0.0]
    expected = fit_l2(risk, precision, l1=3.0 * shares, tolerance=1e-7)
    assert_array_equal(found[0][1].w, expected.w)
    assert found[2][1].w.all()


def test_the_time_is_up_on_a_path():
    _, _, points = path(monitor=Budget(30))
    with pytest.raises(FitStopped):
        list(points)


@pytest.mark.parametrize(
    "options", [{"least": 0.0}, {"n_factors": 1}, {"l1": np.zeros(20)}, {"factors": [-1.0]}]
)
def test_what_makes_no_path_is_refused(options):
    with pytest.raises(DataError, match="factors"):
        list(path(**options)[2])
