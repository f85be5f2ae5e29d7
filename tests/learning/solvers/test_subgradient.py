"""Subgradient steps come close to the optimum of problems written out, and keep their best."""

import numpy as np
import pytest

from maxima import ENUMERATED, enumerated, minimum, objective, risk_of
from structune.errors import DataError
from structune.learning.margin_losses import RampLoss
from structune.learning.solvers.subgradient import minimize_subgradient
from tiny import Budget, OneCtrlC


@pytest.mark.parametrize("kind", ENUMERATED)
def test_close_to_the_optimum(kind):
    problem = enumerated(kind)
    precision = np.geomspace(1.0, 3.0, problem.w.size)
    value, _ = minimum(problem, precision)
    fit = minimize_subgradient(risk_of(problem), precision, max_iterations=10_000)
    assert fit.status == "stalled"
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-12)
    assert value * (1 - 1e-6) <= fit.objective <= value * 1.01


def test_more_passes_are_never_worse():
    problem = enumerated("chain")
    precision = np.ones(problem.w.size)
    values = [
        minimize_subgradient(risk_of(problem), precision, max_iterations=n).objective for n in (1, 5, 20, 80)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_a_start_and_a_loss_that_is_not_convex():
    problem = enumerated("classes")
    precision, loss = np.ones(problem.w.size), RampLoss()
    start = minimize_subgradient(risk_of(problem), precision, max_iterations=300).w
    fit = minimize_subgradient(risk_of(problem, loss), precision, start, max_iterations=300)
    assert fit.objective <= objective(problem, start, precision, loss)


def test_at_an_optimum_there_is_nothing_to_do():
    """All examples weigh nothing: w = 0 it is, with a subgradient of zero."""
    problem = enumerated("classes")
    risk = risk_of(problem)
    risk.shards[0].weights.flags.writeable = True
    weights = risk.shards[0].weights.copy()
    risk.shards[0].weights[:] = 0.0
    try:
        fit = minimize_subgradient(risk_of(problem), np.ones(problem.w.size))
    finally:
        risk.shards[0].weights[:] = weights
    assert (fit.status, fit.objective, fit.n_evaluations) == ("converged", 0.0, 1)


def test_ctrl_c_and_budgets_keep_the_best():
    problem = enumerated("chain")
    precision = np.ones(problem.w.size)
    stopped = minimize_subgradient(risk_of(problem), precision, monitor=Budget(10))
    assert stopped.status == "budget"
    assert stopped.objective == minimize_subgradient(risk_of(problem), precision, max_iterations=10).objective
    stopped = minimize_subgradient(risk_of(problem, executor=OneCtrlC(10)), precision)
    assert stopped.status == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        minimize_subgradient(risk_of(problem, executor=OneCtrlC(2)), precision)


def test_no_passes():
    problem = enumerated("classes")
    with pytest.raises(DataError, match="max_iterations=0"):
        minimize_subgradient(risk_of(problem), np.ones(problem.w.size), max_iterations=0)
