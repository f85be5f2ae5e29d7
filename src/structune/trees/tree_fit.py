"""Weights for every node of a tree of tasks, each drawn to those of its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structune.errors import DataError
from structune.learning.losses import Loss
from structune.learning.parameters import TOLERANCE
from structune.learning.risk import Risk, SideBySide, cut_shard
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.problem import PassCount
from structune.running.checkpoints import Restored, State
from structune.running.executors import Executor, ThreadExecutor
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Structure
from structune.trees.task_tree import TaskTree


@dataclass(frozen=True)
class NodePrior:
    """R_p(w) = 1/2 (w - gamma w_p)' C (w - gamma w_p), w_p the weights of the parent (0 at the root).

    With C = 1 this is 1/2 ((1 - gamma) |w|^2 + gamma |w - w_p|^2) but for a constant (Gornitz et al. 2011,
    equation 4).

    Attributes
    ----------
    base : ndarray, shape (n_weights,)
        Precisions, which `factor` multiplies.
    gamma : float
        From 0, which leaves the node on its own, to 1.
    factor : float
    """

    base: FloatArray
    gamma: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.gamma <= 1.0:
            raise DataError(f"gamma={self.gamma!r}: expected a number from 0 to 1")

    @property
    def precision(self) -> FloatArray:
        """C, shape (n_weights,)."""
        return self.factor * self.base


def node_risks(
    tree: TaskTree,
    structure: Structure,
    loss: Loss,
    shards: Mapping[str, Any],
    executor: Executor | None = None,
    hessian: str = "exact",
) -> dict[str, Risk]:
    """The risk of each node: the loss over the examples of all tasks below it.

    Parameters
    ----------
    tree : TaskTree
    structure : Structure
    loss : Loss
    shards : mapping of str to Shard
        The examples of the tasks.

    Returns
    -------
    dict
        Without the nodes that have no example below them.
    """
    for task in shards:
        if task not in tree.leaves:
            raise DataError(f"found the task {task!r}, expected one of {', '.join(map(repr, tree.leaves))}")
    pieces = {task: cut_shard(structure, shard) for task, shard in shards.items() if len(shard)}
    if executor is not None:
        for of_task in pieces.values():
            executor.place(of_task)  # together, as nodes take them
    found = {}
    for node in tree.nodes:
        below = [piece for task in tree.leaves_below(node) for piece in pieces.get(task, [])]
        if below:
            found[node] = Risk(structure, loss, below, executor, hessian)
    if not found:
        raise DataError("found no example of any task, expected one at least")
    return found


def fit_node(
    risk: Risk, prior: NodePrior, parent: FloatArray | None, monitor: Monitor | None = None, **options: Any
) -> Solution:
    """Fit one node, from the weights of its parent on.

    Parameters
    ----------
    parent : ndarray, shape (n_weights,), or None
        Weights of the parent; None at the root.
    **options
        Of `fit_l2`.

    Raises
    ------
    KeyboardInterrupt
        Solvers end with the best so far; but of a tree this is one of many fits, and the others would go on.
    """
    center = None if parent is None else prior.gamma * parent
    found = fit_l2(risk, prior.precision, parent, center=center, monitor=monitor, **options)
    if found.status == "interrupted":
        raise KeyboardInterrupt
    return found


def fit_tree(
    tree: TaskTree,
    risks: Mapping[str, Risk],
    priors: Mapping[str, NodePrior],
    *,
    executor: Executor | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> dict[str, Solution]:
    """Fit every node that has examples, from the root down (Gornitz et al. 2011, section 2).

    Parameters
    ----------
    tree : TaskTree
    risks : mapping of str to Risk
        As `node_risks` makes them.
    priors : mapping of str to NodePrior
        Of the same nodes.
    executor : Executor, optional
        Fits nodes of a level side by side, where they are many.
    tolerance, max_iterations
        Of each fit.
    monitor : Monitor, optional
        Gets a record a node.

    Returns
    -------
    dict of str to Solution
    """
    monitor, executor = monitor or Monitor(), executor or ThreadExecutor(1)
    ends: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations}
    fits: dict[str, Solution] = {}
    passes = PassCount.of(monitor, *risks.values())
    kept = monitor.kept_search("tree")
    if kept.state is not None:
        of_nodes = kept.state.parts("nodes", risks)
        fits = {n: _solution(n, kept.state, part, risks[n].n_weights) for n, part in of_nodes.items()}
    levels = [[node for node in level if node in risks and node not in fits] for level in tree.levels]
    for nodes in filter(None, levels):
        side = SideBySide(executor, [(risks[node],) for node in nodes], len(nodes))
        parents = [None if (parent := tree.parent(node)) is None else fits[parent].w for node in nodes]
        own = [priors[node] for node in nodes]
        results = side.map(_fit, range(len(nodes)), own, parents, shared=(monitor, ends))
        for node, found in zip(nodes, results, strict=True):
            fits[node] = found
            monitor.record(
                "node",
                done=len(fits) / len(risks),
                node=node,
                objective=found.objective,
                status=found.status,
                passes=passes.spent,
            )
            kept.keep(lambda: _state(fits))
    return fits


_KEPT: dict[str, type] = {"objective": float, "n_evaluations": int, "status": str}


def _state(fits: Mapping[str, Solution]) -> State:
    """The nodes that have been fitted so far."""
    arrays = {
        f"{node} {name}": getattr(fit, name) for node, fit in fits.items() for name in ("w", "gradient")
    }
    nodes = {node: {name: getattr(fit, name) for name in _KEPT} for node, fit in fits.items()}
    return {"nodes": nodes, **arrays}


def _solution(node: str, state: Restored, of_node: Restored, n: int) -> Solution:
    w, gradient = (state.array(f"{node} {name}", n) for name in ("w", "gradient"))
    rest: dict[str, Any] = {name: of_node.entry(name, wanted) for name, wanted in _KEPT.items()}
    return Solution(w=w, gradient=gradient, **rest)


def _fit(
    risks: tuple[Risk],
    prior: NodePrior,
    parent: FloatArray | None,
    monitor: Monitor,
    ends: dict[str, Any],
) -> Solution:
    return fit_node(*risks, prior, parent, monitor, **ends)
