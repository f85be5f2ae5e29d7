"""Newton's method: the optimum of L-BFGS and scikit-learn, on easy and on awkward data."""

from contextlib import ExitStack
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_info, threadpool_limits

from structune.flat.structure.classes import Classes
from structune.flat.structure.linear import Linear
from structune.learning.losses import LogLoss, SquaredLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.newton import minimize_newton
from structune.running.blas import one_thread
from structune.running.monitor import FitStopped
from tiny import FLAT, Budget, Fuse, exact_fit, group, risk_of, small

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
    assert fit.stopped
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
