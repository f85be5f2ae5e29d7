"""The quadratic model of a held-out loss, and the lowest point of a box."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structune.learning.tuning.trust_region import TrustModel

INFINITE = np.full(3, 1e6)


def test_a_diagonal_model():
    gradient, diagonal = np.array([1.0, -4.0, 0.5]), np.array([2.0, 8.0, 0.25])
    model = TrustModel(gradient, diagonal, deque())
    step, fall = model.lowest(-INFINITE, INFINITE)
    assert_allclose(step, -gradient / diagonal, rtol=1e-4)
    assert fall == pytest.approx(0.5 * np.sum(gradient**2 / diagonal))
    step, fall = model.lowest(np.full(3, -0.25), np.full(3, 0.25))
    assert_allclose(step, [-0.25, 0.25, -0.25], rtol=1e-6)
    assert fall == pytest.approx(-(gradient @ step + 0.5 * diagonal @ step**2))


@given(st.integers(0, 1000))
def test_moves_of_a_quadratic_teach_its_hessian(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    hessian = root @ root.T + 0.5 * np.eye(3)
    steps = np.linalg.eigh(hessian)[1].T  # conjugate: each leaves alone what the others told
    moves = deque((step, hessian @ step) for step in steps)
    # a diagonal so small that no move is damped
    model = TrustModel(rng.normal(size=3), np.full(3, 0.1), moves)
    assert_allclose([model.times(unit) for unit in np.eye(3)], hessian, atol=1e-6)


def test_no_move_makes_the_model_curve_downward():
    model = TrustModel(np.ones(2), np.ones(2), deque([(np.array([1.0, 0.0]), np.array([-5.0, 0.0]))]))
    assert_allclose(model.times(np.array([1.0, 0.0])), [0.2, 0.0])  # a fifth of what was expected


def test_nothing_curves():
    step, fall = TrustModel(np.array([1.0, 0.0]), np.zeros(2), deque()).lowest(
        np.full(2, -2.0), np.full(2, 2.0)
    )
    assert_allclose(step, [-2.0, 0.0])
    assert fall == pytest.approx(2.0, rel=0.01)
