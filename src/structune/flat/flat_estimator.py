"""What classifiers and regressors share: an intercept, and scikit-learn's own base class."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from sklearn.base import BaseEstimator

from structune.errors import DataError
from structune.flat.feature_estimator import FeatureEstimator
from structune.flat.rotation import Rotation
from structune.learning.losses import Loss
from structune.learning.parameters import parameters
from structune.structure import FloatArray, Structure, check_weights

if TYPE_CHECKING:
    from structune.learning.tuning.problem import Tuner, TuningResult

_MOST_TURNED = 1001  # weights of features that were turned, for a Hessian as a matrix


@parameters
class FlatEstimator(FeatureEstimator, BaseEstimator):  # type: ignore[misc]
    """A model of one row of features an example.

    Weights of the intercept have no penalty. Dense features are centred while the model is fitted, which
    changes nothing but how fast that is.

    Parameters
    ----------
    fit_intercept : bool
        The intercept has no penalty.
    folds : int, optional
        Number of folds that "implicit" and "grid" hold out in turn; None for one held-out part.
    tolerance : float
        Of a fit, relative to w = 0: of the norm of its gradient or, with the Hessian as a matrix, of what a
        step gains. A tuner object has its own.
    """

    tuning: str | Tuner | None = "majorize"
    fit_intercept: bool = True
    folds: int | None = 5
    hessian: str = "auto"

    intercept_: Any = field(init=False)

    _rotation: Rotation | None = field(default=None, init=False)  # of the features, while the model is fitted

    @property
    def _n_free(self) -> int:
        return self._n_scores

    def _check_weights(self, sample_weight: Any, n_examples: int) -> FloatArray:
        weights = check_weights(sample_weight, n_examples)
        if not weights.any():
            raise DataError("found a weight of zero for every example, expected a positive one")
        return weights

    def _scores(self, X: Any) -> FloatArray:
        """coef_ . x + intercept_, shape (n_examples, n_scores)."""
        return self._scores_of(self._check_features(X))

    def _scores_of(self, matrix: Any) -> FloatArray:
        return np.asarray(matrix @ np.atleast_2d(self.coef_).T + self.intercept_)

    # --- fitting ------------------------------------------------------------------------------------------

    def _before(self) -> tuple[FloatArray, FloatArray] | None:
        """Coefficients and intercepts of the fit before, for a warm start."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        return np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)

    def _start_at(self, before: tuple[FloatArray, FloatArray] | None, mean: FloatArray) -> FloatArray | None:
        """Those as weights of features that are centred."""
        if before is None or before[0].shape != (self._n_scores, mean.size):
            return None
        coef, intercept = before
        rows = [*coef.T, intercept + coef @ mean] if self.fit_intercept else list(coef.T)
        return np.concatenate(rows) if rows else None

    def _centred(self, X: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Features with a mean of 0, and what their mean was; as they are where that would cost zeros."""
        if not self.fit_intercept or scipy.sparse.issparse(X):
            return X, np.zeros(X.shape[1])
        mean = np.average(X, axis=0, weights=weights)
        return X - mean, mean

    def _learn(
        self,
        structure: Any,
        loss: Loss,
        shard: Any,
        start: FloatArray | None,
        example_groups: Any,
        strata: Any = None,
    ) -> TuningResult:
        self._rotation = self._rotation_of(structure, loss, shard)
        if self._rotation is None:
            return super()._learn(structure, loss, shard, start, example_groups, strata)
        shard = replace(shard, design=self._rotation.design)
        if start is not None:
            start = self._rotation.turned(start.reshape(-1, self._n_scores)).ravel()
        turned = structure.with_features(self._rotation.names)
        try:
            result = super()._learn(turned, loss, shard, start, example_groups, strata)
        finally:
            self._rotation = None
        self.group_sizes_ = self._weight_groups(structure).sizes
        return result

    def _rotation_of(self, structure: Any, loss: Loss, shard: Any) -> Rotation | None:
        """How to turn the features, if that pays, and changes nothing but the cost."""
        if self._learner is not None or not Rotation.may_pay(shard.design):
            return None
        if np.any(self._l1(self._weight_groups(structure))) or not self._norms_suffice(
            structure, loss, shard
        ):
            return None
        return Rotation.of(shard.design, self._names, self._feature_groups())

    def _hessian(self, structure: Structure) -> str:
        # as many features as examples tell classes apart without a mistake, and loose fits then tell little
        if self.hessian == "auto" and self._rotation is not None and structure.n_weights <= _MOST_TURNED:
            return "dense"
        return self.hessian

    def _tuner(self, tuning: str | Tuner) -> Tuner:
        from structune.learning.tuning import MajorizeTuner

        tuner = super()._tuner(tuning)
        if self._rotation is not None and isinstance(tuner, MajorizeTuner):
            return replace(tuner, count="effective")  # as with all features, which were more
        return tuner

    def _norms_suffice(self, structure: Structure, loss: Loss, shard: Any) -> bool:
        """Whether precisions are chosen by norms of weights, whatever their number."""
        from structune.learning.tuning import GridTuner, ImplicitTuner, MajorizeTuner
        from structune.learning.tuning.majorize import are_many

        tuner = None if self.tuning is None else self._tuner(self.tuning)
        if isinstance(tuner, MajorizeTuner):
            many = are_many(structure.n_weights, float(shard.weights.sum()))
            return loss.smooth and (tuner.count == "effective" or (tuner.count == "auto" and many))
        return tuner is None or isinstance(tuner, GridTuner | ImplicitTuner)

    def _feature_groups(self) -> list[str]:
        labels = super()._feature_groups()
        return labels if self._rotation is None else self._rotation.group_labels(labels)

    @property
    def _weights(self) -> FloatArray:
        """Coefficients, and intercepts, which are 0 where there are none."""
        return np.concatenate((np.atleast_2d(self.coef_).T.ravel(), np.atleast_1d(self.intercept_)))

    def _set_weights(self, w: FloatArray) -> None:
        if self._rotation is not None:
            w = self._rotation.back(w.reshape(-1, self._n_scores)).ravel()
        n_coefs = self.n_features_in_ * self._n_scores
        self.coef_ = w[:n_coefs].reshape(self.n_features_in_, self._n_scores).T.copy()
        self.intercept_ = w[n_coefs:].copy() if w.size > n_coefs else np.zeros(self._n_scores)
