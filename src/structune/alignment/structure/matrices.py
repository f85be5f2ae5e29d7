"""Substitution matrices with affine gaps, as weights of a model of alignments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy

from structune.alignment.structure.alphabets import ALPHABETS, PROTEIN, Alphabet
from structune.alignment.structure.features import STEPS, FeatureSet
from structune.errors import DataError
from structune.structure import FloatArray

_LEAST_MEAN = 1e-3  # of the largest score, below zero
GAP_OPEN, GAP_EXTEND = 11.0, 1.0  # the first residue of a gap, and each further one


def read_matrix(name: str, alphabet: Alphabet = PROTEIN) -> FloatArray:
    """Read a matrix of Biopython, in the order of the residues of its alphabet."""
    matrix = _read(name)
    if alphabet_of(name) is not alphabet:
        raise DataError(f"the matrix {name!r} is not a matrix for alphabet={alphabet.name!r}")
    return np.array([[float(matrix[a, b]) for b in alphabet.residues] for a in alphabet.residues])


def alphabet_of(name: str) -> Alphabet:
    """The alphabet of a matrix of Biopython; DataError if it is neither of amino acids nor nucleotides."""
    matrix = _read(name)
    for alphabet in ALPHABETS.values():
        if set(alphabet.residues) <= set(matrix.alphabet):
            return alphabet
    raise DataError(f"the matrix {name!r} is neither one of amino acids nor one of nucleotides")


@cache
def _read(name: str) -> Any:
    from Bio.Align import substitution_matrices

    read: Callable[..., Any] = substitution_matrices.load
    known = read()
    if name not in known:
        raise DataError(f"there is no matrix {name!r}. Biopython has {', '.join(known)}")
    return read(name)


def matrix_weights(
    features: FeatureSet,
    matrix: FloatArray,
    gap_open: float = GAP_OPEN,
    gap_extend: float = GAP_EXTEND,
    free_ends: bool = True,
) -> FloatArray:
    """Weights of a model that scores like a matrix with affine gaps, shape (n_weights,).

    The gap costs are those of the first residue and of each further one. `free_ends`: terminal gaps are free.
    """
    residues = features.alphabet.residues
    pairs = combinations_with_replacement(range(len(residues)), 2)
    named = {f"substitution: {residues[a]} {residues[b]}": matrix[a, b] for a, b in pairs}
    named |= {f"gap length: at least {k}": -gap_extend for k in range(2, STEPS[features.name] + 1)}
    named |= {"gap length: at least 1": -gap_open, "gap length: further": -gap_extend}
    if not free_ends:
        named |= {"terminal gap: open": gap_extend - gap_open, "terminal gap: residue": -gap_extend}
    return np.array([named.get(name, 0.0) for name in features.names], dtype=np.float64)


def log_odds(features: FeatureSet, name: str) -> FloatArray:
    """The weights of a matrix with the usual gaps and free ends, as log odds."""
    matrix = read_matrix(name, features.alphabet)
    return log_odds_scale(matrix, features.alphabet) * matrix_weights(features, matrix)


def log_odds_scale(matrix: FloatArray, alphabet: Alphabet = PROTEIN) -> float:
    """The lambda of log odds: sum_ab p_a p_b exp(lambda s_ab) = 1 (Karlin & Altschul 1990)."""
    shares, most = np.outer(alphabet.shares, alphabet.shares), matrix.max()
    if not (shares * matrix).sum() < -_LEAST_MEAN * most < 0.0:
        raise DataError("the scores of the matrix are not log odds, so probabilities cannot be computed")
    # The sum at scale 0 is 1, and falls from there, for the mean score is negative. One term alone, that of
    # the largest score, is e at `high`: the other root lies between.
    high = (1.0 - np.log(shares[matrix == most].sum())) / most  # there, the sum is above 1

    def excess(scale: float) -> float:
        return float((shares * np.exp(scale * matrix)).sum()) - 1.0

    return float(scipy.optimize.brentq(excess, 1e-9 * high, high))
