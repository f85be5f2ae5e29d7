"""Precision, recall and F1 of labels, and of segments in the BIO or BIOES scheme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support
from sklearn.metrics import precision_recall_fscore_support as label_scores

from structune.errors import DataError
from structune.files.text import plural
from structune.learning.bootstrap import Difference, FloatArray, paired_difference
from structune.tagging.structure.labels import segment_scheme as segment_scheme
from structune.tagging.structure.labels import split_label

Labels = Sequence[Sequence[str]]


class Score(NamedTuple):
    """Precision, recall and F1 of one label or segment type; `support` is the number of true ones."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Scores:
    """Scores of each label or segment type, and the overall score (micro average) with the name "all"."""

    by_name: tuple[Score, ...]
    overall: Score

    def rows(self) -> list[Score]:
        """Return the scores by name, then the overall score."""
        return [*self.by_name, self.overall]


def token_scores(y_true: Labels, y_pred: Labels) -> Scores:
    """Compute precision, recall and F1 of each label, counted in tokens; the overall score is the accuracy.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        True and predicted labels.

    Raises
    ------
    DataError
        The numbers of labels differ, or there are no labels.
    """
    _check_lengths(y_true, y_pred)
    true, pred = list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    names = sorted({*true, *pred})
    columns = label_scores(true, pred, labels=names, zero_division=0)
    accuracy = sum(a == b for a, b in zip(true, pred, strict=True)) / max(len(true), 1)
    return Scores(_by_name(names, columns), Score("all", accuracy, accuracy, accuracy, len(true)))


def segment_scores(y_true: Labels, y_pred: Labels) -> Scores:
    """Compute precision, recall and F1 of each segment type; type and both ends of a segment must be correct.

    Segments are read as in conlleval: an ``I-x`` without a segment to continue begins a new one.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        True and predicted labels, in the BIO or BIOES scheme.

    Raises
    ------
    DataError
        The numbers of labels differ, there are no labels, or a label fits neither scheme.
    """
    true, pred = _as_lists(y_true, y_pred)
    names = sorted({kind for kind, _, _ in chain(get_entities(true), get_entities(pred))})
    columns = precision_recall_fscore_support(true, pred, zero_division=0)
    overall = precision_recall_fscore_support(true, pred, average="micro", zero_division=0)
    return Scores(_by_name(names, columns), _score("all", *overall))


def segment_counts(y_true: Labels, y_pred: Labels) -> FloatArray:
    """Count the correct, predicted and true segments of each sequence; the shape is (n_sequences, 3)."""
    true, pred = _as_lists(y_true, y_pred)
    segments = ((set(get_entities(a)), set(get_entities(b))) for a, b in zip(true, pred, strict=True))
    return np.array([(len(a & b), len(b), len(a)) for a, b in segments], dtype=np.float64)


def paired_bootstrap(
    y_true: Labels, y_a: Labels, y_b: Labels, n: int = 2000, random_state: int | None = 0
) -> Difference:
    """Compute the difference in overall segment F1, b minus a, with a 95% bootstrap interval (percentiles).

    Parameters
    ----------
    y_true, y_a, y_b : sequences of sequences of str
        True labels, and labels predicted by a and by b, in the BIO or BIOES scheme.
    n : int
        Number of bootstrap resamples of the sequences.
    random_state : int, optional
        Random seed.

    Raises
    ------
    DataError
        There are no labels, their numbers differ, or a label fits neither scheme.
    """
    counts_a, counts_b = segment_counts(y_true, y_a), segment_counts(y_true, y_b)
    return paired_difference(counts_a, counts_b, _f1, n, random_state)


def _f1(counts: FloatArray) -> FloatArray:
    # F1 = 2 P R / (P + R) with P = correct / predicted and R = correct / true; 0 where there are none.
    n_correct, n_predicted, n_true = np.moveaxis(counts, -1, 0)
    return np.asarray(2 * n_correct / np.maximum(n_predicted + n_true, 1))


def _by_name(names: Sequence[str], columns: Iterable[Any]) -> tuple[Score, ...]:
    return tuple(_score(name, *values) for name, *values in zip(names, *columns, strict=True))


def _score(name: str, precision: Any, recall: Any, f1: Any, support: Any) -> Score:
    return Score(name, float(precision), float(recall), float(f1), int(support))


def _as_lists(y_true: Labels, y_pred: Labels) -> tuple[list[list[str]], list[list[str]]]:
    """Both as lists, which seqeval asks for, checked."""
    _check_lengths(y_true, y_pred)
    for label in set(map(str, chain.from_iterable(chain(y_true, y_pred)))):
        if split_label(label) is None:
            raise DataError(f"the label {label!r} is not BIO or BIOES. Allowed: O, B-x, I-x, E-x, S-x")
    return [list(labels) for labels in y_true], [list(labels) for labels in y_pred]


def _check_lengths(y_true: Labels, y_pred: Labels) -> None:
    if len(y_true) != len(y_pred):
        raise DataError(f"y_pred has {len(y_pred):,} sequences, but y_true has {len(y_true):,}")
    for s, (true, pred) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(true) != len(pred):
            raise DataError(
                f"sequence {s} has {plural(len(pred), 'label')} in y_pred, but {len(true)} in y_true"
            )
    if not any(map(len, y_true)):
        raise DataError("there are no labels to compare")
