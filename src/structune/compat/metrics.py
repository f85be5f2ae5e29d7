"""Scores of label sequences, with the names of sklearn-crfsuite.

Functions that begin with ``flat`` are those of scikit-learn, over all tokens; they take the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from sklearn import metrics

from structune.compat.utils import flatten

Labels = Sequence[Sequence[Any]]


def _flat(score: Callable[..., Any], third: str = "labels") -> Callable[..., Any]:
    @wraps(score, assigned=("__doc__",))
    def of_tokens(y_true: Labels, y_pred: Labels, *args: Any, **options: Any) -> Any:
        # sklearn-crfsuite takes a third argument by position, scikit-learn only by name
        named = dict(zip((third,)[: len(args)], args, strict=True)) | options
        return score(flatten(y_true), flatten(y_pred), **named)

    of_tokens.__name__ = of_tokens.__qualname__ = f"flat_{score.__name__}"  # by which it is pickled
    return of_tokens


flat_accuracy_score = _flat(metrics.accuracy_score)
flat_precision_score = _flat(metrics.precision_score)
flat_recall_score = _flat(metrics.recall_score)
flat_f1_score = _flat(metrics.f1_score)
flat_fbeta_score = _flat(metrics.fbeta_score, "beta")
flat_classification_report = _flat(metrics.classification_report)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Share of sequences in which all labels are correct; 0 if there are no sequences."""
    right = [list(true) == list(pred) for true, pred in zip(y_true, y_pred, strict=True)]
    return sum(right) / max(len(right), 1)
