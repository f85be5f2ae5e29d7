"""Which prior every node of a tree gets, by held-out data, in the order of the tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from structune.errors import DataError
from structune.learning.parameters import TOLERANCE, Range
from structune.learning.risk import Risk, SideBySide
from structune.running.checkpoints import Restored, State
from structune.running.executors import Executor, ThreadExecutor
from structune.running.monitor import Monitor
from structune.structure import FloatArray
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import NodePrior, fit_node

_NUMBERS = Range(-math.inf)


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
        for name, given in (("factors", self.factors), ("gammas", self.gammas)):
            values = [*given] if isinstance(given, Iterable) else None
            if values is None or not all(value in _NUMBERS for value in values):
                raise DataError(f"{name}={given!r}: expected a sequence of numbers")
            if not values:
                raise DataError(f"found no {name} to try, expected one at least")
            object.__setattr__(self, name, list(map(float, values)))  # plain numbers, as for a file

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
    executor: Executor | None = None,
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
    executor : Executor, optional
        Tries priors of a level side by side.
    tolerance, max_iterations
        Of each fit.
    monitor : Monitor, optional
        Gets a record a node.
    """
    monitor, executor = monitor or Monitor(), executor or ThreadExecutor(1)
    ends: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations}
    chosen: dict[str, NodePrior] = {}
    weights: dict[str | None, list[FloatArray]] = {}  # of each split
    kept = monitor.kept_search("selection")
    state = kept.state or Restored(chosen={})
    for node, part in state.parts("chosen", tree.nodes).items():
        try:
            chosen[node] = NodePrior(precision, part.entry("gamma", float), part.entry("factor", float))
        except DataError as error:
            raise part.refuse(str(error)) from None
        weights[node] = [state.array(f"{node} {k}", precision.size) for k in range(len(splits))]
    learned = {node for train, _ in splits for node in train}
    levels = [[node for node in level if node in learned and node not in chosen] for level in tree.levels]
    every = range(len(splits))
    for nodes in filter(None, levels):
        priors = {node: grid.priors(precision, tree.parent(node) is None) for node in nodes}
        for node in nodes:
            if not any(node in heldout for _, heldout in splits):
                priors[node] = priors[node][:1]
        trials = [(j, k, prior) for j, node in enumerate(nodes) for prior in priors[node] for k in every]
        pairs = [_risks_of(node, split) for node in nodes for split in splits]
        above = [weights.get(tree.parent(node), [None] * len(splits)) for node in nodes]
        columns = [(j * len(splits) + k, prior, above[j][k]) for j, k, prior in trials]
        side = SideBySide(executor, pairs, len(trials))
        fits = side.map(_fit_and_judge, *zip(*columns, strict=True), shared=(monitor, ends))
        for node in nodes:
            results = ((prior, list(islice(fits, len(splits)))) for prior in priors[node])
            prior, found = min(results, key=_summed)  # the first of equals; others are not kept
            chosen[node], weights[node] = prior, [w for w, _ in found]
            monitor.record(
                "selection",
                done=len(chosen) / len(learned),
                node=node,
                gamma=prior.gamma,
                factor=prior.factor,
                heldout_loss=_summed((prior, found)),
            )
            kept.keep(lambda: _state(chosen, weights))
    return chosen


def _state(chosen: Mapping[str, NodePrior], weights: Mapping[Any, Sequence[FloatArray]]) -> State:
    """What has been chosen so far."""
    arrays = {f"{node} {k}": w for node, of in weights.items() for k, w in enumerate(of)}
    return {
        "chosen": {n: {"gamma": prior.gamma, "factor": prior.factor} for n, prior in chosen.items()},
        **arrays,
    }


def _risks_of(node: str, split: tuple[Mapping[str, Risk], Mapping[str, Risk]]) -> tuple[Risk, ...]:
    """What is learned from and, if there is any, what is held out."""
    return tuple(risks[node] for risks in split if node in risks)


def _fit_and_judge(
    risks: tuple[Risk, ...],
    prior: NodePrior,
    parent: FloatArray | None,
    monitor: Monitor,
    ends: dict[str, Any],
) -> tuple[FloatArray, float]:
    """Weights, and their held-out loss."""
    train, *heldout = risks
    w = fit_node(train, prior, parent, monitor, **ends).w
    return w, sum(risk.heldout_loss(w) for risk in heldout)


def _summed(result: tuple[NodePrior, list[tuple[FloatArray, float]]]) -> float:
    return sum(loss for _, loss in result[1])
