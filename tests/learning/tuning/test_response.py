"""The model of a held-out loss in the hyperparameters, and the lowest point of a box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from structune.learning.tuning.hypergradient import FARTHEST, GRID, Response, of_precisions
from structune.structure import Groups

FAR = np.full(3, FARTHEST)


def straight(gradient, coupling):
    """Where weights go as far as the log precisions, a quadratic."""
    gradient = np.asarray(gradient)
    return Response(gradient[:, None] * GRID, np.tile(GRID, (gradient.size, 1)), np.asarray(coupling))


@given(st.integers(0, 1000))
def test_the_lowest_point_of_a_quadratic(seed):
    rng = np.random.default_rng(seed)
    root, gradient = rng.normal(size=(3, 3)), rng.normal(size=3)
    coupling = root @ root.T + np.eye(3)
    model = straight(gradient, coupling)
    step, fall = model.lowest(-FAR, FAR)
    expected = -np.linalg.solve(coupling, gradient)
    if np.all(np.abs(expected) < FARTHEST):
        assert_allclose(step, expected, atol=1e-3)
        assert fall == pytest.approx(0.5 * gradient @ -expected, rel=1e-4)
    alone = straight(gradient, np.diag(coupling)).lowest(-FAR, FAR)
    assert_allclose(alone[0], straight(gradient, np.diag(np.diag(coupling))).lowest(-FAR, FAR)[0], atol=1e-6)
    step, fall = model.lowest(-FAR / 100, FAR / 100)
    assert np.all(np.abs(step) <= FARTHEST / 100)
    assert fall == pytest.approx(-model.change(step)[0])
    assert fall > 0


def test_nothing_curves():
    step, fall = straight([1.0, 0.0], np.zeros((2, 2))).lowest(np.full(2, -2.0), np.full(2, 2.0))
    assert_allclose(step, [-2.0, 0.0])
    assert fall == pytest.approx(2.0)


@pytest.mark.parametrize("s", [-3.0, -1.0, -0.5, 0.5, 1.0, 3.0])
def test_independent_weights(s):
    """Their loss is known far from where it was measured: one weight a group, quadratics all."""
    rng = np.random.default_rng(0)
    hessian, heldout, best, other = rng.uniform(0.5, 5.0, (4, 3))
    precision, groups = np.ones(3), Groups(np.arange(3), ("a", "b", "c"))

    def loss(log_precision):
        w = hessian * best / (np.exp(log_precision) + hessian)
        return 0.5 * np.sum(heldout * (w - other) ** 2)

    w = hessian * best / (precision + hessian)
    slope = heldout * (w - other)
    linear, length = of_precisions(groups, precision, hessian, w, slope, heldout)
    unit = np.diag(heldout * (w / (precision + hessian)) ** 2)
    model = Response(linear, length, unit)
    assert model.change(np.full(3, s))[0] == pytest.approx(loss(np.full(3, s)) - loss(np.zeros(3)), rel=1e-3)
    assert_allclose(model.change(np.zeros(3))[1], approx_fprime(np.zeros(3), loss, 1e-5), rtol=0.02)
    _, gradient = model.change(np.full(3, s))
    assert_allclose(gradient, approx_fprime(np.full(3, s), lambda at: model.change(at)[0], 1e-6), atol=1e-4)


def test_groups_that_tell_nothing():
    groups = Groups(np.array([0, 0, -1]), ("a", "empty"))
    linear, length = of_precisions(
        groups, np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3), np.ones(3), np.zeros(3)
    )
    assert_allclose(linear, 0.0)
    assert_allclose(length, [GRID, GRID])


def test_curvature_that_the_model_has_not():
    gradient, coupling = np.array([1.0, -2.0]), np.diag([2.0, 1.0])
    rest = np.array([[1.0, 0.5], [0.5, 3.0]])
    both, apart = straight(gradient, coupling + rest), straight(gradient, coupling)
    assert_allclose(apart.lowest(-FAR[:2], FAR[:2], rest)[0], both.lowest(-FAR[:2], FAR[:2])[0], atol=1e-4)
    step = np.array([0.3, -0.2])
    assert apart.change(step, rest)[0] == pytest.approx(both.change(step)[0])


def test_curvature_is_that_of_the_model_at_a_step_of_zero():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    linear, length = (rng.normal(size=(3, 1)) * np.expm1(0.3 * GRID) for _ in range(2))
    model = Response(linear, length, root @ root.T)
    step = 1e-5
    columns = [(model.change(step * e)[1] - model.change(-step * e)[1]) / (2.0 * step) for e in np.eye(3)]
    assert_allclose(model.curvature, columns, atol=1e-7)
