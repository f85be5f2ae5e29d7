"""Which solver a penalised fit takes, and what it does about weights without a penalty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxima import enumerated, minimum, objective, risk_of
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.solvers.bundle import minimize_bundle
from structune.learning.solvers.cccp import minimize_cccp
from structune.learning.solvers.l2 import fit_l2
from structune.running.monitor import Monitor
from tiny import risk_of as smooth_risk


@pytest.mark.parametrize(("loss", "solver"), [(MarginLoss(), minimize_bundle), (RampLoss(), minimize_cccp)])
def test_options_go_to_the_solver(loss, solver):
    problem = enumerated("chain")
    precision, start = np.linspace(0.1, 1.0, 20), np.cos(np.arange(20))
    one = fit_l2(risk_of(problem, loss), precision, start, tolerance=1e-5, max_iterations=60)
    other = solver(risk_of(problem, loss), precision, start, tolerance=1e-4, max_iterations=60)
    assert_array_equal(one.w, other.w)
    assert one.status == other.status
    timeless = fit_l2(risk_of(problem, loss), precision, monitor=Monitor(max_seconds=0.0))
    assert timeless.status == "budget"
    defaults = [solve(risk_of(problem, loss), precision).objective for solve in (fit_l2, solver)]
    assert defaults[0] == defaults[1]


def some_free(problem, scale=1.0):
    """Precisions of which two are 0, and those that stand in for them."""
    precision = scale * np.linspace(0.5, 1.5, problem.w.size)
    precision[[1, 4]] = 0.0
    return precision, np.where(precision > 0, precision, 0.01 * precision[precision > 0].mean())


def prior(precision, away):
    return 0.5 * float(precision @ away**2)


@pytest.mark.parametrize("loss", [LogLoss(), MarginLoss(), RampLoss()])
def test_what_is_told_of_a_prior_with_a_center(loss):
    problem = enumerated("chain")
    precision, center = np.linspace(0.5, 1.5, problem.w.size), np.cos(np.arange(problem.w.size))
    fit, risk = (
        fit_l2(risk_of(problem, loss), precision, center=center, tolerance=1e-6),
        risk_of(problem, loss),
    )
    away = fit.w - center
    assert fit.objective == pytest.approx(risk.value(fit.w) + prior(precision, away), rel=1e-9)
    gap = 1e-5  # of the objective: what bundle methods promise for a tolerance of 1e-6
    if loss.convex:
        assert_allclose(fit.gradient, risk.value_and_gradient(fit.w)[1] + precision * away, atol=1e-8)
        warm = fit_l2(risk_of(problem, loss), precision, fit.w, center=center, tolerance=1e-6)
        assert warm.objective <= fit.objective * (1 + gap)
        assert warm.n_evaluations <= fit.n_evaluations
        return
    # A minimum of the convex bound that touches where the fit ended is no better. Another fit that starts
    # there begins with the margin loss, and may end in another local minimum.
    value, slope = risk.concave(fit.w)
    bound = fit_l2(risk.bound(slope), precision, fit.w, center=center, tolerance=1e-8)
    assert bound.objective + float(slope @ fit.w) - value >= fit.objective - 2 * gap * abs(fit.objective)


@pytest.mark.parametrize("loss", [LogLoss(), MarginLoss(), RampLoss()])
def test_a_strong_prior_gives_its_center(loss):
    problem = enumerated("chain")
    center = np.cos(np.arange(problem.w.size))
    fit = fit_l2(risk_of(problem, loss), np.full(problem.w.size, 1e9), center=center)
    assert_allclose(fit.w, center, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-2, 1e6])
def test_weights_without_precision_get_a_little(scale):
    problem = enumerated("chain")
    precision, positive = some_free(problem, scale)
    before = precision.copy()
    fit = fit_l2(risk_of(problem), precision, tolerance=1e-5)
    value, _ = minimum(problem, positive)
    assert fit.status == "converged"
    assert objective(problem, fit.w, positive) == pytest.approx(value, rel=2e-4)
    assert_array_equal(precision, before)


def test_what_is_told_is_without_that_little():
    problem = enumerated("chain")
    precision, _ = some_free(problem)
    for loss in (MarginLoss(), RampLoss()):
        fit = fit_l2(risk_of(problem, loss), precision, tolerance=1e-6)
        assert fit.objective == pytest.approx(objective(problem, fit.w, precision, loss), rel=1e-9)
        assert fit.lower_bound <= fit.objective
    fit, slope = fit_l2(risk_of(problem), precision), risk_of(problem).value_and_gradient
    assert_allclose(fit.gradient, slope(fit.w)[1] + precision * fit.w, atol=1e-9)


def test_smooth_losses_leave_them_free():
    risk = smooth_risk("binary")
    precision = np.append(np.ones(5), 0.0)
    assert_allclose(fit_l2(risk, precision, tolerance=1e-9).gradient[5], 0.0, atol=1e-6)


def test_no_precision_at_all():
    problem = enumerated("classes")
    for loss in (MarginLoss(), RampLoss()):
        with pytest.raises(DataError, match="needs a positive precision for every weight"):
            fit_l2(risk_of(problem, loss), np.zeros(18))
