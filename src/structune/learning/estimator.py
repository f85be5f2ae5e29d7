"""What all estimators share: they fit the weights of a structure, keep what came out, and save it.

How weights are fitted is in `structune.learning.fitting`, which is imported when it is needed.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.files.models import save_model
from structune.kinds import kind_of
from structune.learning.defaults import TOLERANCE
from structune.learning.estimator_file import Arrays, pack_fit
from structune.learning.losses import LogLoss, Loss
from structune.learning.parameters import FitsOnExecutor, parameters
from structune.learning.ranges import Range
from structune.running.blas import one_thread
from structune.running.executors import make_executor
from structune.structure import FloatArray, Groups, IntArray, Shard, Structure, split_evenly

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder
    from structune.learning.risk import Risk
    from structune.learning.tuning.problem import Tuner, TuningProblem, TuningResult
    from structune.running.monitor import Monitor

T = TypeVar("T")
S = TypeVar("S", bound=Shard)
_PIECES_PER_THREAD = 4
# fitted attributes that are not of the structure
_LEARNED = ("coef_", "penalty_", "l1_", "group_names_", "group_sizes_", "history_", "status_", "passes_")


class Learner(Protocol):
    """Fits the weights that an estimator asks for."""

    def __call__(
        self, structure: Structure, loss: Loss, shard: Any, groups: Groups, example_groups: Any
    ) -> TuningResult:
        """As `StructuredEstimator._learn`, with the groups of weights."""


@parameters
class StructuredEstimator(FitsOnExecutor, ABC):
    """The weights of a structure, fitted with a given penalty or with one that a tuner chooses.

    A subclass is the estimator of a kind (`structune.kinds`). It is declared with the decorator `parameters`;
    parameters that it does not have are fields with ``init=False``. Its method ``fit`` builds the structure,
    encodes the examples and calls `_learn`; it has the property `_structure` and, for its files, `_pack` and
    the class method ``_from_file``.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        What is minimised; objects of `structune.learning` can be given too.
    penalty : float or dict
        Precision of the Gaussian prior of the weights: one number, or one by group name (1 for groups not
        named). Ignored under `tuning`. It may be 0 where `l1` is not.
    l1 : float or dict
        Weight of an l1 penalty, ``l1 |w|``, beside half the penalty times w^2: an elastic net, with weights
        that are exactly zero. One number, or one by group name (0 for groups not named). Smooth losses only,
        and of the tuners "grid" alone, which chooses precisions beside it.
    tuning : None, "implicit", "majorize", "direct", "grid", or a tuner
        How to choose the precisions. None, the default, does not tune but fits with `penalty`.
    groups : "kind", "single", "separate", or callable
        Which weights share a precision: those of a kind; all; none; or by a function from a weight's name to
        its group's.
    holdout : float
        Share of the examples that tuning holds out.
    folds : int, optional
        Number of folds that tuning holds out in turn, instead of one share.
    hessian : {"exact", "complex-step", "finite-difference"}
        How tuning makes the products with a Hessian that it needs.
    tolerance : float
        A fit ends when the norm of its gradient is at most this times that at w = 0, or where rounding hides
        what is left. With margin and ramp losses it ends at a gap of ten times this, relative to the
        objective, and the convex-concave procedure when a round gains less. A tuner object has its own.
    max_iterations : int
        Of a fit without tuning.
    max_seconds : float, optional
        Time budget of `fit`; it returns the best it has.
    warm_start : bool
        Start at the weights of the fit before. Without `tuning`: tuners start anew.
    random_state : int
        Of held-out splits.
    verbose : int
        1 shows progress bars on a terminal, 2 keeps a line per iteration.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weights,)
    penalty_ : ndarray, shape (n_groups,)
        Empty, as `l1_`, `group_names_` and `group_sizes_` are, for weights that were not fitted here.
    l1_ : ndarray, shape (n_groups,)
    group_names_ : tuple of str
    group_sizes_ : ndarray of int, shape (n_groups,)
        Weights in each group.
    history_ : list of dict
        What happened, step by step.
    status_ : str
        "converged", "iterations", "stalled", "budget" or "interrupted"; "imported" for weights that were not
        fitted here.
    passes_ : float
        Passes over the training data that the fit took.
    extra_ : dict
        What was saved with a loaded model.
    """

    loss: str | Loss = "log"
    penalty: float | Mapping[str, float] | None = 1.0
    l1: float | Mapping[str, float] = 0.0
    tuning: str | Tuner | None = None
    groups: Any = "kind"
    holdout: float = 0.2
    folds: int | None = None
    hessian: str = "exact"
    tolerance: float = TOLERANCE
    max_iterations: int = 1000
    max_seconds: float | None = None
    warm_start: bool = False
    random_state: int = 0
    verbose: int = 0

    coef_: Any = field(init=False)
    penalty_: FloatArray = field(init=False)
    l1_: FloatArray = field(init=False)
    group_names_: tuple[str, ...] = field(init=False)
    group_sizes_: IntArray = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)
    status_: str = field(init=False)
    passes_: float = field(init=False)
    extra_: dict[str, Any] = field(init=False)

    _fitted_loss: Loss | None = field(default=None, init=False)  # `loss` may be that of the next fit
    _learner: Learner | None = field(default=None, init=False)  # in place of the estimator, as for a tree
    _learns_tasks: ClassVar[bool] = False  # whether a learner may: its weights are all that a fit changes
    _natural_groups: ClassVar[str] = "kind"  # what `groups` calls those of the structure itself
    _ranges: ClassVar = {
        "holdout": Range(0, 1, open=True),
        "folds": Range(2, whole=True, optional=True),
        "tolerance": Range(0),
        "max_iterations": Range(1, whole=True),
        "max_seconds": Range(0, optional=True),
    }

    @property
    @abstractmethod
    def _structure(self) -> Structure:
        """The structure that was fitted."""

    @abstractmethod
    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        """The fitted structure as the header and arrays of a model file."""

    # --- fitting ------------------------------------------------------------------------------------------

    def fit_shards(self, folder: str | os.PathLike[str]) -> Self:
        """Learn from a folder of encoded examples, which may be larger than memory.

        Features, labels and the space of outputs are those of the folder. Tuning holds out whole shards.

        Parameters
        ----------
        folder : path
            What `write_shards` or ``structune shard`` wrote.

        Raises
        ------
        DataError
            A folder that is damaged, or that was written for another estimator; labels that are not known,
            where the loss needs them.
        """
        from structune.files.shards import open_shards

        data = open_shards(folder)
        if type(data.model) is not type(self):
            raise DataError(
                f"{folder}: found examples of {type(data.model).__name__}, expected {type(self).__name__}"
            )
        structure, shards, loss = data.model._structure, data.shards, self._make_loss()
        try:
            self._check_known(shards, loss)
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None
        self._fit_files(data, structure, loss)
        return self

    def _fit_files(self, data: ShardFolder, structure: Structure, loss: Loss) -> None:
        """Learn from a folder that was looked at."""
        self._learn(structure, loss, data, self._start(structure), None)
        self._adopt(data.model)

    def _adopt(self, model: Self) -> None:
        """Take over the structure of another model, and what it knows of its examples."""
        for name, value in vars(model).items():
            if name.endswith("_") and name not in _LEARNED:
                setattr(self, name, value)

    def _encoded(self, X: Any, y: Any, **options: Any) -> tuple[Self, Shard, Any]:
        """A model of training examples and weights of zero; the examples encoded, and their groups."""
        from structune.learning.tuning.problem import TuningResult

        taken: list[tuple[Structure, Shard, Any]] = []

        def take(structure: Structure, loss: Loss, shard: Any, groups: Groups, of: Any) -> TuningResult:
            taken.append((structure, shard, of))
            return TuningResult(np.zeros(len(groups)), np.zeros(structure.n_weights), "imported")

        model: Any = self.__sklearn_clone__()
        model._learner = take
        model.fit(X, y, **options)._learner = None
        model._keep_structure(taken[0][0])
        return model, *taken[0][1:]

    def _keep_structure(self, structure: Any) -> None:
        """Keep the structure that examples were encoded by; for subclasses that keep another to predict."""

    def _learn(
        self,
        structure: Structure,
        loss: Loss,
        shard: Shard | ShardFolder,
        start: FloatArray | None,
        example_groups: Any,
        strata: Any = None,
    ) -> TuningResult:
        """Fit, and keep all but the structure, which the caller keeps.

        `start` is where a fit without tuning starts; `example_groups` and `strata` say what held-out splits
        keep together, and what they share out.
        """
        self._check_ranges()
        groups = self._weight_groups(structure)
        if self._learner is not None:
            result = self._learner(structure, loss, shard, groups, example_groups)
            self._keep(groups, result.precision, result)
            return result
        from structune.learning.fitting import fit_weights

        result = fit_weights(self, structure, loss, shard, groups, start, example_groups, strata)
        self._keep(groups, self._precisions(groups) if self.tuning is None else result.precision, result)
        return result

    def _hessian(self, structure: Structure) -> str:
        """How products with it are made, or that it is a matrix."""
        return self.hessian

    def _origin(self, structure: Structure) -> FloatArray | None:
        """Where the prior has its mean, if not at zero."""
        return None

    def _prepared(self, problem: TuningProblem, start: FloatArray | None) -> TuningProblem:
        """The problem as the tuner or the fit gets it; for subclasses that lay out examples anew."""
        return problem

    def _constraints(self, structure: Structure, loss: Loss, shard: Shard | ShardFolder) -> list[Risk]:
        """What the fit is held to, beside what it minimises."""
        return []

    def _fit_constrained(
        self, problem: TuningProblem, constraints: list[Risk], result: TuningResult, monitor: Monitor
    ) -> TuningResult:
        """Go on from a fit to one that meets the constraints."""
        raise NotImplementedError

    def _check_known(self, shards: Sequence[Any], loss: Loss) -> None:
        """Refuse outputs that are known in part where the loss needs them whole."""

    def _make_loss(self) -> Loss:
        """The loss that was asked for by name, or given."""
        from structune.learning.margin_losses import EquivalentMarginLoss, MarginLoss, RampLoss

        named: dict[str, Callable[[], Loss]] = {
            "log": LogLoss,
            "margin": MarginLoss,
            "ramp": RampLoss,
            "equivalent": EquivalentMarginLoss,
        }
        if isinstance(self.loss, str) and self.loss in named:
            return named[self.loss]()
        if isinstance(self.loss, str | type) or not hasattr(self.loss, "nonlinear"):
            raise DataError(f"loss={self.loss!r}: expected one of {list(named)}, or a loss")
        given: Loss = self.loss
        return given

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are log odds: the weights were fitted by their likelihood."""
        return isinstance(self._fitted_loss or self._make_loss(), LogLoss)

    def _require_probabilities(self) -> None:
        if not self.has_probabilities:
            loss = self._fitted_loss or self._make_loss()
            what = f"a model fitted with loss={loss.name!r} has scores, no probabilities"
            raise CapabilityError(f"{what}: fit with loss='log'")

    def _tuner(self, tuning: str | Tuner) -> Tuner:
        from structune.learning.tuning.problem import make_tuner

        tuner = make_tuner(tuning)
        if isinstance(tuning, str):
            tuner.fit_tolerance = self.tolerance
        return tuner

    def _precisions(self, groups: Groups) -> FloatArray:
        values = groups.numbers("penalty", self.penalty, 1.0)
        least = np.where(self._l1(groups) > 0, 0.0, np.finfo(float).tiny)
        if not np.all(np.isfinite(values) & (values >= least)):
            raise DataError(f"penalty={self.penalty!r}: expected finite numbers > 0, or 0 beside l1 > 0")
        return values

    def _l1(self, groups: Groups) -> FloatArray:
        """The weight of the l1 penalty of each group."""
        values = groups.numbers("l1", self.l1, 0.0)
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise DataError(f"l1={self.l1!r}: expected finite numbers >= 0")
        return values

    def _weight_groups(self, structure: Structure) -> Groups:
        if self.groups == self._natural_groups:
            return structure.groups()
        if self.groups == "single":
            return Groups.single(structure.n_weights)
        if self.groups == "separate":
            return Groups.separate(structure.weight_names())
        if callable(self.groups):
            return Groups.by_name([str(self.groups(name)) for name in structure.weight_names()])
        raise DataError(
            f"groups={self.groups!r}: expected {self._natural_groups!r}, 'single', 'separate', "
            "or a function of names"
        )

    def _start(self, structure: Structure) -> FloatArray | None:
        """The weights of the fit before, for a warm start."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        known = dict(zip(self._structure.weight_names(), self._weights.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in structure.weight_names()])

    def _keep(self, groups: Groups, penalty: FloatArray, result: TuningResult) -> None:
        self._set_weights(result.w)
        self.penalty_ = penalty
        self.l1_ = np.zeros(len(groups)) if result.l1 is None else result.l1
        self.group_names_, self.group_sizes_ = groups.names, groups.sizes
        self.history_, self.status_, self.passes_ = result.history, result.status, result.passes
        self.extra_, self._fitted_loss = {}, self._make_loss()

    def _import(self, w: FloatArray) -> None:
        """Keep weights that were not fitted here."""
        self._set_weights(w)
        self.penalty_, self.l1_, self._fitted_loss = np.empty(0), np.empty(0), self._make_loss()
        self.group_names_, self.group_sizes_ = (), np.empty(0, np.int64)
        self.history_, self.status_, self.passes_, self.extra_ = [], "imported", 0.0, {}

    @property
    def _weights(self) -> FloatArray:
        """The fitted weights, shape (n_weights,)."""
        return np.asarray(self.coef_)

    def _set_weights(self, w: FloatArray) -> None:
        self.coef_ = w

    # --- prediction ---------------------------------------------------------------------------------------

    def _each(self, shard: S, function: Callable[[S], Iterable[T]]) -> list[T]:
        """Results of a function from some examples to one value each, on threads."""
        executor = make_executor(self.n_jobs)
        pieces = split_evenly(shard.work(), _PIECES_PER_THREAD * executor.n_workers)
        with one_thread():
            found = executor.map(lambda piece: function(shard.take(piece)), pieces)
            return list(chain.from_iterable(found))

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file, to be read by `structune.load`.

        Parameters that are numbers, strings, lists or dicts come back too; a tuner or a function that was
        given as one comes back as the default.

        Parameters
        ----------
        extra : mapping, optional
            More to keep in the header, as JSON; back in ``extra_`` after loading.
        """
        self._check_fitted()
        header, arrays = self._pack_whole(dict(extra or self.extra_))
        save_model(path, kind_of(self).word, header, arrays)

    def _pack_whole(self, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
        (header, arrays), (own_header, own_arrays) = pack_fit(self, extra), self._pack()
        return header | own_header, arrays | own_arrays
