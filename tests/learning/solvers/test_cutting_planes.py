"""Cutting planes: their minimum, and that what is dropped or put together does not lower it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from structune.errors import DataError
from structune.learning.solvers import bundle as module
from structune.learning.solvers.bundle import CuttingPlanes, maximize_on_simplex

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
    with pytest.raises(DataError, match="most=1: expected room for 2 planes"):
        CuttingPlanes(PRECISION, most=1)


def problem(n, rank, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank))
    return rows @ rows.T, rng.normal(size=n)


def check(gram, slope, tolerance=1e-11):
    """A point of the simplex from which no corner is uphill; the tolerance is that of rounding."""
    alpha = maximize_on_simplex(gram, slope)
    assert alpha.shape == slope.shape
    assert np.all(alpha >= 0.0)
    assert alpha.sum() == pytest.approx(1.0, rel=1e-14)
    uphill = slope - gram @ alpha
    assert uphill.max() - alpha @ uphill <= tolerance * max(np.abs(gram).max(), np.ptp(slope), 1e-300)
    return alpha


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_scipy_agrees(rank):
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
    alpha = check(gram, slope)
    assert 0.5 * alpha @ gram @ alpha - slope @ alpha <= peer.fun + 1e-10
    assert_allclose(gram @ alpha, gram @ peer.x, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 150])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_grams_large_and_small_beside_the_slopes(rank, scale):
    gram, slope = problem(100, rank)
    check(scale * gram, slope)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_does_not_matter(unit):
    gram, slope = problem(6, 4)
    alpha = maximize_on_simplex(unit * gram, unit * slope)
    assert_allclose(alpha, maximize_on_simplex(gram, slope), atol=1e-8)


def test_planes_that_are_flat():
    assert_allclose(check(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0])), [0.0, 1.0, 0.0], atol=1e-10)
    assert_allclose(check(np.zeros((3, 3)), np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5], atol=1e-6)
    assert_allclose(check(np.zeros((4, 4)), np.zeros(4)), 0.25)


def test_planes_that_are_the_same():
    row = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    alpha = check(row @ row.T, np.array([1.0, 1.0, 0.0]))
    assert np.all(np.isfinite(alpha))
    check(np.ones((5, 5)), np.ones(5))


def test_one_plane():
    for gram, slope in ((0.0, 0.0), (1e300, -1e300), (1e-300, 5.0)):
        assert maximize_on_simplex(np.array([[gram]]), np.array([slope])).tolist() == [1.0]
