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
    """Marginals and most probable labelings of sequences, some of which may be empty.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": the negative log-probability of the labels. "margin":
        the margin loss with the number of wrong tokens as cost (a structured support vector machine). "ramp":
        the ramp loss, which limits the influence of sequences that the model cannot fit. Or a loss object,
        such as `structune.learning.MarginLoss`.
    groups : "template", "single", "separate", or callable
        Groups of weights that share a regularization strength. "template": one group per feature template
        (the text before ``=`` in an attribute's name; ``segment.text``, ``segment.length`` and others for
        segments), and one for the transitions; tuning puts attributes without a value into one group.
        "single": one group for all weights. "separate": one group per weight. A callable takes the name of a
        weight, such as ``w[0]=the : DET`` or ``DET -> NOUN``, and returns the name of its group.
    boundary : bool
        Whether starts and ends of sequences have weights.
    """

    classes_: list[str]  # labels of the structure's marginals
    n_columns_: int | None = None

    @abstractmethod
    def _keep_chain(self, chain: Any) -> None:
        """Keep the structure of the model."""

    def _drop_unused(self) -> None:
        """If weights were to become zero, take away pairs of weight 0, and attributes and groups left empty.

        Predictions stay what they are, and the file gets small. Weights of transitions stay.
        """
        if not self.l1_.any() and not any(record["stage"] == "relevance" for record in self.history_[-1:]):
            return
        whole: Any = self._structure
        groups = self._weight_groups(whole)
        which = np.ones(whole.n_weights, dtype=bool)
        which[: whole.n_pairs] = self.coef_[: whole.n_pairs] != 0.0
        chain, kept = whole.keep(which)
        # Groups that are left empty go, with their hyperparameters and their part of the history.
        sizes = np.bincount(groups.index[kept], minlength=len(groups))
        used = np.flatnonzero(sizes)
        self._keep_chain(chain)
        self.coef_ = self.coef_[kept]
        self.penalty_, self.l1_ = self.penalty_[used], self.l1_[used]
        self.group_names_ = tuple(groups.names[g] for g in used.tolist())
        self.group_sizes_ = sizes[used]
        for record in self.history_:
            if "log_precision" in record:
                record["log_precision"] = np.array(record["log_precision"])[used].tolist()

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weight of each pair of attribute and label; in segment taggers, of a token or of a segment."""
        self._check_fitted()
        structure: Any = self._structure
        return dict(zip(structure.state_names(), self.coef_.tolist(), strict=False))

    @property
    def transition_features_(self) -> dict[tuple[str | None, str | None], float]:
        """Weight of each transition (from, to); None stands for the start or end of a sequence."""
        self._check_fitted()
        structure: Any = self._structure
        weights = self.coef_[structure.n_pairs :].tolist()
        return dict(zip(structure.move_names(), weights, strict=False))

    @property
    def _predicting(self) -> Any:
        """The structure as predictions have it."""
        return self._structure

    @abstractmethod
    def _encode(self, X: Any, *given: Any) -> tuple[Any, IntArray]:
        """The sequences that have tokens, with known labels if these are given, and the lengths of all."""

    @abstractmethod
    def _labelled(self, output: IntArray) -> list[str]:
        """The labels of one sequence, from an output of the structure."""

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token, as one dict per token.

        A model that was not fitted with the log loss raises `CapabilityError`.
        """
        self._require_probabilities()
        return self._marginals(X)

    def _marginals(self, X: Any, *given: Any) -> list[list[dict[str, float]]]:
        """The same, whatever loss was minimised."""
        shard, lengths = self._encode(X, *given)
        within = {"within": True} if given else {}
        rows = self._predicting.marginals(self.coef_, shard, **within).tolist()
        return cut([dict(zip(self.classes_, row, strict=True)) for row in rows], lengths)

    def predict_nbest(self, X: Any, n: int = 5) -> list[list[tuple[list[str], float]]]:
        """Predict the `n` most probable labelings of each sequence, as (labels, probability), best first.

        A model that was not fitted with the log loss raises `CapabilityError`.
        """
        return self._nbest(X, n)

    def _nbest(self, X: Any, n: int, *given: Any) -> list[list[tuple[list[str], float]]]:
        self._require_probabilities()
        check_number("n", n, Range(1, whole=True))
        shard, lengths = self._encode(X, *given)
        within = {"within": True} if given else {}
        log_z = self._predicting.log_partition(self.coef_, shard, **within)
        best = self._predicting.n_best(self.coef_, shard, n, **within)
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
