"""Pairs of sequences and their alignments as an aligner gets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
