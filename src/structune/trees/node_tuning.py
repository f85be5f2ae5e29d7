"""Priors of the nodes of a tree by the gradient of their held-out losses: gamma, and a precision a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from structune.learning.risk import Risk
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import Split, TuningProblem
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_node


def tune_priors(
    tree: TaskTree,
    full: Mapping[str, Risk],
    splits: Sequence[tuple[Mapping[str, Risk], Mapping[str, Risk]]],
    groups: Groups,
    tuner: ImplicitTuner,
    monitor: Monitor | None = None,
) -> dict[str, NodePrior]:
    """Of each node gamma and the precisions of least held-out loss, its parent being fixed.

    From the root down, each search from the precisions of the node above. A node of which nothing is held out
    gets these, and its parent's weights for a mean.

    Parameters
    ----------
    tree : TaskTree
    full : mapping of str to Risk
        As `node_risks` makes them.
    splits : sequence of (mapping of str to Risk, mapping of str to Risk)
        What is learned from and what is held out; one split, or folds.
    groups : Groups
    tuner : ImplicitTuner
        With the precisions to begin with at the root.
    monitor : Monitor, optional
        Gets a record a node, and those of the tuner.

    Raises
    ------
    KeyboardInterrupt
        A search was interrupted.
    """
    monitor = monitor or Monitor()
    chosen: dict[str, NodePrior] = {}
    log_precision: dict[str, FloatArray] = {}
    weights: dict[str, list[FloatArray]] = {}  # of each split
    for node in tree.nodes:
        if node not in full:
            continue
        parent = tree.parent(node)
        if parent is not None:
            tuner = replace(tuner, start=np.exp(log_precision[parent]))
        problem = _problem(node, full[node], splits, groups, None if parent is None else weights[parent])
        if problem.splits:
            found = replace(tuner, refit=False).tune(problem, monitor)
            if found.status == "interrupted":  # one search of many: the others would go on, as in `fit_node`
                raise KeyboardInterrupt
            log_precision[node], gamma = found.log_precision, found.gamma or 0.0
        else:
            log_precision[node], gamma = (
                np.log(np.broadcast_to(tuner.start, len(groups))),
                float(parent is not None),
            )
        chosen[node] = NodePrior(groups.spread(np.exp(log_precision[node])), gamma)
        weights[node] = [
            fit_node(
                train[node],
                chosen[node],
                None if parent is None else weights[parent][k],
                monitor,
                tolerance=tuner.fit_tolerance,
            ).w
            for k, (train, _) in enumerate(splits)
        ]
        monitor.record("selection", done=len(chosen) / len(full), node=node, gamma=gamma)
    return chosen


def _problem(
    node: str,
    full: Risk,
    splits: Sequence[tuple[Mapping[str, Risk], Mapping[str, Risk]]],
    groups: Groups,
    parents: list[FloatArray] | None,
) -> TuningProblem:
    """With the splits that hold something out of the node."""
    found = [
        Split(train[node], heldout[node], None if parents is None else parents[k])
        for k, (train, heldout) in enumerate(splits)
        if node in heldout
    ]
    # nothing is fitted to all data here, which the last of these would be for
    return TuningProblem(full, groups, tuple(found), found[0].parent if found else None, node)
