"""The solvers that the bundle method is compared with reach the optimum of problems written out."""

import numpy as np
import pytest

from baseline_solvers import minimize_n_slack, minimize_subgradient
from maxima import enumerated, minimum, objective, risk_of
from structune.running.monitor import Monitor


@pytest.mark.parametrize("kind", ["chain", "ranking"])
def test_close_to_the_optimum(kind):
    problem = enumerated(kind)
    precision = np.geomspace(1.0, 3.0, problem.w.size)
    value, _ = minimum(problem, precision)
    fit = minimize_n_slack(risk_of(problem), precision, 1e-7, Monitor())
    assert fit.status == "converged"
    assert fit.lower_bound <= value * (1 + 5e-7)
    assert fit.objective == pytest.approx(value, rel=1e-6)
    fit = minimize_subgradient(risk_of(problem), precision, 1e-5, Monitor(), 10_000)
    assert fit.status == "stalled"
    assert fit.objective == pytest.approx(objective(problem, fit.w, precision), rel=1e-12)
    assert value * (1 - 1e-6) <= fit.objective <= value * 1.01
