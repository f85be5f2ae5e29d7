"""Substitution matrices as weights: their scale as log odds, and matrices that are none."""

import numpy as np
import pytest

from structune.alignment.structure.features import RESIDUES
from structune.alignment.structure.matrices import log_odds_scale, read_matrix
from structune.errors import DataError


def test_the_scale_of_blosum62():
    matrix = read_matrix("BLOSUM62")
    assert matrix.shape == (20, 20)
    assert matrix[RESIDUES.index("W"), RESIDUES.index("W")] == 11.0
    assert log_odds_scale(matrix) == pytest.approx(0.3176, abs=2e-3)  # as BLAST prints it


@pytest.mark.parametrize("matrix", [np.eye(20), -np.ones((20, 20)), np.zeros((20, 20)), np.eye(20) - 0.0578])
def test_matrices_that_are_no_log_odds(matrix):
    with pytest.raises(DataError, match="not log odds"):
        log_odds_scale(matrix)
