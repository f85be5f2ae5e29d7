"""What plots of RNA structures are given, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.formats.dot_bracket import as_partners
from structune.plots._figure import FloatArray
from structune.plots.rna_layout import IntArray

Structure = str | ArrayLike
PROBABILITY_MAP = (
    "YlGnBu"  # its lightness falls steadily, and it keeps to hues that the colour-blind tell apart
)


def checked_partners(sequence: str, structure: Structure) -> IntArray:
    """The partners of a structure of this sequence."""
    found = as_partners(structure)
    if found.size != len(sequence):
        raise DataError(
            f"found a structure of {found.size} bases, expected {len(sequence)} as in the sequence"
        )
    if not found.size:
        raise DataError("found an empty sequence, expected at least one base to draw")
    return found


def checked_probabilities(probabilities: ArrayLike, n: int) -> FloatArray:
    """Probabilities of pairs, symmetric, shape (n, n); or those of bases, shape (n,)."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.shape not in ((n, n), (n,)):
        raise DataError(
            f"found probabilities of shape {given.shape}, expected {(n, n)}, one for each two bases"
        )
    if not np.all((given >= -1e-6) & (given <= 1 + 1e-6)):
        raise DataError("found a probability that is not within [0, 1]")
    return np.clip(given if given.ndim == 1 else np.maximum(given, given.T), 0, 1)
