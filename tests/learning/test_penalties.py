"""Penalties against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from structune.flat.structure.linear import Linear
from structune.learning.losses import SquaredLoss
from structune.learning.penalties import IntegratedL2, IntegratedNoise
from structune.learning.risk import Risk
from structune.structure import Groups
from tiny import risk_of

GROUPS = Groups(np.array([0, 1, 1, 2, 1, 0]), ("a", "b", "c"))
FREE = Groups(np.array([0, -1, 1, 2, -1, 0]), ("a", "b", "c"))  # two weights have no penalty
seeds = st.integers(0, 2**32 - 1)


def penalties():
    number = st.floats(0.0, 50.0)
    return st.builds(IntegratedL2, st.just(GROUPS), number, st.floats(0.01, 50.0))


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


def test_weights_without_a_penalty_are_in_no_group():
    assert len(FREE) == 3
    assert FREE.sizes.tolist() == [2, 1, 1]
    sums, spread = FREE.sum(np.arange(6.0)), FREE.spread(np.array([2.0, 3.0, 5.0]))
    assert (sums.tolist(), spread.tolist()) == ([5.0, 2.0, 3.0], [2.0, 0.0, 3.0, 5.0, 0.0, 2.0])
    assert sums.dtype == spread.dtype == np.float64
    assert FREE.sizes.dtype == np.int64


@pytest.mark.parametrize(("index", "names"), [([-1, -1], ()), ([-1, -1], ("a",)), ([], ()), ([], ("a",))])
def test_groups_without_weights(index, names):
    groups = Groups(np.array(index, dtype=np.int64), names)
    assert groups.sizes.tolist() == groups.sum(np.ones(len(index))).tolist() == [0] * len(names)
    assert groups.spread(np.ones(len(names))).tolist() == [0.0] * len(index)
    value, gradient = IntegratedL2(groups).value_and_gradient(np.ones(len(index)))
    assert (value, gradient.tolist()) == (0.0, [0.0] * len(index))


@given(seed=seeds, alpha=st.floats(0.0, 50.0), beta=st.floats(0.01, 50.0))
def test_free_weights_do_not_enter_the_integrated_penalty(seed, alpha, beta):
    w = np.random.default_rng(seed).normal(size=6)
    penalty = IntegratedL2(FREE, alpha, beta)
    value, gradient = penalty.value_and_gradient(w)
    parts = [(w[[0, 5]], 2), (w[[2]], 1), (w[[3]], 1)]
    assert value == pytest.approx(sum((n / 2 + alpha) * np.log(0.5 * v @ v + beta) for v, n in parts))
    slope = approx_fprime(w, lambda v: penalty.value_and_gradient(v)[0], 1e-7)
    assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4 * (1 + np.abs(slope).max()))
    assert_array_equal(gradient[[1, 4]], 0.0)
    assert_allclose(gradient, FREE.spread(penalty.precision(w)) * w)
    moved = w + np.array([0, 9.0, 0, 0, -9.0, 0])
    assert penalty.value_and_gradient(moved)[0] == value


FLOOR = 1e-3
WEIGHTS = np.array([1.0, 2.0, 0.5])
OUTPUTS = np.array([1.0, -2.0, 4.0])
M = WEIGHTS.sum()
MEAN_SQUARE = WEIGHTS @ OUTPUTS**2 / M


def squares(outputs=OUTPUTS, weights=WEIGHTS):
    structure = Linear(["x"])
    return Risk.over(structure, SquaredLoss(), structure.encode(np.ones((len(outputs), 1)), outputs, weights))


def test_the_variance_is_the_mean_square_above_a_floor():
    noise = IntegratedNoise(squares(), FLOOR)
    assert noise.variance(0.0) == pytest.approx(FLOOR * MEAN_SQUARE)
    assert noise.variance(3.0) == pytest.approx(2 * 3.0 / M + FLOOR * MEAN_SQUARE)
    at_zero = squares().at_zero.value  # half the sum of squares
    assert noise.variance(at_zero) == pytest.approx((1 + FLOOR) * MEAN_SQUARE)


@given(loss=st.floats(0.0, 1e6))
def test_the_slope_of_the_objective_is_one_over_the_variance(loss):
    noise = IntegratedNoise(squares(), FLOOR)
    step = 1e-4 * (noise.variance(loss) * M)
    slope = (noise.value(loss + step) - noise.value(loss - step)) / (2 * step)
    assert slope == pytest.approx(1 / noise.variance(loss), rel=1e-6)


@given(at=st.floats(0.0, 1e4), loss=st.floats(0.0, 1e4))
def test_the_line_majorises_the_objective(at, loss):
    noise = IntegratedNoise(squares(), FLOOR)
    line = noise.value(at) + (loss - at) / noise.variance(at)
    assert noise.value(loss) <= line + 1e-9 * (1 + abs(line))


@given(loss=st.floats(0.0, 1e6))
def test_the_variance_comes_back_from_the_objective(loss):
    noise = IntegratedNoise(squares(), FLOOR)
    assert noise.variance_of(noise.value(loss)) == pytest.approx(noise.variance(loss), rel=1e-9)


def test_the_objective_is_that_of_the_paper():
    """(m / 2) log |r|^2, where the floor does not matter."""
    assert IntegratedNoise(squares(), 1e-12).value(3.0) == pytest.approx(M / 2 * np.log(6.0))


@pytest.mark.parametrize("kind", ["classes", "chain"])
def test_other_losses_stay_as_they_are(kind):
    noise = IntegratedNoise(risk_of(kind), FLOOR)
    assert (noise.value(7.0), noise.variance(7.0), noise.variance_of(7.0)) == (7.0, 1.0, 1.0)
