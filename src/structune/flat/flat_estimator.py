"""Base class of classifiers and regressors: intercepts, scikit-learn's base class, centered features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, check_array
from structune.files.shards import ShardFolder
from structune.flat.feature_estimator import FeatureEstimator
from structune.flat.rotation import Rotation
from structune.flat.structure.shard import FlatShard
from structune.learning.estimator import Blocks, Encoded
from structune.learning.losses import Loss
from structune.learning.parameters import parameters
from structune.structure import FloatArray, Structure

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

    from structune.learning.tuning.problem import Tuner, TuningResult


Examples: TypeAlias = tuple[Any, Any, FloatArray, Any]
"""Features, outputs, weights and groups that `fit` is given, checked."""
_MOST_TURNED = 1001  # weights of features that were turned, for a Hessian as a matrix


@dataclass(frozen=True)
class Location:
    """What is taken from features and outputs before a fit, and given back after it."""

    mean: FloatArray  # of each feature; 0 of features that stay where they are
    offset: float = 0.0  # outputs y become (y - offset) / unit
    unit: float = 1.0

    def centred(self, X: Any) -> Any:
        return X - self.mean if self.mean.any() else X


class Centre:
    """The mean of features that come block by block; 0 of sparse ones, which would lose their zeros."""

    def __init__(self, is_moved: bool) -> None:
        self._is_moved, self._n_features = is_moved, 0
        self._is_sparse: bool | None = None
        self._of: dict[Any, StandardScaler] = {}

    def add(self, X: Any, weights: FloatArray, label: Any = None) -> None:
        """Features of some examples, which may have a label with a weight of its own."""
        from sklearn.preprocessing import StandardScaler  # slow to import, and of no use to predictions

        is_sparse = not isinstance(X, np.ndarray)
        if self._is_sparse not in (None, is_sparse):
            raise DataError("some blocks have sparse features and some dense ones: use only one of the two")
        self._is_sparse, self._n_features = is_sparse, X.shape[1]
        if self._is_moved and not is_sparse and weights.any():
            self._of.setdefault(label, StandardScaler(with_std=False)).partial_fit(X, sample_weight=weights)

    def mean(self, weight_of: Mapping[Any, float] = MappingProxyType({})) -> FloatArray:
        """Of all, with the weight of each label."""
        weights = [each.n_samples_seen_ * weight_of.get(label, 1.0) for label, each in self._of.items()]
        if not any(weights):
            return np.zeros(self._n_features)
        return np.average([each.mean_ for each in self._of.values()], axis=0, weights=weights)


@parameters
class FlatEstimator(FeatureEstimator, BaseEstimator):  # type: ignore[misc]
    """A model of one row of features an example.

    Weights of the intercept have no penalty. Dense features are centered while the model is fitted, which
    changes nothing but how fast that is.
    """

    _auto = "majorize", "highest evidence, as for all tables"

    fit_intercept: bool = True
    cv: Any = 5
    hessian: str = "auto"

    intercept_: Any = field(init=False)

    # of the features while the model is fitted, and of those in a folder of shards
    _rotation: Rotation | None = field(default=None, init=False)
    _location: Location | None = field(default=None, init=False)
    _unit: float = field(default=1.0, init=False)  # of outputs while the model is fitted

    @property
    def _n_free(self) -> int:
        return self._n_scores

    def _scores(self, X: Any) -> FloatArray:
        """coef_ . x + intercept_ of features that are checked, shape (n_examples, n_scores)."""
        return np.asarray(X @ np.atleast_2d(self.coef_).T + self.intercept_)

    # --- fitting ------------------------------------------------------------------------------------------

    def _before(self) -> tuple[FloatArray, FloatArray] | None:
        """Coefficients and intercepts of the fit before, for a warm start."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        return np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)

    def _start_at(
        self, before: tuple[FloatArray, FloatArray] | None, location: Location
    ) -> FloatArray | None:
        """These as weights of what is put at `location`; None where they are of another model."""
        if before is None or before[0].shape != (self._n_scores, location.mean.size):
            return None
        # scores of centred features x - m are the same with the intercept b + w . m
        coef, intercept = before
        rows = [*coef.T, intercept + coef @ location.mean] if self.fit_intercept else list(coef.T)
        return np.concatenate(rows) if rows else None

    @abstractmethod
    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool = True
    ) -> Examples: ...

    @abstractmethod
    def _survey(self, blocks: Iterable[Examples]) -> Location:
        """What is to be known of all examples before the first is encoded; keeps classes."""

    @abstractmethod
    def _shard(self, examples: Examples, location: Location) -> FlatShard: ...

    @abstractmethod
    def _put_back(self, location: Location, result: TuningResult, shards: list[FlatShard]) -> None:
        """Make weights of what was put at a location those of what was given."""

    def _fit_located(
        self, loss: Loss, examples: Encoded, before: tuple[FloatArray, FloatArray] | None, strata: Any = None
    ) -> Self:
        # Learned of centred features (and, in regressions, of outputs in a unit of their own), then put back:
        # with centred features, the intercept and the other weights hardly depend on each other.
        shard, location = examples.shard, examples.attributes["_location"]
        start, self._unit = self._start_at(before, location), location.unit
        result = self._learn(examples.structure, loss, shard, start, examples.groups, strata)
        self._put_back(location, result, getattr(shard, "shards", [shard]))
        return self

    def _fit_files(self, data: ShardFolder, structure: Structure, loss: Loss) -> None:
        before, location = self._before(), data.model._location
        if location is None:
            raise DataError(
                f"{data.path}: the feature means are missing in this folder. Write it again with "
                "structune shard or write_shards."
            )
        self._adopt(data.model)
        self._fit_located(loss, Encoded(self._structure, data, None, {"_location": location}), before)
        self.extra_ = data.model.extra_

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self.fit_intercept = model.fit_intercept

    # --- folders of shards --------------------------------------------------------------------------------

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[FlatShard, Any]]:
        """Encode the examples of each block, after a first reading of all for their location."""
        self._location = self._survey(self._checked_blocks(blocks()))
        for examples in self._checked_blocks(blocks()):
            yield self._shard(examples, self._location), examples[3]

    def _encode_training(self, X: Any, y: Any, *more: Any, **options: Any) -> Encoded:
        return self._encoded(self._checked(X, y, *more, **options))

    def _encoded(self, examples: Examples) -> Encoded:
        location = self._survey([examples])
        shard = self._shard(examples, location)
        return Encoded(self._structure, shard, examples[3], {"_location": location})

    # --- learning -----------------------------------------------------------------------------------------

    def _learn(
        self, structure: Any, loss: Loss, shard: Any, start: FloatArray | None, *more: Any
    ) -> TuningResult:
        # `_rotation` is set while the turned problem is learned: groups of features, the tuner, the Hessian
        # and `_set_weights` ask for it. What is kept is of the features as they were given.
        if self._may_be_turned(structure, loss, shard):
            self._rotation = Rotation.of(shard.design, self._names, self._feature_groups())
        if self._rotation is None:
            return super()._learn(structure, loss, shard, start, *more)
        shard = replace(shard, design=self._rotation.design)
        if start is not None:
            start = self._rotation.turned(start.reshape(-1, self._n_scores)).ravel()
        turned = structure.with_features(self._rotation.names)
        try:
            result = super()._learn(turned, loss, shard, start, *more)
        finally:
            self._rotation = None
        self.group_sizes_ = self._weight_groups(structure).sizes
        return result

    def _may_be_turned(self, structure: Structure, loss: Loss, shard: Any) -> bool:
        """Whether turning the features may pay, and changes nothing but the cost.

        Precisions have to be chosen by norms of weights, whatever their number.
        """
        if isinstance(shard, ShardFolder) or not Rotation.may_pay(shard.design):
            return False
        if np.any(self._l1(self._weight_groups(structure))):
            return False
        from structune.learning.tuning import GridTuner, ImplicitTuner, MajorizeTuner
        from structune.learning.tuning.majorize import are_many

        # Turning keeps 2-norms, so no other norm may be part of the objective. Nor may the number of weights,
        # which becomes that of the features that are left: effective numbers of weights stay.
        tuning, _ = self._chosen_tuning(False)
        tuner = None if tuning is None else self._make_tuner(tuning)
        if isinstance(tuner, MajorizeTuner):
            many = are_many(structure.n_weights, float(shard.weights.sum()))
            return loss.smooth and (tuner.count == "effective" or (tuner.count == "auto" and many))
        return tuner is None or isinstance(tuner, GridTuner | ImplicitTuner)

    def _hessian_method(self, structure: Structure) -> str:
        """The parameter `hessian`; "auto" is a matrix where features were turned, if it is not too large."""
        # With as many features as examples, classes are told apart without a mistake, and held-out losses of
        # loose fits tell little; Newton steps end close to the optimum.
        if self.hessian == "auto" and self._rotation is not None and structure.n_weights <= _MOST_TURNED:
            return "dense"
        return self.hessian

    def _make_tuner(self, tuning: str | Tuner) -> Tuner:
        """As for others, but "majorize" counts weights as before where features were turned."""
        from structune.learning.tuning import MajorizeTuner

        tuner = super()._make_tuner(tuning)
        if self._rotation is not None and isinstance(tuner, MajorizeTuner):
            return replace(tuner, count="effective")  # as with all features, which were more
        return tuner

    def _feature_groups(self) -> list[str]:
        return super()._feature_groups() if self._rotation is None else self._rotation.labels

    @property
    def _weights(self) -> FloatArray:
        """Coefficients, and intercepts, which are 0 where there are none."""
        return np.concatenate((np.atleast_2d(self.coef_).T.ravel(), np.atleast_1d(self.intercept_)))

    def _set_weights(self, w: FloatArray) -> None:
        """Keep weights as coefficients and intercepts of the features as they were given."""
        if self._rotation is not None:
            w = self._rotation.back(w.reshape(-1, self._n_scores)).ravel()
        n_coefs = self.n_features_in_ * self._n_scores
        self.coef_ = w[:n_coefs].reshape(self.n_features_in_, self._n_scores).T.copy()
        self.intercept_ = w[n_coefs:].copy() if w.size > n_coefs else np.zeros(self._n_scores)

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        if self._location is not None:
            header["location"] = [self._location.offset, self._location.unit]
            arrays["location_mean"] = self._location.mean
        return header, arrays

    def _unpack(self, header: dict[str, Any], arrays: Arrays) -> None:
        super()._unpack(header, arrays)
        self._location = None
        if "location" in header:
            check_array(arrays, "location_mean", np.float64, (self.n_features_in_,))
            offset, unit = map(float, header["location"])
            if not (np.isfinite(offset) and 0.0 < unit < np.inf):
                raise ModelFileError(
                    f"offset and unit of outputs must be finite numbers, not {offset} and {unit}"
                )
            self._location = Location(arrays["location_mean"], offset, unit)
