"""Fits along a tree: the laws of gamma, what a node learns from, priors by a grid or by gradient."""

import weakref
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxima import enumerated
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning.implicit import SPREAD, ImplicitTuner
from structune.trees import tree_fit
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import (
    NodeGrid,
    NodePrior,
    choose_priors,
    fit_node,
    fit_tree,
    node_risks,
    tune_priors,
)

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


@pytest.mark.parametrize(
    ("kind", "loss"), [("chain", LOSSES[0]), ("chain", LOSSES[1]), ("classes", LOSSES[3])]
)
def test_without_gamma_nodes_are_on_their_own(kind, loss):
    structure, shards, risks = problem(loss, kind)
    fits = fit_tree(TREE, risks, same_priors(risks, 0.0), tolerance=1e-7)
    for task, shard in shards.items():
        alone = fit_l2(Risk(structure, loss, [shard]), np.ones(structure.n_weights), tolerance=1e-7)
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


def test_refused():
    structure, shards, _ = problem(LogLoss())
    with pytest.raises(DataError, match=r"no leaf 'd'\. Leaves: 'a', 'b', 'c'"):
        node_risks(TREE, structure, LogLoss(), shards | {"d": shards["a"]})
    with pytest.raises(DataError, match="no examples of any task"):
        node_risks(TREE, structure, LogLoss(), {})
    with pytest.raises(DataError, match=r"gamma=1\.5"):
        NodePrior(np.ones(2), 1.5)


TWO = TaskTree.from_nested({"root": ["a", "b"]})
GRID = NodeGrid((0.01, 1.0, 100.0), (0.0, 0.5, 1.0))


def halves(loss=None, kind="chain"):
    """Risks of training and held-out parts of two tasks."""
    whole, loss = enumerated(kind), loss or LogLoss()
    parts = {}
    for half in (0, 1):
        some = [np.arange(half + 2 * k, len(whole.shard), 4) for k in (0, 1)]
        shards = {task: whole.shard.take(rows) for task, rows in zip("ab", some, strict=True)}
        parts[half] = node_risks(TWO, whole.structure, loss, shards)
    return parts[0], parts[1], np.ones(whole.structure.n_weights)


@pytest.mark.parametrize("loss", [LogLoss(), MarginLoss()])
def test_each_node_gets_the_best_of_the_grid(loss):
    """Of two folds together, by the weights that each has at the parent."""
    first, second, precision = halves(loss)
    folds, tolerance = [(first, second), (second, first)], 1e-8 if loss.smooth else 1e-4
    grid = GRID if loss.smooth else NodeGrid((0.01, 1.0), (0.0, 1.0))
    chosen = choose_priors(TWO, folds, precision, grid, tolerance=tolerance)

    def loss_of(node, prior, parents=(None, None)):
        return heldout_loss(folds, node, prior, parents, tolerance)

    at_root = [loss_of("root", NodePrior(precision, 0.0, f)) for f in grid.factors]
    assert loss_of("root", chosen["root"]) == pytest.approx(min(at_root))
    parents = [fit_node(train["root"], chosen["root"], None, tolerance=tolerance).w for train, _ in folds]
    for leaf in "ab":
        every = [
            loss_of(leaf, NodePrior(precision, gamma, f), parents)
            for f, gamma in product(grid.factors, grid.gammas)
        ]
        assert loss_of(leaf, chosen[leaf], parents) == pytest.approx(min(every), rel=1e-4)


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
    choose_priors(TWO, [(train, heldout)], precision, GRID)
    assert most <= 6


def test_of_equals_the_strongest():
    """Costs of predictions are often equal, and of some nodes nothing is held out."""
    train, heldout, precision = halves()
    nothing = {node: heldout[node].under(MarginLoss()) for node in heldout}
    for risk in nothing.values():
        risk.task_cost = lambda w: 0.0
    for known in (nothing, {"root": heldout["root"]}):
        chosen = choose_priors(TWO, [(train, known)], precision, GRID)
        for node in "ab":
            assert (chosen[node].precision[0], chosen[node].gamma) == (100.0, 1.0)


def test_nothing_to_choose_from():
    for factors, gammas, said in (((), (0.5,), "factors is empty"), ((1.0,), (), "gammas is empty")):
        with pytest.raises(DataError, match=said):
            NodeGrid(factors, gammas)


TUNER = ImplicitTuner(max_evaluations=30, tolerance=1e-4, fit_tolerance=1e-6)


def parts(n_folds=2, tasks="ab", loss=None):
    """Risks of all data of two tasks, and of folds of it."""
    whole, loss = enumerated("chain"), loss or LogLoss()
    n = len(whole.shard)
    task, fold = np.arange(n) % 2, np.arange(n) // 2 % n_folds

    def risks(kept):
        shards = {name: whole.shard.take(np.flatnonzero(kept & (task == k))) for k, name in enumerate("ab")}
        return node_risks(
            TWO, whole.structure, loss, {name: s for name, s in shards.items() if name in tasks}
        )

    folds = [(risks(fold != k), risks(fold == k)) for k in range(n_folds)]
    return risks(fold >= 0), folds, whole.structure.groups()


def heldout_loss(splits, node, prior, parents, tolerance=1e-8):
    total = 0.0
    for (train, heldout), parent in zip(splits, parents, strict=True):
        w = fit_node(train[node], prior, parent, tolerance=tolerance).w
        total += heldout[node].value(w) if train[node].smooth else heldout[node].task_cost(w)
    return total


def of_precisions(prior, groups):
    """The prior of their logarithms, to a constant."""
    d = np.log(prior.factor * prior.base)
    return sum(d[groups.index == j][0] ** 2 for j in range(len(groups))) / (2 * SPREAD**2)


def test_each_node_is_at_a_minimum():
    """No neighbour in gamma or in the precisions has a lower objective, the parent being fixed."""
    full, splits, groups = parts()
    chosen = tune_priors(TWO, full, splits, groups, TUNER)
    assert set(chosen) == {"root", "a", "b"}
    assert chosen["root"].gamma == 0.0
    parents = [fit_node(train["root"], chosen["root"], None, tolerance=1e-8).w for train, _ in splits]
    for node in "ab":
        prior = chosen[node]

        def objective(prior, node=node):
            return heldout_loss(splits, node, prior, parents) + of_precisions(prior, groups)

        own = objective(prior)
        for gamma in (prior.gamma - 0.1, prior.gamma + 0.1):
            other = NodePrior(prior.precision, float(np.clip(gamma, 0.0, 1.0)))
            assert objective(other) > own - 2e-3 * abs(own)
        for factor in (0.5, 2.0):
            other = NodePrior(prior.precision, prior.gamma, factor)
            assert objective(other) > own - 2e-3 * abs(own)


def test_a_node_of_which_nothing_is_held_out_is_like_its_parent():
    full, splits, groups = parts()
    splits = [(train, {k: risk for k, risk in heldout.items() if k != "b"}) for train, heldout in splits]
    chosen = tune_priors(TWO, full, splits, groups, TUNER)
    assert chosen["b"].gamma == 1.0
    assert_allclose(chosen["b"].precision, chosen["root"].precision)
    full, _, groups = parts(tasks="a")
    chosen = tune_priors(TWO, full, [], groups, ImplicitTuner(start=3.0))
    assert {prior.gamma for prior in chosen.values()} == {0.0, 1.0}
    assert_allclose(chosen["a"].precision, 3.0)
