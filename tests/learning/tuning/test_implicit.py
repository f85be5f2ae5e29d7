"""The search for the lowest held-out loss."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune import SequenceTagger
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import ImplicitTuner
from structune.learning.tuning.implicit import BOUNDS, _Search
from structune.learning.tuning.problem import TuningProblem
from structune.plots.learning import chosen_step
from structune.running.checkpoints import Restored
from structune.running.monitor import Monitor
from tiny import (
    Fuse,
    exact_fit,
    heldout_loss,
    hmm_tuning_problem,
    margin_problem,
    optima,
    tuning_problem,
    value_and_gradient,
    weight_precision,
)

TIGHT = {"tolerance": 1e-12, "cg_tolerance": 1e-12}


@pytest.mark.parametrize(("which", "splits"), [("grouped", {"folds": 3}), ("separate", {"holdout": 0.3})])
def test_the_heldout_loss_falls(which, splits):
    problem, monitor = hmm_tuning_problem(which=which, **splits), Monitor()
    result = ImplicitTuner().tune(problem, monitor)
    steps = [record for record in result.history if record["stage"] == "implicit"]
    assert result.history is monitor.history
    assert steps[-1]["possible_gain"] <= ImplicitTuner().tolerance * result.heldout_loss
    assert np.all(np.diff([record["passes"] for record in result.history]) > 0)
    assert result.history[-1]["passes"] == result.passes
    losses = [step["heldout_loss"] for step in steps]
    assert result.status == "converged"
    chosen = steps[chosen_step(steps)]
    assert chosen["heldout_loss"] == result.heldout_loss
    assert_array_equal(chosen["log_precision"], result.log_precision)
    assert result.heldout_loss in losses[1:]
    assert result.heldout_loss < (0.99 if which == "grouped" else 1.0) * losses[0]
    best = heldout_loss(problem, optima(problem, result.log_precision))
    assert result.heldout_loss == pytest.approx(best, rel=1e-3)


def test_gamma_is_learned():
    """It rises to where the parent is right, and falls to zero where it says the opposite."""
    problem = tuning_problem("classes", "single")
    w = fit_l2(problem.full, np.full(problem.full.n_weights, 1e-2)).w
    for sign, ends in ((1.0, (0.7, 1.0)), (-1.0, (0.0, 0.1))):
        splits = tuple(replace(split, parent=sign * w) for split in problem.splits)
        result = ImplicitTuner().tune(replace(problem, splits=splits, parent=sign * w))
        assert ends[0] <= result.gamma <= ends[1]
        precision = weight_precision(problem, result.log_precision)
        center = result.gamma * sign * w
        assert_allclose(result.w, fit_l2(problem.full, precision, center=center).w, atol=1e-2)
    assert ImplicitTuner().tune(problem).gamma is None


def test_it_ends_where_the_gradient_is_small():
    problem = hmm_tuning_problem(folds=3)
    result = ImplicitTuner(tolerance=1e-7, fit_tolerance=1e-8, cg_tolerance=1e-6, max_evaluations=100).tune(
        problem
    )
    _, gradient = value_and_gradient(problem, result.log_precision, **TIGHT)
    inside = (result.log_precision > BOUNDS[0] + 1e-6) & (result.log_precision < BOUNDS[1] - 1e-6)
    assert result.status == "converged"
    prior = result.log_precision / 2.5**2
    assert np.abs((gradient + prior)[inside]).max() < 1e-4 * result.heldout_loss


@pytest.mark.parametrize("start", [1e-2, 1e2])
def test_the_start_hardly_matters(start):
    problem = hmm_tuning_problem(folds=3)
    result = ImplicitTuner(start=start, max_evaluations=40).tune(problem)
    assert result.status == "converged"
    assert result.heldout_loss == pytest.approx(ImplicitTuner().tune(problem).heldout_loss, rel=0.005)


def test_the_model_is_fitted_again_on_all_data():
    problem = hmm_tuning_problem()
    result = ImplicitTuner(fit_tolerance=1e-8).tune(problem)
    precision = weight_precision(problem, result.log_precision)
    assert_allclose(result.w, exact_fit(problem.full, precision), atol=1e-6)
    assert result.history[-1]["stage"] == "refit"
    problem = hmm_tuning_problem()
    alone = ImplicitTuner(fit_tolerance=1e-8, refit=False).tune(problem)
    assert_allclose(alone.w, optima(problem, alone.log_precision)[0], atol=1e-5)
    assert {r["stage"] for r in alone.history} == {"implicit"}
    assert problem.full.passes == 0


def test_the_number_of_evaluations_is_kept():
    problem = hmm_tuning_problem(which="separate", folds=3)
    for most in (1, 3):
        result = ImplicitTuner(max_evaluations=most, tolerance=1e-9).tune(problem)
        assert result.status == "iterations"
        assert len([r for r in result.history if r["stage"] == "implicit"]) == most


def test_ctrl_c_at_any_time_leaves_the_best():
    problem, seen = tuning_problem(executor=(whole := Fuse(10**9)), folds=2), set()
    before = whole.left
    ImplicitTuner().tune(problem)
    n = before - whole.left
    for stop in {*range(0, 12, 3), *range(12, n, 1 + n // 8), n - 5}:
        fuse = Fuse(10**9)
        problem = tuning_problem(executor=fuse, folds=2)
        fuse.left = stop
        result = ImplicitTuner().tune(problem)
        assert result.status == "interrupted"
        check_cut(problem, result, seen)
    assert seen == {"nothing", "training part", "refit"}


def check_cut(problem, result, seen):
    losses = [r["heldout_loss"] for r in result.history if r["stage"] == "implicit"]
    assert (result.heldout_loss in losses) if losses else (result.heldout_loss is None)
    assert np.all(np.isfinite(result.w))
    problem.full.executor.left = 10**9
    if result.history and result.history[-1]["stage"] == "refit":
        seen.add("refit")
    elif losses:
        seen.add("training part")
        split, precision = problem.splits[0], weight_precision(problem, result.log_precision)
        fit = fit_l2(split.train, precision)
        value = split.train.value(result.w) + 0.5 * precision @ result.w**2
        assert value <= fit.objective + 1e-2
    else:
        seen.add("nothing")


def test_it_needs_heldout_data():
    with pytest.raises(DataError, match="needs held-out data"):
        ImplicitTuner().tune(tuning_problem(splits=False))


def test_losses_with_kinks_are_refused():
    problem = margin_problem("classes", MarginLoss())
    told = "the implicit tuner needs a smooth loss, found MarginLoss: expected tuning='gr"
    with pytest.raises(CapabilityError, match=told):
        ImplicitTuner().tune(problem)
    assert problem.full.passes == 0


def test_many_groups(monkeypatch):
    """Of more than a matrix is made for; and a search of so many goes on from a checkpoint."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 400))
    y = (x[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    structure = Classes([0, 1], [f"x{k}" for k in range(400)], bias=False)
    problem = TuningProblem.build(structure, LogLoss(), structure.encode(x, y), structure.groups())
    whole = ImplicitTuner(max_evaluations=8).tune(problem)
    assert whole.heldout_loss < next(r["heldout_loss"] for r in whole.history if r["stage"] == "implicit")
    search, again = (_Search(ImplicitTuner(max_evaluations=2), problem, Monitor()) for _ in range(2))
    told = []
    monkeypatch.setattr(search.kept, "keep", lambda state: told.append(state()))
    search.run()
    again._restore(Restored(told[-1]))
    assert_allclose(again.best.response.coupling, search.best.response.coupling)


def test_one_label_only():
    """Nothing to learn, and nothing to divide by."""
    model = SequenceTagger(tuning="implicit").fit([[["w=a"], ["w=b"]]] * 6, [["O", "O"]] * 6)
    assert not model.coef_.any()
