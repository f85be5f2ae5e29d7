"""Fits along a tree: the laws of gamma, what a node learns from, tasks without examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxima import enumerated
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.running.executors import ThreadExecutor
from structune.running.monitor import Monitor
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_tree, node_risks

TREE = TaskTree.from_nested({"root": {"inner": ["a", "b"], "c": None}})
LOSSES = [LogLoss(), MarginLoss(), RampLoss(), MarginLoss("slack", "logistic")]


def problem(loss, kind="chain", tasks="abc"):
    """A shard dealt out to tasks, and the risks of nodes."""
    whole = enumerated(kind)
    shards = {
        task: whole.shard.take(np.arange(k, len(whole.shard), len(tasks))) for k, task in enumerate(tasks)
    }
    return whole.structure, shards, node_risks(TREE, whole.structure, loss, shards)


def same_priors(risks, gamma, precision=1.0):
    n = next(iter(risks.values())).n_weights
    return {node: NodePrior(np.full(n, precision), gamma) for node in risks}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_without_gamma_nodes_are_on_their_own(kind, loss):
    structure, shards, risks = problem(loss, kind)
    fits = fit_tree(TREE, risks, same_priors(risks, 0.0), tolerance=1e-7)
    for task, shard in shards.items():
        alone = fit_l2(Risk(structure, loss, [shard]), np.ones(structure.n_weights), tolerance=1e-7)
        if loss.convex:  # a ramp loss has many minima, and starts at the parent's here
            assert fits[task].objective == pytest.approx(alone.objective, rel=1e-5)
            assert_allclose(fits[task].w, alone.w, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_with_a_vanishing_loss_nodes_are_their_parents(loss):
    _, _, risks = problem(loss)
    priors = same_priors(risks, 1.0, 1e9) | {"root": same_priors(risks, 1.0)["root"]}
    fits = fit_tree(TREE, risks, priors)
    assert np.abs(fits["root"].w).max() > 0.01
    for node in ("inner", "a", "b", "c"):
        assert_allclose(fits[node].w, fits["root"].w, atol=1e-6)


def test_nodes_learn_from_all_tasks_below():
    loss = MarginLoss()
    structure, shards, risks = problem(loss)
    w = np.cos(np.arange(structure.n_weights))
    values = {task: Risk(structure, loss, [shard]).value(w) for task, shard in shards.items()}
    assert risks["root"].value(w) == pytest.approx(sum(values.values()))
    assert risks["inner"].value(w) == pytest.approx(values["a"] + values["b"])
    assert risks["c"].value(w) == pytest.approx(values["c"])


def test_gamma_draws_to_the_parent():
    _, _, risks = problem(LogLoss())
    away = []
    for gamma in (0.0, 0.5, 1.0):
        fits = fit_tree(TREE, risks, same_priors(risks, gamma, 10.0))
        away.append(float(np.linalg.norm(fits["a"].w - fits["inner"].w)))
    assert away[0] > away[1] > away[2]


def test_threads_change_nothing():
    _, _, risks = problem(LogLoss())
    one, two = (fit_tree(TREE, risks, same_priors(risks, 0.5), executor=ThreadExecutor(n)) for n in (1, 2))
    for node in TREE.nodes:
        assert_array_equal(one[node].w, two[node].w)


def test_tasks_without_examples():
    """They have no weights of their own, and neither has a node without any below."""
    structure, shards, _ = problem(LogLoss())
    risks = node_risks(TREE, structure, LogLoss(), {"a": shards["a"].take(np.arange(0)), "c": shards["c"]})
    assert set(fit_tree(TREE, risks, same_priors(risks, 0.5))) == {"root", "c"}


def test_refused():
    structure, shards, _ = problem(LogLoss())
    with pytest.raises(DataError, match="task 'd', expected one of 'a', 'b', 'c'"):
        node_risks(TREE, structure, LogLoss(), shards | {"d": shards["a"]})
    with pytest.raises(DataError, match="no example of any task"):
        node_risks(TREE, structure, LogLoss(), {})
    with pytest.raises(DataError, match=r"gamma=1\.5"):
        NodePrior(np.ones(2), 1.5)


def test_ctrl_c_ends_the_fits_of_all_nodes():
    """Each solver alone would give its best so far, and the next node would begin."""

    class Interrupted(Monitor):
        def check(self):
            raise KeyboardInterrupt

    _, _, risks = problem(LogLoss())
    with pytest.raises(KeyboardInterrupt):
        fit_tree(TREE, risks, same_priors(risks, 0.5), monitor=Interrupted())
