"""Where features and outputs are put while a model is fitted: about zero, and of one spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import FloatArray


@dataclass(frozen=True)
class Location:
    """What is taken from features and outputs before a fit, and given back after it.

    Attributes
    ----------
    mean : ndarray, shape (n_features,)
        Of each feature; 0 of features that stay where they are.
    offset, unit : float
        Outputs y become ``(y - offset) / unit``.
    """

    mean: FloatArray
    offset: float = 0.0
    unit: float = 1.0

    def centred(self, X: Any) -> Any:
        return X - self.mean if self.mean.any() else X


class Moments:
    """Mean of rows that come block by block, and of numbers their squares about it (Chan et al. 1983)."""

    def __init__(self) -> None:
        self.weight, self.squares = 0.0, 0.0
        self.mean: Any = 0.0

    def add(self, values: FloatArray, weights: FloatArray) -> None:
        """Rows, or numbers."""
        weight = float(weights.sum())
        if not weight:
            return
        # with weights W and V and means m and n, together: mean m + (n - m) V / (W + V), and squares about it
        # S + T + (n - m)^2 W V / (W + V), where no large squares are subtracted from each other
        mean, total = np.average(values, axis=0, weights=weights), self.weight + weight
        step = mean - self.mean
        if values.ndim == 1:
            self.squares += float(weights @ (values - mean) ** 2 + step**2 * self.weight * weight / total)
        self.mean = self.mean + step * (weight / total)
        self.weight = total


class Centre:
    """The mean of features that come block by block; 0 of sparse ones, which would lose their zeros."""

    def __init__(self, is_moved: bool) -> None:
        self._is_moved = is_moved
        self._of: dict[Any, Moments] = {}
        self._is_sparse: bool | None = None
        self._n_features = 0

    def add(self, X: Any, weights: FloatArray, label: Any = None) -> None:
        """Features of some examples, which may have a label with a weight of its own."""
        is_sparse = not isinstance(X, np.ndarray)
        if self._is_sparse not in (None, is_sparse):
            raise DataError("found sparse and dense features, expected one of the two")
        self._is_sparse, self._n_features = is_sparse, X.shape[1]
        if self._is_moved and not is_sparse:
            self._of.setdefault(label, Moments()).add(X, weights)

    def mean(self, weight_of: dict[Any, float] | None = None) -> FloatArray:
        """Of all, with the weight of each label."""
        # the mean that the weighted examples have, from the means of labels
        moments = {y: m for y, m in self._of.items() if m.weight}  # others have no mean
        weights = np.array(
            [m.weight * (1.0 if weight_of is None else weight_of[y]) for y, m in moments.items()]
        )
        if not weights.any():
            return np.zeros(self._n_features)
        return np.average([m.mean for m in moments.values()], axis=0, weights=weights)
