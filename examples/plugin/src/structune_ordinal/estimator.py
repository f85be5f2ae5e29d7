"""Labels in an order, with scikit-learn's face."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, pack_names, unpack_names
from structune.learning.estimator import Encoded, StructuredEstimator
from structune.learning.parameters import parameters
from structune.structure import Structure
from structune_ordinal.structure import Ordinal


@parameters
class OrdinalClassifier(StructuredEstimator):
    """A label of an order, by one direction of the features and a threshold for each step.

    Parameters
    ----------
    order : sequence of str, optional
        The labels, rising. By default those seen in training, sorted.

    Attributes
    ----------
    labels_ : list of str
    features_ : list of str
    """

    order: Any = None

    def fit(self, X: Any, y: Any, names: Any = None) -> Self:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array-like, shape (n_examples, n_features)
        y : sequence of str, length n_examples
        names : sequence of str, optional
            Of the features. Those whose names are alike up to ``=`` share a precision.

        Raises
        ------
        DataError
            Labels that are not in the order; numbers that are not finite.
        """
        return self._fit(self._encode_training(X, y, names))

    def _encode_training(self, X: Any, y: Any, names: Any = None) -> Encoded:
        X, y = np.asarray(X, dtype=float), list(map(str, y))
        if X.ndim != 2:
            raise DataError(f"found features of shape {X.shape}, expected rows and columns")
        labels = sorted(set(y)) if self.order is None else list(map(str, self.order))
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise DataError(f"found the labels {labels}, expected at least two different ones")
        features = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
        structure = Ordinal(features, len(labels))
        shard = structure.encode(X, codes_of(y, labels))
        return Encoded(structure, shard, None, {"labels_": labels, "features_": features})

    @property
    def _structure(self) -> Structure:
        return Ordinal(self.features_, len(self.labels_))

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any) -> list[str]:
        """The best label of each row."""
        return [self.labels_[k] for k in self._best(X)]

    def score(self, X: Any, y: Any) -> float:
        """Minus the mean number of steps by which labels are off."""
        return -float(np.abs(self._best(X) - codes_of(list(map(str, y)), self.labels_)).mean())

    def _best(self, X: Any) -> Any:
        self._check_fitted()
        structure = self._structure
        return structure.best(self.coef_, structure.encode(X))[0]

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        return {"labels": self.labels_}, pack_names("feature", self.features_)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> OrdinalClassifier:
        model = cls()
        model.labels_, model.features_ = list(header["labels"]), unpack_names("feature", arrays)
        if len(model.labels_) < 2 or not all(isinstance(label, str) for label in model.labels_):
            raise ModelFileError(f"found the labels {model.labels_!r:.60}, expected at least two names")
        model._unpack_fit(model._structure.n_weights, header, arrays)
        return model


def codes_of(given: list[str], labels: list[str]) -> Any:
    """The place of each label in the order, from 0.

    Raises
    ------
    DataError
        One that is not there.
    """
    codes = {label: k for k, label in enumerate(labels)}
    for i, label in enumerate(given):
        if label not in codes:
            raise DataError(f"example {i + 1}: found the label {label!r}, expected one of {labels}")
    return np.array([codes[label] for label in given], dtype=np.int64)
