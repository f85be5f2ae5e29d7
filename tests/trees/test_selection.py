"""The choice of priors: by held-out loss, one node at a time."""

import weakref
from itertools import product

import numpy as np
import pytest

from maxima import enumerated
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss
from structune.trees import tree_fit
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodeGrid, NodePrior, choose_priors, fit_node, fit_tree, node_risks

TREE = TaskTree.from_nested({"root": ["a", "b"]})
GRID = NodeGrid((0.01, 1.0, 100.0), (0.0, 0.5, 1.0))
ENDS = {"tolerance": 1e-8}


def halves(loss=None, kind="chain"):
    """Risks of training and held-out parts of two tasks."""
    whole, loss = enumerated(kind), loss or LogLoss()
    parts = {}
    for half in (0, 1):
        shards = {
            task: whole.shard.take(np.arange(half + 2 * k, len(whole.shard), 4))
            for k, task in enumerate("ab")
        }
        parts[half] = node_risks(TREE, whole.structure, loss, shards)
    return parts[0], parts[1], np.ones(whole.structure.n_weights)


@pytest.mark.parametrize("loss", [LogLoss(), MarginLoss()])
def test_each_node_gets_the_best_of_the_grid(loss):
    train, heldout, precision = halves(loss)
    chosen = choose_priors(TREE, [(train, heldout)], precision, GRID, **ENDS)

    def loss_of(node, priors):
        w = fit_tree(TREE, {n: train[n] for n in priors}, priors, **ENDS)[node].w
        return heldout[node].value(w) if loss.smooth else heldout[node].task_cost(w)

    at_root = [loss_of("root", {"root": NodePrior(f * precision, 0.0)}) for f in GRID.factors]
    assert loss_of("root", {"root": chosen["root"]}) == pytest.approx(min(at_root))
    for leaf in "ab":
        every = [
            loss_of(leaf, {"root": chosen["root"], leaf: NodePrior(f * precision, gamma)})
            for f, gamma in product(GRID.factors, GRID.gammas)
        ]
        own = loss_of(leaf, {"root": chosen["root"], leaf: chosen[leaf]})
        assert own == pytest.approx(min(every), rel=1e-4)


def test_losses_of_folds_are_added():
    """What the folds favour together, by the weights that each has at the parent."""
    first, second, precision = halves()
    folds = [(first, second), (second, first)]
    chosen = choose_priors(TREE, folds, precision, GRID, **ENDS)

    def loss_of(priors, node):
        total = 0.0
        for train, heldout in folds:
            fits = fit_tree(TREE, {n: train[n] for n in priors}, priors, **ENDS)
            total += heldout[node].value(fits[node].w)
        return total

    at_root = [loss_of({"root": NodePrior(precision, 0.0, f)}, "root") for f in GRID.factors]
    assert loss_of({"root": chosen["root"]}, "root") == pytest.approx(min(at_root))
    every = [
        loss_of({"root": chosen["root"], "a": NodePrior(precision, gamma, f)}, "a")
        for f, gamma in product(GRID.factors, GRID.gammas)
    ]
    own = loss_of({"root": chosen["root"], "a": chosen["a"]}, "a")
    assert own == pytest.approx(min(every), rel=1e-4)


def test_weights_that_are_not_chosen_are_not_kept(monkeypatch):
    """Of many priors and weights they would fill the memory."""
    train, heldout, precision = halves()
    refs, most = [], 0

    def spy(*args, **options):
        nonlocal most
        fit = fit_node(*args, **options)
        refs.append(weakref.ref(fit.w))
        most = max(most, sum(ref() is not None for ref in refs))
        return fit

    monkeypatch.setattr(tree_fit, "fit_node", spy)
    choose_priors(TREE, [(train, heldout)], precision, GRID)
    assert most <= 6


def test_of_equals_the_strongest():
    """Costs of predictions are often equal, and of some nodes nothing is held out."""
    train, heldout, precision = halves()
    nothing = {node: heldout[node].under(MarginLoss()) for node in heldout}
    for risk in nothing.values():
        risk.task_cost = lambda w: 0.0
    for known in (nothing, {"root": heldout["root"]}):
        chosen = choose_priors(TREE, [(train, known)], precision, GRID)
        for node in "ab":
            assert (chosen[node].precision[0], chosen[node].gamma) == (100.0, 1.0)


def test_nothing_to_choose_from():
    for factors, gammas, said in (((), (0.5,), "no factors"), ((1.0,), (), "no gammas")):
        with pytest.raises(DataError, match=said):
            NodeGrid(factors, gammas)
