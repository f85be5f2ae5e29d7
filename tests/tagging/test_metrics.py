"""Scores against seqeval's, and the bootstrap against what it must give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score

from structune.errors import DataError
from structune.tagging.metrics import (
    paired_bootstrap,
    segment_counts,
    segment_scheme,
    segment_scores,
    token_scores,
)

BIO = ["O", "B-x", "I-x", "B-y-z", "I-y-z"]
BIOES = [*BIO, "E-x", "S-x", "E-y-z", "S-y-z"]
TRUE = [["B-x", "I-x", "O", "B-y"], ["O", "B-x"]]
PRED = [["B-x", "I-x", "O", "B-x"], ["O", "B-x"]]


def pairs(labels: list[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    token = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    return st.lists(st.lists(token, min_size=1, max_size=6), min_size=1, max_size=5)


def labellings(sentences: list[list[tuple[str, ...]]], k: int) -> list[list[str]]:
    return [[labels[k] for labels in sentence] for sentence in sentences]


def noisy(rng: np.random.Generator, y: list[list[str]], rate: float) -> list[list[str]]:
    return [[label if rng.random() > rate else "O" for label in labels] for labels in y]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("labels", [BIO, BIOES])
def test_f1_is_that_of_seqeval(labels):
    @given(pairs(labels))
    def check(sentences):
        true, pred = labellings(sentences, 0), labellings(sentences, 1)
        expected = f1_score(true, pred, zero_division=0)
        n_correct, n_predicted, n_true = segment_counts(true, pred).sum(axis=0)
        assert 2 * n_correct / max(n_predicted + n_true, 1) == pytest.approx(expected)
        assert segment_scores(true, pred).overall.f1 == pytest.approx(expected)

    check()


def test_segment_scores():
    scores = segment_scores(TRUE, PRED)
    x, y = scores.by_name
    assert x == ("x", pytest.approx(2 / 3), 1.0, pytest.approx(0.8), 2)
    assert y == ("y", 0.0, 0.0, 0.0, 1)
    assert scores.overall == ("all", *[pytest.approx(2 / 3)] * 3, 3)
    assert scores.rows() == [x, y, scores.overall]


def test_token_scores():
    scores = token_scores(TRUE, PRED)
    assert [score.name for score in scores.by_name] == ["B-x", "B-y", "I-x", "O"]
    assert scores.by_name[0] == ("B-x", pytest.approx(2 / 3), 1.0, pytest.approx(0.8), 2)
    assert scores.overall == ("all", *[pytest.approx(5 / 6)] * 3, 6)


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (["O", "B-NP", "I-NP"], "bio"),
        (["O", "I-NP"], "bio"),
        (["O", "B-NP", "I-NP", "E-NP", "S-NP"], "bioes"),
        (["O"], None),
        (["I", "E"], None),  # intron, exon
        (["B-NP", "X"], None),
        (["E-mail", "S-corp", "I-x"], None),
        (["B", "E"], None),  # buried, exposed
        (["B", "E", "O"], "bioes"),
        (["S-x", "O"], None),
        ([], None),
    ],
)
def test_segment_scheme(labels, scheme):
    assert segment_scheme(labels) == scheme


def test_bootstrap_of_unequal_predictions():
    rng = np.random.default_rng(0)
    true = [list(rng.choice(["B-x", "B-y", "O"], size=8)) for _ in range(200)]
    bad, good = noisy(rng, true, 0.4), noisy(rng, true, 0.1)
    difference = paired_bootstrap(true, bad, good)
    assert difference.value == pytest.approx(f1_score(true, good) - f1_score(true, bad))
    assert 0 < difference.low < difference.value < difference.high
    assert difference == paired_bootstrap(true, bad, good)
    assert "no difference" not in str(difference)
    reverse = paired_bootstrap(true, good, bad)
    assert (reverse.low, reverse.high) == pytest.approx((-difference.high, -difference.low))


def test_bootstrap_interval_is_as_wide_as_the_spread_of_new_samples():
    rng = np.random.default_rng(1)

    def draw():
        true = [list(rng.choice(["B-x", "O"], size=5)) for _ in range(100)]
        return true, noisy(rng, true, 0.3), noisy(rng, true, 0.2)

    spread = np.std([f1_score(t, b) - f1_score(t, a) for t, a, b in (draw() for _ in range(100))])
    difference = paired_bootstrap(*draw())
    assert (difference.high - difference.low) / (2 * 1.96) == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize("function", [token_scores, segment_counts])
@pytest.mark.parametrize(
    ("pred", "message"),
    [
        ([["O"]], "y_pred has 1 sequences, but y_true has 2"),
        ([["O", "O"], ["O", "O"]], "sequence 1 has 2 labels in y_pred, but 1 in y_true"),
    ],
)
def test_ragged_lengths(function, pred, message):
    with pytest.raises(DataError, match=message):
        function([["O", "O"], ["O"]], pred)


@pytest.mark.parametrize("empty", [[], [[]]])
def test_nothing_to_compare(empty):
    with pytest.raises(DataError, match="no labels"):
        token_scores(empty, empty)


@pytest.mark.parametrize("label", ["NOUN", None])
def test_labels_that_spell_no_segments(label):
    with pytest.raises(DataError, match=r"the label .* is not BIO or BIOES"):
        segment_scores([["O"]], [[label]])
    with pytest.raises(DataError, match=r"the label .* is not BIO or BIOES"):
        segment_counts([[label]], [["O"]])
