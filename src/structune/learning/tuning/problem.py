"""The problem that every tuner gets, and the result that it returns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.files.shards import ShardFolder
from structune.files.text import plural
from structune.learning.losses import Loss
from structune.learning.parameters import PARTS, SPLITS, Range, check_number, check_ranges
from structune.learning.risk import Risk
from structune.running.checkpoints import digest
from structune.running.executors import Executor
from structune.running.monitor import Monitor
from structune.structure import FloatArray, Groups, IntArray, Structure

_RANGES = {  # of the settings that tuners have, by their names
    **dict.fromkeys(("alpha", "tolerance", "noise_floor"), Range(0)),
    "beta": Range(0, open=True, optional=True),
    "fit_tolerance": Range(0, open=True),
    **dict.fromkeys(("max_iterations", "max_evaluations"), Range(1, whole=True)),
}

FOLDS = 2  # held out in turn: as good as five, and as cheap as one part of a fifth
SHARE = 0.2  # of the folds of a folder, which were dealt before


def possible_parts(data: Any, example_groups: Any = None, cv: Any = None) -> Any:
    """`cv`, by default two folds, or fewer folds of fewer examples; of a folder by default a share.

    None where nothing can be held out, of one example, group of examples, or fold of a folder.
    """
    is_folder = isinstance(data, ShardFolder)
    n = len(set(data.fold)) if is_folder else len(data)
    if example_groups is not None:
        n = len({*map(str, example_groups)})
    if cv is None:
        cv = SHARE if is_folder else FOLDS
    return None if n < 2 else min(cv, n) if cv in PARTS else cv


@dataclass(frozen=True)
class Split:
    """Risks on a training part and on what was held out from it.

    With `parent`, shape (n_weights,), the prior has its mean at gamma, one more hyperparameter, times that.
    """

    train: Risk
    heldout: Risk
    parent: FloatArray | None = None


@dataclass(frozen=True)
class TuningProblem:
    """Data of a tuning problem, and the groups of weights whose precisions are tuned.

    Attributes
    ----------
    full : Risk
        Risk on all training data.
    groups : Groups
        Groups of the weights.
    splits : tuple of Split
        One held-out split or K folds; empty if the tuner needs none.
    parent : ndarray, shape (n_weights,), optional
        For the implicit tuner: in the fit on all data, the mean of the prior is gamma times these weights.
        All splits then have a `Split.parent`, too.
    name : str
        Name of the problem, if a checkpoint has several.
    l1 : ndarray, shape (n_groups,), optional
        L1 penalty of each group. The grid and the implicit tuner choose a factor of it.
    usual : ndarray, shape (n_groups,), optional
        Precisions of a fit without tuning; 1 by default.
    dealt : str
        Digest of the examples of all splits, by which a checkpoint recognizes them.
    """

    full: Risk
    groups: Groups
    splits: tuple[Split, ...] = ()
    parent: FloatArray | None = None
    name: str = ""
    l1: FloatArray | None = None
    usual: FloatArray | None = None
    dealt: str = ""

    def __post_init__(self) -> None:
        n = self.groups.index.size
        if n != self.full.n_weights:
            raise DataError(f"the groups are for {n} weights, but the risk has {self.full.n_weights}")

    @property
    def risks(self) -> list[Risk]:
        """All risks; the one on all training data comes first."""
        return [self.full, *(risk for split in self.splits for risk in (split.train, split.heldout))]

    def with_hessian(self, method: str) -> TuningProblem:
        """Return the problem with another method for products with the Hessian (see `Risk`)."""
        splits = (
            replace(each, train=each.train.with_hessian(method), heldout=each.heldout.with_hessian(method))
            for each in self.splits
        )
        return replace(self, full=self.full.with_hessian(method), splits=tuple(splits))

    def require_smooth(self, who: str) -> None:
        """Raise `CapabilityError` if the loss has kinks."""
        if not self.full.smooth:
            raise CapabilityError(
                f"{who} needs a smooth loss, and {type(self.full.loss).__name__} is not smooth: use "
                "tuning='grid', 'majorize' or None"
            )

    @classmethod
    def build(
        cls,
        structure: Structure,
        loss: Loss,
        data: Any,
        groups: Groups,
        *,
        splits: bool = True,
        cv: Any = 0.2,
        example_groups: Any = None,
        random_state: Any = 0,
        executor: Executor | None = None,
        hessian: str = "exact",
        strata: Any = None,
        origin: FloatArray | None = None,
    ) -> TuningProblem:
        """Build a problem by splitting the training examples at random.

        Parameters
        ----------
        structure : Structure
            Structure of the model.
        loss : Loss
            Loss that training minimizes.
        data : Shard or ShardFolder
            Training examples. With a folder, the folds that were assigned at writing are held out whole.
        groups : Groups
            Groups of the weights.
        splits : bool
            Whether to hold anything out.
        cv : float, int, or splitter
            Share of the examples (or of their groups, or of the folds of a folder) to hold out. Or number of
            folds; each is held out once, and the held-out losses are added. Or, for a shard, a scikit-learn
            splitter or a list of its splits. None is two folds, or a share of 0.2 for a folder.
        example_groups : array-like, shape (n_examples,), optional
            Group of each example. Examples of one group stay on the same side of every split. A folder
            ignores these, strata and random_state.
        random_state : int
            Random seed of the splits.
        executor : Executor, optional
            Executor that computes the risks; one thread by default.
        hessian : str
            Method for products with the Hessian, as in `Risk`.
        strata : array-like, shape (n_examples,), optional
            Class of each example, for stratified splits. With groups and a share, splits are not stratified.
        origin : ndarray, shape (n_weights,), optional
            Mean of the prior for all risks.

        Raises
        ------
        DataError
            There are too few examples or folds to split, a part of a split is empty, or a group is on both
            sides.
        """
        if cv is None:
            cv = possible_parts(data, example_groups) or SHARE
        if isinstance(data, ShardFolder):
            every, pairs, dealt = _splits_of_folds(data, cv, splits)
            if executor is not None:
                for fold in every:
                    executor.place(data.of_folds([fold]))  # together, as splits take them
        else:
            every, pairs, dealt = splits_of_examples(
                len(data), cv, splits, example_groups, strata, random_state
            )

        def risk(chosen: Any) -> Risk:
            if isinstance(data, ShardFolder):
                return Risk(structure, loss, data.of_folds(chosen), executor, hessian, origin)
            part = data if chosen is None else data.take(np.sort(chosen))
            return Risk.over(structure, loss, part, executor, hessian, origin)

        made = tuple(Split(risk(train), risk(heldout)) for train, heldout in pairs)
        return cls(risk(every), groups, made, dealt=dealt)


_Dealt = tuple[Any, Sequence[tuple[Any, Any]], str]  # all data; pairs to learn from and held out; a digest


def _splits_of_folds(data: ShardFolder, cv: Any, wanted: bool) -> _Dealt:
    """Numbers of folds of a folder: each is a random sample, so that whole shards can be held out."""
    check_number(f"{data.path}: cv", cv, PARTS)
    every = sorted(set(data.fold))
    if not wanted:
        return every, [], ""
    if len(every) < max(2, cv):
        raise DataError(
            f"{data.path}: the folder has {len(every)} folds, but cv needs {max(2, cv)}. Use a smaller cv, "
            "or write the folder with more folds."
        )
    # a share takes some folds together, at least one, and not all; a number takes as many, each in turn
    n = min(len(every) - 1, max(1, round(cv * len(every))))
    parts = [every[:n]] if cv < 1 else [[fold] for fold in every[: int(cv)]]
    return every, [([fold for fold in every if fold not in part], part) for part in parts], ""


def splits_of_examples(n: int, cv: Any, wanted: bool, groups: Any, strata: Any, random_state: Any) -> _Dealt:
    """Numbers of examples, with the groups and strata that they have."""
    check_number("cv", cv, SPLITS)
    if not wanted:
        return None, [], ""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            pairs = list(_splits(n, cv, groups, strata, random_state))
        if cv not in PARTS:
            pairs = _checked(n, pairs, groups)
    except (ValueError, TypeError, IndexError) as error:
        found, what, least = n, ["example"], max(2, cv) if cv in PARTS else 2
        if groups is not None:
            found, what = len(set(groups)), ["group of examples", "groups of examples"]
        reason: Any = error
        if found < least:
            verb, told = "is" if found == 1 else "are", plural(found, *what)
            reason = f"there {verb} {told}, but at least {least} are needed to hold some out"
        raise DataError(f"cannot split {plural(n, 'example')}: {reason}") from None
    return None, pairs, digest(*chain.from_iterable(pairs))


def _splits(n: int, cv: Any, groups: Any, strata: Any, random_state: Any) -> Any:
    """Pairs of numbers of examples, to learn from and held out, by the splitter that suits."""
    from sklearn import model_selection  # as large as all that fits without tuning import

    if cv not in PARTS:
        labels = np.zeros(n) if strata is None else strata
        return model_selection.check_cv(cv, labels).split(np.empty(n), labels, groups)
    if strata is not None:  # every part is to have some of each; of folds, of the largest stratum at least
        counts = np.unique(strata, return_counts=True)[1]
        smaller = min(cv, 1.0 - cv) * counts.sum()
        if not (counts.max() >= cv if cv > 1 else counts.min() >= 2 and smaller >= counts.size):
            strata = None
    if groups is not None and cv < 1:
        strata = None  # one part of groups is not stratified: scikit-learn has no such splitter
    of = ("" if strata is None else "Stratified") + ("" if groups is None else "Group")
    labels = np.zeros(n) if strata is None else strata
    if cv > 1:
        splitter = getattr(model_selection, f"{of}KFold")(int(cv), shuffle=True, random_state=random_state)
    else:
        splitter = getattr(model_selection, f"{of}ShuffleSplit")(1, test_size=cv, random_state=random_state)
    return splitter.split(np.empty(n), labels, groups)


def _checked(n: int, pairs: Sequence[Any], groups: Any) -> list[tuple[IntArray, IntArray]]:
    """Splits that the caller gave, as numbers of examples, which may be masks."""
    found = [(np.arange(n)[np.asarray(train)], np.arange(n)[np.asarray(test)]) for train, test in pairs]
    if not found or not all(part.size for pair in found for part in pair):
        raise ValueError("there is no split, or a split with an empty part")
    for train, heldout in found if groups is not None else ():
        of = list(groups)
        if not {of[k] for k in train}.isdisjoint(of[k] for k in heldout):
            raise ValueError("a group is on both sides of a split: use a splitter such as GroupKFold")
    return found


def mark_chosen(history: Sequence[dict[str, Any]], log_precision: FloatArray) -> None:
    """Mark the step whose precisions were kept: where they have a prior, its loss need not be the lowest."""
    for record in history:
        record.pop("chosen", None)  # a search that goes on had another
    for record in reversed(history):
        if "heldout_loss" in record and record["log_precision"] == log_precision.tolist():
            record["chosen"] = True
            return


@dataclass
class TuningResult:
    """Result of a tuner.

    Attributes
    ----------
    log_precision : ndarray, shape (n_groups,)
        Logarithms of the tuned precisions, for all training data if `refit`, else for the training part.
    w : ndarray, shape (n_weights,)
        Weights fitted with these precisions: on all data if `refit`, else on the (first) training part.
    status : str
        How the search ended: "converged", "iterations", "budget" or "interrupted".
    heldout_loss : float or None
        Held-out loss, summed over the splits, if the tuner holds data out.
    passes : float
        Passes over all training data (in units of gradients), including the refit.
    history : list of dict
        One record per step.
    noise : float, optional
        Noise variance, if it was integrated out; it divides the loss.
    gamma : float, optional
        Share of the parent's weights in the mean of the prior.
    l1 : ndarray, shape (n_groups,), optional
        L1 penalty of each group, if there was one.
    risk : Risk, optional
        Risk on all training data, which was fitted.
    """

    log_precision: FloatArray
    w: FloatArray
    status: str
    heldout_loss: float | None = None
    passes: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    noise: float | None = None
    gamma: float | None = None
    l1: FloatArray | None = None
    risk: Risk | None = field(default=None, repr=False)

    @property
    def precision(self) -> FloatArray:
        """Precision of each group for a loss that is not divided by the noise, shape (n_groups,)."""
        return np.asarray(np.exp(self.log_precision) * (1.0 if self.noise is None else self.noise))


class Tuner(Protocol):
    """Chooses the hyperparameters of a `TuningProblem`."""

    needs_splits: bool  # and may have them where `calibrated`
    fit_tolerance: float

    def tune(self, problem: TuningProblem, monitor: Monitor | None = None) -> TuningResult:
        """Choose them, and fit with them."""


class PassCount:
    """Passes over the data of `full` spent on that risk and on others since this was made."""

    def __init__(self, full: Risk, *others: Risk) -> None:
        self._risks = [(risk, risk.passes) for risk in (full, *others)]

    @property
    def spent(self) -> float:
        # a pass over a part of the data counts by its share of all
        parts = sum((risk.passes - before) * risk.n_parts for risk, before in self._risks)
        return float(parts / self._risks[0][0].n_parts)

    def add(self, passes: float) -> None:
        """Count those that earlier work has spent."""
        self._risks[0][0].count_passes(passes)

    @classmethod
    def of(cls, monitor: Monitor, *risks: Risk) -> PassCount:
        """That of a monitor, if it counts the first of these risks too; else one from now on."""
        found = monitor.passes
        if not (isinstance(found, cls) and any(risk.counts_with(risks[0]) for risk, _ in found._risks)):
            found = monitor.passes = cls(*risks)
        return found


def make_tuner(tuning: str | Tuner) -> Tuner:
    """Return a tuner by its name, or check and return a tuner object.

    Raises
    ------
    DataError
        The name is unknown, or a setting of the tuner is invalid.
    """
    if not isinstance(tuning, str):
        if isinstance(tuning, type) or not hasattr(tuning, "tune"):
            raise DataError(f"tuning={tuning!r}: expected a name, a tuner, or None")
        check_ranges(tuning, _RANGES)
        start = getattr(tuning, "start", None)
        if start is not None and not are_positive(start):
            raise DataError(f"start={start!r}: expected precisions > 0")
        return tuning
    from structune.learning import tuning as package

    names = {name.lower(): f"{name}Tuner" for name in ("Direct", "Grid", "Implicit", "Majorize")}
    if tuning not in names:
        raise DataError(f"tuning={tuning!r}: expected one of {sorted(names)}, a tuner, or None")
    tuner: Tuner = getattr(package, names[tuning])()
    return tuner


def are_positive(values: Any) -> bool:
    """Whether these are finite numbers > 0."""
    try:
        numbers = np.asarray(values)
    except ValueError:  # lists of several lengths
        return False
    return numbers.dtype.kind in "iuf" and bool(np.all(np.isfinite(numbers) & (numbers > 0)))
