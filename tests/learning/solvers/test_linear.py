"""Hessian systems against dense solves."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.flat.structure.linear import Linear
from structune.learning.losses import SquaredLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.newton import FactoredSystem, HessianSystem, system_at
from structune.learning.tuning.implicit import hypergradient
from tiny import FLAT, KINDS, dense_hessian, exact_fit, risk_of, tuning_problem

seeds = st.integers(0, 2**32 - 1)


def fake_risk(hessian):
    """A risk that has just this Hessian, at every w."""
    return SimpleNamespace(
        linearize=lambda w: lambda v: hessian @ v, variance=lambda w: np.abs(np.diag(hessian))
    )


def symmetric(eigenvalues, seed=0):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    return q @ np.diag(eigenvalues) @ q.T


def residual(matrix, x, b):
    return np.linalg.norm(matrix @ x - b) / np.linalg.norm(b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_dense_solution(kind, power):
    risk = risk_of(kind)
    precision, rng = np.geomspace(0.1, 10.0, risk.n_weights), np.random.default_rng(0)
    w, b = exact_fit(risk, precision), rng.normal(size=risk.n_weights)
    matrix = dense_hessian(risk, w) + np.diag(precision)
    solved = HessianSystem(risk, precision, w, power).solve(b, tolerance=1e-12)
    assert_allclose(solved.x, np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-9)
    assert solved.method == "cg"  # at a minimum, partial labels or not
    assert 0 < solved.n_products <= 4 * risk.n_weights


def test_a_start_nearby_saves_products():
    risk = risk_of("chain")
    precision, b = np.ones(risk.n_weights), np.cos(np.arange(risk.n_weights))
    system = HessianSystem(risk, precision, np.zeros(risk.n_weights))
    cold = system.solve(b, tolerance=1e-8)
    warm = system.solve(b, cold.x + 1e-6, tolerance=1e-8)
    again = system.solve(b, cold.x, tolerance=1e-7)
    assert again.n_products <= 1 < warm.n_products < cold.n_products
    assert_allclose(warm.x, cold.x, atol=1e-7)


def test_a_right_hand_side_of_zero():
    risk = risk_of("chain")
    system = HessianSystem(risk, np.ones(risk.n_weights), np.zeros(risk.n_weights))
    solved = system.solve(np.zeros(risk.n_weights), np.ones(risk.n_weights))
    assert_array_equal(solved.x, 0.0)
    assert solved.n_products == 0


@settings(max_examples=30)
@given(seed=seeds, n=st.integers(1, 30), spread=st.floats(1.0, 1e4), tolerance=st.floats(1e-8, 0.1))
def test_the_residual_keeps_its_promise(seed, n, spread, tolerance):
    """Positive or indefinite, well or badly conditioned, from zero or elsewhere."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([1.0, -1.0], n) if rng.random() < 0.7 else 1.0
    matrix = symmetric(np.geomspace(1.0, spread, n) * signs, seed)
    b, start = rng.normal(size=(2, n))
    system = HessianSystem(fake_risk(matrix - 0.1 * np.eye(n)), np.full(n, 0.1), np.zeros(n))
    solved = system.solve(b, start if rng.random() < 0.5 else None, tolerance=tolerance)
    assert solved.converged
    assert residual(matrix, solved.x, b) <= 1.001 * tolerance
    assert np.all(np.array(signs) > 0) <= (solved.method == "cg")


def test_negative_curvature_of_partial_labels():
    """Far from a minimum, the Hessian of a chain with partial labels is indefinite."""
    risk = risk_of("partial")
    rng, n = np.random.default_rng(2), risk.n_weights
    w, b = rng.normal(size=(2, n))
    precision = np.full(n, 0.01)
    matrix = dense_hessian(risk, w) + np.diag(precision)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert eigenvalues[0] < -0.1
    assert np.abs(eigenvalues).min() > 1e-3
    solved = HessianSystem(risk, precision, w).solve(b, tolerance=1e-11)
    assert solved.method == "minres"
    assert_allclose(solved.x, np.linalg.solve(matrix, b), rtol=1e-6, atol=1e-6)


def test_the_products_run_out():
    matrix = symmetric(np.geomspace(1.0, 1e6, 50))
    solved = HessianSystem(fake_risk(matrix), np.zeros(50), np.zeros(50)).solve(
        np.ones(50), tolerance=1e-12, max_products=5
    )
    assert solved.n_products <= 6
    assert not solved.converged
    assert np.all(np.isfinite(solved.x))


def point(risk):
    return 0.3 * np.cos(np.arange(risk.n_weights)), np.geomspace(0.1, 10.0, risk.n_weights)


@pytest.mark.parametrize("kind", FLAT)
def test_solutions_are_those_of_numpy(kind):
    risk = risk_of(kind, hessian="dense")
    w, precision = point(risk)
    matrix, b = dense_hessian(risk_of(kind), w) + np.diag(precision), np.sin(1.0 + np.arange(w.size))
    solved = FactoredSystem(risk, precision, w).solve(b, np.ones_like(b), tolerance=0.1)
    assert (solved.method, solved.n_products, solved.converged) == ("cholesky", 0, True)
    assert_allclose(solved.x, np.linalg.solve(matrix, b), rtol=1e-9)


@pytest.mark.parametrize("kind", FLAT)
def test_what_the_data_determine(kind):
    risk = risk_of(kind, hessian="dense")
    w, precision = point(risk)
    hessian = dense_hessian(risk_of(kind), w)
    expected = np.diag(np.linalg.solve(hessian + np.diag(precision), hessian))
    found = FactoredSystem(risk, precision, w).determined()
    assert_allclose(found, expected, rtol=1e-9)
    assert np.all((found > 0) & (found < 1))


def test_weights_that_the_data_do_not_determine():
    """And those without a penalty are determined altogether."""
    structure = Linear(["x", "zero"])
    shard = structure.encode([[1.0, 0.0], [3.0, 0.0]], [1.0, 2.0])
    risk = Risk.over(structure, SquaredLoss(), shard)
    system = FactoredSystem(risk, np.array([1e-9, 1.0, 0.0]), np.ones(3))
    assert_allclose(system.determined(), [1.0, 0.0, 1.0], atol=1e-8)


def test_a_singular_system():
    """All biases may move together: a right-hand side that cannot tell has a finite solution all the same."""
    risk = risk_of("classes", hessian="dense")
    w, precision = np.zeros(18), np.append(np.ones(15), np.zeros(3))
    b = risk.value_and_gradient(w)[1]
    x = FactoredSystem(risk, precision, w).solve(b).x
    assert_allclose(risk.hessian_matrix(w) @ x + precision * x, b, atol=1e-8)
    assert np.abs(x).max() < 100


def test_no_curvature_at_all():
    structure = Linear(["x"], bias=False)
    risk = Risk.over(structure, SquaredLoss(), structure.encode(np.zeros((2, 1)), np.ones(2)))
    assert np.isfinite(FactoredSystem(risk, np.zeros(1), np.zeros(1)).solve(np.zeros(1)).x).all()


def test_the_system_follows_the_risk():
    for hessian, kind in (("dense", FactoredSystem), ("exact", HessianSystem)):
        risk = risk_of("binary", hessian=hessian)
        assert type(system_at(risk, np.ones(6), np.zeros(6))) is kind


@pytest.mark.parametrize("kind", FLAT)
def test_hypergradients_are_slopes_of_the_held_out_loss(kind):
    """Of the problem solved anew: with biases that have no penalty, too."""
    problem = tuning_problem(kind, "free", hessian="dense", holdout=0.4)
    (split,), groups = problem.splits, problem.groups
    d = np.linspace(-0.5, 1.0, len(groups))

    def heldout(d):
        return split.heldout.value(exact_fit(split.train, GroupedL2(groups, d).precision))

    found = hypergradient(split, groups, d, tolerance=1e-9, cg_tolerance=1e-9)
    step = 1e-4
    slope = [(heldout(d + step * e) - heldout(d - step * e)) / (2 * step) for e in np.eye(d.size)]
    assert found.value == pytest.approx(heldout(d), rel=1e-8)
    assert_allclose(found.gradient, slope, rtol=1e-5, atol=1e-7)
