"""How the tasks of a tree are learned: its nodes, in place of the one fit of an estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from structune.errors import DataError
from structune.learning.estimator import Encoded
from structune.learning.fitting import told_data
from structune.learning.losses import Loss
from structune.learning.risk import Risk
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import PassCount, TuningResult
from structune.running.blas import one_thread
from structune.running.executors import PreparedRun
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups, IntArray
from structune.trees.node_tuning import tune_priors
from structune.trees.selection import NodeGrid, choose_priors
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_tree, node_risks


@dataclass
class TreeLearner:
    """Fits the nodes of a tree, in place of the one fit of an estimator.

    Attributes
    ----------
    tree : TaskTree
    tasks : list of str
    task_of : ndarray of int, shape (n_sequences,)
        The number of the task of each sequence.
    grid : NodeGrid
        What is tried without a tuner.
    tuning : None, "implicit" or ImplicitTuner
    holdout, folds, random_state
        What the choice holds out.
    """

    tree: TaskTree
    tasks: list[str]
    task_of: IntArray
    grid: NodeGrid
    tuning: str | ImplicitTuner | None
    holdout: float
    folds: int | None
    random_state: int
    fits: dict[str, Solution] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def fit(
        self,
        examples: Encoded,
        loss: Loss,
        *,
        groups: Groups,
        precisions: FloatArray,
        hessian: str,
        tolerance: float,
        run: PreparedRun,
    ) -> TuningResult:
        """Fit all nodes; gives the fit of the root. The groups of examples are the numbers of sequences."""
        sequence, shard = np.asarray(examples.groups), examples.shard
        precision, every = groups.spread(precisions), np.arange(len(shard))
        ends: dict[str, Any] = {
            "executor": run.executor,
            "tolerance": tolerance,
            "max_iterations": run.max_iterations,
        }

        def risks(chosen: IntArray) -> dict[str, Risk]:
            task = self.task_of[sequence[chosen]]
            shards = {name: shard.take(chosen[task == k]) for k, name in enumerate(self.tasks)}
            return node_risks(self.tree, examples.structure, loss, shards, run.executor, hessian)

        tuner = self._make_tuner(precisions, tolerance)
        with Monitor(run.verbose, run.max_seconds) as monitor, one_thread():
            full = risks(every)
            heldout = self._heldout(self.task_of[sequence]) if tuner or self.grid.size > 1 else []
            splits = [(risks(every[~part]), risks(every[part])) for part in heldout]
            passes = monitor.passes = _passes(self.tree.root, full, splits)
            run.begin_checkpoint(monitor, partial(told_data, full[self.tree.root], groups))
            if tuner:
                priors = tune_priors(self.tree, full, splits, groups, tuner, monitor)
            elif splits:
                priors = choose_priors(self.tree, splits, precision, self.grid, **ends, monitor=monitor)
            else:
                priors = {node: self.grid.priors(precision, node == self.tree.root)[0] for node in full}
            self.fits = fit_tree(self.tree, full, priors, **ends, monitor=monitor)
            if run.checkpoint is not None:
                run.checkpoint.end(not any(fit.stopped for fit in self.fits.values()))
        return self._result(full, priors, groups, passes.spent, monitor.history)

    def _result(
        self,
        full: dict[str, Risk],
        priors: dict[str, NodePrior],
        groups: Groups,
        passes: float,
        history: list[dict[str, Any]],
    ) -> TuningResult:
        """That of the root; keeps what is told of each node."""
        penalties = {
            node: groups.sum(prior.precision) / np.maximum(groups.sizes, 1) for node, prior in priors.items()
        }
        for node, fit in self.fits.items():
            self.nodes[node] = {
                "gamma": priors[node].gamma,
                "factor": priors[node].factor,
                "penalty": penalties[node].tolist(),
                "n_examples": sum(map(len, full[node].shards)),
                "status": fit.status,
            }
        root = self.tree.root
        fit = self.fits[root]
        return TuningResult(np.log(penalties[root]), fit.w, fit.status, None, passes, history)

    def _make_tuner(self, precisions: FloatArray, tolerance: float) -> ImplicitTuner | None:
        """What tunes, from given precisions on, if anything does."""
        tuning = self.tuning
        if tuning is None or isinstance(tuning, ImplicitTuner):
            return tuning
        if tuning != "implicit":
            raise DataError(f"tuning={tuning!r}: expected None, 'implicit' or an ImplicitTuner")
        return ImplicitTuner(start=precisions, fit_tolerance=tolerance)

    def _heldout(self, task: IntArray) -> list[NDArray[np.bool_]]:
        """Which examples the choice of priors holds out, by split: some of each task that has two or more."""
        fold, seed = np.full(task.size, -1), self.random_state
        for k in range(len(self.tasks)):
            own = np.flatnonzero(task == k)
            if own.size < 2:
                continue
            splitter = (
                ShuffleSplit(1, test_size=_n_heldout(self.holdout, own.size), random_state=seed)
                if self.folds is None
                else KFold(min(self.folds, own.size), shuffle=True, random_state=seed)
            )
            for f, (_, heldout) in enumerate(splitter.split(own)):
                fold[own[heldout]] = f
        return [fold == f for f in range(fold.max(initial=-1) + 1)]


def _n_heldout(share: float, n: int) -> int:
    """At least one example, and one is left to learn from."""
    return min(int(np.ceil(share * n)), n - 1)


def _passes(
    root: str, full: dict[str, Risk], splits: list[tuple[dict[str, Risk], dict[str, Risk]]]
) -> PassCount:
    """Of all nodes, over the data of the root."""
    others = [risk for node, risk in full.items() if node != root]
    parts = [risk for split in splits for of_nodes in split for risk in of_nodes.values()]
    return PassCount(full[root], *others, *parts)
