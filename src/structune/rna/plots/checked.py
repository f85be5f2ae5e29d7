"""What plots of RNA structures are given, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from structune.errors import DataError
from structune.plots.dots import within_unit
from structune.plots.figure import FloatArray
from structune.rna.formats.brackets import as_partners
from structune.rna.formats.strands import STRANDS, bases_of, check_cut, check_strands
from structune.rna.plots.layout import IntArray
from structune.running.memory import require_memory

Structure = str | ArrayLike


def checked_partners(sequence: str, structure: Structure) -> IntArray:
    """The partners of a structure of this sequence."""
    check_strands(sequence)
    found, n = as_partners(structure), len(bases_of(sequence))
    if found.size != n:
        raise DataError(f"found a structure of {found.size} bases, expected {n} as in the sequence")
    if isinstance(structure, str) and STRANDS in structure:
        check_cut(structure, n, sequence.find(STRANDS), "a structure")
    if not found.size:
        raise DataError("found an empty sequence, expected at least one base to draw")
    return found


def checked_probabilities(probabilities: Any, n: int) -> FloatArray:
    """Probabilities of pairs, symmetric, shape (n, n), sparse or not; or those of bases, shape (n,)."""
    given = probabilities
    if issparse(probabilities):
        require_memory(24.0 * n * n, f"the cells of a drawing of {n:,} bases", "a shorter sequence")
        given = given.toarray()
    given = np.asarray(given, dtype=np.float64)
    if given.shape not in ((n, n), (n,)):
        raise DataError(
            f"found probabilities of shape {given.shape}, expected {(n, n)}, one for each two bases"
        )
    checked = within_unit(given)
    return checked if given.ndim == 1 else np.maximum(checked, checked.T)
