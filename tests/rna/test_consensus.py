"""Structures of alignments: means of pair probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune import RNAFolder
from structune.errors import CapabilityError, DataError
from structune.rna import consensus

FOLDER = RNAFolder.pretrained().set_params(n_jobs=1)
SEQUENCE = "GGGCAAAAGCCCAUGGAAACCAU"


def test_one_sequence_is_folded_as_by_itself():
    for gamma in (0.5, 1.5, 6.0):
        assert FOLDER.predict_alignment([SEQUENCE], gamma) == FOLDER.predict([SEQUENCE], gamma)[0]
    assert FOLDER.predict_alignment([SEQUENCE] * 3) == FOLDER.predict([SEQUENCE])[0]
    assert_allclose(consensus(FOLDER, [SEQUENCE], 1.0).pairs, FOLDER.pair_probabilities(SEQUENCE))


def test_gaps_take_no_part():
    found = consensus(FOLDER, ["GGG-CAAAAGCCC", "GGGACAAAA-CCC"], 1.5)
    one, other = map(FOLDER.pair_probabilities, ("GGGCAAAAGCCC", "GGGACAAAACCC"))
    expected = np.zeros((13, 13))
    for sequence, gap in ((one, 3), (other, 9)):
        kept = np.delete(np.arange(13), gap)
        expected[np.ix_(kept, kept)] += sequence / 2
    assert_allclose(found.pairs, expected)
    assert len(found.structure) == 13
    assert FOLDER.predict_alignment(["----", "...."]) == "...."
    assert FOLDER.predict_alignment([""]) == ""


def test_what_is_refused():
    with pytest.raises(DataError, match=r"found rows of \[2, 3\] columns"):
        FOLDER.predict_alignment(["ACG", "AC"])
    with pytest.raises(DataError, match=r"found rows of \[\] columns"):
        FOLDER.predict_alignment([])
    with pytest.raises(DataError, match=r"row 1: base 1 \(from 0\): found 'Z'.*gaps not counted"):
        FOLDER.predict_alignment(["ACG", "-AZ"])
    with pytest.raises(DataError, match="row 1: found 3"):
        FOLDER.predict_alignment(["ACG", 3])
    with pytest.raises(DataError, match="gamma=-1"):
        FOLDER.predict_alignment(["ACG"], -1)
    with pytest.raises(CapabilityError):
        RNAFolder(loss="margin").fit(["GGGAAAACCC"], ["(((....)))"]).predict_alignment(["ACG"])
