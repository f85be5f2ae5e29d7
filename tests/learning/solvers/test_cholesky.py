"""Factored systems with the Hessian against NumPy, and hypergradients through them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune.flat.structure.linear import Linear
from structune.learning.losses import SquaredLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.linear import FactoredSystem, HessianSystem, system_at
from structune.learning.tuning.implicit import hypergradient
from tiny import FLAT, dense_hessian, exact_fit, risk_of, tuning_problem


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


# --- hypergradients ---------------------------------------------------------------------------------------


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
