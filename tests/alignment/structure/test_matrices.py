"""Substitution matrices as weights: their scale as log odds, and matrices that are none."""

import numpy as np
import pytest

from structune.alignment.structure.alphabets import NUCLEOTIDE, PROTEIN
from structune.alignment.structure.matrices import alphabet_of, log_odds_scale, read_matrix
from structune.errors import DataError


def test_the_scale_of_blosum62():
    matrix = read_matrix("BLOSUM62")
    assert matrix.shape == (20, 20)
    assert matrix[PROTEIN.residues.index("W"), PROTEIN.residues.index("W")] == 11.0
    assert log_odds_scale(matrix) == pytest.approx(0.3176, abs=2e-3)  # as BLAST prints it


def test_matrices_of_nucleotides():
    assert alphabet_of("NUC.4.4") is NUCLEOTIDE
    matrix = read_matrix("NUC.4.4", NUCLEOTIDE)
    assert np.array_equal(matrix, 9.0 * np.eye(4) - 4.0)
    scale = log_odds_scale(matrix, NUCLEOTIDE)
    assert 0.25 * np.exp(5.0 * scale) + 0.75 * np.exp(-4.0 * scale) == pytest.approx(1.0)
    with pytest.raises(DataError, match="expected one of the alphabet 'nucleotide'"):
        read_matrix("BLOSUM62", NUCLEOTIDE)


@pytest.mark.parametrize("matrix", [np.eye(20), -np.ones((20, 20)), np.zeros((20, 20)), np.eye(20) - 0.0578])
def test_matrices_that_are_no_log_odds(matrix):
    with pytest.raises(DataError, match="not log odds"):
        log_odds_scale(matrix)
