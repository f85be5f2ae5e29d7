"""How the tasks of a tree are learned: its nodes, in place of the one fit of an estimator."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from structune.errors import DataError
from structune.learning.estimator import Encoded, StructuredEstimator
from structune.learning.fitting import HeldOut, told_data
from structune.learning.risk import Risk
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import PassCount, TuningResult
from structune.running.blas import one_thread
from structune.running.executors import PreparedRun
from structune.running.monitor import Monitor
from structune.structure import Groups, IntArray
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodeGrid, choose_priors, fit_tree, node_risks, tune_priors


def learn_tasks(
    tree: TaskTree,
    tasks: list[str],
    task_of: IntArray,
    model: StructuredEstimator,
    examples: Encoded,
    *,
    grid: NodeGrid,
    tuning: str | ImplicitTuner | None,
    held_out: HeldOut,
    groups: Groups,
    run: PreparedRun,
) -> tuple[TuningResult, dict[str, Solution], dict[str, dict[str, Any]]]:
    """The result of the root, the fits of all nodes, and what is told of each.

    The groups of the examples are numbers of sequences, and `task_of` has the number of the task of each. The
    grid is tried where there is no tuning.
    """
    sequence, shard, loss = np.asarray(examples.groups), examples.shard, model._make_loss()
    # one encoding of all tasks is dealt out: nodes share the structure, and weights mean the same in all
    precisions, every = model._task_precisions(groups), np.arange(len(shard))
    precision, hessian = groups.spread(precisions), model._hessian_method(examples.structure)
    ends: dict[str, Any] = {
        "executor": run.executor,
        "tolerance": run.tolerance,
        "max_iterations": run.max_iterations,
    }

    def risks(chosen: IntArray) -> dict[str, Risk]:
        task = task_of[sequence[chosen]]
        shards = {name: shard.take(chosen[task == k]) for k, name in enumerate(tasks)}
        return node_risks(tree, examples.structure, loss, shards, run.executor, hessian)

    if tuning == "implicit":
        tuning = ImplicitTuner(start=precisions, fit_tolerance=run.tolerance)
    if not isinstance(tuning, ImplicitTuner | None):
        raise DataError(f"tuning={tuning!r}: expected None, 'implicit' or an ImplicitTuner")
    with Monitor(run.verbose, run.max_seconds) as monitor, one_thread():
        full, root = risks(every), tree.root
        parts = []
        if tuning or len(grid.factors) * len(grid.gammas) > 1:
            parts = _heldout_parts(task_of[sequence], len(tasks), held_out)
        splits = [(risks(every[~part]), risks(every[part])) for part in parts]
        # of all nodes, over the data of the root
        others = [risk for node, risk in full.items() if node != root]
        others += [risk for split in splits for of_nodes in split for risk in of_nodes.values()]
        monitor.passes = passes = PassCount(full[root], *others)
        run.begin_checkpoint(monitor, partial(told_data, full[root], groups))
        if tuning:
            priors = tune_priors(tree, full, splits, groups, tuning, monitor)
        elif splits:
            priors = choose_priors(tree, splits, precision, grid, **ends, monitor=monitor)
        else:
            priors = {node: grid.priors(precision, node == root)[0] for node in full}
        fits = fit_tree(tree, full, priors, **ends, monitor=monitor)
        if run.checkpoint is not None:
            run.checkpoint.end(not any(fit.stopped for fit in fits.values()))
    told = {}
    for node, fit in fits.items():
        penalty = groups.sum(priors[node].precision) / np.maximum(groups.sizes, 1)
        told[node] = {
            "gamma": priors[node].gamma,
            "factor": priors[node].factor,
            "penalty": penalty.tolist(),
            "n_examples": sum(map(len, full[node].shards)),
            "status": fit.status,
        }
    log_precision = np.log(told[root]["penalty"])
    result = TuningResult(log_precision, fits[root].w, fits[root].status, None, passes.spent, monitor.history)
    return result, fits, told


def _heldout_parts(task: IntArray, n_tasks: int, held_out: HeldOut) -> list[NDArray[np.bool_]]:
    """Which examples the choice of priors holds out, by split: some of each task that has two or more."""
    fold, seed = np.full(task.size, -1), held_out.random_state
    # a split of its own for each task; fold f of all tasks together is what split f holds out
    for k in range(n_tasks):
        own = np.flatnonzero(task == k)
        if own.size < 2:
            continue
        if held_out.cv < 1:  # a share: at least one example, and one is left to learn from
            n = min(int(np.ceil(held_out.cv * own.size)), own.size - 1)
            splitter: Any = ShuffleSplit(1, test_size=n, random_state=seed)
        else:
            splitter = KFold(min(int(held_out.cv), own.size), shuffle=True, random_state=seed)
        for f, (_, heldout) in enumerate(splitter.split(own)):
            fold[own[heldout]] = f
    return [fold == f for f in range(fold.max(initial=-1) + 1)]
