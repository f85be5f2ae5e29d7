"""Pairs of sequences and their alignments as an aligner gets them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from structune.alignment.structure.proteins import ProteinPair
from structune.errors import DataError
from structune.files.inputs import as_list

Pairs = Sequence[ProteinPair]
Rows = Sequence[tuple[str, str]]


def checked_pairs(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """What was given to learn from, as lists."""
    pairs, rows = as_list(X, "pairs"), as_list(y, "alignments")
    if not pairs:
        raise DataError("the training set is empty: expected at least one pair")
    return pairs, rows


def checked_gamma(given: float | None, default: float, is_used: bool) -> float:
    """The one that is given, or the other: a number >= 0, infinite if it is larger than doubles are."""
    if given is not None and not is_used:
        raise DataError(
            f"gamma={given!r}: expected none with method='viterbi', or of a model without probabilities"
        )
    gamma = default if given is None else given
    if not (isinstance(gamma, Real) and gamma >= 0.0):
        raise DataError(f"gamma={gamma!r}: expected a number >= 0")
    return float(gamma) if gamma <= sys.float_info.max else np.inf
