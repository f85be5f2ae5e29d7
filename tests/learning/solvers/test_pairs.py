"""The inverse Hessian of BFGS as a product of factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from structune.learning.solvers.curvature import Curvature, is_curved


def pairs(seed, n, m):
    """Steps, and the changes of the gradient of a quadratic along them."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian = root @ root.T + 0.1 * np.eye(n)
    steps = rng.normal(size=(m, n))
    return hessian, steps, steps @ hessian


def bfgs(steps, changes):
    """The inverse Hessian by the textbook's recursion (Nocedal & Wright 2006, equation 6.17)."""
    s, y = steps[-1], changes[-1]
    found = np.eye(s.size) * (s @ y) / (y @ y)
    for s, y in zip(steps, changes, strict=True):
        left = np.eye(s.size) - np.outer(s, y) / (s @ y)
        found = left @ found @ left.T + np.outer(s, s) / (s @ y)
    return found


def matrix(function, n):
    return np.array([function(unit) for unit in np.eye(n)]).T


@given(st.integers(0, 100), st.integers(1, 6), st.integers(1, 6))
def test_the_product_is_that_of_bfgs(seed, n, m):
    _, steps, changes = pairs(seed, n, m)
    curvature, expected = Curvature(steps, changes), bfgs(steps, changes)
    factor = matrix(curvature.times, n)
    assert_allclose(matrix(curvature.transposed_times, n), factor.T, rtol=1e-9, atol=1e-9)
    assert_allclose(factor @ factor.T, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_the_last_step_is_known_exactly():
    _, steps, changes = pairs(0, 8, 5)
    curvature = Curvature(steps, changes)
    assert_allclose(curvature.times(curvature.transposed_times(changes[-1])), steps[-1])


def test_without_steps_nothing_changes():
    v = np.array([1.0, -2.0])
    for none in (Curvature([], []), Curvature([v], [-v]), Curvature([0 * v], [v])):
        assert_allclose(none.times(v), v)
        assert_allclose(none.transposed_times(v), v)


@pytest.mark.parametrize(
    ("step", "change", "expected"),
    [([1, 0], [1, 5], True), ([1, 0], [-1, 5], False), ([0, 0], [1, 0], False), ([1, 0], [1e-12, 1], False)],
)
def test_what_is_curved(step, change, expected):
    assert is_curved(np.array(step, float), np.array(change, float)) == expected
