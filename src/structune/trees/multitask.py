"""One estimator for the tasks of a tree, which share strength along it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import field
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import save_model, unpack_model
from structune.kinds import kind_of
from structune.learning.estimator import StructuredEstimator
from structune.learning.estimator_file import Arrays, check_array, pack_names, unpack_names
from structune.learning.fitting import begin_checkpoint
from structune.learning.losses import Loss
from structune.learning.parameters import FitsOnExecutor, parameters
from structune.learning.risk import Risk
from structune.learning.solvers.solution import Solution
from structune.learning.tuning.implicit import ImplicitTuner
from structune.learning.tuning.problem import TuningResult
from structune.running.blas import one_thread
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups, IntArray, Structure
from structune.trees.node_tuning import tune_priors
from structune.trees.selection import NodeGrid, choose_priors
from structune.trees.task_tree import TaskTree
from structune.trees.tree_fit import fit_tree, node_risks

_SAVED = ("gammas", "factors", "holdout", "folds", "n_jobs", "random_state", "verbose")
_PREFIX = "estimator."  # of its arrays in a model file
_GAMMAS, _FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.1, 1.0, 10.0)


@parameters
class MultitaskEstimator(FitsOnExecutor):
    """An estimator trained for every node of a tree of tasks, around the weights of its parent.

    Parameters
    ----------
    estimator : SequenceTagger, RNAFolder, SequenceAligner, GeneFinder or ProkaryoticGeneFinder
        What learns the tasks. Its `penalty` is the precision that `factors` multiply; its `tuning` and
        `constraints` must be None.
    tree : TaskTree, or what `TaskTree.from_nested` takes
    gammas : sequence of float
        How far the weights of a node are drawn to those of its parent, from 0, not at all, to 1. Of several
        each node gets the best on held-out examples of the tasks below it.
    factors : sequence of float
        Of the penalty, chosen in the same way.
    tuning : None, "implicit", or an ImplicitTuner
        "implicit" learns gamma and a precision for each group of weights, node by node, by the gradient of
        the held-out loss, instead of trying `gammas` and `factors`. Smooth losses only.
    holdout : float
        Share of the examples of each task that the choice holds out; gene finders cut sequences into several.
    folds : int, optional
        Hold out each of so many folds once instead: slower, and better where tasks have few examples.
    n_jobs : int, optional
        Nodes that are worked on side by side; -1 takes all cores.
    random_state : int
        Of held-out examples.
    verbose : int

    Attributes
    ----------
    tree_ : TaskTree
    nodes_ : dict of str to dict
        Of each node with examples: "gamma", "factor", "penalty" by group, "n_examples", "status".
    history_ : list of dict

    Notes
    -----
    The model of a node minimises ``1/2 ((1 - gamma) |w|^2 + gamma |w - w_p|^2) + loss``, w_p the weights of
    its parent, over the examples of all tasks below it (Gornitz et al. 2011, equation 4). The root is the
    union of all tasks. All tasks have the structure of the union, with all of its attributes and labels.

    Examples
    --------
    >>> from structune import MultitaskEstimator, SequenceTagger
    >>> tree = {"letters": ["upper", "lower"]}
    >>> model = MultitaskEstimator(SequenceTagger(), tree, gammas=[0.5], factors=[1.0])
    >>> data = {"upper": ([[["A"], ["B"]]], [["x", "y"]]), "lower": ([[["a"], ["B"]]], [["x", "y"]])}
    >>> model.fit(data).predict("lower", [[["A"], ["B"]]])
    [['x', 'y']]
    """

    estimator: StructuredEstimator = field(kw_only=False)
    tree: Any = field(kw_only=False)
    gammas: Sequence[float] = _GAMMAS
    factors: Sequence[float] = _FACTORS
    tuning: str | ImplicitTuner | None = None
    holdout: float = 0.25
    folds: int | None = None
    random_state: int = 0
    verbose: int = 0

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, data: Mapping[str, tuple[Any, Any]]) -> Self:
        """Learn all tasks.

        Parameters
        ----------
        data : mapping of str to (X, y)
            Of each task lists as the estimator takes them. Tasks of the tree that are missing here, or
            have empty lists, are predicted by the nearest node above them that has examples.

        Raises
        ------
        DataError
            A task that is no leaf of the tree, or names what the estimator cannot use.
        """
        tree = self.tree if isinstance(self.tree, TaskTree) else TaskTree.from_nested(self.tree)
        model: Any = self._checked_estimator()
        self._check_splits()
        tasks = list(data)
        sizes = [_n_sequences(task, *data[task]) for task in tasks]
        X, y = (list(chain.from_iterable(data[task][k] for task in tasks)) for k in (0, 1))
        learner = _TreeLearner(self, tree, tasks, np.repeat(np.arange(len(tasks)), sizes), model)
        model._learner = learner
        try:
            model.fit(X, y, groups=np.arange(len(X)))
        finally:
            model._learner = None
        self.tree_, self.model_ = tree, model
        self.weights_ = {node: fit.w for node, fit in learner.fits.items()}
        self.nodes_, self.history_ = learner.nodes, learner.history
        return self

    def _checked_estimator(self) -> StructuredEstimator:
        model = clone(self.estimator)
        if not (isinstance(model, StructuredEstimator) and model._learns_tasks):
            raise CapabilityError(f"{type(model).__name__} does not learn several tasks")
        for name in ("tuning", "constraints"):
            if getattr(model, name, None) is not None:
                raise DataError(f"the estimator has {name}={getattr(model, name)!r}: expected None")
        return model

    def _check_splits(self) -> None:
        is_whole = isinstance(self.folds, int | np.integer) and not isinstance(self.folds, bool)
        if self.folds is not None and not (is_whole and self.folds > 1):
            raise DataError(f"folds={self.folds!r}: expected None or a whole number > 1")
        if not isinstance(self.holdout, float | np.floating) or not 0 < self.holdout < 1:
            raise DataError(f"holdout={self.holdout!r}: expected a share between 0 and 1")

    # --- prediction ---------------------------------------------------------------------------------------

    def model(self, name: str) -> Any:
        """The fitted estimator of a task, or of an inner node.

        That of the nearest node above, if the task had no examples.

        Raises
        ------
        DataError
            No node of the tree.
        """
        self._check_fitted("model_")
        node = next(n for n in reversed(self.tree_.path(name)) if n in self.weights_)
        model = copy(self.model_)
        model._set_weights(self.weights_[node])
        return model

    def predict(self, task: str, X: Any, **options: Any) -> Any:
        """What the estimator of a task predicts."""
        return self.model(task).predict(X, **options)

    def score(self, task: str, X: Any, y: Any) -> float:
        """What the estimator of a task scores."""
        return float(self.model(task).score(X, y))

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the models of all nodes to one file, to be read by `structune.load`."""
        self._check_fitted("model_")
        header, arrays = self.model_._pack_whole({})
        names = list(self.weights_)
        whole = {
            "estimator": {"kind": kind_of(self.model_).word, **header},
            "tree": self.tree_.to_newick(),
            "nodes": self.nodes_,
            "parameters": {name: np.asarray(getattr(self, name)).tolist() for name in _SAVED},
            "history": self.history_,
        }
        own = {"weights": np.array(list(self.weights_.values())), **pack_names("node", names)}
        prefixed = {f"{_PREFIX}{name}": array for name, array in arrays.items()}
        save_model(path, kind_of(self).word, whole, own | prefixed)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> MultitaskEstimator:
        inner = {name.removeprefix(_PREFIX): a for name, a in arrays.items() if name.startswith(_PREFIX)}
        model, tree = unpack_model(header["estimator"], inner), TaskTree.from_newick(header["tree"])
        if not (isinstance(model, StructuredEstimator) and model._learns_tasks):
            raise ModelFileError(f"found a model of several tasks made of {type(model).__name__}")
        names, weights = unpack_names("node", arrays), arrays["weights"]
        check_array(arrays, "weights", np.float64, (len(names), model._weights.size))
        if set(names) != set(header["nodes"]) or tree.root not in names or not all(n in tree for n in names):
            raise ModelFileError("the nodes with weights are not those of the tree")
        parameters = {name: header["parameters"][name] for name in _SAVED}
        found = cls(clone(model), tree, **parameters)
        found.tree_, found.model_ = tree, model
        found.weights_ = dict(zip(names, weights, strict=True))
        found.nodes_, found.history_ = dict(header["nodes"]), list(header["history"])
        return found


def _n_sequences(task: str, X: Any, y: Any) -> int:
    for values in (X, y):
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise DataError(
                f"task {task!r}: found {type(values).__name__}, expected lists of inputs and outputs"
            )
    if len(X) != len(y):
        raise DataError(f"task {task!r}: found {len(X)} inputs and {len(y)} outputs, expected as many")
    return len(X)


class _TreeLearner:
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
        tried = (np.asarray(values).tolist() for values in (self.settings.factors, self.settings.gammas))
        grid, precision = NodeGrid(*tried), groups.spread(precisions)  # plain numbers, as for a file
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
            checkpoint = begin_checkpoint(self.settings, monitor, full[self.tree.root], groups)
            heldout = self._heldout(self.task_of[sequence]) if tuner or grid.size > 1 else []
            splits = [(risks(every[~part]), risks(every[part])) for part in heldout]
            if tuner:
                priors = tune_priors(self.tree, full, splits, groups, tuner, monitor)
            elif splits:
                priors = choose_priors(self.tree, splits, precision, grid, **ends, monitor=monitor)
            else:
                priors = {node: grid.priors(precision, node == self.tree.root)[0] for node in full}
            self.fits = fit_tree(self.tree, full, priors, **ends, monitor=monitor)
            if checkpoint is not None:
                checkpoint.end(not any(fit.stopped for fit in self.fits.values()))
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
        self.history, root = monitor.history, self.tree.root
        passes = sum(risk.passes * risk.n_parts for risk in full.values()) / full[root].n_parts
        return TuningResult(
            np.log(penalties[root]), self.fits[root].w, self.fits[root].status, None, passes, self.history
        )

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
