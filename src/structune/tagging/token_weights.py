"""Weights of tokens, by which the log loss counts known labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.text import plural
from structune.structure import FloatArray, IntArray, check_weights

Labels = Sequence[Sequence[Any]]


def token_weights(sample_weight: Any, lengths: IntArray) -> list[FloatArray] | None:
    """The weights of the tokens of each sequence; None if there is one weight a sequence, or none."""
    try:
        is_nested = sample_weight is not None and len(sample_weight) > 0 and np.ndim(sample_weight[0]) > 0
    except (TypeError, KeyError, IndexError):
        return None  # checked as weights of sequences
    if not is_nested:
        return None
    if len(sample_weight) != lengths.size:
        n = plural(len(sample_weight), "sequence")
        raise DataError(f"sample_weight has the weights of {n}, but X has {lengths.size}")
    found = list[FloatArray]()
    for s, (own, n) in enumerate(zip(sample_weight, lengths.tolist(), strict=True)):
        try:
            found.append(check_weights(own, n))
        except DataError as error:
            raise DataError(f"sequence {s}: {error}. One weight per token is needed") from None
    return found


def class_weights(y: Labels, class_weight: Any) -> dict[Any, float]:
    """The weight of each label; "balanced" gives all labels the same total weight, as in scikit-learn."""
    known = Counter(label for labels in y for label in labels if isinstance(label, str | int | np.integer))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return {label: known.total() / (len(known) * n) for label, n in known.items()}
    if not isinstance(class_weight, Mapping):
        raise DataError(f"class_weight={class_weight!r}: expected None, 'balanced', or a dict of labels")
    for label, weight in class_weight.items():
        if label not in known:
            raise DataError(f"class_weight: the training data have no label {label!r}. They have {[*known]}")
        if not (isinstance(weight, int | float | np.number) and 0 <= weight < np.inf):
            raise DataError(f"class_weight: label {label!r} has the weight {weight!r}, not a number >= 0")
    return {label: float(class_weight.get(label, 1.0)) for label in known}


def by_levels(y: Labels, weights: Sequence[FloatArray]) -> tuple[IntArray, list[list[Any]], FloatArray]:
    """Copies of sequences in which labels below a level of weight are unknown, and the weights of the copies.

    With the levels 0 = v_0 < v_1 < ... of the weights of a sequence, its loss is the sum of (v_k - v_{k-1})
    times minus the log-probability of the labels of tokens with a weight of v_k or more, summed over all
    labels of the others. If all weights are equal, this is the weighted log loss; a label of weight 0 counts
    as unknown.

    Returns
    -------
    sequences : ndarray of int64, shape (n_copies,)
    labels : list of lists
    weights : ndarray, shape (n_copies,)
    """
    sequences, labels, steps = list[int](), list[list[Any]](), list[float]()
    for s, (own, values) in enumerate(zip(y, weights, strict=True)):
        known = [value for label, value in zip(own, values.tolist(), strict=True) if label is not None]
        before = 0.0
        for level in sorted({value for value in known if value > 0}):
            sequences.append(s)
            labels.append([label if v >= level else None for label, v in zip(own, values, strict=True)])
            steps.append(level - before)
            before = level
    if not sequences:
        raise DataError("no token with a known label has a weight above 0")
    return np.array(sequences), labels, np.array(steps)
