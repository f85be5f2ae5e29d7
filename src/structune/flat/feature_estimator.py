"""What models of features share: matrices, groups of features, and of most of them an intercept."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from structune.errors import DataError, ModelFileError
from structune.learning.estimator import StructuredEstimator
from structune.learning.estimator_file import Arrays, pack_names, unpack_fit, unpack_names
from structune.structure import FloatArray, Groups, Structure, check_weights

GROUPS = ("single", "feature", "prefix")


class FeatureEstimator(StructuredEstimator):
    """A model with weights of named features, which come as matrices or data frames."""

    n_features_in_: int
    coef_: Any

    @property
    def _n_scores(self) -> int:
        """Scores of an example that have weights."""
        return 1

    @property
    def _n_free(self) -> int:
        """Weights in model files that have no penalty."""
        return 0

    @property
    def _names(self) -> list[str]:
        """Names of the features."""
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{k}" for k in range(self.n_features_in_)]
        return [str(name) for name in given]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_fit(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, **checks)  # type: ignore[no-any-return]

    def _check_features(self, X: Any) -> Any:
        """The features of a prediction, dense or CSR."""
        check_is_fitted(self, "coef_")
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _weight_groups(self, structure: Structure) -> Groups:
        named = hasattr(self, "feature_names_in_")
        labels = _feature_groups(self.groups, self._names, named)
        groups = Groups.by_name([label for label in labels for _ in range(self._n_scores)])
        free = np.full(structure.n_weights - groups.index.size, -1)
        return Groups(np.concatenate((groups.index, free)), groups.names)

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        names = getattr(self, "feature_names_in_", None)
        header = {"n_features": self.n_features_in_, "named": names is not None}
        return header, pack_names("feature", [] if names is None else self._names)

    def _unpack(self, header: dict[str, Any], arrays: Arrays) -> None:
        n = header["n_features"]
        names = unpack_names("feature", arrays)
        if type(n) is not int or n < 0 or len(names) != n * bool(header["named"]):
            raise ModelFileError(f"found {n!r} features with {len(names)} names")
        self.n_features_in_ = n
        if header["named"]:
            self.feature_names_in_ = np.array(names, dtype=object)
        n_free = self._n_free
        unpack_fit(self, n * self._n_scores + n_free, header, arrays, n_free)


class FlatEstimator(FeatureEstimator):
    """A model of one row of features an example.

    Weights of the intercept have no penalty. Dense features are centred while the model is fitted, which
    changes nothing but how fast that is.
    """

    fit_intercept: bool
    intercept_: Any

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
        matrix = self._check_features(X)
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
        if not self.fit_intercept or sp.issparse(X):
            return X, np.zeros(X.shape[1])
        mean = np.average(X, axis=0, weights=weights)
        return X - mean, mean

    @property
    def _weights(self) -> FloatArray:
        """Coefficients, and intercepts, which are 0 where there are none."""
        return np.concatenate((np.atleast_2d(self.coef_).T.ravel(), np.atleast_1d(self.intercept_)))

    def _set_weights(self, w: FloatArray) -> None:
        n_coefs = self.n_features_in_ * self._n_scores
        self.coef_ = w[:n_coefs].reshape(self.n_features_in_, self._n_scores).T.copy()
        self.intercept_ = w[n_coefs:].copy() if w.size > n_coefs else np.zeros(self._n_scores)


def _feature_groups(groups: Any, names: list[str], named: bool) -> list[str]:
    """The group of each feature."""
    if isinstance(groups, str) and groups == "single":
        return ["all"] * len(names)
    if isinstance(groups, str) and groups == "feature":
        return names
    if isinstance(groups, str) and groups == "prefix":
        if not named:
            raise DataError(
                "groups='prefix' needs names of the features: fit with a data frame "
                "(a ColumnTransformer makes one after set_output(transform='pandas'))"
            )
        return [_prefix(name) for name in names]
    if callable(groups):
        return [str(groups(name)) for name in names]
    if not isinstance(groups, str) and np.ndim(groups) == 1:
        if len(groups) != len(names):
            raise DataError(f"found groups for {len(groups)} features, expected {len(names)}")
        return [str(group) for group in groups]
    raise DataError(
        f"groups={groups!r}: expected one of {GROUPS}, a function of names, or a list with one a feature"
    )


def _prefix(name: str) -> str:
    """What comes before ``__``, which a `ColumnTransformer` puts behind the name of a block, or ``=``."""
    return name.partition("__" if "__" in name else "=")[0]
