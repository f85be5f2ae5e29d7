"""The noise variance integrated out: its objective, and the variance that majorises it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structune.flat.structure.linear import Linear
from structune.learning.losses import SquaredLoss
from structune.learning.penalties import IntegratedNoise
from structune.learning.risk import Risk
from tiny import risk_of

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


def test_outputs_that_are_all_zero():
    noise = IntegratedNoise(squares(np.zeros(3)), FLOOR)
    assert noise.variance(0.0) > 0
    assert_allclose([noise.value(0.0), noise.value(0.0)], noise.value(0.0))
    assert np.isfinite(noise.value(0.0))
