"""Quadratics in parts against whole matrices: the BFGS updates one by one, and the Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune.learning.solvers import composite as module
from structune.learning.solvers.composite import LbfgsCurvatures, NewtonCurvatures
from structune.running.checkpoints import Restored
from tiny import FLAT, dense_hessian, risk_of

N = 7
SCALE = np.geomspace(0.3, 3.0, N)
RNG = np.random.default_rng(0)
A = np.diag(np.arange(1.0, N + 1)) + 0.2
STEPS = RNG.normal(size=(9, N))


def bfgs(steps):
    """The BFGS matrix, update by update (equation 2.18 of Byrd, Nocedal & Schnabel 1994)."""
    last, change = steps[-1], A @ steps[-1]
    matrix = np.diag(SCALE**-2.0) * (change @ (change * SCALE**2)) / (last @ change)
    for s in steps:
        y = A @ s
        image = matrix @ s
        matrix = matrix - np.outer(image, image) / (s @ image) + np.outer(y, y) / (s @ y)
    return matrix


def learned(steps, n_pairs, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_PAIRS", n_pairs)
    monkeypatch.setattr(module, "_MOST_PAIRS", n_pairs)
    curvatures = LbfgsCurvatures(SCALE)
    for s in steps:
        curvatures.add(s, A @ s)
    return curvatures


def as_matrix(quadratic, n):
    return np.array([quadratic.product(e) for e in np.eye(n)])


@pytest.mark.parametrize("n_steps", [1, 9])
def test_the_bfgs_matrix(n_steps, monkeypatch):
    """Of the last four steps, whichever row they are kept in."""
    curvatures = learned(STEPS[:n_steps], 4, monkeypatch)
    w, slope = np.array([1.0, 0.0, -2.0, 0.0, 0.0, 3.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    active, quadratic = curvatures.at(w, slope)
    assert active.tolist() == [0, 1, 2, 5, 6]
    expected = bfgs(STEPS[:n_steps][-4:])[np.ix_(active, active)]
    assert_allclose(as_matrix(quadratic, 5), expected, rtol=1e-9, atol=1e-9)
    free, b = np.array([0, 3, 4]), np.array([1.0, -2.0, 0.5])
    assert_allclose(quadratic.solve(free, b), np.linalg.solve(expected[np.ix_(free, free)], b), rtol=1e-8)


def test_the_first_step_is_short():
    slope = np.full(N, 100.0)
    active, quadratic = LbfgsCurvatures(np.ones(N)).at(np.zeros(N), slope)
    assert np.linalg.norm(quadratic.solve(active, slope)) == pytest.approx(1.0)


def test_steps_without_curvature_are_left_out(monkeypatch):
    curvatures, other = learned(STEPS[:3], 4, monkeypatch), learned(STEPS[:3], 4, monkeypatch)
    other.add(STEPS[3], -STEPS[3])
    other.add(np.zeros(N), np.zeros(N))
    one, two = (as_matrix(c.at(np.ones(N), np.ones(N))[1], N) for c in (curvatures, other))
    assert_allclose(one, two, rtol=0)


def test_what_was_learned_can_be_kept(monkeypatch):
    curvatures, other = learned(STEPS, 4, monkeypatch), learned((), 4, monkeypatch)
    other.restore(Restored(curvatures.state()))
    one, two = (as_matrix(c.at(np.ones(N), np.ones(N))[1], N) for c in (curvatures, other))
    assert_allclose(one, two, rtol=1e-12)


@pytest.mark.parametrize("kind", FLAT)
def test_the_hessian(kind):
    risk = risk_of(kind, hessian="dense")
    n = risk.n_weights
    precision, w = np.linspace(0.1, 1.0, n), 0.3 * np.cos(np.arange(n))
    matrix = dense_hessian(risk_of(kind), w) + np.diag(precision)
    active, quadratic = NewtonCurvatures(risk, precision).at(w, np.zeros(n))
    assert active.tolist() == list(range(n))
    assert_allclose(as_matrix(quadratic, n), matrix, rtol=1e-9, atol=1e-9)
    free = np.arange(0, n, 2)
    found = quadratic.solve(free, np.ones(free.size))
    assert_allclose(found, np.linalg.solve(matrix[np.ix_(free, free)], np.ones(free.size)), rtol=1e-8)
