"""Extended saddle point search against projections and closed forms; constraints of validation sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint, minimize

from chains import chain_problems
from maxima import enumerated, maxima, planes
from structune.errors import CapabilityError, DataError
from structune.learning.constraints import _partition, validation_constraints
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2, penalised
from structune.learning.solvers.saddle_point import MOST_ROUNDS, fit_constrained, minimize_saddle_point
from structune.running.monitor import Monitor
from structune.tagging.data.hmm import hmm_attributes, simulate_hmm
from structune.tagging.structure.chain import Chain
from tiny import Budget, small

TIGHT = 1e-9


class Function:
    """A constraint by its value and its gradient."""

    def __init__(self, value, gradient):
        self.value, self.gradient = value, gradient

    def value_and_gradient(self, w):
        return float(self.value(w)), np.asarray(self.gradient(w), float)


def distance_to(center):
    """f(w) = |w - center|^2 / 2."""
    return lambda w: (0.5 * float((w - center) @ (w - center)), w - center)


NORM = Function(np.linalg.norm, lambda w: w / max(np.linalg.norm(w), 1e-300))
ABSOLUTE = Function(lambda w: np.abs(w).sum(), np.sign)
vectors = st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=5).map(np.array)


@given(center=vectors, gamma=st.floats(0.1, 2.0))
def test_projection_on_a_ball(center, gamma):
    fit = minimize_saddle_point(
        distance_to(center), [NORM], np.zeros(center.size), gamma=gamma, tolerance=TIGHT
    )
    assert fit.status == "converged"
    assert_allclose(fit.w, center * min(1.0, gamma / max(np.linalg.norm(center), 1e-300)), atol=0.03 * gamma)


@given(center=vectors, gamma=st.floats(0.1, 2.0))
def test_projection_on_a_diamond(center, gamma):
    """Kinks at every axis: soft thresholding. The search ends near the minimum, in a corner."""
    fit = minimize_saddle_point(
        distance_to(center), [ABSOLUTE], np.zeros(center.size), gamma=gamma, tolerance=TIGHT, max_rounds=100
    )
    size = np.abs(center)
    cut = 0.0
    if size.sum() > gamma:
        falling = np.sort(size)[::-1]
        cuts = (np.cumsum(falling) - gamma) / np.arange(1, size.size + 1)
        cut = cuts[np.flatnonzero(falling > cuts)[-1]]
    best = 0.5 * np.minimum(size, cut) @ np.minimum(size, cut)
    assert fit.status == "converged"
    assert np.abs(fit.w).sum() <= 1.01 * gamma
    assert fit.objective <= 1.25 * best + 0.05 * gamma


def test_several_constraints():
    """Each has a multiplier of its own, and only what is active gets one."""
    center = np.array([3.0, 2.0, 0.5])
    constraints = [Function(lambda w, k=k: w[k], lambda w, k=k: np.eye(3)[k]) for k in range(3)]
    fit = minimize_saddle_point(distance_to(center), constraints, np.zeros(3), gamma=1.0, tolerance=TIGHT)
    assert_allclose(fit.w, [1.0, 1.0, 0.5], atol=0.02)
    assert_allclose(fit.constraint_values, fit.w)
    assert fit.multipliers[0] >= 2.0 - 0.02  # above the Lagrange multipliers, and no need to be theirs
    assert fit.multipliers[1] >= 1.0 - 0.02
    assert fit.multipliers[2] == 0.0


def crf(kind, precision=0.1):
    """A risk, its prior, the constraints of three validation sets, and all their planes."""
    problem = enumerated(kind)
    risk = Risk(problem.structure, LogLoss(), [problem.shard])
    constraints = validation_constraints(problem.structure, problem.shard)
    return problem, risk, np.full(risk.n_weights, precision), constraints


def least(problem, risk, precision, gamma):
    """The constrained minimum, by SciPy: a slack for every example, planes as linear constraints."""
    n, m = risk.n_weights, len(problem.own)
    rows, sets = [], np.zeros((3, n + m))
    for i, (slopes, _) in enumerate(planes(problem)):
        rows += [np.concatenate((slope, -np.eye(m)[i])) for slope in slopes]
    for j, part in enumerate(_partition(problem.shard.sizes(), 3, 0)):
        sets[j, n + part] = problem.shard.weights[part]
    objective = penalised(risk, precision)

    def padded(v):
        value, gradient = objective(v[:n])
        return value, np.concatenate((gradient, np.zeros(m)))

    bounds = [LinearConstraint(np.array(rows), -np.inf, 0.0), LinearConstraint(sets, -np.inf, gamma)]
    how = {"method": "SLSQP", "constraints": bounds, "options": {"maxiter": 500}}
    end = minimize(padded, np.zeros(n + m), jac=True, **how)
    assert end.success
    return end.fun


@pytest.mark.parametrize("gamma", [0.1, 5.0])
@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_constrained_crfs(kind, gamma):
    problem, risk, precision, constraints = crf(kind)
    free = fit_l2(risk, precision)
    fit = fit_constrained(risk, precision, constraints, free.w, gamma=gamma)
    value, at_zero = least(problem, risk, precision, gamma), risk.at_zero.value
    assert fit.status == "converged"
    assert fit.n_rounds <= MOST_ROUNDS
    assert fit.constraint_values.max() <= 1.01 * gamma
    gain = at_zero - value
    # quasi-Newton steps end near the minimum, not at it, if many kinks meet there
    assert value - 0.02 * gain <= fit.objective <= value + 0.3 * gain
    assert_allclose(fit.objective, penalised(risk, precision)(fit.w)[0])
    assert_allclose(fit.constraint_values, [h.value(fit.w) for h in constraints], atol=1e-9)


def test_met_already():
    """Where the free minimum meets the constraints, it is the answer."""
    _, risk, precision, constraints = crf("classes")
    free = fit_l2(risk, precision)
    fit = fit_constrained(risk, precision, constraints, free.w, gamma=100.0)
    assert_allclose(fit.w, free.w, rtol=1e-12)
    assert (fit.status, fit.n_rounds) == ("converged", 1)
    assert_array_equal(fit.multipliers, np.zeros(3))


def test_an_unfinished_minimum_is_finished_first():
    """Where the minimum of f meets the constraints, what a loose fit leaves of them costs no penalty."""
    flat = Function(lambda w: np.exp(-w[0]), lambda w: -np.exp(-w))

    def objective(w):
        return float(np.logaddexp(0.0, -w[0])), -1.0 / (1.0 + np.exp(w))

    fit = minimize_saddle_point(objective, [flat], np.ones(1), gamma=0.01, tolerance=0.6)
    assert fit.status == "converged"
    assert fit.multipliers[0] == 0.0
    assert fit.constraint_values[0] <= 0.01 * 1.01


def test_a_minimum_that_is_far_is_gone_to_in_one_piece():
    """Without restarts, which forget the curvature, and so without penalties."""
    curvature, best = np.logspace(0, 3, 20), np.ones(20)

    def objective(w):
        return 0.5 * float((w - best) @ (curvature * (w - best))), curvature * (w - best)

    near = Function(lambda w: np.linalg.norm(w - best), lambda w: (w - best) / np.linalg.norm(w - best))
    fit = minimize_saddle_point(objective, [near], np.zeros(20), gamma=0.01, tolerance=0.5)
    assert (fit.status, fit.n_rounds) == ("converged", 2)
    assert_array_equal(fit.multipliers, [0.0])


def test_where_weights_have_to_shrink():
    """Gains near w = 0 are small beside f, and what they gain is the direction."""
    y, x = simulate_hmm(100, 5, random_state=0)
    attributes, labels = hmm_attributes(x), [["01"[v] for v in row] for row in y]
    chain = Chain.build(attributes, labels)
    shard = chain.encode(attributes, labels)
    risk, precision = Risk.over(chain, LogLoss(), shard), np.ones(chain.n_weights)
    constraints, free = validation_constraints(chain, shard), fit_l2(risk, precision)
    loose, tight = (
        fit_constrained(risk, precision, constraints, free.w, gamma=0.01, tolerance=tolerance)
        for tolerance in (1e-4, 1e-6)
    )
    assert loose.status == tight.status == "converged"
    at_zero = risk.at_zero.value
    assert at_zero - loose.objective > 0.9 * (at_zero - tight.objective)


def test_the_schedule_of_the_paper():
    """beta_j grows by c times the excess, c doubling from 1e-9 (equations 15, 16); it takes more rounds."""
    _, risk, precision, constraints = crf("classes")
    free, monitor = fit_l2(risk, precision), Monitor()
    ends = {"gamma": 0.01, "schedule": "doubling"}
    fit = fit_constrained(risk, precision, constraints, free.w, max_rounds=60, monitor=monitor, **ends)
    excess = np.maximum([h.value(free.w) - 0.01 for h in constraints], 0.0)
    raised = [np.array(r["multipliers"]) for r in monitor.history if any(r["multipliers"])]
    assert_allclose(raised[0], 1e-9 * excess, rtol=0.01)  # finishing the free minimum moves w a little
    assert_allclose(raised[1], raised[0] + 2e-9 * excess, rtol=0.01)
    assert fit.status == "converged"
    assert MOST_ROUNDS < fit.n_rounds < 60
    assert fit_constrained(risk, precision, constraints, free.w, **ends).status == "infeasible"
    assert fit_constrained(risk, precision, constraints, free.w, gamma=0.01).n_rounds <= MOST_ROUNDS


APART = Function(lambda w: 2.0 + w[0] ** 2, lambda w: 2.0 * w)


@pytest.mark.parametrize("ends", [{}, {"max_multiplier": 10.0}])
def test_constraints_that_cannot_be_met(ends):
    """The iterate of least violation, and the status says so."""
    fit = minimize_saddle_point(distance_to(np.ones(1)), [APART], np.ones(1), gamma=1.0, **ends)
    assert fit.status == "infeasible"
    assert fit.constraint_values[0] >= 2.0
    if not ends:
        assert_allclose(fit.w, 0.0, atol=1e-3)
    assert fit.multipliers[0] <= ends.get("max_multiplier", np.inf)
    assert fit.n_rounds <= MOST_ROUNDS


@pytest.mark.parametrize("after", [1, 30])
def test_stopped_from_outside(after):
    """The best iterate so far."""
    _, risk, precision, constraints = crf("chain")
    start = fit_l2(risk, precision).w
    fit = fit_constrained(risk, precision, constraints, start, gamma=0.1, monitor=Budget(after))
    assert fit.status == "budget"
    assert fit.constraint_values.max() <= max(h.value(start) for h in constraints)


@pytest.mark.parametrize("gamma", [0.0, np.nan, "small", True])
def test_bad_bounds(gamma):
    with pytest.raises(DataError, match="expected a finite number > 0"):
        minimize_saddle_point(distance_to(np.ones(1)), [], np.ones(1), gamma=gamma)


def test_bad_schedule():
    with pytest.raises(DataError, match="schedule='fast': expected one of"):
        minimize_saddle_point(distance_to(np.ones(1)), [], np.ones(1), gamma=1.0, schedule="fast")


def test_losses_with_kinks_are_refused():
    structure, shard = small("classes")
    risk = Risk(structure, MarginLoss(), [shard])
    with pytest.raises(CapabilityError, match="need a smooth loss, and MarginLoss is not smooth"):
        fit_constrained(risk, np.ones(18), [], np.zeros(18), gamma=1.0)


# --- constraints -------------------------------------------------------------------------------------------


sizes = st.lists(st.integers(1, 50), min_size=1, max_size=20).map(np.array)


@given(sizes=sizes, n_sets=st.integers(1, 5), seed=st.integers(0, 3))
def test_sets_share_out_the_data(sizes, n_sets, seed):
    """Every example is in one set, no set is empty, and lengths differ by an example at most."""
    n_sets = min(n_sets, sizes.size)
    parts = _partition(sizes, n_sets, seed)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(sizes.size))
    filled = np.array([sizes[part].sum() for part in parts])
    assert filled.min() > 0
    assert np.ptp(filled) <= sizes.max()
    again = _partition(sizes, n_sets, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_values_by_definition(kind):
    """Best score minus that of the annotated outputs, by enumeration, at several weights."""
    problem = enumerated(kind)
    parts = _partition(problem.shard.sizes(), 3, 7)
    for w in np.random.default_rng(0).normal(size=(5, problem.w.size)):
        each = problem.shard.weights * maxima(problem, w, augmented=False)
        for h, part in zip(
            validation_constraints(problem.structure, problem.shard, 3, 7), parts, strict=True
        ):
            value, slope = h.value_and_gradient(w)
            assert_allclose(value, each[part].sum(), atol=1e-10)
            assert_allclose(slope @ w, value, atol=1e-10)  # homogeneous


@given(problem=chain_problems(partial=None), seed=st.integers(0, 9))
def test_convex_homogeneous_and_zero_at_zero(problem, seed):
    if problem.own is None:
        return
    (h,) = validation_constraints(problem.structure, problem.shard, 1)
    w, rng = problem.w, np.random.default_rng(seed)
    value, slope = h.value_and_gradient(w)
    scale = 1e-9 * (1.0 + np.abs(slope) @ np.abs(w))
    assert h.value_and_gradient(np.zeros_like(w))[0] == 0.0
    assert value >= -scale
    assert_allclose(h.value(3.0 * w), 3.0 * value, atol=10 * scale)
    other = rng.normal(size=w.size)
    assert h.value(other) >= value + slope @ (other - w) - 10 * scale * (1.0 + np.abs(other).max())


@pytest.mark.parametrize("n_sets", [0, 17, 1.5])
def test_bad_numbers_of_sets(n_sets):
    structure, shard = small("chain")
    with pytest.raises(DataError, match=rf"{n_sets!r} validation sets are impossible with 16 examples"):
        validation_constraints(structure, shard, n_sets)


def test_partial_labels_are_refused():
    structure, shard = small("partial")
    with pytest.raises(DataError, match="constraints need complete labels"):
        validation_constraints(structure, shard)
