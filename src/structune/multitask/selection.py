"""Which prior every node of a tree gets, by held-out data, in the order of the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from structune.errors import DataError
from structune.executors import ThreadExecutor
from structune.monitor import Monitor
from structune.multitask.task_tree import TaskTree
from structune.multitask.tree_fit import NodePrior, fit_node
from structune.risk import Risk
from structune.solvers.solution import TOLERANCE
from structune.structures.base import FloatArray


@dataclass(frozen=True)
class NodeGrid:
    """The priors that a node may have.

    Attributes
    ----------
    factors : sequence of float
        Of the precisions.
    gammas : sequence of float
    """

    factors: Sequence[float]
    gammas: Sequence[float]

    def __post_init__(self) -> None:
        for name, values in (("factors", self.factors), ("gammas", self.gammas)):
            if not len(values):
                raise DataError(f"found no {name} to try, expected one at least")

    @property
    def size(self) -> int:
        """How many priors a node may have."""
        return len(self.factors) * len(self.gammas)

    def priors(self, precision: FloatArray, is_root: bool) -> list[NodePrior]:
        """From the strongest to the weakest; gamma means nothing at the root."""
        gammas = (0.0,) if is_root else sorted(self.gammas, reverse=True)
        factors = sorted(self.factors, reverse=True)
        return [NodePrior(precision, gamma, factor) for gamma, factor in product(gammas, factors)]


def choose_priors(
    tree: TaskTree,
    splits: Sequence[tuple[Mapping[str, Risk], Mapping[str, Risk]]],
    precision: FloatArray,
    grid: NodeGrid,
    *,
    executor: ThreadExecutor | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> dict[str, NodePrior]:
    """Of each node the prior of the lowest held-out loss on the tasks below it, its parent being fixed.

    So the grid is tried once a node, and not in all combinations (Gornitz et al. 2011, section 2). Of losses
    that bound the cost of predictions, that cost itself is what is held out. Of equals the strongest prior is
    taken, and so it is where nothing below a node is held out.

    Parameters
    ----------
    tree : TaskTree
    splits : sequence of (mapping of str to Risk, mapping of str to Risk)
        What is learned from and what is held out, as `node_risks` makes them; one split, or folds, whose
        held-out losses are added.
    precision : ndarray, shape (n_weights,)
        What the grid multiplies.
    grid : NodeGrid
    executor : ThreadExecutor, optional
        Works on the nodes of a level side by side.
    tolerance, max_iterations
        Of each fit.
    monitor : Monitor, optional
        Gets a record a node.
    """
    monitor, executor = monitor or Monitor(), executor or ThreadExecutor(1)
    ends: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations}
    chosen: dict[str, NodePrior] = {}
    weights: dict[str, list[FloatArray]] = {}  # of each split
    learned = {node for train, _ in splits for node in train}

    def tried(node: str, prior: NodePrior) -> tuple[list[FloatArray], float]:
        """Weights of each split, and the sum of their held-out losses."""
        parent, found, total = tree.parent(node), list[FloatArray](), 0.0
        for k, (train, heldout) in enumerate(splits):
            above = None if parent is None else weights[parent][k]
            found.append(fit_node(train[node], prior, above, monitor, **ends).w)
            total += heldout[node].heldout_loss(found[-1]) if node in heldout else 0.0
        return found, total

    def choose(node: str) -> tuple[NodePrior, list[FloatArray], float]:
        priors = grid.priors(precision, tree.parent(node) is None)
        if not any(node in heldout for _, heldout in splits):
            priors = priors[:1]
        results = ((prior, *tried(node, prior)) for prior in priors)  # weights of the best alone are kept
        return min(results, key=lambda result: result[2])  # the first of equals

    for level in tree.levels:
        nodes = [node for node in level if node in learned]
        for node, (prior, w, loss) in zip(nodes, executor.map(choose, nodes), strict=True):
            chosen[node], weights[node] = prior, w
            monitor.record(
                "selection",
                done=len(chosen) / len(learned),
                node=node,
                gamma=prior.gamma,
                factor=prior.factor,
                heldout_loss=loss,
            )
    return chosen
