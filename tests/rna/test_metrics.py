"""Base pairs against counts over sets, areas by hand, and what a model says of structures by enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rnas import partner_arrays, structures
from rnas import partners as partner_list
from structune import RNAFolder
from structune.errors import DataError
from structune.learning.bootstrap import paired_difference
from structune.rna import base_pair_distance
from structune.rna.formats.brackets import partners
from structune.rna.metrics import (
    base_pair_bootstrap,
    base_pair_scores,
    partner_entropy,
    roc_area,
    sensitivity_ppv_curve,
    unpaired,
)
from structune.rna.structure.space import dot_bracket

TRUE = ["((...))..", "(((...)))", "..."]
PRED = ["((...))..", ".((...)).", "..."]


def as_set(found):
    return {(i, int(j)) for i, j in enumerate(found) if j > i}


def is_right(pair, other, slip):
    i, j = pair
    moves = range(-slip, slip + 1)
    return any((i + m, j) in other or (i, j + m) in other for m in moves)


@given(partner_arrays(6), partner_arrays(6), st.integers(0, 2))
def test_counts_are_those_of_sets(one, other, slip):
    n = max(one.size, other.size)
    pair = [np.append(found, np.full(n - found.size, -1)) for found in (one, other)]
    a, b = map(as_set, pair)
    scores = base_pair_scores(pair[:1], pair[1:], slip)
    assert scores.counts.tolist() == [
        [len(a), len(b), sum(is_right(p, b, slip) for p in a), sum(is_right(p, a, slip) for p in b)]
    ]


def test_scores():
    scores = base_pair_scores(TRUE, PRED)
    assert scores.sensitivity == pytest.approx([1, 2 / 3, 1])
    assert scores.ppv == pytest.approx([1, 1, 1])
    assert scores.f1 == pytest.approx([1, 0.8, 1])
    assert scores.pooled == pytest.approx((4 / 5, 1, 8 / 9))


def test_nothing_over_nothing():
    scores = base_pair_scores(["...", "(.)", "...", "(.)."], ["...", "...", "(.)", ".(.)"])
    assert scores.sensitivity.tolist() == [1, 0, 0, 0]
    assert scores.ppv.tolist() == [1, 0, 0, 0]
    assert scores.f1.tolist() == [1, 0, 0, 0]
    assert base_pair_scores([], []).pooled == (1, 1, 1)


def test_no_pair_slips_into_the_other_strand():
    """A base at the end of one is no neighbour of the first of the other, whichever comes first."""
    true, predicted = ["..(&..)", "(..&)..", ".(.&.)."], ["...&(.)", "(.)&...", ".(.&).."]
    assert base_pair_scores(true, predicted, slip=1).right_true.tolist() == [0, 0, 1]
    partner = partners(predicted[0])  # which does not tell where the strands end
    assert base_pair_scores(true[:1], [partner], slip=1).right_true.tolist() == [0]


def test_roc_area_by_hand():
    # Horizontally from (0, 0.8) to (0.5, 0.8), trapezoids to (0.7, 0.6) and (0.9, 0.2), down to (0.9, 0).
    area = 0.5 * 0.8 + 0.2 * (0.8 + 0.6) / 2 + 0.2 * (0.6 + 0.2) / 2
    assert area == pytest.approx(0.62)
    assert roc_area([0.8, 0.6, 0.2], [0.5, 0.7, 0.9]) == pytest.approx(area)
    assert roc_area([0.2, 0.8, 0.6], [0.9, 0.5, 0.7]) == pytest.approx(area)


def test_curve():
    predicted = {4.0: PRED, 0.5: ["." * len(text) for text in TRUE], 1.0: ["." * 9, PRED[1], "(.)"]}
    curve = sensitivity_ppv_curve(TRUE, predicted)
    assert curve.gamma.tolist() == [1, 4]
    assert curve.sensitivity == pytest.approx([2 / 5, 4 / 5])
    assert curve.ppv == pytest.approx([2 / 3, 1])


def test_bootstrap():
    rng = np.random.default_rng(0)
    true = ["(((...)))"] * 100
    bad, good = (["(((...)))" if rng.random() < p else "((.....))" for _ in true] for p in (0.2, 0.8))
    difference = base_pair_bootstrap(true, bad, good)
    pooled = [base_pair_scores(true, predicted).pooled.f1 for predicted in (bad, good)]
    assert difference.value == pytest.approx(pooled[1] - pooled[0])
    assert 0 < difference.low < difference.value < difference.high
    assert "no difference" in str(base_pair_bootstrap(true, good, good))


def test_bootstrap_over_groups():
    true, bad, good = TRUE * 20, ["........."] * 60, TRUE * 20
    bad = [structure[: len(known)] for structure, known in zip(bad, true, strict=True)]
    alone = base_pair_bootstrap(true, bad, good)
    assert base_pair_bootstrap(true, bad, good, groups=range(60)) == alone
    together = base_pair_bootstrap(true, PRED * 20, good, groups=["one"] * 60)
    assert together.low == together.value == together.high > 0
    with pytest.raises(DataError, match="groups has 2 entries, but there are 60 sequences"):
        base_pair_bootstrap(true, bad, good, groups=[0, 1])


def test_bootstrap_of_any_statistic():
    a, b = np.ones((50, 1)), 3 * np.ones((50, 1))
    difference = paired_difference(a, b, lambda sums: sums[..., 0] / 50, n=20)
    assert (difference.value, difference.low, difference.high) == (2, 2, 2)
    with pytest.raises(DataError, match=r"\(50, 1\) and \(49, 1\)"):
        paired_difference(a, b[1:], lambda sums: sums[..., 0])
    with pytest.raises(DataError, match="must have the same shape"):
        paired_difference(a[:0], b[:0], lambda sums: sums[..., 0])


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (base_pair_scores, (["(.)"], []), "0 predicted structures, but 1 true structures"),
        (base_pair_scores, (["(.)"], ["(..)"]), "true structure 0 has 3 bases, but its prediction has 4"),
        (base_pair_scores, (["...", "(.)"], ["...", "(.."]), "predicted structure 1: position 1"),
        (base_pair_scores, ([[1, -1]], [".."]), "true structure 0: .* neither -1 nor"),
        (base_pair_scores, ([[5]], ["."]), "neither -1 nor"),
        (base_pair_scores, ([[0.5]], ["."]), "integers"),
        (base_pair_scores, ([[[1], [0]]], [".."]), "one-dimensional"),
        (sensitivity_ppv_curve, (["..."], {1.0: ["(.)"]}), "the true structures have no pairs"),
        (roc_area, ([0.1, 0.2], [0.1]), r"\(2,\), but ppv \(1,\)"),
        (roc_area, ([0.1], [np.nan]), r"\[0, 1\]"),
        (base_pair_distance, ("...", ".."), "a has 3 bases, but b 2"),
    ],
)
def test_what_is_refused(function, arguments, message):
    with pytest.raises(DataError, match=message):
        function(*arguments)


def test_bases_by_probability():
    pairs = np.zeros((4, 4))
    pairs[0, 3] = pairs[3, 0] = 0.5
    pairs[0, 2] = pairs[2, 0] = 0.25
    assert_allclose(unpaired(pairs), [0.25, 1.0, 0.75, 0.5])
    assert_allclose(partner_entropy(pairs), [1.5, 0.0, 0.25 * 2 - 0.75 * np.log2(0.75), 1.0])
    assert partner_entropy(np.zeros((0, 0))).shape == (0,)
    assert_allclose(unpaired(np.array([[0.0, 1.0 + 1e-15], [1.0 + 1e-15, 0.0]])), 0.0)


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
        own = {(i, j) for i, j in enumerate(partner_list(structure)) if j > i}
        right = shares @ [len(own & set(enumerate(partner_list(y)))) for y in every]
        distance = shares @ [base_pair_distance(structure, y) for y in every]
        ppv = right / len(own) if own else 1.0
        assert judged == pytest.approx((log, log - logs.max(), ppv, right / expected_pairs, distance))


def test_structures_outside_the_space(model):
    knotted, close = model.judge([SEQUENCE, "GGCC"], ["((.[[.))..]]...", "(())"])
    assert knotted.log_probability == knotted.log_odds == close.log_odds == -math.inf
    assert 0.0 < knotted.expected_ppv < 1.0
    assert close.expected_ppv == 0.0
    assert model.judge([""], [""]) == [(0.0, 0.0, 1.0, 1.0, 0.0)]
    assert model.judge([SEQUENCE], ["." * 15])[0].expected_sensitivity == 0.0


def test_judgements_that_are_refused(model):
    with pytest.raises(DataError, match="there are 1 structures, but 2 sequences"):
        model.judge(["A", "C"], ["."])
    with pytest.raises(DataError, match="sequence 1: the length of a structure is 2, but there are 3 bases"):
        model.judge(["A", "ACG"], [".", ".."])
    assert base_pair_distance("((..))[]", "(.().)..") == 3
