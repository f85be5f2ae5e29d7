"""What a model says of structures, by enumeration."""

import math

import numpy as np
import pytest

from rnas import partners, structures
from structune import RNAFolder
from structune.errors import DataError
from structune.rna import base_pair_distance
from structune.rna.structure.space import dot_bracket

SEQUENCE = "GGCAAAGCCAGAAAC"


@pytest.fixture(scope="module")
def model():
    return RNAFolder(penalty=0.3).fit(["GGGAAAACCC", "GGCGAAAGCC"], ["(((....)))", "(((....)))"])


def test_judgements_are_enumerated(model):
    every = [dot_bracket(np.array(y)) for y in structures(SEQUENCE)]
    logs = -model.log_loss([SEQUENCE] * len(every), every)
    shares = np.exp(logs)
    assert shares.sum() == pytest.approx(1.0)
    found = model.judge([SEQUENCE] * len(every), every)
    expected_pairs = sum(share * y.count("(") for share, y in zip(shares, every, strict=True))
    for structure, log, judged in zip(every, logs, found, strict=True):
        own = {(i, j) for i, j in enumerate(partners(structure)) if j > i}
        right = sum(
            share * len(own & set(enumerate(partners(y)))) for share, y in zip(shares, every, strict=True)
        )
        distance = sum(
            share * base_pair_distance(structure, y) for share, y in zip(shares, every, strict=True)
        )
        assert judged == pytest.approx(
            (log, log - logs.max(), right / len(own) if own else 1.0, right / expected_pairs, distance)
        )


def test_structures_outside_the_space(model):
    knotted, close = model.judge([SEQUENCE, "GGCC"], ["((.[[.))..]]...", "(())"])
    assert knotted.log_probability == knotted.log_odds == close.log_odds == -math.inf
    assert 0.0 < knotted.expected_ppv < 1.0
    assert close.expected_ppv == 0.0
    assert model.judge([""], [""]) == [(0.0, 0.0, 1.0, 1.0, 0.0)]
    assert model.judge([SEQUENCE], ["." * 15])[0].expected_sensitivity == 0.0


def test_what_is_refused(model):
    with pytest.raises(DataError, match="found 1 structures for 2 sequences"):
        model.judge(["A", "C"], ["."])
    with pytest.raises(DataError, match="sequence 1: found a structure of length 2 for 3 bases"):
        model.judge(["A", "ACG"], [".", ".."])
    with pytest.raises(DataError, match="of 3 and 2 bases"):
        base_pair_distance("...", "..")
    assert base_pair_distance("((..))[]", "(.().)..") == 3
