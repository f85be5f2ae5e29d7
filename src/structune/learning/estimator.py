"""Base class of all estimators: fits the weights of a structure, keeps the results, and saves them.

The fitting itself is in `structune.learning.fitting`, which is imported when a fit begins.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import OF_FITS, Arrays, check_array, pack_names, save_model, unpack_names
from structune.kinds import kind_of
from structune.learning.losses import LogLoss, Loss
from structune.learning.parameters import PARTS, SPLITS, FitsOnExecutor, Range, check_ranges, parameters
from structune.running.blas import one_thread
from structune.running.executors import make_executor
from structune.structure import MERGED, FloatArray, Groups, IntArray, Shard, Structure, split_evenly

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.learning.constraints import Constraints, ValidationConstraints
    from structune.learning.tuning.problem import Tuner, TuningProblem, TuningResult

T = TypeVar("T")
S = TypeVar("S", bound=Shard)
Blocks = Callable[[], Iterable[Any]]
_PIECES_PER_THREAD = 4
_WARM = "a warm start keeps the penalties of the previous fit"
# fitted attributes that are not of the structure
_LEARNED = ("coef_", "penalty_", "l1_", "group_names_", "group_sizes_", "history_", "status_", "passes_")


@dataclass(frozen=True)
class Encoded:
    """Encoded training examples.

    Attributes
    ----------
    structure : Structure
        Structure that was built from the examples.
    shard : Shard
        The examples, encoded by the structure.
    groups : array-like, shape (n_examples,), optional
        Group of each example. Examples of one group are never split between training and held-out data.
    attributes : dict
        Attributes that `fit` sets on the estimator, by name.
    splits : list of pairs of ndarray of int, optional
        Examples to train on and to hold out, in place of a `cv` that counts other examples.
    """

    structure: Any
    shard: Any
    groups: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)
    splits: Any = None


@parameters
class StructuredEstimator(FitsOnExecutor, ABC):
    """Base class of estimators: fits the weights of a structure, with given or tuned penalties.

    A subclass is the estimator of a model type (`structune.kinds`) and is declared with the decorator
    `parameters`. Its ``fit`` passes the result of `_encode_training` to `_fit`. It has the property
    `_structure`, and for model files the method `_pack` and the class method ``_from_file``.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes: a name, or a loss object of `structune.learning`.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. It is the
        precision, that is, the inverse variance, of a Gaussian prior. A dict maps names of groups to numbers;
        groups that it does not name get 1. By default the strengths are tuned, or 1 without tuning. A value
        of 0 is allowed only for groups with an `l1` above 0.
    l1 : float, dict, or "auto"
        L1 regularization strength, which makes some weights exactly zero: each weight w adds ``l1 * abs(w)``
        to the loss. One number for all groups of weights, or one per group name (0 for other groups). Numbers
        work without tuning or with tuning="grid". "auto" tunes one number for all groups together with the
        penalties, by tuning="implicit". Needs a smooth loss, such as "log".
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        Method that chooses the regularization strength of each group of weights. "implicit" lowers the loss
        on held-out examples along its gradient. "majorize" and "direct" integrate the strengths out and need
        no held-out examples. "grid" tries values that all groups share. None uses `penalty`. "auto" means
        "implicit"; but it means None if `penalty`, a number for `l1`, or `constraints` (if there is such a
        parameter) is given, for a warm start, for a loss that is not smooth, such as "margin" and "ramp", and
        with a single example. "implicit" and "direct" need the log loss.
    groups : "kind", "single", "separate", or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature.
        "single": one group for all weights. "separate": one group per weight. A callable takes the name of a
        weight and returns the name of its group.
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2 folds. Or a scikit-learn splitter, or a list of its splits.
    warm_start : bool
        Start from the weights of the previous fit. With tuning="auto", its penalties are kept, too.
        Has no effect with other tuners.
    random_state : int
        Random seed of the held-out splits.
    verbose : int
        Amount of progress output: 0 none, 1 progress bars on a terminal, 2 also a line per iteration.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` runs, its time limit, and its checkpoint file: see `structune.running.Run`.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weights,)
        Weights.
    penalty_ : ndarray, shape (n_groups,)
        L2 regularization strength of each group. This array, `l1_`, `group_names_` and `group_sizes_` are
        empty for imported weights.
    l1_ : ndarray, shape (n_groups,)
        L1 regularization strength of each group.
    group_names_ : tuple of str
        Names of the groups of weights.
    group_sizes_ : ndarray of int, shape (n_groups,)
        Number of weights in each group.
    history_ : list of dict
        One record per step of the fit.
    status_ : str
        How the fit ended: "converged", "iterations" (limit reached), "stalled", "budget" (time limit reached)
        or "interrupted"; "imported" for weights that were not fitted.
    passes_ : float
        Number of passes over the training data that the fit took.
    extra_ : dict
        Extra data from the model file.
    """

    loss: str | Loss = "log"
    penalty: float | Mapping[str, float] | None = None
    l1: float | Mapping[str, float] | str = 0.0
    tuning: str | Tuner | None = "auto"
    groups: Any = "kind"
    cv: Any = None
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
    _n_heldout: int | None = field(default=None, init=False)  # examples that groups are tuned by, if they are
    _learns_tasks: ClassVar[bool] = False  # of a tree: its weights are all that differs between tasks
    _natural_groups: ClassVar[str] = "kind"  # what `groups` calls those of the structure itself
    # what "auto" is for a class, and why; or it depends
    _auto: ClassVar[tuple[str | None, str] | None] = None
    _usual_penalty: ClassVar[Mapping[str, float]] = {}  # of groups, without `penalty`; of others 1
    _ranges: ClassVar = {"cv": SPLITS}

    def _check_ranges(self) -> None:
        super()._check_ranges()
        if self.penalty is not None and self.tuning not in (None, "auto"):
            both = f"penalty={self.penalty!r} and tuning={self.tuning!r}"
            raise DataError(f"{both} cannot be combined: give only one of them")
        if self._learns_l1:
            tuner = self.tuning
            if self.penalty is not None:
                raise DataError("l1='auto' tunes the penalties too: leave out penalty, or give l1 a number")
            if tuner not in ("auto", "implicit") and not getattr(tuner, "learns_l1", False):
                raise DataError(
                    f"l1='auto' does not work with tuning={tuner!r}: use 'implicit', or give l1 a number"
                )

    @property
    @abstractmethod
    def _structure(self) -> Structure:
        """The structure that was fitted."""

    @abstractmethod
    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        """The fitted structure as the header and arrays of a model file."""

    # --- fitting ------------------------------------------------------------------------------------------

    def fit_shards(self, folder: str | os.PathLike[str]) -> Self:
        """Fit the model to a folder of shards, which may be larger than memory.

        Features, labels, weights (also those of `class_weight`) and the output space come from the folder.
        Tuning holds out whole shards.

        Parameters
        ----------
        folder : path
            Folder that `write_shards` or ``structune shard`` wrote.

        Raises
        ------
        DataError
            The folder is damaged or was written for another estimator; or the loss needs labels that the
            examples do not have.
        """
        from structune.files.shards import open_shards

        data, loss = open_shards(folder), self._make_loss()
        own, found = type(self), type(data.model)
        if found is not own:
            raise DataError(f"{folder}: the examples are for {found.__name__}, not for {own.__name__}")
        structure, shards = data.model._structure, data.shards
        try:
            self._check_known(shards, loss)
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None
        self._fit_files(data, structure, loss)
        return self

    def _fit_files(self, data: ShardFolder, structure: Structure, loss: Loss) -> None:
        """Fit to a folder that was checked."""
        self._learn(structure, loss, data, self._start(structure), None)
        self._adopt(data.model)

    def _adopt(self, model: Self) -> None:
        """Take over the structure of another model, and what it knows of its examples."""
        for name, value in vars(model).items():
            if name.endswith("_") and name not in _LEARNED:
                setattr(self, name, value)

    def _encode_training(self, X: Any, y: Any, *more: Any, **options: Any) -> Encoded:
        """Build the structure of training examples, as `fit` takes them, and encode these."""
        raise CapabilityError(
            f"{type(self).__name__} does not implement `_encode_training`, so it cannot write shards or be "
            "used in MultitaskEstimator"
        )

    def _fit(self, examples: Encoded) -> Self:
        """Fit to encoded examples."""
        structure, shard, loss = examples.structure, examples.shard, self._make_loss()
        self._check_known([shard], loss)
        self._learn(structure, loss, shard, self._start(structure), examples.groups, None, examples.splits)
        self._keep_encoded(examples)
        return self

    def _keep_encoded(self, examples: Encoded) -> None:
        """Keep the structure, and what else is to be known of the examples."""
        vars(self).update(examples.attributes)

    def _without_weights(self, X: Any, y: Any, *more: Any, **options: Any) -> tuple[Self, Encoded]:
        """A model of training examples with weights of zero, and the examples."""
        model: Any = self.__sklearn_clone__()
        examples = model._encode_training(X, y, *more, **options)
        model._check_ranges()
        model._check_known([examples.shard], model._make_loss())
        model._keep_encoded(examples)
        model._import(np.zeros(examples.structure.n_weights))
        return model, examples

    def _learn(
        self,
        structure: Structure,
        loss: Loss,
        shard: Shard | ShardFolder,
        start: FloatArray | None,
        example_groups: Any,
        strata: Any = None,
        splits: Any = None,
    ) -> TuningResult:
        """Fit, from `start` on if nothing is tuned, and keep all but the structure."""
        self._check_ranges()
        from structune.learning.fitting import fit
        from structune.learning.tuning.problem import possible_parts

        self._n_heldout = None
        groups = self._weight_groups(structure)
        constraints, l1 = self._constraints(structure, loss, shard), self._l1(groups)
        cv = self.cv if splits is None else splits
        if self.tuning == "auto" or cv is None:
            cv = possible_parts(shard, example_groups, cv)
        tuning, reason = self._chosen_tuning(bool(l1.any()), structure, loss, start, constraints)
        if reason and cv is None and tuning not in (None, "majorize"):
            tuning, reason = None, "there are too few examples to hold some out"
        tuner = None if tuning is None else self._make_tuner(tuning)
        has_templates = self._natural_groups == "template" and self.groups == "template"
        if tuner is not None and (self._learns_l1 or not l1.any()) and has_templates:
            share = cv if tuner.needs_splits and cv in PARTS else 1
            self._n_heldout = int(min(share, 1) * len(shard))
            groups = self._weight_groups(structure)  # merged, as many as held-out sequences tell apart
            l1 = self._l1(groups)
        if l1.any():
            if constraints is not None:
                raise DataError(f"l1={self.l1!r} and constraints cannot be combined: give only one of them")
            if not loss.smooth:
                needed = "a smooth loss, such as loss='log'"
                raise CapabilityError(f"l1={self.l1!r} with loss={self.loss!r}: l1 needs {needed}")
            if self._learns_l1:
                if tuner is None:
                    raise DataError(
                        "l1='auto' needs held-out examples, and there are too few: give l1 a number"
                    )
            elif not getattr(tuner, "takes_l1", tuner is None):
                raise DataError(f"l1={self.l1!r} with tuning={self.tuning!r}: use tuning=None or 'grid'")
        penalty = self._precisions(groups)
        if reason == _WARM:
            known = dict(zip(self.group_names_, self.penalty_, strict=True))
            # templates that were merged to tune them are groups of their own here
            merged = next((known[name] for name in known if name.startswith(MERGED)), None)
            pairs = zip(groups.names, penalty, strict=True)
            penalty = np.array([known.get(name) or merged or own for name, own in pairs])
        splitting = {"example_groups": example_groups, "strata": strata, "random_state": self.random_state}
        result = fit(
            structure,
            loss,
            shard,
            groups,
            penalty=penalty,
            l1=l1,
            run=self._prepared_run(self.verbose, tuning=tuning),
            tuner=tuner,
            cv=cv,
            splitting=splitting,
            start=start,
            origin=self._origin(structure),
            constraints=constraints,
            prepare=self._prepare,
            hessian=self._hessian_method(structure),
        )
        if reason:
            told = f", cv={cv if cv in PARTS else 'splits'}" if tuning in ("implicit", "grid") else ""
            record = {"stage": "auto", "tuning": tuning, "reason": f"{reason}{told}"}
            result.history = [record, *result.history]
        self._keep(groups, penalty if tuner is None else result.precision, result)
        return result

    def _chosen_tuning(self, has_l1: bool, *problem: Any) -> tuple[str | Tuner | None, str]:
        """What `tuning` stands for, and why, if that is "auto"; `problem` is as `_auto_tuning` takes it."""
        if self.tuning != "auto":
            return self.tuning, ""
        if self._learns_l1:
            return "implicit", "l1 is tuned by the held-out loss"
        if self.penalty is not None or has_l1:
            return None, f"{'l1' if self.penalty is None else 'penalty'} is given"
        return self._auto or self._auto_tuning(*problem)

    def _auto_tuning(
        self, structure: Structure, loss: Loss, start: FloatArray | None, constraints: Any
    ) -> tuple[str | None, str]:
        without = {
            _WARM: start is not None,
            "constraints are given": constraints is not None,
            f"the {loss.name} loss is not smooth": not loss.smooth,
            "there are no second derivatives": not structure.capabilities & {"hessian", "complex"},
        }
        for reason in filter(without.get, without):
            return None, reason
        return "implicit", "lowest held-out loss"

    def _hessian_method(self, structure: Structure) -> str:
        """How products with the Hessian of the loss are made: as `Risk` calls it."""
        known = structure.capabilities
        return "complex-step" if "complex" in known and "hessian" not in known else "exact"

    def _origin(self, structure: Structure) -> FloatArray | None:
        """Where the prior has its mean, if not at zero."""
        return None

    @property
    def _prepare(self) -> Callable[[TuningProblem, FloatArray | None], TuningProblem] | None:
        """Of the problem and the start: the problem as the tuner or the fit gets it."""
        return None

    def _constraints(self, structure: Structure, loss: Loss, shard: Any) -> Constraints | None:
        """What the fit is held to, beside what it minimises."""
        return None

    def _check_known(self, shards: Sequence[Any], loss: Loss) -> None:
        """Refuse outputs that are known in part where the loss needs them whole."""

    def _make_loss(self) -> Loss:
        """The loss that was asked for by name, or given."""
        from structune.learning.margin_losses import EquivalentMarginLoss, MarginLoss, RampLoss

        losses: tuple[Callable[[], Loss], ...] = (LogLoss, MarginLoss, RampLoss, EquivalentMarginLoss)
        named = {made.name: made for made in (loss() for loss in losses)}
        given: Any = named.get(self.loss, self.loss) if isinstance(self.loss, str) else self.loss
        if isinstance(given, str | type) or not hasattr(given, "nonlinear"):
            raise DataError(f"loss={given!r}: expected one of {list(named)}, or a loss")
        return given  # type: ignore[no-any-return]

    @property
    def has_probabilities(self) -> bool:
        """Whether the model has probabilities, that is, whether it was fitted with the log loss."""
        return isinstance(self._fitted_loss or self._make_loss(), LogLoss)

    def _require_probabilities(self) -> None:
        if not self.has_probabilities:
            name = (self._fitted_loss or self._make_loss()).name
            raise CapabilityError(
                f"a model fitted with loss={name!r} has scores but no probabilities: fit with loss='log'"
            )

    def _make_tuner(self, tuning: str | Tuner) -> Tuner:
        """The tuner that was asked for by name, with the tolerance of a fit, or given."""
        from structune.learning.tuning.problem import make_tuner

        tuner = make_tuner(tuning)
        if isinstance(tuning, str):
            tuner.fit_tolerance = self._fit_tolerance
        return tuner

    def _precisions(self, groups: Groups, centered: bool = True) -> FloatArray:
        """Those of `penalty`, or the usual ones; tasks of a tree are not centered."""
        given, usual = self.penalty, self._usual_penalties(centered)
        named = {name: usual.get(name, 1.0) for name in groups.names}
        if given is None:
            return np.array([*named.values()])
        if isinstance(given, Mapping) and None not in (given := groups.with_others(given)):
            given = {**named, **given}
        values = groups.numbers("penalty", given, 1.0)
        least = np.where(self._l1(groups) > 0, 0.0, np.finfo(float).tiny)
        if not np.all(np.isfinite(values) & (values >= least)):
            allowed = "finite numbers > 0, or 0 for groups with l1 > 0"
            raise DataError(f"penalty={self.penalty!r}: expected {allowed}")
        return values

    def _usual_penalties(self, centered: bool) -> Mapping[str, float]:
        """Precisions of groups by name where `penalty` is None; of others 1."""
        return self._usual_penalty

    @property
    def _learns_l1(self) -> bool:
        return isinstance(self.l1, str) and self.l1 == "auto"

    def _l1(self, groups: Groups) -> FloatArray:
        """The weight of the l1 penalty of each group; where it is learned, what a factor multiplies."""
        values = groups.numbers("l1", 1.0 if self._learns_l1 else self.l1, 0.0)
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise DataError(f"l1={self.l1!r}: expected finite numbers >= 0, or 'auto'")
        return values

    def _weight_groups(self, structure: Structure) -> Groups:
        if self.groups == self._natural_groups:
            known = {"n_heldout": self._n_heldout} if self._natural_groups == "template" else {}
            return structure.groups(**known)
        if self.groups == "single":
            return Groups.single(structure.n_weights)
        if self.groups == "separate":
            return Groups.separate(structure.weight_names())
        if callable(self.groups):
            return Groups.by_name([str(self.groups(name)) for name in structure.weight_names()])
        expected = f"{self._natural_groups!r}, 'single', 'separate', or a callable"
        raise DataError(f"groups={self.groups!r}: expected {expected}")

    def _start(self, structure: Structure) -> FloatArray | None:
        """The weights of the fit before, for a warm start."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        # by name: another training set has other features
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
        """Keep weights, shape (n_weights,), as fitted attributes."""
        self.coef_ = w

    # --- prediction ---------------------------------------------------------------------------------------

    def _each(self, shard: S, function: Callable[[S], Iterable[T]]) -> list[T]:
        """Results of a function from some examples to one value each, on threads."""
        executor = make_executor(self.n_jobs)
        # several pieces a thread, so that none waits long for the others
        pieces = split_evenly(shard.work(), _PIECES_PER_THREAD * executor.n_workers)
        with one_thread():
            found = executor.map(lambda piece: function(shard.take(piece)), pieces)
            return list(chain.from_iterable(found))

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Save the fitted model to one file, which `structune.load` reads.

        The file keeps constraints, and parameters that are numbers, strings, lists or dicts. Tuner objects,
        callables and scikit-learn splits are not kept; the loaded model has the defaults instead.

        Parameters
        ----------
        path : path
            File to write.
        extra : mapping, optional
            Extra data to store in the file, as JSON; the loaded model has it in ``extra_``. By default the
            model's own ``extra_``.
        """
        self._check_fitted()
        header, arrays = self._pack_whole(dict(extra or self.extra_))
        save_model(path, kind_of(self).word, header, arrays)

    def _pack_fit(self, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of a fitted estimator, but for its structure."""
        # precisions of all groups in all steps are too long for the header: they go to an array
        short = [one | {"log_precision": None} if "log_precision" in one else one for one in self.history_]
        rows = [one["log_precision"] for one in self.history_ if "log_precision" in one]
        header = {
            "parameters": self._parameters_in_files(),
            "history": short,
            "status": self.status_,
            "passes": self.passes_,
            "extra": extra,
        }
        arrays = {
            "coef": self._weights,
            "penalty": self.penalty_,
            **({"l1": self.l1_} if self.l1_.any() else {}),
            "group_sizes": self.group_sizes_,
            "history_log_precision": np.array(rows, np.float64).reshape(len(rows), len(self.group_names_)),
            **pack_names("group", self.group_names_),
        }
        return header, arrays

    def _unpack_fit(self, n_weights: int, header: dict[str, Any], arrays: Arrays, n_free: int = 0) -> None:
        """Take over what `_pack_fit` packed; `n_free` of the weights have no penalty, and are in no group."""
        # kernels trust the lengths, and a file may come from anyone: all is checked before anything is kept
        names, history = unpack_names("group", arrays), header["history"]
        n_records = sum("log_precision" in record for record in history)
        check_array(arrays, "coef", np.float64, (n_weights,))
        arrays.setdefault("l1", np.zeros(len(names)))  # of models without one there is none in the file
        for name, kind in (("penalty", np.float64), ("l1", np.float64), ("group_sizes", np.int64)):
            check_array(arrays, name, kind, (len(names),))
        grouped = n_weights - n_free if names else 0  # weights that were not fitted here have no groups
        if arrays["group_sizes"].min(initial=0) < 0 or arrays["group_sizes"].sum() != grouped:
            raise ModelFileError(f"the group sizes do not add up to {grouped:,} weights")
        check_array(arrays, "history_log_precision", np.float64, (n_records, len(names)))
        if "run" in header["parameters"]:  # a cluster runs what it is sent, and sends what is run here
            raise ModelFileError("the model file sets the parameter 'run', which only the user may choose")
        if header["parameters"].get("tuning", "a tuner") not in (None, "auto"):
            header["parameters"].pop("penalty", None)  # of earlier versions: it had no effect then
        self.set_params(**header["parameters"])
        self._set_weights(arrays["coef"])
        self._fitted_loss = self._make_loss()
        self.penalty_, self.l1_ = arrays["penalty"], arrays["l1"]
        self.group_names_, self.group_sizes_ = tuple(names), arrays["group_sizes"]
        rows = iter(arrays["history_log_precision"].tolist())
        self.history_ = [
            one | {"log_precision": next(rows)} if "log_precision" in one else one for one in history
        ]
        self.status_, self.passes_ = str(header["status"]), float(header["passes"])
        self.extra_ = dict(header["extra"])

    def _parameters_in_files(self) -> dict[str, Any]:
        """The constructor's parameters, but for those that JSON cannot give back."""
        found, loss = {}, self._fitted_loss or self._make_loss()
        for name, value in self.get_params(deep=False).items():
            plain = value.item() if isinstance(value, np.generic) else value
            plain = loss.name if name == "loss" else plain  # of an object: what kind it is
            with suppress(TypeError, ValueError):  # what is no JSON
                if name not in ("run", *OF_FITS) and json.loads(json.dumps(plain)) == plain:
                    found[name] = plain
        if found.get("cv") is not None and found["cv"] not in PARTS:
            del found["cv"]  # splits are of the examples that were there
        return found

    def _pack_whole(self, extra: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
        (header, arrays), (own_header, own_arrays) = self._pack_fit(extra), self._pack()
        return header | own_header, arrays | own_arrays


@parameters
class ConstrainedEstimator(StructuredEstimator):
    """An estimator with the parameter `constraints`.

    Parameters
    ----------
    constraints : None, "validation", or a ValidationConstraints
        Constraints that the model predicts parts of the training data almost as annotated (Chen et al. 2009):
        see `structune.learning.ValidationConstraints`. "validation" uses its defaults. Needs the
        log loss. With `tuning`, penalties are tuned first, without the constraints.

    Attributes
    ----------
    constraint_values_, multipliers_ : ndarray, shape (n_sets,)
        With `constraints`: the value that `gamma` bounds, and the Lagrange multiplier, of each set.
    status_ : str
        As for other estimators, or "infeasible" if the constraints could not be met.
    """

    constraints: str | ValidationConstraints | None = None

    def _check_ranges(self) -> None:
        super()._check_ranges()
        self._asked_constraints()

    def _asked_constraints(self) -> ValidationConstraints | None:
        """What `constraints` stands for, checked."""
        if self.constraints is None:
            return None
        from structune.learning.constraints import ValidationConstraints

        asked = ValidationConstraints() if self.constraints == "validation" else self.constraints
        if not isinstance(asked, ValidationConstraints):
            raise DataError(f"constraints={asked!r}: expected None, 'validation' or a ValidationConstraints")
        check_ranges(asked, {"n_sets": Range(1, whole=True), "gamma": Range(0, open=True)})
        return asked

    def _parameters_in_files(self) -> dict[str, Any]:
        found, asked = super()._parameters_in_files(), self._asked_constraints()
        if asked is not None and asked is self.constraints:  # not by its name
            found["constraints"] = {"n_sets": int(asked.n_sets), "gamma": float(asked.gamma)}
        return found

    def _unpack_fit(self, n_weights: int, header: dict[str, Any], arrays: Arrays, n_free: int = 0) -> None:
        super()._unpack_fit(n_weights, header, arrays, n_free)
        if isinstance(self.constraints, dict):
            from structune.learning.constraints import ValidationConstraints

            self.constraints = ValidationConstraints(**self.constraints)

    def _constraints(self, structure: Structure, loss: Loss, shard: Any) -> Constraints | None:
        """What `constraints` asks for, one function a validation set."""
        asked = self._asked_constraints()
        if asked is None:
            return None
        from structune.learning.constraints import Constraints, validation_constraints

        if not isinstance(shard, Shard):
            raise DataError(
                f"constraints={self.constraints!r} needs examples in memory, not a folder of shards"
            )
        if not isinstance(loss, LogLoss):
            raise DataError(f"constraints={self.constraints!r} needs loss='log', not loss={self.loss!r}")
        executor = make_executor(self.n_jobs, self.run and self.run.executor)
        sets = validation_constraints(structure, shard, asked.n_sets, self.random_state, executor)
        return Constraints(sets, asked.gamma)

    @property
    def constraint_values_(self) -> FloatArray:
        """Score gap between the best output and the annotation, summed over each validation set."""
        return self._of_constrained_fit("constraint_values")

    @property
    def multipliers_(self) -> FloatArray:
        """Lagrange multiplier of each validation set's constraint; 0 if the constraint had no effect."""
        return self._of_constrained_fit("multipliers")

    def _of_constrained_fit(self, name: str) -> FloatArray:
        self._check_fitted("history_")
        if not self.history_ or self.history_[-1]["stage"] != "constrained fit":
            raise AttributeError("the model was fitted without constraints")
        return np.array(self.history_[-1][name])


# --- examples in blocks ------------------------------------------------------------------------------------


class BlockEstimator(StructuredEstimator):
    """An estimator that can encode its examples block by block, without all of them in memory."""

    def write_blocks(
        self, blocks: Blocks, writer: ShardWriter, extra: Mapping[str, Any] | None = None
    ) -> ShardFolder:
        """Write a folder of shards from examples that may be larger than memory.

        Parameters
        ----------
        blocks : callable without arguments
            Returns an iterable of blocks of examples. Each block is a tuple ``(X, y, ...)`` of arguments of
            `fit`; for gene finders it is a list of `AnnotatedSequence`. The callable is called twice if all
            examples must be seen before the first is encoded, for example to collect the classes.
        writer : ShardWriter
            Writer of the folder.
        extra : mapping, optional
            Extra data, as for `ShardWriter.finish`.

        Raises
        ------
        DataError
            A block that `fit` would refuse; the message has its 0-based number if examples have no
            names.
        """
        model = self.__sklearn_clone__()
        for shard, groups in model._encoded_blocks(blocks):
            if len(shard):
                writer.add(shard, groups)
        if writer.n_examples:  # or else there is no structure, which the writer refuses
            model._import(np.zeros(model._structure.n_weights))
        return writer.finish(model, extra)

    @abstractmethod
    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[Shard, Any]]:
        """The examples of each block, encoded, and their groups; keeps the structure."""


@contextmanager
def in_block(number: int) -> Iterator[None]:
    """Let errors from within name the block."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"block {number}: {error}") from error
