"""What all estimators share: they fit the weights of a structure, keep what came out, and save it."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from structune.errors import CapabilityError, DataError
from structune.files.models import save_model
from structune.files.shards import ShardFolder, open_shards
from structune.kinds import kind_of
from structune.learning.constraints import validation_constraints
from structune.learning.estimator_file import Arrays, pack_fit
from structune.learning.losses import LogLoss, Loss
from structune.learning.margin_losses import EquivalentMarginLoss, MarginLoss, RampLoss
from structune.learning.penalties import GroupedL2
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.saddle_point import check_positive, fit_constrained
from structune.learning.tuning.problem import Tuner, TuningProblem, TuningResult, make_tuner
from structune.running.blas import one_thread
from structune.running.checkpoints import Checkpoint, digest
from structune.running.executors import Executor, make_executor
from structune.running.monitor import STOPPED, Monitor
from structune.structure import FloatArray, Groups, Shard, Structure, split_evenly

T = TypeVar("T")
S = TypeVar("S", bound=Shard)
_PIECES_PER_THREAD = 4
# fitted attributes that are not of the structure
_LEARNED = ("coef_", "penalty_", "group_names_", "group_sizes_", "history_", "status_", "passes_")
# between a fit and the one that goes on from its checkpoint
_MAY_CHANGE = ("checkpoint", "executor", "max_seconds", "n_jobs", "verbose", "warm_start")
_ADDRESS, _LONGEST = re.compile(" at 0x[0-9A-Fa-f]+"), 200  # letters, of a setting
LOSSES: dict[str, Callable[[], Loss]] = {
    "log": LogLoss,
    "margin": MarginLoss,
    "ramp": RampLoss,
    "equivalent": EquivalentMarginLoss,
}


class Learner(Protocol):
    """Fits the weights that an estimator asks for."""

    def __call__(
        self, structure: Structure, loss: Loss, shard: Any, groups: Groups, example_groups: Any
    ) -> TuningResult:
        """As `StructuredEstimator._learn`, with the groups of weights."""


class FitsOnExecutor(BaseEstimator):  # type: ignore[misc]
    """An estimator with the parameters `n_jobs` and `executor`."""

    n_jobs: int | None
    executor: Any = None
    checkpoint: Any = None

    def __sklearn_clone__(self) -> Self:
        """Clones share the executor: a connection to a cluster cannot be copied."""
        other = copy(self)
        other.executor = None
        other = super(FitsOnExecutor, other).__sklearn_clone__()
        other.executor = self.executor
        return other

    def _executor(self) -> Executor:
        return make_executor(self.n_jobs, self.executor)

    def _begin_checkpoint(self, monitor: Monitor, risk: Risk, groups: Groups) -> Checkpoint | None:
        """Let the monitor have the checkpoint, with what it has of the same work."""
        if self.checkpoint is None:
            return None
        given = self.checkpoint
        checkpoint = given if isinstance(given, Checkpoint) else Checkpoint(given)
        settings = {
            name: _as_told(value)
            for name, value in self.get_params().items()
            if name.rpartition("__")[2] not in _MAY_CHANGE
        }
        at_zero = {"loss at w = 0": risk.at_zero.value, "slope at w = 0": risk.at_zero.gradient_norm}
        sizes = {"weights": risk.n_weights, "parts": risk.n_parts, "groups of weights": digest(groups.index)}
        checkpoint.begin({"class": type(self).__name__, **settings, **sizes, **at_zero})
        monitor.checkpoint = checkpoint  # not before: a file of other work is not to be written over
        return checkpoint


def _as_told(value: Any) -> Any:
    """A setting as every process would tell it."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, BaseEstimator):
        return type(value).__name__  # its parameters are told beside it
    text = repr(value)
    if _ADDRESS.search(text):
        text = _ADDRESS.sub("", f"{text} {getattr(value, '__dict__', '')}")
    return text if len(text) <= _LONGEST else f"{text:.{_LONGEST}}... {digest(text)}"


class StructuredEstimator(FitsOnExecutor, ABC):
    """The weights of a structure, fitted with a given penalty or with one that a tuner chooses.

    A subclass documents and sets the parameters below in its own constructor, as scikit-learn wants it.
    """

    loss: str | Loss
    penalty: float | Mapping[str, float] | None
    tuning: str | Tuner | None
    groups: Any
    holdout: float
    folds: int | None
    hessian: str
    constraints: str | None = None
    validation_sets: int = 3
    gamma: float = 0.01
    tolerance: float
    max_iterations: int
    max_seconds: float | None
    warm_start: bool
    random_state: int
    verbose: int
    extra_: dict[str, Any]

    _learner: Learner | None = None  # learns in place of the estimator, as for a tree of tasks
    _learns_tasks = False  # whether a learner may: its weights are all that a fit changes
    _natural_groups: str  # what `groups` calls those of the structure itself

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

        Features, labels and the space of outputs are those of the folder, whatever the parameters here say of
        them. Tuning holds out whole shards.

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
        self._learn(structure, loss, data, self._start(structure), None)
        self._adopt(data.model)
        return self

    def _adopt(self, model: Self) -> None:
        """Take over the structure of another model, and what it knows of its examples."""
        for name, value in vars(model).items():
            if name.endswith("_") and name not in _LEARNED:
                setattr(self, name, value)

    def _encoded(self, X: Any, y: Any, **options: Any) -> tuple[Self, Shard, Any]:
        """A model of training examples and weights of zero; the examples encoded, and their groups."""
        taken: list[tuple[Shard, Any]] = []

        def take(structure: Structure, loss: Loss, shard: Shard, groups: Groups, of: Any) -> TuningResult:
            taken.append((shard, of))
            return TuningResult(np.zeros(len(groups)), np.zeros(structure.n_weights), "imported")

        model = clone(self)
        model._learner = take
        model.fit(X, y, **options)
        del model._learner
        return model, *taken[0]

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
        groups = self._weight_groups(structure)
        if self._learner is not None:
            result = self._learner(structure, loss, shard, groups, example_groups)
            self._keep(groups, result.precision, result)
            return result
        origin = self._origin(structure)
        if origin is not None and start is not None:
            start = start - origin

        def problem(**options: Any) -> TuningProblem:
            options |= {"executor": self._executor(), "hessian": self.hessian, "origin": origin}
            if isinstance(shard, ShardFolder):
                built = TuningProblem.of_files(structure, loss, shard, groups, **options)
            else:
                options |= {
                    "example_groups": example_groups,
                    "strata": strata,
                    "random_state": self.random_state,
                }
                built = TuningProblem.build(structure, loss, shard, groups, **options)
            return self._prepared(built, start if self.tuning is None else None)

        if example_groups is not None and len(example_groups) != len(shard):
            raise DataError(f"found groups of {len(example_groups)} examples, expected {len(shard)}")
        constraints = self._constraints(structure, loss, shard)
        with Monitor(self.verbose, self.max_seconds) as monitor, one_thread():
            if self.tuning is None:
                built = problem(splits=False)
                checkpoint = self._begin_checkpoint(monitor, built.full, groups)
                result = self._fit_fixed(built, start, monitor)
            else:
                tuner = self._tuner(self.tuning)
                built = problem(splits=tuner.needs_splits, holdout=self.holdout, folds=self.folds)
                checkpoint = self._begin_checkpoint(monitor, built.full, groups)
                result = tuner.tune(built, monitor)
            if constraints:
                result = self._fit_constrained(built, constraints, result, monitor)
            if checkpoint is not None:
                checkpoint.end(result.status not in STOPPED)
        penalty = self._precisions(groups) if self.tuning is None else result.precision
        if origin is not None:
            result.w = result.w + origin
        self._keep(groups, penalty, result)
        return result

    def _origin(self, structure: Structure) -> FloatArray | None:
        """Where the prior has its mean, if not at zero."""
        return None

    def _prepared(self, problem: TuningProblem, start: FloatArray | None) -> TuningProblem:
        """The problem as the tuner or the fit gets it; for subclasses that lay out examples anew."""
        return problem

    def _check_known(self, shards: Sequence[Any], loss: Loss) -> None:
        """Refuse outputs that are known in part where the loss needs them whole."""

    def _make_loss(self) -> Loss:
        """The loss that was asked for by name, or given."""
        if isinstance(self.loss, str):
            if self.loss not in LOSSES:
                raise DataError(f"loss={self.loss!r}: expected one of {list(LOSSES)}, or a loss")
            return LOSSES[self.loss]()
        if isinstance(self.loss, type) or not hasattr(self.loss, "nonlinear"):
            raise DataError(f"loss={self.loss!r}: expected one of {list(LOSSES)}, or a loss")
        return self.loss

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are log odds: the weights were fitted by their likelihood."""
        return isinstance(self._make_loss(), LogLoss)

    def _require_probabilities(self) -> None:
        if not self.has_probabilities:
            raise CapabilityError(
                f"a model fitted with loss={self.loss!r} has scores, no probabilities: fit with loss='log'"
            )

    def _fit_fixed(self, problem: TuningProblem, start: FloatArray | None, monitor: Monitor) -> TuningResult:
        risk = problem.full
        penalty = GroupedL2(problem.groups, np.log(self._precisions(problem.groups)))
        # the rounds of a loss that is not convex are records, and bound it by other functions
        followed = monitor.recording(lambda: risk.passes) if risk.convex else nullcontext()
        with followed:
            fit = fit_l2(
                risk,
                penalty.precision,
                start,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                monitor=monitor,
            )
        end = {"gradient_norm": fit.gradient_norm} if risk.smooth else {}
        if np.isfinite(fit.lower_bound):
            end["lower_bound"] = fit.lower_bound
        monitor.record("fit", objective=fit.objective, passes=risk.passes, **end)
        return TuningResult(penalty.log_precision, fit.w, fit.status, None, risk.passes, monitor.history)

    def _constraints(self, structure: Structure, loss: Loss, shard: Shard | ShardFolder) -> list[Risk]:
        """What `constraints` asks for, one function a validation set."""
        if self.constraints is None:
            return []
        if isinstance(shard, ShardFolder):
            raise DataError(
                f"constraints={self.constraints!r} needs examples in memory: found a folder of shards"
            )
        if self.constraints != "validation":
            raise DataError(f"constraints={self.constraints!r}: expected None or 'validation'")
        if not isinstance(loss, LogLoss):
            raise DataError(f"constraints='validation' with loss={self.loss!r}: expected loss='log'")
        check_positive("gamma", self.gamma)
        return validation_constraints(
            structure, shard, self.validation_sets, self.random_state, self._executor()
        )

    def _fit_constrained(
        self, problem: TuningProblem, constraints: list[Risk], result: TuningResult, monitor: Monitor
    ) -> TuningResult:
        """Go on from a fit to one that meets the constraints, with the same precisions."""
        stopped, risk = result.status in STOPPED, problem.full
        before = risk.passes
        fit = fit_constrained(
            risk,
            GroupedL2(problem.groups, result.log_precision).precision,
            constraints,
            result.w,
            gamma=self.gamma,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            monitor=Monitor(max_seconds=0.0) if stopped else monitor,  # only say by how much they are missed
        )
        validation = sum(h.passes * h.n_parts for h in constraints) / risk.n_parts
        monitor.record(
            "constrained fit",
            objective=fit.objective,
            passes=risk.passes - before + validation,
            constraint_values=fit.constraint_values.tolist(),
            multipliers=fit.multipliers.tolist(),
        )
        return replace(
            result,
            w=fit.w,
            status=result.status if stopped else fit.status,
            passes=result.passes + risk.passes - before + validation,
            history=monitor.history,
        )

    @property
    def constraint_values_(self) -> FloatArray:
        """How far each validation set's annotation scores below the best output, at the fitted weights."""
        return np.array(self._constrained_record["constraint_values"])

    @property
    def multipliers_(self) -> FloatArray:
        """Of each validation set's constraint; 0 where it never had to pull."""
        return np.array(self._constrained_record["multipliers"])

    @property
    def _constrained_record(self) -> dict[str, Any]:
        check_is_fitted(self, "history_")
        for record in self.history_[-1:]:
            if record["stage"] == "constrained fit":
                return record
        raise AttributeError("the model was fitted without constraints")

    def _tuner(self, tuning: str | Tuner) -> Tuner:
        tuner = make_tuner(tuning)
        if isinstance(tuning, str):
            tuner.fit_tolerance = self.tolerance
        return tuner

    def _precisions(self, groups: Groups) -> FloatArray:
        given: Any = self.penalty
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - set(groups.names), key=str)
            if unknown:
                raise DataError(f"penalty names the groups {unknown}, expected some of {list(groups.names)}")
            numbers = [given.get(name, 1.0) for name in groups.names]
        else:
            numbers = [given] * len(groups)
        try:
            values = np.array([float(number) for number in numbers])
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if not np.all(np.isfinite(values) & (values > 0)):
            raise DataError(f"penalty={self.penalty!r}: expected finite numbers > 0")
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
        self.group_names_, self.group_sizes_ = groups.names, groups.sizes
        self.history_ = result.history
        self.status_ = result.status
        self.passes_ = result.passes
        self.extra_ = {}

    def _import(self, w: FloatArray) -> None:
        """Keep weights that were not fitted here."""
        none = np.empty(0)
        self._keep(Groups(none.astype(np.int64), ()), none, TuningResult(none, w, "imported"))

    @property
    def _weights(self) -> FloatArray:
        """The fitted weights, shape (n_weights,)."""
        return self.coef_

    def _set_weights(self, w: FloatArray) -> None:
        self.coef_ = w

    # --- prediction ---------------------------------------------------------------------------------------

    def _each(self, shard: S, function: Callable[[S], Iterable[T]]) -> list[T]:
        """Results of a function from some examples to one value each, on threads."""
        executor = make_executor(self.n_jobs)
        pieces = split_evenly(shard.work(), _PIECES_PER_THREAD * executor.n_workers)
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
        check_is_fitted(self, "coef_")
        header, arrays = self._pack_whole(dict(extra or self.extra_))
        save_model(path, kind_of(self).word, header, arrays)

    def _pack_whole(self, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
        header, arrays = pack_fit(self, extra)
        own_header, own_arrays = self._pack()
        return header | own_header, arrays | own_arrays
