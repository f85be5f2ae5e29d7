"""Quadratics plus absolute values against all orthants, and against the subgradient's definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structune.learning.solvers.composite import _Whole, least_subgradient, minimize_l1_quadratic


def quadratic(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + 0.01 * np.eye(n)
    return matrix, rng.normal(size=n) * 5, rng.normal(size=n) * rng.integers(0, 2, n), rng.uniform(0, 3, n)


def by_orthants(matrix, gradient, w, l1):
    """The best of the minima of all orthants and their faces."""
    found = [(np.inf, w)]
    for signs in product((-1.0, 0.0, 1.0), repeat=w.size):
        sign = np.array(signs)
        free = sign != 0
        linear = gradient - matrix @ w + l1 * sign
        z = np.zeros_like(w)
        z[free] = -np.linalg.solve(matrix[np.ix_(free, free)], linear[free])
        if np.all(z * sign >= 0):
            away = z - w
            found.append((gradient @ away + away @ matrix @ away / 2 + l1 @ abs(z), z))
    return min(found, key=lambda pair: pair[0])[1]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_the_minimum_over_all_orthants(seed, n):
    matrix, gradient, w, l1 = quadratic(seed, n)
    found = minimize_l1_quadratic(_Whole(matrix, np.zeros(n)), gradient, w, l1, 1e-9)
    assert_allclose(found, by_orthants(matrix, gradient, w, l1), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_many_weights(seed):
    """No slope is left, and zeros are exact."""
    matrix, gradient, w, l1 = quadratic(seed, 40)
    found = minimize_l1_quadratic(_Whole(matrix, np.zeros(40)), gradient, w, 3 * l1, 1e-8)
    left = least_subgradient(gradient + matrix @ (found - w), found, 3 * l1)
    assert np.linalg.norm(left) <= 1e-8
    assert np.count_nonzero(found) < 40


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
