"""NDCG against scikit-learn's, and against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import ndcg_score

from structune.errors import DataError
from structune.ranking.metrics import ndcg

LOG3 = np.log2(3.0)


@st.composite
def judged(draw):
    """Relevances, scores without ties, and sizes of queries: at least two documents, as scikit-learn asks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(2, 12), min_size=1, max_size=4))
    n = sum(sizes)
    return rng.integers(draw(st.integers(1, 5)), size=n), rng.permutation(n) / n, sizes


@given(judged(), st.sampled_from([None, 1, 3, 10]))
def test_scikit_learn(data, k):
    relevance, scores, sizes = data
    found = ndcg(relevance, scores, np.repeat(np.arange(len(sizes)), sizes), k, "scikit-learn")
    cuts = np.cumsum(sizes)[:-1]
    pairs = zip(np.split(relevance, cuts), np.split(scores, cuts), strict=True)
    assert_allclose(found, [ndcg_score([r], [s], k=k, ignore_ties=True) for r, s in pairs], atol=1e-14)


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        ("letor", (1 + 3 / LOG3) / (3 + 1)),
        ("burges", (1 + 3 / 2) / (3 + 1 / LOG3)),
        ("scikit-learn", (1 + 2 / 2) / (2 + 1 / LOG3)),
    ],
)
def test_conventions(convention, expected):
    """Relevances 1 0 2 in the order of scores."""
    found = ndcg([0, 2, 1], [2.0, 1.0, 3.0], ["q"] * 3, convention=convention)
    assert_allclose(found, [expected], rtol=1e-14)


def test_letor_is_the_default_and_counts_ten():
    relevance = np.array([0] * 10 + [1])
    assert ndcg(relevance, -np.arange(11.0), [0] * 11).tolist() == [0.0]
    assert_allclose(ndcg(relevance, -np.arange(11.0), [0] * 11, k=None), [1 / np.log2(11)])


def test_queries_without_relevant_documents_count_0():
    assert ndcg([0, 0, 1], [1.0, 2.0, 3.0], [5, 5, 2]).tolist() == [0.0, 1.0]


def test_ties_keep_the_given_order():
    assert_allclose(ndcg([0, 0, 1], [0.0, 0.0, 0.0], [1, 1, 1]), [1 / LOG3])
    assert_array_equal(ndcg([1, 0, 0], [-0.0, 0.0, 0.0], [1, 1, 1], k=1), [1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1.0], [0, 0]), r"scores must have the shape \(2,\), not \(1,\)"),
        (([1], [1.0, 2.0], [0, 0]), r"relevances must have the shape \(2,\), not \(1,\)"),
        (([1, 0], [1.0, np.nan], [0, 4]), "document 1, query 4: the score is nan, not a number"),
        (([1, -2], [1.0, 2.0], ["a", "b"]), r"document 1, query b: the relevance -2\.0"),
        (([1], [1.0], [0], 0), "k=0: expected a whole number >= 1"),
        (([1], [1.0], [0], 1, "trec"), "convention='trec': expected one of"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(DataError, match=message):
        ndcg(*arguments)
