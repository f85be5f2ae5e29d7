"""Predictions that taggers of tokens and of segments share."""

from __future__ import annotations

from abc import abstractmethod
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.learning.estimator import StructuredEstimator
from structune.learning.parameters import Range, check_number
from structune.structure import IntArray


class LabelSequences(list[list[str]]):
    """A list of sequences of labels, which NumPy converts to an array of lists, whatever their lengths.

    This allows scikit-learn's `cross_val_predict` to join the predictions of several folds.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.fromiter(self, object, len(self))


class LabelPredictions(StructuredEstimator):
    """Marginals and most probable labelings of sequences, some of which may be empty."""

    classes_: list[str]  # labels of the structure's marginals

    @property
    def _predicting(self) -> Any:
        """The structure as predictions have it."""
        return self._structure

    @abstractmethod
    def _encode(self, X: Any) -> tuple[Any, IntArray]:
        """The sequences that have tokens, and the lengths of all."""

    @abstractmethod
    def _labelled(self, output: IntArray) -> list[str]:
        """The labels of one sequence, from an output of the structure."""

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token, as one dict per token.

        Raises
        ------
        CapabilityError
            The model was not fitted with the log loss.
        """
        self._require_probabilities()
        return self._marginals(X)

    def _marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """The same, whatever loss was minimised."""
        shard, lengths = self._encode(X)
        rows = self._predicting.marginals(self.coef_, shard).tolist()
        return cut([dict(zip(self.classes_, row, strict=True)) for row in rows], lengths)

    def predict_nbest(self, X: Any, n: int = 5) -> list[list[tuple[list[str], float]]]:
        """Predict the `n` most probable labelings of each sequence, as (labels, probability), best first.

        Raises
        ------
        CapabilityError
            The model was not fitted with the log loss.
        """
        self._require_probabilities()
        check_number("n", n, Range(1, whole=True))
        shard, lengths = self._encode(X)
        log_z = self._predicting.log_partition(self.coef_, shard)
        best = self._predicting.n_best(self.coef_, shard, n)
        found = (
            [
                (self._labelled(output), float(p))
                for output, p in zip(outputs, np.exp(np.minimum(0.0, scores - z)), strict=True)
            ]
            for (outputs, scores), z in zip(best, log_z, strict=True)
        )
        return [next(found) if length else [([], 1.0)] for length in lengths]

    def _encoded_one(self, X: Any, sequence: int) -> tuple[Any, int, int]:
        """The sequences that have tokens, the number of one among these, and its length."""
        check_number("sequence", sequence, Range(0, whole=True))
        shard, lengths = self._encode(X)
        if sequence >= lengths.size:
            raise DataError(f"sequence={sequence}: there are {lengths.size} sequences, counted from 0")
        return shard, int(np.count_nonzero(lengths[:sequence])), int(lengths[sequence])


def cut(flat: Any, lengths: IntArray) -> list[Any]:
    """Values of all tokens, cut into one list per sequence."""
    return [flat[a:b] for a, b in pairwise(accumulate(lengths.tolist(), initial=0))]
