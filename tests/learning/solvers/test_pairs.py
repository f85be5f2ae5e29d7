"""What pairs of steps tell of the curvature, against the textbook's matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structune.learning.solvers.lbfgs import Pairs


def pairs_of(seed, n, m):
    """Steps, and the changes of the gradient of a quadratic along them."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian = root @ root.T + 0.1 * np.eye(n)
    pairs = Pairs(n)
    for step in rng.normal(size=(m, n)):
        pairs.add(step, step @ hessian)
    return pairs, rng.uniform(0.1, 3.0, n)


def bfgs(pairs, metric):
    """The inverse Hessian by the textbook's recursion (Nocedal & Wright 2006, equation 6.17)."""
    s, y = pairs.rows()[-1]
    found = np.diag(metric) * (s @ y) / (y @ (metric * y))
    for s, y in pairs.rows():
        left = np.eye(s.size) - np.outer(s, y) / (s @ y)
        found = left @ found @ left.T + np.outer(s, s) / (s @ y)
    return found


@given(st.integers(0, 100), st.integers(1, 6), st.integers(1, 6))
def test_the_product_is_that_of_bfgs(seed, n, m):
    pairs, metric = pairs_of(seed, n, m)
    expected = bfgs(pairs, metric)
    found = np.array([pairs.times(unit, metric) for unit in np.eye(n)]).T
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_a_quadratic_that_is_added():
    pairs, metric = pairs_of(1, 5, 4)
    extra = np.arange(5.0)
    moved = pairs.under(extra)
    assert_allclose(moved.rows(), [(s, y + extra * s) for s, y in pairs.rows()])
    step, change = moved.rows()[-1]
    assert_allclose(moved.times(change, metric), step)


@pytest.mark.parametrize(
    ("step", "change", "kept"),
    [([1, 0], [1, 5], 1), ([1, 0], [-1, 5], 0), ([0, 0], [1, 0], 0), ([1, 0], [1e-12, 1], 0)],
)
def test_only_what_curves_upward_is_kept(step, change, kept):
    pairs = Pairs(2)
    pairs.add(np.array(step, float), np.array(change, float))
    assert len(pairs.kept) == kept


def test_a_function_nearby_remembers_more():
    first, _ = pairs_of(0, 3, 30)
    nearby = first.under()
    assert_allclose(nearby.rows(), first.rows())
    for step in np.eye(3).repeat(30, axis=0):
        first.add(step, step)
        nearby.add(step, step)
    assert len(first.kept) == 20
    assert len(nearby.kept) == 40
    assert_allclose(Pairs.from_rows(nearby.rows()).rows(), nearby.rows())
