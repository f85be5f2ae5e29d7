"""What classifiers and regressors share: matrices of features, groups of features, an intercept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from structune.errors import DataError
from structune.estimators.base import StructuredEstimator
from structune.estimators.base_file import Arrays, pack_names, unpack_names
from structune.structures.base import FloatArray, Groups, Structure, check_weights

GROUPS = ("single", "feature", "prefix")


class FlatEstimator(StructuredEstimator):
    """A model of one row of features an example.

    Weights of the intercept have no penalty. Dense features are centred while the model is fitted, which
    changes nothing but how fast that is.
    """

    fit_intercept: bool
    n_features_in_: int

    @property
    @abstractmethod
    def _n_scores(self) -> int:
        """Scores of an example that have weights."""

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

    def _check_weights(self, sample_weight: Any, n_examples: int) -> FloatArray:
        weights = check_weights(sample_weight, n_examples)
        if not weights.any():
            raise DataError("found a weight of zero for every example, expected a positive one")
        return weights

    def _scores(self, X: Any) -> FloatArray:
        """coef_ . x + intercept_, shape (n_examples, n_scores)."""
        check_is_fitted(self, "coef_")
        matrix = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
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

    def _weight_groups(self, structure: Structure) -> Groups:
        labels = _feature_groups(self.groups, self._names)
        groups = Groups.by_name([label for label in labels for _ in range(self._n_scores)])
        free = np.full(structure.n_weights - groups.index.size, -1)
        return Groups(np.concatenate((groups.index, free)), groups.names)

    @property
    def _weights(self) -> FloatArray:
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        return np.concatenate((coef.T.ravel(), intercept if self.fit_intercept else intercept[:0]))

    def _set_weights(self, w: FloatArray) -> None:
        table = w.reshape(-1, self._n_scores)
        self.coef_ = table[: self.n_features_in_].T.copy()
        self.intercept_ = table[-1].copy() if self.fit_intercept else np.zeros(self._n_scores)

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        named = hasattr(self, "feature_names_in_")
        header = {"n_features": self.n_features_in_, "fit_intercept": self.fit_intercept, "named": named}
        return header, pack_names("feature", self._names if named else [])

    def _unpack(self, header: dict[str, Any], arrays: Arrays) -> None:
        self.n_features_in_, self.fit_intercept = int(header["n_features"]), bool(header["fit_intercept"])
        if header["named"]:
            self.feature_names_in_ = np.array(unpack_names("feature", arrays), dtype=object)


def _feature_groups(groups: Any, names: list[str]) -> list[str]:
    """The group of each feature."""
    if isinstance(groups, str) and groups == "single":
        return ["all"] * len(names)
    if isinstance(groups, str) and groups == "feature":
        return names
    if isinstance(groups, str) and groups == "prefix":
        return [_prefix(name) for name in names]
    if callable(groups):
        return [str(groups(name)) for name in names]
    if isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str):
        if len(groups) != len(names):
            raise DataError(f"found groups for {len(groups)} features, expected {len(names)}")
        return [str(group) for group in groups]
    raise DataError(
        f"groups={groups!r}: expected one of {GROUPS}, a function of names, or a list with one a feature"
    )


def _prefix(name: str) -> str:
    """What comes before ``__``, which a `ColumnTransformer` puts behind the name of a block, or ``=``."""
    return name.partition("__" if "__" in name else "=")[0]
