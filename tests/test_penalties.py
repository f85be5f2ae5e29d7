"""Penalties against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from structune.penalties import GroupedL2, IntegratedL2
from structune.structures.base import Groups

GROUPS = Groups(np.array([0, 1, 1, 2, 1, 0]), ("a", "b", "c"))
seeds = st.integers(0, 2**32 - 1)


def penalties():
    number = st.floats(0.0, 50.0)
    return st.builds(IntegratedL2, st.just(GROUPS), number, st.floats(0.01, 50.0))


def test_a_precision_a_weight():
    penalty = GroupedL2(GROUPS, np.log([2.0, 3.0, 5.0]))
    assert_allclose(penalty.precision, [2, 3, 3, 5, 3, 2])


@given(penalty=penalties(), seed=seeds)
def test_the_integrated_penalty_is_its_formula(penalty, seed):
    w = np.random.default_rng(seed).normal(size=6)
    value, gradient = penalty.value_and_gradient(w)
    parts = [(w[[0, 5]], 2), (w[[1, 2, 4]], 3), (w[[3]], 1)]
    expected = sum((n / 2 + penalty.alpha) * np.log(0.5 * part @ part + penalty.beta) for part, n in parts)
    assert value == pytest.approx(expected)
    slope = approx_fprime(w, lambda v: penalty.value_and_gradient(v)[0], 1e-7)
    assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4 * (1 + np.abs(slope).max()))


@given(penalty=penalties(), seed=seeds)
def test_the_quadratic_touches_the_penalty_from_above(penalty, seed):
    """Up to a constant: the difference is least, and its gradient zero, at the point of contact."""
    w, v = np.random.default_rng(seed).normal(size=(2, 6))
    precision = penalty.precision(w)[GROUPS.index]
    assert_allclose(penalty.value_and_gradient(w)[1], precision * w)

    def gap(u):
        return 0.5 * precision @ (u * u) - penalty.value_and_gradient(u)[0]

    assert gap(v) >= gap(w) - 1e-9 * (1 + abs(gap(w)))


def test_counts_take_the_place_of_the_sizes():
    penalty, w = IntegratedL2(GROUPS, alpha=1.0, beta=2.0), np.arange(6.0)
    assert_array_equal(penalty.precision(w, GROUPS.sizes), penalty.precision(w))
    counts = np.array([0.5, 2.0, 1.0])
    assert_allclose(penalty.precision(w, counts), (counts / 2 + 1.0) / (0.5 * GROUPS.sum(w * w) + 2.0))


def test_a_precision_is_positive_even_in_a_group_without_weights():
    penalty = IntegratedL2(Groups(np.array([0, 0]), ("a", "empty")))
    value, gradient = penalty.value_and_gradient(np.zeros(2))
    assert value == 0.0
    assert_array_equal(gradient, [0.0, 0.0])
    assert_array_equal(penalty.precision(np.zeros(2)) > 0, True)
    assert penalty.precision(np.zeros(2), np.zeros(2)).min() > 0
