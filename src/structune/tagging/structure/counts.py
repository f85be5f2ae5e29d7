"""Counts of the tokens of a labelling that add up: wrong ones, right ones, and those that are not outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structune.structure import Array, FloatArray, IntArray, Tilt
from structune.tagging.structure.segment_labels import OUTSIDE


def outside(labels: Sequence[str]) -> int:
    """The label of tokens outside all segments, -1 if there is none."""
    return labels.index(OUTSIDE) if OUTSIDE in labels else -1


def tilted(tilt: Tilt, sequences: slice, lengths: IntArray, own: IntArray, labels: Sequence[str]) -> Array:
    """What a tilt adds to the scores of the tokens of some sequences, shape (n_tokens, n_labels)."""
    count, rates = tilt
    return np.asarray(np.repeat(rates[sequences], lengths)[:, None] * _counted(count, own, labels))


def _counted(count: str, own: IntArray, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a token counts if it has a label, shape (n_tokens, n_labels)."""
    every, none = np.arange(len(labels)), outside(labels)
    if count == "cost":
        return np.asarray(own[:, None] != every)
    inside = every != none
    return np.tile(inside, (own.size, 1)) if count == "predicted" else inside & (own[:, None] == every)


def wrong_tokens(own: IntArray, found: IntArray, starts: IntArray) -> FloatArray:
    """Hamming cost: the tokens of each sequence that are labelled differently."""
    return np.add.reduceat((own != found).astype(np.float64), starts)


def count_tokens(
    own: IntArray, found: IntArray, starts: IntArray, labels: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Right tokens of each sequence, and those that are not outside."""
    inside = found != outside(labels)
    right, predicted = (
        np.add.reduceat(marked.astype(np.float64), starts) for marked in (inside & (found == own), inside)
    )
    return right, predicted
