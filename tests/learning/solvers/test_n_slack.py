"""The n-slack baseline reaches the optimum of problems written out."""

import numpy as np
import pytest

from maxima import ENUMERATED, enumerated, minimum, objective, rescalings, risk_of
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.solvers.n_slack import minimize_n_slack
from tiny import Budget


@pytest.mark.parametrize("kind", ENUMERATED)
def test_scipy_agrees(kind):
    problem = enumerated(kind)
    precision = np.geomspace(0.3, 3.0, problem.w.size)
    for rescaling in rescalings(problem):
        loss = MarginLoss(rescaling)
        value, _ = minimum(problem, precision, rescaling=rescaling)
        fit = minimize_n_slack(risk_of(problem, loss), precision, tolerance=1e-7)
        assert fit.status == "converged"
        assert fit.lower_bound <= value * (1 + 5e-7)
        assert fit.objective == pytest.approx(value, rel=1e-6)
        assert fit.objective == pytest.approx(objective(problem, fit.w, precision, loss), rel=1e-8)


@pytest.mark.parametrize("loss", [LogLoss(), RampLoss(), MarginLoss(outer="huber")])
def test_other_losses_are_refused(loss):
    problem = enumerated("classes")
    with pytest.raises(DataError, match="n-slack method needs a margin loss with the hinge"):
        minimize_n_slack(risk_of(problem, loss), np.ones(problem.w.size))


def test_what_ends_it():
    problem = enumerated("chain")
    precision = np.ones(problem.w.size)
    fit = minimize_n_slack(risk_of(problem), precision, max_iterations=2)
    assert (fit.status, fit.n_evaluations) == ("iterations", 2)
    stopped = minimize_n_slack(risk_of(problem), precision, monitor=Budget(2))
    assert stopped.status == "budget"
    assert stopped.objective == fit.objective
    with pytest.raises(DataError, match="max_iterations=0"):
        minimize_n_slack(risk_of(problem), precision, max_iterations=0)
