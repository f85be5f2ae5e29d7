"""An estimator for related tasks along a tree."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import Arrays, check_array, pack_names, save_model, unpack_model, unpack_names
from structune.kinds import kind_of
from structune.learning.estimator import StructuredEstimator
from structune.learning.parameters import PARTS, FitsOnExecutor, parameters
from structune.trees.task_tree import TaskTree

if TYPE_CHECKING:
    from structune.learning.tuning.implicit import ImplicitTuner

_SAVED = ("gammas", "factors", "cv", "n_jobs", "random_state", "verbose")
_PREFIX = "estimator."  # of its arrays in a model file
_GAMMAS, _FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.1, 1.0, 10.0)


@parameters
class MultitaskEstimator(FitsOnExecutor):
    """Train one estimator for every node of a tree of related tasks, regularized toward its parent node.

    Parameters
    ----------
    estimator : SequenceTagger, SegmentTagger, RNAFolder, SequenceAligner, GeneFinder, ProkaryoticGeneFinder
        Estimator for the tasks. Its `penalty` is the regularization strength that `factors` multiply. It
        must have `tuning` "auto" or None (both mean the same here), `l1` 0, and no `constraints` or `run`.
    tree : TaskTree, or what `TaskTree.from_nested` takes
        Tree of the tasks.
    tuning : None, "implicit", or an ImplicitTuner
        Method that chooses gamma and the penalties of each node. None tries all `gammas` and `factors`.
        "implicit" tunes gamma and one penalty for each group of weights along the gradient of the held-out
        loss, and needs a smooth loss.
    gammas : sequence of float
        How strongly the weights of a node are regularized toward its parent, from 0 (not at all) to 1. If
        several values are given, each node uses the one that is best on held-out data of the tasks below it.
    factors : sequence of float
        Factors of the penalty to try, chosen in the same way as `gammas`.
    cv : float or int
        Share of the examples of each task that is held out to choose `gammas` and `factors`, such as 0.25, or
        number of cross-validation folds, such as 5. Folds are slower, but better for tasks with few examples.
        For gene finders, an example is a piece of a sequence.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. They train nodes in parallel, or share the data of one node.
    random_state : int
        Random seed of the held-out examples.
    verbose : int
        Amount of progress output: 0 none, 1 progress bars on a terminal, 2 also a line per iteration.
    run : Run, optional
        Where `fit` runs, its time limit, and its checkpoint file: see `structune.running.Run`.

    Attributes
    ----------
    tree_ : TaskTree
        The tree of the tasks.
    nodes_ : dict of str to dict
        For each node with examples: "gamma", "factor", "penalty" (one per group), "n_examples", "status".
    history_ : list of dict
        Records of the progress of the fits.

    Notes
    -----
    The model of a node minimizes ``1/2 ((1 - gamma) |w|^2 + gamma |w - w_p|^2) + loss`` over the examples of
    all tasks below it, where w_p are the weights of its parent (Gornitz et al. 2011, equation 4). The models
    of all tasks share one structure, which has the attributes and labels of all of them.

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
    cv: float = 0.25
    random_state: int = 0
    verbose: int = 0

    _ranges: ClassVar = {"cv": PARTS}

    @property
    def _tolerance(self) -> float:  # type: ignore[override]
        """That of the estimator: `run` is of the whole tree."""
        return self.estimator._tolerance

    def fit(self, data: Mapping[str, tuple[Any, Any]]) -> Self:
        """Fit the models of all nodes.

        Parameters
        ----------
        data : mapping of str to (X, y)
            Examples of each task, as lists that the estimator takes. Tasks that are missing, or have empty
            lists, are predicted by the nearest node above them that has examples.

        Raises
        ------
        DataError
            A task is not a leaf of the tree, the estimator cannot use an example, or a parameter is wrong.
        CapabilityError
            The estimator cannot be trained on a tree of tasks.
        """
        from sklearn.base import clone

        from structune.trees.tree_fit import NodeGrid, learn_tasks

        tree = self.tree if isinstance(self.tree, TaskTree) else TaskTree.from_nested(self.tree)
        model: Any = clone(self.estimator)
        if not getattr(model, "_learns_tasks", False):
            raise CapabilityError(
                f"{type(model).__name__} cannot be trained on a tree of tasks. Use SequenceTagger, "
                "SegmentTagger, RNAFolder, SequenceAligner, GeneFinder or ProkaryoticGeneFinder"
            )
        if model.tuning == "auto":  # the tree's own tuning is what tunes
            model.tuning = None
        for name, expected in (("tuning", None), ("constraints", None), ("l1", 0.0), ("run", None)):
            if getattr(model, name, expected) != expected:
                raise DataError(f"the estimator must have {name}={expected}, not {getattr(model, name)!r}")
        self._check_ranges()
        tasks = list(data)
        sizes = [_n_sequences(task, data[task]) for task in tasks]
        X, y = (list(chain.from_iterable(data[task][k] for task in tasks)) for k in (0, 1))
        grid = NodeGrid(self.factors, self.gammas)
        model, examples = model._without_weights(X, y, groups=np.arange(len(X)))
        groups = model._weight_groups(examples.structure)
        result, fits, nodes = learn_tasks(
            tree,
            tasks,
            np.repeat(np.arange(len(tasks)), sizes),
            model,
            examples,
            grid=grid,
            tuning=self.tuning,
            cv=self.cv,
            random_state=self.random_state,
            groups=groups,
            run=self._prepared_run(self.verbose),
        )
        model._keep(groups, result.precision, result)
        self.tree_, self.model_ = tree, model
        self.weights_ = {node: fit.w for node, fit in fits.items()}
        self.nodes_, self.history_ = nodes, result.history
        return self

    def model(self, name: str) -> Any:
        """Return the fitted estimator of a node, or of the nearest node above if it had no examples.

        Raises
        ------
        DataError
            The tree has no such node.
        """
        self._check_fitted("model_")
        node = next(n for n in reversed(self.tree_.path(name)) if n in self.weights_)
        model = copy(self.model_)
        model._set_weights(self.weights_[node])
        return model

    def predict(self, task: str, X: Any, **options: Any) -> Any:
        """Predict with the estimator of a task; X and `options` are as in its `predict`."""
        return self.model(task).predict(X, **options)

    def score(self, task: str, X: Any, y: Any) -> float:
        """Score the estimator of a task on labeled examples; X and y are as in its `score`."""
        return float(self.model(task).score(X, y))

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Save the models of all nodes to one file, which `structune.load` reads.

        Parameters
        ----------
        path : path
            File to write.
        extra : mapping, optional
            Additional data (JSON) to save. After loading, the models of nodes have it in ``extra_``.
        """
        self._check_fitted("model_")
        header, arrays = self.model_._pack_whole(dict(extra or self.model_.extra_))
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
        if not getattr(model, "_learns_tasks", False):
            raise ModelFileError(f"{type(model).__name__} cannot be the model of a tree of tasks")
        names, weights = unpack_names("node", arrays), arrays["weights"]
        check_array(arrays, "weights", np.float64, (len(names), model._weights.size))
        if set(names) != set(header["nodes"]) or tree.root not in names or not all(n in tree for n in names):
            raise ModelFileError("the nodes with weights do not match the tree")
        parameters = {name: header["parameters"][name] for name in _SAVED}
        found = cls(model.__sklearn_clone__(), tree, **parameters)
        found.tree_, found.model_ = tree, model
        found.weights_ = dict(zip(names, weights, strict=True))
        found.nodes_, found.history_ = dict(header["nodes"]), list(header["history"])
        return found


def _n_sequences(task: str, given: Any) -> int:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise DataError(f"task {task!r}: give a pair of inputs and outputs, not {type(given).__name__}")
    for values in given:
        if isinstance(values, str) or not isinstance(values, Sequence):
            kind = type(values).__name__
            raise DataError(f"task {task!r}: inputs and outputs must be lists, not {kind}")
    n, n_outputs = map(len, given)
    if n != n_outputs:
        raise DataError(f"task {task!r}: there are {n:,} inputs, but {n_outputs:,} outputs")
    return n
