"""Newton's method, and its linear systems against dense solves."""

from contextlib import ExitStack
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_info, threadpool_limits

from structune.flat.structure.classes import Classes
from structune.flat.structure.linear import Linear
from structune.learning.losses import LogLoss, SquaredLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.newton import FactoredSystem, HessianSystem, minimize_newton
from structune.learning.tuning.implicit import hypergradient
from structune.running.blas import one_thread
from structune.running.monitor import FitStopped
from tiny import FLAT, KINDS, Budget, Fuse, dense_hessian, exact_fit, group, risk_of, small, tuning_problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LABELS = (X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=60) > 0.3).astype(int)
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RNG.normal(size=60)
SEPARATED = (X[:, 0] > 0).astype(int)


def features(x):
    return [f"x{k}" for k in range(x.shape[1])]


def binary_risk(x=X, labels=LABELS, bias=False, **options):
    structure = Classes([0, 1], features(x), bias, reference=True)
    return Risk.over(structure, LogLoss(), structure.encode(x, labels), **{"hessian": "dense", **options})


def linear_risk(x=X, y=Y, bias=False, **options):
    structure = Linear(features(x), bias)
    return Risk.over(structure, SquaredLoss(), structure.encode(x, y), **{"hessian": "dense", **options})


def value(risk, precision, w):
    return risk.value(w) + 0.5 * precision @ (w * w)


def tight(risk, precision, start=None, **options):
    return fit_l2(risk, precision, start, **{"tolerance": 1e-9, **options})


@pytest.mark.parametrize("which", ["grouped", "free"])
@pytest.mark.parametrize("kind", FLAT)
def test_newton_lbfgs_and_the_optimum(kind, which):
    groups = group(small(kind)[0], which)
    precision = GroupedL2(groups, np.linspace(-1.0, 1.0, len(groups))).precision
    dense, products = (tight(risk_of(kind, hessian=hessian), precision) for hessian in ("dense", "exact"))
    risk = risk_of(kind)
    w = exact_fit(risk, precision)
    for fit in (dense, products):
        assert fit.status in ("converged", "stalled")
        assert fit.objective == pytest.approx(value(risk, precision, w), rel=1e-12)
        assert_allclose(np.sqrt(precision) * fit.w, np.sqrt(precision) * w, atol=1e-6)
        assert_allclose(fit.gradient, risk.value_and_gradient(fit.w)[1] + precision * fit.w, atol=1e-10)
        assert fit.gradient_norm <= 1e-8 * risk.at_zero.gradient_norm
        scores = [risk.structure.best(v, risk.shards[0])[1] for v in (fit.w, w)]
        if which != "free" or kind != "classes":  # else all biases may move together
            assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("l1", [None, np.full(4, 0.1)])
def test_rounding_of_the_objective_costs_no_evaluations(l1):
    """At the minimum, where a BLAS kernel may round the objective by more than a step can gain."""
    start = tight(binary_risk(), np.full(4, 0.3), l1=l1).w
    risk, n_evaluations = binary_risk(), count(1)
    exact = risk.value_and_gradient
    # every evaluation is a little higher than the one before
    risk.value_and_gradient = lambda w: ((1 + 1e-13 * next(n_evaluations)) * exact(w)[0], exact(w)[1])
    fit = fit_l2(risk, np.full(4, 0.3), start, l1=l1, tolerance=1e-6)
    assert fit.status == "converged"
    assert fit.n_evaluations <= 3
    assert_allclose(fit.w, start, atol=1e-6)


@pytest.mark.parametrize("penalty", [1e-10, 1.0, 1e10])
def test_scikit_learn_agrees(penalty):
    precision = np.append(np.full(4, penalty), 0.0)
    peer = LogisticRegression(C=1 / penalty, tol=1e-12, solver="newton-cholesky").fit(X, LABELS)
    w = tight(binary_risk(bias=True), precision).w
    assert_allclose(w[:4], peer.coef_[0], rtol=1e-6, atol=1e-12)
    assert_allclose(w[4:], peer.intercept_, rtol=1e-6)
    ridge = Ridge(alpha=penalty).fit(X, Y)
    w = tight(linear_risk(bias=True), precision).w
    assert_allclose(w[:4], ridge.coef_, rtol=1e-6, atol=1e-15)
    assert_allclose(w[4:], [ridge.intercept_], rtol=1e-6)


def test_a_factored_quadratic_takes_one_step():
    fit = fit_l2(linear_risk(), np.ones(4), tolerance=1e-10)
    assert (fit.status, fit.n_evaluations) == ("converged", 2)


@pytest.mark.parametrize("make", [binary_risk, linear_risk])
def test_the_start_does_not_matter(make):
    risk, precision = make(bias=True), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    cold = tight(risk, precision)
    warm = tight(risk, precision, cold.w)
    assert warm.n_evaluations <= 2
    start = np.full(5, 3.0)
    assert_allclose(tight(risk, precision, start).w, cold.w, rtol=1e-7, atol=1e-8)
    assert_array_equal(start, 3.0)


@pytest.mark.parametrize("hessian", ["dense", "exact"])
def test_a_start_where_the_curvature_vanishes(hessian):
    """All examples lie far on the wrong side: the Hessian of the loss is zero to rounding there."""
    fit = tight(binary_risk(hessian=hessian), np.ones(4), np.array([-3e3, 1e3, 1e3, 1e3]), tolerance=1e-6)
    assert_allclose(fit.w, tight(binary_risk(), np.ones(4)).w, rtol=1e-4, atol=1e-5)


def test_fits_that_overlap_leave_the_threads_of_blas_as_they_were():
    """As two threads of a program make them."""

    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(2, "blas"):
        before = threads()
        with ExitStack() as first:
            first.enter_context(one_thread())
            second = one_thread()
            second.__enter__()
        second.__exit__(None, None, None)
        assert threads() == before


@pytest.mark.parametrize("penalty", [1e-10, 1e10])
def test_separated_classes(penalty):
    precision = np.append(np.full(4, penalty), 0.0)
    risk = binary_risk(labels=SEPARATED, bias=True)
    fit = tight(risk, precision)
    assert fit.status in ("converged", "stalled")
    assert fit.gradient_norm <= 1e-8 * risk.at_zero.gradient_norm
    scores = X @ fit.w[:4] + fit.w[4]
    assert np.isfinite(fit.w).all()
    assert penalty > 1 or ((scores > 0) == SEPARATED).all()


@pytest.mark.parametrize("scale", [np.array([1e6, 1.0, 1.0, 1.0]), np.array([1e3, 1e-3, 1.0, 1.0])])
def test_a_large_column_does_not_spoil_the_others(scale):
    precision = 1e-8 * scale**2
    w = tight(linear_risk(), np.full(4, 1e-8)).w
    assert_allclose(fit_l2(linear_risk(X * scale), precision).w * scale, w, atol=1e-2)


def run(risk, **options):
    """Newton's method from zero, and the objectives on its way."""
    values, precision = [], np.full(risk.n_weights, 1e-6)

    def objective(w):
        loss, gradient = risk.value_and_gradient(w)
        values.append(loss + 0.5 * precision @ (w * w))
        return values[-1], gradient + precision * w

    options = {"tolerance": 1e-9, **options}
    return minimize_newton(objective, risk, precision, np.zeros(risk.n_weights), **options), values


@pytest.mark.parametrize("n", [0, 4])
def test_a_spent_budget_leaves_the_best_iterate(n):
    fit, values = run(binary_risk(labels=SEPARATED), monitor=Budget(n))
    assert fit.status == "budget"
    assert fit.objective == min(values)
    assert fit.n_evaluations == len(values) >= n + 2
    with pytest.raises(FitStopped) as caught:
        fit.check()
    assert_array_equal(caught.value.w, fit.w)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_ctrl_c_on_the_data(n):
    """During a gradient or a Hessian, it leaves the last iterate."""
    fuse = Fuse(10**9)
    risk = binary_risk(labels=SEPARATED, executor=fuse)
    fuse.left = n
    fit, values = run(risk)
    fuse.left = 10**9
    assert fit.status == "interrupted"
    assert fit.objective == min(values) == pytest.approx(value(risk, np.full(4, 1e-6), fit.w))


# --- linear ------------------------------------------------------------------------------------------------


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
def test_the_dense_solution(kind):
    risk = risk_of(kind)
    precision, rng = np.geomspace(0.1, 10.0, risk.n_weights), np.random.default_rng(0)
    w, b = exact_fit(risk, precision), rng.normal(size=risk.n_weights)
    matrix = dense_hessian(risk, w) + np.diag(precision)
    solved = HessianSystem(risk, precision, w).solve(b, tolerance=1e-12)
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


@pytest.mark.parametrize("kind", FLAT)
def test_hypergradients_are_slopes_of_the_held_out_loss(kind):
    """Of the problem solved anew: with biases that have no penalty, too."""
    problem = tuning_problem(kind, "free", hessian="dense", cv=0.4)
    (split,), groups = problem.splits, problem.groups
    d = np.linspace(-0.5, 1.0, len(groups))

    def heldout(d):
        return split.heldout.value(exact_fit(split.train, GroupedL2(groups, d).precision))

    found = hypergradient(split, groups, d, tolerance=1e-9, cg_tolerance=1e-9)
    step = 1e-4
    slope = [(heldout(d + step * e) - heldout(d - step * e)) / (2 * step) for e in np.eye(d.size)]
    assert found.value == pytest.approx(heldout(d), rel=1e-8)
    assert_allclose(found.gradient, slope, rtol=1e-5, atol=1e-7)
