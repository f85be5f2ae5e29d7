"""Structures of alignments: means of pair probabilities, and covariation."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune import RNAFolder
from structune.errors import CapabilityError, DataError
from structune.rna.consensus import consensus

consensus_module = sys.modules["structune.rna.consensus"]  # the room has a name for the function
FOLDER = RNAFolder.pretrained().set_params(n_jobs=1)
SEQUENCE = "GGGCAAAAGCCCAUGGAAACCAU"


def test_one_sequence_is_folded_as_by_itself():
    for threshold in (0.2, 0.35, 0.6):
        (alone,) = FOLDER.predict_centroid([SEQUENCE], threshold)
        assert FOLDER.predict_alignment([SEQUENCE], threshold) == alone
        assert FOLDER.predict_alignment([SEQUENCE] * 3, threshold) == alone
    pairs = FOLDER.pair_probabilities
    assert_allclose(consensus(pairs, [SEQUENCE]).pairs, pairs(SEQUENCE))


CANONICAL = {"AU", "UA", "CG", "GC", "GU", "UG"}


def covariation(rows, i, j):
    """By its definition, over all two rows."""
    pairs = [row[i] + row[j] for row in rows]
    joined = [pair for pair in pairs if pair in CANONICAL]
    apart = sum((p[0] != q[0]) + (p[1] != q[1]) for p in joined for q in joined) / len(rows) ** 2
    return apart - np.mean([pair not in CANONICAL and set(pair) <= set("ACGU") for pair in pairs])


def test_covariation_raises_log_odds(monkeypatch):
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGUGGCC-N"), 20)) for _ in range(5)]
    found = consensus(FOLDER.pair_probabilities, rows).pairs
    monkeypatch.setattr(consensus_module, "_BONUS", 0.0)
    mean = consensus(FOLDER.pair_probabilities, rows).pairs
    i, j = np.nonzero(np.triu(mean) >= 1e-3)
    assert i.size > 20
    bonus = np.array([covariation(rows, a, b) for a, b in zip(i, j, strict=True)])
    odds = mean[i, j] / (1 - mean[i, j]) * np.exp(1.5 * bonus)
    assert_allclose(found[i, j], odds / (1 + odds), rtol=1e-9)
    assert_allclose(found, found.T)
    monkeypatch.setattr(consensus_module, "_AT_ONCE", 5 * 7)  # seven pairs of columns at a time
    monkeypatch.setattr(consensus_module, "_BONUS", 1.5)
    assert_allclose(consensus(FOLDER.pair_probabilities, rows).pairs, found)


def test_gaps_take_no_part(monkeypatch):
    rows = ["GGG-CAAAAGCCC", "GGGACAAAA-CCC"]
    monkeypatch.setattr(consensus_module, "_BONUS", 0.0)
    found = consensus(FOLDER.pair_probabilities, rows)
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
    for rows, threshold, message in (
        (["ACG", "AC"], 0.5, r"must have the same length; their lengths are \[2, 3\]"),
        ([], 0.5, r"must have the same length; their lengths are \[\]"),
        (["ACG", "-AZ"], 0.5, r"row 1: base 1 \(from 0\): 'Z' is not.*gaps not counted"),
        (["ACG", 3], 0.5, "row 1: 3 is not a string"),
        (["ACG"], -1, "threshold=-1"),
    ):
        with pytest.raises(DataError, match=message):
            FOLDER.predict_alignment(rows, threshold)
    with pytest.raises(CapabilityError):
        RNAFolder(loss="margin").fit(["GGGAAAACCC"], ["(((....)))"]).predict_alignment(["ACG"])
