"""Weights of tokens, by which the log loss counts known labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.text import plural
from structune.structure import FloatArray, IntArray, check_weights, segment_indices
from structune.tagging.structure.labels import single_labels
from structune.tagging.structure.shard import ChainShard


def token_weights(sample_weight: Any, lengths: IntArray) -> FloatArray | None:
    """The weights of all tokens; None if there is one weight a sequence, or none."""
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
    return np.concatenate(found)


def class_weights(class_weight: Any, labels: IntArray, names: Sequence[Any]) -> FloatArray:
    """The weight of each of `names`, and last that of labels that are not known to one, which is 1.

    "balanced" gives all labels the same total weight, as in scikit-learn.
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.append(counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1)), 1.0)
    if not isinstance(class_weight, Mapping):
        raise DataError(f"class_weight={class_weight!r}: expected None, 'balanced', or a dict of labels")
    for label, weight in class_weight.items():
        if label not in names:
            raise DataError(f"class_weight: the training data have no label {label!r}. They have {[*names]}")
        if not (isinstance(weight, int | float | np.number) and 0 <= weight < np.inf):
            raise DataError(f"class_weight: label {label!r} has the weight {weight!r}, not a number >= 0")
    return np.array([*(float(class_weight.get(name, 1.0)) for name in names), 1.0])


def by_levels(shard: ChainShard, weights: FloatArray) -> tuple[ChainShard, IntArray]:
    """Copies of sequences in which labels below a level of weight are unknown, and the sequence of each.

    With the levels 0 = v_0 < v_1 < ... of the weights of a sequence, its loss is the sum of (v_k - v_{k-1})
    times minus the log-probability of the labels of tokens with a weight of v_k or more, summed over all
    labels of the others. If all weights are equal, this is the weighted log loss; a label of weight 0 counts
    as unknown.
    """
    values = weights * ((shard.labels >= 0) | ~_allowed(shard).all(axis=1))  # without tokens of any label
    levels = [np.unique(own[own > 0]) for own in np.split(values, shard.offsets[1:-1])]
    copies = np.repeat(np.arange(len(shard)), [own.size for own in levels])
    if not copies.size:
        raise DataError("no token with a known label has a weight above 0")
    steps = np.concatenate([np.diff(own, prepend=0.0) for own in levels])
    part = replace(shard.take(copies), weights=steps)
    least = np.repeat(np.concatenate(levels), part.sizes())
    below = weights[segment_indices(shard.offsets, copies)] < least
    if below.any():
        allowed = _allowed(part) | below[:, None]
        part = replace(part, allowed=allowed, labels=single_labels(allowed))
    return part, copies


def _allowed(shard: ChainShard) -> Any:
    return (
        shard.allowed if shard.is_partly_known else np.eye(shard.allowed.shape[1], dtype=bool)[shard.labels]
    )
