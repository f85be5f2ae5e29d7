"""Substitution matrices with affine gaps, as weights of a model of alignments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy

from structune.alignment.structure.features import RESIDUES, STEPS, FeatureSet
from structune.errors import DataError
from structune.structure import FloatArray

# of residues in proteins, in the order of RESIDUES, in percent (Robinson & Robinson 1991)
_PERCENT = "7.8 5.1 4.5 5.4 1.9 4.3 6.3 7.4 2.2 5.1 9.0 5.7 2.2 3.9 5.2 7.1 5.8 1.3 3.2 6.4"
_LEAST_MEAN = 1e-3  # of the largest score, below zero
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


def log_odds(features: FeatureSet, name: str) -> FloatArray:
    """The weights of a matrix with the usual gaps and free ends, as log odds."""
    matrix = read_matrix(name)
    return log_odds_scale(matrix) * matrix_weights(features, matrix)


def log_odds_scale(matrix: FloatArray) -> float:
    """The lambda by which scores are log odds: sum_ab p_a p_b exp(lambda s_ab) = 1 (Karlin & Altschul 1990).

    Raises
    ------
    DataError
        Scores whose mean is not negative, or none of which is positive.
    """
    percent = np.array(_PERCENT.split(), dtype=np.float64)
    shares, most = np.outer(percent, percent) / percent.sum() ** 2, matrix.max()
    if not (shares * matrix).sum() < -_LEAST_MEAN * most < 0.0:
        raise DataError("found a matrix whose scores are not log odds")
    high = (1.0 - np.log(shares[matrix == most].sum())) / most  # there, the sum is above 1

    def excess(scale: float) -> float:
        return float((shares * np.exp(scale * matrix)).sum()) - 1.0

    return float(scipy.optimize.brentq(excess, 1e-9 * high, high))
