"""Precision, recall and F1 of labels and of the segments that they spell (BIO, BIOES)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support
from sklearn.metrics import precision_recall_fscore_support as label_scores

from structune.errors import DataError
from structune.learning.bootstrap import Difference, FloatArray, paired_difference
from structune.tagging.structure.labels import scheme_of

Labels = Sequence[Sequence[str]]
_SEGMENT_LABEL = re.compile(r"O|[BIES](-.+)?")


class Score(NamedTuple):
    """How well one label or segment type was found; `support` is how often it truly occurs."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Scores:
    """A score for each name, and one for all together (micro average)."""

    by_name: tuple[Score, ...]
    overall: Score

    def rows(self) -> list[Score]:
        """The scores by name, then the overall one."""
        return [*self.by_name, self.overall]


def token_scores(y_true: Labels, y_pred: Labels) -> Scores:
    """Precision, recall and F1 of each label, token by token; overall all three are the accuracy.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str

    Raises
    ------
    DataError
        The two differ in length, or there are no labels.
    """
    _check_lengths(y_true, y_pred)
    true, pred = list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    names = sorted({*true, *pred})
    columns = label_scores(true, pred, labels=names, zero_division=0)
    accuracy = sum(a == b for a, b in zip(true, pred, strict=True)) / max(len(true), 1)
    return Scores(_by_name(names, columns), Score("all", accuracy, accuracy, accuracy, len(true)))


def segment_scores(y_true: Labels, y_pred: Labels) -> Scores:
    """Precision, recall and F1 of each segment type; a segment is right if its type and both ends are.

    Segments are read as conlleval reads them: an ``I-x`` that continues nothing begins a segment.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        Labels in the scheme BIO or BIOES.

    Raises
    ------
    DataError
        The two differ in length, there are no labels, or a label fits neither scheme.
    """
    true, pred = _as_lists(y_true, y_pred)
    names = sorted({kind for kind, _, _ in chain(get_entities(true), get_entities(pred))})
    columns = precision_recall_fscore_support(true, pred, zero_division=0)
    overall = precision_recall_fscore_support(true, pred, average="micro", zero_division=0)
    return Scores(_by_name(names, columns), _score("all", *overall))


def segment_scheme(labels: Iterable[str]) -> str | None:
    """The scheme in which labels spell segments: "bio", "bioes", or None if they do not."""
    distinct = set(labels)
    if not all(map(_SEGMENT_LABEL.fullmatch, distinct)):
        return None
    if not any(label == "B" or label[1:2] == "-" for label in distinct):
        return None
    return scheme_of(distinct)


def segment_counts(y_true: Labels, y_pred: Labels) -> FloatArray:
    """Correct, predicted and true segments of each sequence, shape (n_sequences, 3)."""
    true, pred = _as_lists(y_true, y_pred)
    segments = ((set(get_entities(a)), set(get_entities(b))) for a, b in zip(true, pred, strict=True))
    return np.array([(len(a & b), len(b), len(a)) for a, b in segments], dtype=np.float64)


def paired_bootstrap(
    y_true: Labels, y_a: Labels, y_b: Labels, n: int = 2000, random_state: int | None = 0
) -> Difference:
    """Difference in overall segment F1, b minus a, with a 95 % percentile interval over sequences.

    Parameters
    ----------
    y_true, y_a, y_b : sequences of sequences of str
        Labels in the scheme BIO or BIOES.
    n : int
        Number of resamples.
    random_state : int, optional

    Raises
    ------
    DataError
        There are no labels, lengths differ, or a label fits neither scheme.
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
        if not _SEGMENT_LABEL.fullmatch(label):
            raise DataError(f"found the label {label!r}, expected O or one such as B-x, I-x, E-x, S-x")
    return [list(labels) for labels in y_true], [list(labels) for labels in y_pred]


def _check_lengths(y_true: Labels, y_pred: Labels) -> None:
    if len(y_true) != len(y_pred):
        raise DataError(f"found predictions for {len(y_pred)} sequences, expected {len(y_true)}")
    for s, (true, pred) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(true) != len(pred):
            raise DataError(f"sequence {s}: found {len(pred)} predicted labels, expected {len(true)}")
    if not any(map(len, y_true)):
        raise DataError("found no labels to compare")
