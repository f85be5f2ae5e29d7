"""Substitution matrices as weights: their scale as log odds, and matrices that are none."""

import numpy as np
import pytest

from structune.errors import DataError
from structune.structures.alignment_features import RESIDUES
from structune.structures.alignment_matrices import log_odds_scale, read_matrix

# of residues in the order of RESIDUES, in percent (Robinson & Robinson 1991)
ROBINSON = "7.8 5.1 4.5 5.4 1.9 4.3 6.3 7.4 2.2 5.1 9.0 5.7 2.2 3.9 5.2 7.1 5.8 1.3 3.2 6.4"


def test_the_scale_of_blosum62():
    matrix = read_matrix("BLOSUM62")
    assert matrix.shape == (20, 20)
    assert matrix[RESIDUES.index("W"), RESIDUES.index("W")] == 11.0
    percent = np.array(ROBINSON.split(), float)
    assert log_odds_scale(matrix, percent / percent.sum()) == pytest.approx(
        0.3176, abs=2e-3
    )  # as BLAST prints it


@pytest.mark.parametrize("matrix", [np.eye(20), -np.ones((20, 20)), np.zeros((20, 20))])
def test_matrices_that_are_no_log_odds(matrix):
    with pytest.raises(DataError, match="not log odds"):
        log_odds_scale(matrix, np.full(20, 0.05))
