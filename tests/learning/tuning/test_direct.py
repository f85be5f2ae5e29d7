"""The integrated objective minimised at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from structune.errors import CapabilityError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.penalties import IntegratedL2
from structune.learning.tuning import DirectTuner
from structune.learning.tuning.majorize import CollapseWarning
from structune.learning.tuning.problem import TuningProblem
from structune.structure import Groups
from tiny import KINDS, Budget, Fuse, margin_problem, tuning_problem


def objective(problem, w, **prior):
    return problem.full.value(w) + IntegratedL2(problem.groups, **prior).value_and_gradient(w)[0]


@pytest.mark.parametrize(("kind", "which"), zip(KINDS, ["single", "grouped", "separate"], strict=True))
def test_it_ends_at_a_stationary_point(kind, which):
    problem, prior = tuning_problem(kind, which, splits=False), {"alpha": 0.5, "beta": 2.0}
    result = DirectTuner(fit_tolerance=1e-6, **prior).tune(problem)
    assert result.status == "converged"
    slope = approx_fprime(result.w, lambda w: objective(problem, w, **prior), 1e-6)
    assert np.abs(slope).max() < 1e-3
    energy = 0.5 * problem.groups.sum(result.w**2)
    assert_allclose(np.exp(result.log_precision), (problem.groups.sizes / 2 + 0.5) / (energy + 2.0))
    assert result.history[-1]["objective"] == pytest.approx(objective(problem, result.w, **prior))


def test_cut_short():
    problem = tuning_problem(splits=False)
    result = DirectTuner().tune(problem, Budget(5))
    assert result.status == "budget"
    assert problem.full.value(result.w) < problem.full.at_zero.value
    fuse = Fuse(10)
    assert DirectTuner().tune(tuning_problem(executor=fuse, splits=False)).status == "interrupted"
    assert DirectTuner(max_iterations=2).tune(problem).status == "iterations"


def test_losses_with_kinks_are_refused():
    problem = margin_problem("classes", MarginLoss(), splits=False)
    told = "the direct tuner needs a smooth loss, found MarginLoss: expected tuning='gr"
    with pytest.raises(CapabilityError, match=told):
        DirectTuner().tune(problem)
    assert problem.full.passes == 0


def test_a_degenerate_end_is_told():
    """More weights than examples: at w = 0 the prior of the many is a well that the search does not leave."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 400))
    y = (x[:, 0] + rng.normal(size=60) > 0).astype(int)
    structure = Classes([0, 1], [f"x{k}" for k in range(400)], bias=False)
    problem = TuningProblem.build(
        structure, LogLoss(), structure.encode(x, y), Groups.single(structure.n_weights), splits=False
    )
    with pytest.warns(CollapseWarning, match="tuning='direct' seldom leaves"):
        DirectTuner().tune(problem)
