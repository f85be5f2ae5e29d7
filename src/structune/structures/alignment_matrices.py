"""Substitution matrices with affine gaps, as weights of a model of alignments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.optimize import brentq

from structune.errors import DataError
from structune.structures.alignment_features import RESIDUES, STEPS, FeatureSet
from structune.structures.base import FloatArray

GAP_OPEN, GAP_EXTEND = 11.0, 1.0  # the first residue of a gap, and each further one


def read_matrix(name: str) -> FloatArray:
    """One of Biopython's matrices, in the order of `RESIDUES`, shape (20, 20).

    Raises
    ------
    DataError
        No such matrix, or one of nucleotides.
    """
    from Bio.Align import substitution_matrices

    read: Callable[..., Any] = substitution_matrices.load
    known = read()
    if name not in known:
        raise DataError(f"found the matrix {name!r}, expected one of {', '.join(known)}")
    matrix = read(name)
    if not set(RESIDUES) <= set(matrix.alphabet):
        raise DataError(f"found the matrix {name!r}, expected one of amino acids")
    return np.array([[float(matrix[a, b]) for b in RESIDUES] for a in RESIDUES])


def matrix_weights(
    features: FeatureSet,
    matrix: FloatArray,
    gap_open: float = GAP_OPEN,
    gap_extend: float = GAP_EXTEND,
    free_ends: bool = True,
) -> FloatArray:
    """The weights that score like a matrix with affine gaps, shape (n_weights,).

    Parameters
    ----------
    features : FeatureSet
    matrix : ndarray, shape (20, 20)
        As `read_matrix` gives it.
    gap_open, gap_extend : float
        Costs of the first residue of a gap, and of each further one.
    free_ends : bool
        Whether terminal gaps cost nothing.
    """
    pairs = combinations_with_replacement(range(len(RESIDUES)), 2)
    named = {f"substitution: {RESIDUES[a]} {RESIDUES[b]}": matrix[a, b] for a, b in pairs}
    named |= {f"gap length: at least {k}": -gap_extend for k in range(2, STEPS[features.name] + 1)}
    named |= {"gap length: at least 1": -gap_open, "gap length: further": -gap_extend}
    if not free_ends:
        named |= {"terminal gap: open": gap_extend - gap_open, "terminal gap: residue": -gap_extend}
    return np.array([named.get(name, 0.0) for name in features.names], dtype=np.float64)


def log_odds_scale(matrix: FloatArray, frequencies: FloatArray) -> float:
    """The lambda by which scores are log odds: sum_ab p_a p_b exp(lambda s_ab) = 1 (Karlin & Altschul 1990).

    Raises
    ------
    DataError
        Scores whose mean is not negative, or none of which is positive.
    """
    shares = np.outer(frequencies, frequencies)
    if not ((shares * matrix).sum() < 0.0 < matrix[shares > 0].max()):
        raise DataError("found a matrix whose scores are not log odds for these residues")
    most = matrix[shares > 0].max()
    high = (1.0 - np.log(shares[(shares > 0) & (matrix == most)].sum())) / most  # there, the sum is above 1
    low = 1e-9 * high
    return float(brentq(lambda scale: (shares * np.exp(scale * matrix)).sum() - 1.0, low, high))
