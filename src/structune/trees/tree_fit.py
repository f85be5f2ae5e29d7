"""Fits of the nodes of a tree of tasks, each regularized toward its parent, and the choice of priors."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from structune.errors import DataError
from structune.learning.estimator import Encoded, StructuredEstimator
from structune.learning.fitting import told_data
from structune.learning.losses import Loss
from structune.learning.parameters import Range
from structune.learning.risk import Risk, SideBySide, cut_shard
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import PassCount, Split, TuningProblem, TuningResult
from structune.running.blas import one_thread
from structune.running.checkpoints import Restored, State
from structune.running.executors import Executor, PreparedRun, ThreadExecutor
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups, IntArray, Structure
from structune.trees.task_tree import TaskTree

_NUMBERS = Range(-np.inf)
# what is learned from and what is held out, as `node_risks` makes them: one split, or folds
Splits = Sequence[tuple[Mapping[str, Risk], Mapping[str, Risk]]]


@dataclass(frozen=True)
class NodePrior:
    """R_p(w) = 1/2 (w - gamma w_p)' C (w - gamma w_p), w_p the weights of the parent (0 at the root).

    With C = 1 this is 1/2 ((1 - gamma) |w|^2 + gamma |w - w_p|^2) but for a constant (Gornitz et al. 2011,
    equation 4).
    """

    base: FloatArray  # precisions, which `factor` multiplies
    gamma: float  # from 0, which leaves the node on its own, to 1
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
    """The risk of each node that has examples below it: the loss over those of all its tasks, by `shards`."""
    for task in shards:
        if task not in tree.leaves:
            raise DataError(f"the tree has no leaf {task!r}. Leaves: {', '.join(map(repr, tree.leaves))}")
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
        raise DataError("there are no examples of any task")
    return found


def fit_node(
    risk: Risk, prior: NodePrior, parent: FloatArray | None, monitor: Monitor | None = None, **options: Any
) -> Solution:
    """Fit one node, from the weights of its parent on; options are those of `fit_l2`."""
    # 1/2 ((1 - gamma) |w|^2 + gamma |w - w_p|^2) = 1/2 |w - gamma w_p|^2 + const: a Gaussian prior with its
    # mean at gamma w_p, so that any solver of an l2 penalty fits a node
    center = None if parent is None else prior.gamma * parent
    found = fit_l2(risk, prior.precision, parent, center=center, monitor=monitor, **options)
    if found.status == "interrupted":  # or else the other fits of the tree would go on
        raise KeyboardInterrupt
    return found


def _fit_and_judge(
    risks: tuple[Risk, ...], prior: NodePrior, parent: FloatArray | None, options: dict[str, Any]
) -> tuple[Solution, float]:
    """A fit of the first risk, and its loss by the others."""
    fit = replace(fit_node(risks[0], prior, parent, **options), pairs=None)
    return fit, sum(risk.heldout_loss(fit.w) for risk in risks[1:])


def fit_tree(
    tree: TaskTree,
    risks: Mapping[str, Risk],
    priors: Mapping[str, NodePrior],
    *,
    executor: Executor | None = None,
    monitor: Monitor | None = None,
    **options: Any,
) -> dict[str, Solution]:
    """Fit every node that has examples, from the root down, with options of `fit_l2`.

    Nodes of a level are fitted side by side, where they are many (Gornitz et al. 2011, section 2).
    """
    monitor, executor = monitor or Monitor(), executor or ThreadExecutor(1)
    fits: dict[str, Solution] = {}
    passes = PassCount.of(monitor, *risks.values())
    kept = monitor.kept_search("tree")
    if kept.state is not None:
        for node, part in kept.state.parts("nodes", risks).items():
            w = kept.state.array(f"{node} w", risks[node].n_weights)
            # nobody asks such a fit for its objective or gradient
            fits[node] = Solution(w, np.nan, np.full_like(w, np.nan), 0, part.entry("status", str))

    def state() -> State:
        nodes = {node: {"status": fit.status} for node, fit in fits.items()}
        return {"nodes": nodes, **{f"{node} w": fit.w for node, fit in fits.items()}}

    options["monitor"] = monitor
    for nodes in _levels(tree, risks, fits):
        side = SideBySide(executor, [(risks[node],) for node in nodes], len(nodes))
        parents = [None if (parent := tree.parent(node)) is None else fits[parent].w for node in nodes]
        own = [priors[node] for node in nodes]
        results = side.map(_fit_and_judge, range(len(nodes)), own, parents, shared=(options,))
        for node, (found, _) in zip(nodes, results, strict=True):
            fits[node] = found
            told = {"objective": found.objective, "status": found.status, "passes": passes.spent}
            monitor.record("node", done=len(fits) / len(risks), node=node, **told)
            kept.keep(state)
    return fits


def _levels(tree: TaskTree, wanted: Container[str], done: Container[str]) -> list[list[str]]:
    """The nodes that are wanted and not done; those of a level do not ask for each other."""
    levels = [[node for node in level if node in wanted and node not in done] for level in tree.levels]
    return [level for level in levels if level]


# --- priors by held-out data ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeGrid:
    """The priors that a node may have."""

    factors: Sequence[float]  # of the precisions
    gammas: Sequence[float]

    def __post_init__(self) -> None:
        for name, given in (("factors", self.factors), ("gammas", self.gammas)):
            values = [*given] if isinstance(given, Iterable) else None
            if values is None or not all(value in _NUMBERS for value in values):
                raise DataError(f"{name}={given!r}: expected a sequence of numbers")
            if not values:
                raise DataError(f"{name} is empty: give at least one number")
            object.__setattr__(self, name, list(map(float, values)))  # plain numbers, as for a file

    def priors(self, precision: FloatArray, is_root: bool) -> list[NodePrior]:
        """From the strongest to the weakest; gamma means nothing at the root."""
        gammas = (0.0,) if is_root else sorted(self.gammas, reverse=True)
        factors = sorted(self.factors, reverse=True)
        return [NodePrior(precision, gamma, factor) for gamma, factor in product(gammas, factors)]


def choose_priors(
    tree: TaskTree,
    splits: Splits,
    precision: FloatArray,
    grid: NodeGrid,
    *,
    executor: Executor | None = None,
    monitor: Monitor | None = None,
    **options: Any,
) -> dict[str, NodePrior]:
    """For each node, the prior with the lowest held-out loss on the tasks below it; its parent is fixed.

    So the grid is tried once per node, not in all combinations (Gornitz et al. 2011, section 2). For losses
    that bound the cost of predictions, the held-out loss is that cost. Of equally good priors the strongest
    is taken, also if nothing below a node is held out. Options are those of `fit_l2`.
    """
    monitor, executor = monitor or Monitor(), executor or ThreadExecutor(1)
    options["monitor"] = monitor
    chosen: dict[str, NodePrior] = {}
    weights: dict[str | None, list[FloatArray]] = {}  # of each split
    kept = monitor.kept_search("selection")
    state = kept.state or Restored({"chosen": {}})
    for node, part in state.parts("chosen", tree.nodes).items():
        try:
            chosen[node] = NodePrior(precision, part.entry("gamma", float), part.entry("factor", float))
        except DataError as error:
            raise part.refuse(str(error)) from None
        weights[node] = [state.array(f"{node} {k}", precision.size) for k in range(len(splits))]

    def state_of_choice() -> State:
        arrays = {f"{node} {k}": w for node, of in weights.items() for k, w in enumerate(of)}
        priors = {node: {"gamma": prior.gamma, "factor": prior.factor} for node, prior in chosen.items()}
        return {"chosen": priors, **arrays}

    learned, n = {node for train, _ in splits for node in train}, len(splits)
    for nodes in _levels(tree, learned, chosen):
        priors = {node: grid.priors(precision, tree.parent(node) is None) for node in nodes}
        for node in nodes:
            if not any(node in heldout for _, heldout in splits):
                priors[node] = priors[node][:1]
        # a fit for every prior of every node of the level, on every split; they come back in this order
        pairs = [tuple(risks[node] for risks in split if node in risks) for node in nodes for split in splits]
        above = [weights.get(tree.parent(node), [None] * n) for node in nodes]
        trials = [
            (j * n + k, prior, above[j][k])
            for j, node in enumerate(nodes)
            for prior in priors[node]
            for k in range(n)
        ]
        side = SideBySide(executor, pairs, len(trials))
        fits = side.map(_fit_and_judge, *zip(*trials, strict=True), shared=(options,))
        for node in nodes:
            best = np.inf
            for prior in priors[node]:
                found = [(fit.w, loss) for fit, loss in islice(fits, n)]
                loss = sum(loss for _, loss in found)
                if node not in chosen or loss < best:  # the first of equals; others are not kept
                    best, chosen[node], weights[node] = loss, prior, [w for w, _ in found]
            told = {"gamma": chosen[node].gamma, "factor": chosen[node].factor, "heldout_loss": best}
            monitor.record("selection", done=len(chosen) / len(learned), node=node, **told)
            kept.keep(state_of_choice)
    return chosen


def tune_priors(
    tree: TaskTree,
    full: Mapping[str, Risk],
    splits: Splits,
    groups: Groups,
    tuner: ImplicitTuner,
    monitor: Monitor | None = None,
) -> dict[str, NodePrior]:
    """For each node, gamma and the penalties with the lowest held-out loss; its parent is fixed.

    Works from the root down. Each search begins at the penalties of the node above, and at the root with
    those of `tuner`. A node without held-out examples gets these, and its parent's weights as mean. An
    interrupted search raises `KeyboardInterrupt`.
    """
    monitor = monitor or Monitor()
    chosen: dict[str, NodePrior] = {}
    log_precision: dict[str, FloatArray] = {}
    weights: dict[str, list[FloatArray]] = {}  # of each split
    for node in filter(full.__contains__, tree.nodes):
        parent = tree.parent(node)
        if parent is not None:
            tuner = replace(tuner, start=np.exp(log_precision[parent]))
        # each split goes down the tree with its own weights: held-out examples of a task are in no ancestor
        # either
        parents: Any = [None] * len(splits) if parent is None else weights[parent]
        parts = tuple(
            Split(train[node], heldout[node], w)
            for (train, heldout), w in zip(splits, parents, strict=True)
            if node in heldout
        )
        if parts:
            # nothing is fitted to all data here, which the parent of the first split would be for
            problem = TuningProblem(full[node], groups, parts, parts[0].parent, node)
            found = replace(tuner, refit=False).tune(problem, monitor)
            if found.status == "interrupted":  # one search of many: the others would go on, as in `fit_node`
                raise KeyboardInterrupt
            log_precision[node], gamma = found.log_precision, found.gamma or 0.0
        else:
            log_precision[node] = np.log(np.broadcast_to(tuner.start, len(groups)))
            gamma = float(parent is not None)
        chosen[node] = NodePrior(groups.spread(np.exp(log_precision[node])), gamma)
        if tree.children(node):  # nobody asks for the weights of a leaf
            weights[node] = [
                fit_node(train[node], chosen[node], w, monitor, tolerance=tuner.fit_tolerance).w
                for (train, _), w in zip(splits, parents, strict=True)
            ]
        monitor.record("selection", done=len(chosen) / len(full), node=node, gamma=gamma)
    return chosen


# --- a whole tree, in place of the one fit of an estimator ------------------------------------------------


def learn_tasks(
    tree: TaskTree,
    tasks: list[str],
    task_of: IntArray,
    model: StructuredEstimator,
    examples: Encoded,
    *,
    grid: NodeGrid,
    tuning: str | ImplicitTuner | None,
    cv: float,
    random_state: int,
    groups: Groups,
    run: PreparedRun,
) -> tuple[TuningResult, dict[str, Solution], dict[str, dict[str, Any]]]:
    """The result of the root, the fits of all nodes, and the entries of `nodes_`."""
    # groups of the examples are numbers of sequences, and `task_of` has the number of the task of each
    shard, loss, task = examples.shard, model._make_loss(), task_of[np.asarray(examples.groups)]
    # one encoding of all tasks is dealt out: nodes share the structure, and weights mean the same in all
    precisions, hessian = model._precisions(groups, centered=False), model._hessian_method(examples.structure)
    precision = groups.spread(precisions)

    def risks(chosen: NDArray[np.bool_]) -> dict[str, Risk]:
        shards = {name: shard.take(np.flatnonzero(chosen & (task == k))) for k, name in enumerate(tasks)}
        return node_risks(tree, examples.structure, loss, shards, run.executor, hessian)

    if tuning == "implicit":
        tuning = ImplicitTuner(start=precisions, fit_tolerance=run.tolerance)
    if not isinstance(tuning, ImplicitTuner | None):
        raise DataError(f"tuning={tuning!r}: expected None, 'implicit' or an ImplicitTuner")
    with Monitor(run.verbose, run.max_seconds) as monitor, one_thread():
        ends: dict[str, Any] = {"tolerance": run.tolerance, "max_iterations": run.max_iterations}
        ends |= {"executor": run.executor, "monitor": monitor}
        full, root = risks(np.ones(len(shard), bool)), tree.root
        has_choice = tuning is not None or len(grid.factors) * len(grid.gammas) > 1
        # Regions of a genome are held out one by one, copies of a sequence (with unknown labels) together.
        each, of = np.unique(examples.groups, return_inverse=True)
        if not shard.is_partly_known:
            each, of = np.asarray(examples.groups), np.arange(len(shard))
        parts = _heldout_parts(task_of[each], len(tasks), cv, random_state) if has_choice else []
        parts = [part[of] for part in parts]
        splits = [(risks(~part), risks(part)) for part in parts]
        # of all nodes, over the data of the root
        others = [risk for split in splits for of_nodes in split for risk in of_nodes.values()]
        others += [risk for node, risk in full.items() if node != root]
        monitor.passes = passes = PassCount(full[root], *others)
        run.begin_checkpoint(monitor, partial(told_data, full[root], groups))
        if tuning:
            priors = tune_priors(tree, full, splits, groups, tuning, monitor)
        elif splits:
            priors = choose_priors(tree, splits, precision, grid, **ends)
        else:
            priors = {node: grid.priors(precision, node == root)[0] for node in full}
        fits = fit_tree(tree, full, priors, **ends)
        run.end_checkpoint(not any(fit.stopped for fit in fits.values()))
    told: dict[str, dict[str, Any]] = {}
    for node, fit in fits.items():
        prior, n = priors[node], sum(map(len, full[node].shards))
        penalty = (groups.sum(prior.precision) / np.maximum(groups.sizes, 1)).tolist()
        told[node] = {"gamma": prior.gamma, "factor": prior.factor, "penalty": penalty}
        told[node] |= {"n_examples": n, "status": fit.status}
    log_precision = np.log(told[root]["penalty"])
    result = TuningResult(log_precision, fits[root].w, fits[root].status, None, passes.spent, monitor.history)
    return result, fits, told


def _heldout_parts(task: IntArray, n_tasks: int, cv: float, seed: int) -> list[NDArray[np.bool_]]:
    """Which examples the choice of priors holds out, by split: some of each task that has two or more."""
    fold = np.full(task.size, -1)
    # a split of its own for each task; fold f of all tasks together is what split f holds out
    for k in range(n_tasks):
        own = np.flatnonzero(task == k)
        if own.size < 2:
            continue
        if cv < 1:  # a share: at least one example, and one is left to learn from
            n = min(int(np.ceil(cv * own.size)), own.size - 1)
            splitter: Any = ShuffleSplit(1, test_size=n, random_state=seed)
        else:
            splitter = KFold(min(int(cv), own.size), shuffle=True, random_state=seed)
        for f, (_, heldout) in enumerate(splitter.split(own)):
            fold[own[heldout]] = f
    return [fold == f for f in range(fold.max(initial=-1) + 1)]
