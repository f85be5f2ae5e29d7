"""How the tasks of a tree are learned: its nodes, in place of the one fit of an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from structune.errors import DataError
from structune.learning.estimator import StructuredEstimator
from structune.learning.fitting import begin_checkpoint
from structune.learning.losses import Loss
from structune.learning.risk import Risk
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import PassCount, TuningResult
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups, IntArray, Structure
from structune.trees.node_tuning import tune_priors
from structune.trees.selection import NodeGrid, choose_priors
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_tree, node_risks

if TYPE_CHECKING:
    from structune.trees.multitask import MultitaskEstimator


class TreeLearner:
    """Fits the nodes of a tree in place of one estimator."""

    def __init__(
        self,
        settings: MultitaskEstimator,
        tree: TaskTree,
        tasks: list[str],
        task_of: IntArray,
        model: StructuredEstimator,
    ) -> None:
        self.settings, self.tree, self.tasks, self.task_of, self.model = settings, tree, tasks, task_of, model
        self.fits: dict[str, Solution] = {}
        self.nodes: dict[str, dict[str, Any]] = {}
        self.history: list[dict[str, Any]] = []

    def __call__(
        self, structure: Structure, loss: Loss, shard: Any, groups: Groups, example_groups: Any
    ) -> TuningResult:
        sequence, precisions = np.asarray(example_groups), self.model._precisions(groups)
        grid, precision = NodeGrid(self.settings.factors, self.settings.gammas), groups.spread(precisions)
        every = np.arange(len(shard))
        ends: dict[str, Any] = {
            "executor": self.settings._executor(),
            "tolerance": self.model.tolerance,
            "max_iterations": self.model.max_iterations,
        }

        def risks(examples: IntArray) -> dict[str, Risk]:
            task = self.task_of[sequence[examples]]
            shards = {name: shard.take(examples[task == k]) for k, name in enumerate(self.tasks)}
            return node_risks(self.tree, structure, loss, shards, ends["executor"], self.model.hessian)

        tuner = self._tuner(precisions)
        with Monitor(self.settings.verbose, self.model.max_seconds) as monitor, one_thread():
            full = risks(every)
            heldout = self._heldout(self.task_of[sequence]) if tuner or grid.size > 1 else []
            splits = [(risks(every[~part]), risks(every[part])) for part in heldout]
            passes = monitor.passes = _passes(self.tree.root, full, splits)
            checkpoint = begin_checkpoint(self.settings, monitor, full[self.tree.root], groups)
            if tuner:
                priors = tune_priors(self.tree, full, splits, groups, tuner, monitor)
            elif splits:
                priors = choose_priors(self.tree, splits, precision, grid, **ends, monitor=monitor)
            else:
                priors = {node: grid.priors(precision, node == self.tree.root)[0] for node in full}
            self.fits = fit_tree(self.tree, full, priors, **ends, monitor=monitor)
            if checkpoint is not None:
                checkpoint.end(not any(fit.stopped for fit in self.fits.values()))
        self.history = monitor.history
        return self._result(full, priors, groups, passes.spent)

    def _result(
        self, full: dict[str, Risk], priors: dict[str, NodePrior], groups: Groups, passes: float
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
        return TuningResult(np.log(penalties[root]), fit.w, fit.status, None, passes, self.history)

    def _tuner(self, precisions: FloatArray) -> ImplicitTuner | None:
        """What tunes, from given precisions on, if anything does."""
        tuning = self.settings.tuning
        if tuning is None or isinstance(tuning, ImplicitTuner):
            return tuning
        if tuning != "implicit":
            raise DataError(f"tuning={tuning!r}: expected None, 'implicit' or an ImplicitTuner")
        return ImplicitTuner(start=precisions, fit_tolerance=self.model.tolerance)

    def _heldout(self, task: IntArray) -> list[NDArray[np.bool_]]:
        """Which examples the choice of priors holds out, by split: some of each task that has two or more."""
        settings, fold = self.settings, np.full(task.size, -1)
        seed = settings.random_state
        for k in range(len(self.tasks)):
            own = np.flatnonzero(task == k)
            if own.size < 2:
                continue
            splitter = (
                ShuffleSplit(1, test_size=_n_heldout(settings.holdout, own.size), random_state=seed)
                if settings.folds is None
                else KFold(min(settings.folds, own.size), shuffle=True, random_state=seed)
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
