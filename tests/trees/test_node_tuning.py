"""Priors of nodes by the gradient of held-out losses."""

import numpy as np
from numpy.testing import assert_allclose

from maxima import enumerated
from structune.learning.losses import LogLoss
from structune.learning.tuning.implicit import ImplicitTuner
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_node, node_risks, tune_priors

TREE = TaskTree.from_nested({"root": ["a", "b"]})
TUNER = ImplicitTuner(max_evaluations=30, tolerance=1e-4, fit_tolerance=1e-6, cg_tolerance=1e-4)


def parts(n_folds=2, tasks="ab", loss=None):
    """Risks of all data of two tasks, and of folds of it."""
    whole, loss = enumerated("chain"), loss or LogLoss()
    n = len(whole.shard)
    task, fold = np.arange(n) % 2, np.arange(n) // 2 % n_folds

    def risks(kept):
        shards = {name: whole.shard.take(np.flatnonzero(kept & (task == k))) for k, name in enumerate("ab")}
        return node_risks(
            TREE, whole.structure, loss, {name: s for name, s in shards.items() if name in tasks}
        )

    folds = [(risks(fold != k), risks(fold == k)) for k in range(n_folds)]
    return risks(fold >= 0), folds, whole.structure.groups()


def heldout_loss(splits, node, prior, parents):
    return sum(
        heldout[node].value(fit_node(train[node], prior, w, tolerance=1e-8).w)
        for (train, heldout), w in zip(splits, parents, strict=True)
    )


def of_precisions(prior, groups):
    """The prior of their logarithms, to a constant."""
    d = np.log(prior.factor * prior.base)
    return sum(d[groups.index == j][0] ** 2 for j in range(len(groups))) / (2 * 2.5**2)


def test_each_node_is_at_a_minimum():
    """No neighbour in gamma or in the precisions has a lower objective, the parent being fixed."""
    full, splits, groups = parts()
    chosen = tune_priors(TREE, full, splits, groups, TUNER)
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
    chosen = tune_priors(TREE, full, splits, groups, TUNER)
    assert chosen["b"].gamma == 1.0
    assert_allclose(chosen["b"].precision, chosen["root"].precision)
    full, _, groups = parts(tasks="a")
    chosen = tune_priors(TREE, full, [], groups, ImplicitTuner(start=3.0))
    assert {prior.gamma for prior in chosen.values()} == {0.0, 1.0}
    assert_allclose(chosen["a"].precision, 3.0)
