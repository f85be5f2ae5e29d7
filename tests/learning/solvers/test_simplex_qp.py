"""The programme of bundle methods against closed forms, SciPy and its optimality conditions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from structune.learning.solvers.cutting_planes import maximize_on_simplex


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


def nearest(point):
    """The nearest point of the simplex: what stands out above a level."""
    falling = np.sort(point)[::-1]
    levels = (np.cumsum(falling) - 1.0) / np.arange(1, point.size + 1)
    return np.maximum(point - levels[np.flatnonzero(falling > levels)[-1]], 0.0)


@pytest.mark.parametrize("n", [2, 100])
@pytest.mark.parametrize("scale", [0.01, 30.0])
def test_the_nearest_point_of_the_simplex(n, scale):
    point = scale * np.random.default_rng(n).normal(size=n)
    assert_allclose(check(np.eye(n), point), nearest(point), atol=1e-9)


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
