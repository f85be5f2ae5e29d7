"""L-BFGS against closed forms and SciPy, what pairs of steps tell of the curvature, and fits cut short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.lbfgs import Pairs, minimize_smooth
from structune.running.monitor import FitStopped
from tiny import KINDS, Budget, exact_fit, risk_of

A = np.diag([1.0, 10.0, 1000.0]) + 0.5
B = np.array([1.0, -2.0, 3.0])


def quadratic(w):
    return 0.5 * w @ A @ w - B @ w, A @ w - B


def rosenbrock(w):
    value = 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2
    slope = 200 * (w[1] - w[0] ** 2)
    return value, np.array([-2 * slope * w[0] - 2 * (1 - w[0]), slope])


def solve(objective, start=(0.0, 0.0, 0.0), scale=1.0, gradient_tolerance=1e-8, **options):
    start = np.asarray(start)
    scale = np.broadcast_to(scale, start.shape)
    return minimize_smooth(objective, start, scale=scale, gradient_tolerance=gradient_tolerance, **options)


@pytest.mark.parametrize("scale", [1.0, np.diag(A) ** -0.5, np.array([3.0, 0.1, 1.0])])
def test_a_quadratic(scale):
    solution = solve(quadratic, scale=scale)
    assert solution.status == "converged"
    assert_allclose(solution.w, np.linalg.solve(A, B), rtol=1e-8)
    assert_allclose(solution.objective, quadratic(solution.w)[0])
    assert_allclose(solution.gradient, quadratic(solution.w)[1])
    assert solution.gradient_norm <= 1e-8


def test_a_curved_valley():
    solution = solve(rosenbrock, (-1.2, 1.0), gradient_tolerance=1e-6)
    assert solution.status == "converged"
    assert_allclose(solution.w, [1.0, 1.0], rtol=1e-5)


def test_until():
    """Asked after every step, at the weights that were reached."""
    asked = []

    def near(w):
        asked.append(w)
        return rosenbrock(w)[0] < 1.0

    solution = solve(rosenbrock, (-1.2, 1.0), scale=[2.0, 0.5], until=near)
    assert solution.status == "converged"
    assert_array_equal(solution.w, asked[-1])
    assert [rosenbrock(w)[0] < 1.0 for w in asked] == [False] * (len(asked) - 1) + [True]
    assert len(asked) > 1


def test_the_iterations_run_out():
    solution = solve(rosenbrock, (-1.2, 1.0), max_iterations=3)
    assert solution.status == "iterations"
    assert not solution.stopped
    solution.check()


def test_where_rounding_hides_what_is_left_it_has_converged():
    assert solve(lambda w: (1e20 + quadratic(w)[0], quadratic(w)[1])).status == "converged"
    solution = solve(quadratic, gradient_tolerance=0.0)
    assert solution.status == "converged"
    assert_allclose(solution.w, np.linalg.solve(A, B), rtol=1e-6)


def test_at_a_kink_it_stalls():
    def objective(w):
        return float(np.abs(w - B / 7).sum() + 0.1 * w @ w), np.sign(w - B / 7) + 0.2 * w

    assert solve(objective).status == "stalled"


def cut(objective, n, error=None):
    """The objective, which raises at the evaluation after the `n`-th, and the values it gave."""
    values = []

    def counted(w):
        if error is not None and len(values) == n:
            raise error
        values.append(objective(w)[0])
        return objective(w)

    return counted, values


@pytest.mark.parametrize("n", [1, 7])
def test_ctrl_c_leaves_the_best_iterate(n):
    objective, values = cut(rosenbrock, n, KeyboardInterrupt())
    solution = solve(objective, (-1.2, 1.0))
    assert solution.status == "interrupted"
    assert solution.stopped
    assert solution.n_evaluations == len(values) == n
    assert solution.objective == min(values) == rosenbrock(solution.w)[0]
    with pytest.raises(FitStopped) as caught:
        solution.check()
    assert caught.value.status == "interrupted"
    assert_array_equal(caught.value.w, solution.w)


@pytest.mark.parametrize("n", [0, 6])
def test_a_spent_budget_leaves_the_best_iterate(n):
    objective, values = cut(rosenbrock, n)
    solution = solve(objective, (-1.2, 1.0), monitor=Budget(n))
    assert solution.status == "budget"
    assert solution.n_evaluations == len(values) == n + 1
    assert solution.objective == min(values)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum(kind):
    risk = risk_of(kind)
    precision = np.geomspace(0.1, 10.0, risk.n_weights)
    fit = fit_l2(risk, precision, tolerance=1e-9)

    def objective(w):
        value, gradient = risk.value_and_gradient(w)
        return value + 0.5 * precision @ (w * w), gradient + precision * w

    assert fit.status in ("converged", "stalled")
    assert fit.objective == pytest.approx(objective(fit.w)[0], rel=1e-12)
    assert_allclose(fit.gradient, objective(fit.w)[1], atol=1e-12)
    assert fit.gradient_norm <= 1e-7 * risk.at_zero.gradient_norm
    assert_allclose(fit.w, exact_fit(risk, precision), rtol=1e-6, atol=1e-6)


def test_what_was_learned_of_the_curvature_is_handed_on():
    hessian = np.diag(np.geomspace(1.0, 1e4, 12))
    center = np.ones(12)

    def objective(w):
        return 0.5 * (w - center) @ hessian @ (w - center), hessian @ (w - center)

    first = solve(objective, np.zeros(12))
    anew = solve(objective, np.full(12, 3.0))
    informed = solve(objective, np.full(12, 3.0), pairs=first.pairs.under(np.zeros(12)))
    assert_allclose(informed.w, center, atol=1e-6)
    assert informed.n_evaluations < anew.n_evaluations


# --- pairs -------------------------------------------------------------------------------------------------


def pairs_of(seed, n, m):
    """Steps, and the changes of the gradient of a quadratic along them."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian = root @ root.T + 0.1 * np.eye(n)
    pairs = Pairs(n)
    for step in rng.normal(size=(m, n)):
        pairs.add(step, step @ hessian)
    return pairs, rng.uniform(0.1, 3.0, n)


def bfgs(pairs, metric):
    """The inverse Hessian by the textbook's recursion (Nocedal & Wright 2006, equation 6.17)."""
    s, y = pairs.rows()[-1]
    found = np.diag(metric) * (s @ y) / (y @ (metric * y))
    for s, y in pairs.rows():
        left = np.eye(s.size) - np.outer(s, y) / (s @ y)
        found = left @ found @ left.T + np.outer(s, s) / (s @ y)
    return found


@given(st.integers(0, 100), st.integers(1, 6), st.integers(1, 6))
def test_the_product_is_that_of_bfgs(seed, n, m):
    pairs, metric = pairs_of(seed, n, m)
    expected = bfgs(pairs, metric)
    found = np.array([pairs.times(unit, metric) for unit in np.eye(n)]).T
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_a_quadratic_that_is_added():
    pairs, metric = pairs_of(1, 5, 4)
    extra = np.arange(5.0)
    moved = pairs.under(extra)
    assert_allclose(moved.rows(), [(s, y + extra * s) for s, y in pairs.rows()])
    step, change = moved.rows()[-1]
    assert_allclose(moved.times(change, metric), step)


@pytest.mark.parametrize(
    ("step", "change", "kept"),
    [([1, 0], [1, 5], 1), ([1, 0], [-1, 5], 0), ([0, 0], [1, 0], 0), ([1, 0], [1e-12, 1], 0)],
)
def test_only_what_curves_upward_is_kept(step, change, kept):
    pairs = Pairs(2)
    pairs.add(np.array(step, float), np.array(change, float))
    assert len(pairs.kept) == kept
