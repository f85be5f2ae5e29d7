"""Rankings against their definition; documents of queries: bringing them together, and sorting them."""

from itertools import pairwise, permutations
from math import log2

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

import laws
import loss_laws
from laws import Problem
from structune.errors import DataError
from structune.ranking.structure.queries import (
    brought_together,
    check_queries,
    positions_of,
    sorted_by_score,
    sorted_documents,
)
from structune.ranking.structure.ranking import Ranking

FORMS = {  # of a feature matrix
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "lists": np.ndarray.tolist,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
}
GAINS = {"letor": lambda r: 2**r - 1, "burges": lambda r: 2**r - 1, "scikit-learn": lambda r: r}
DISCOUNTS = {  # of positions from 1
    "letor": lambda i: 1.0 if i == 1 else 1 / log2(i),
    "burges": lambda i: 1 / log2(1 + i),
    "scikit-learn": lambda i: 1 / log2(1 + i),
}


def feature_vector(rows, positions):
    """F(x, p)."""
    return sum((p + 2) ** -0.25 * row for row, p in zip(rows, positions, strict=True))


def sorted_by(keys):
    """Position of each document when they are sorted by falling keys; equal ones stay in order."""
    order = sorted(range(len(keys)), key=lambda j: -keys[j])
    return tuple(order.index(j) for j in range(len(keys)))


def dcg(relevance, positions, k, convention):
    counted = [(r, p + 1) for r, p in zip(relevance, positions, strict=True) if k is None or p < k]
    return sum(GAINS[convention](r) * DISCOUNTS[convention](i) for r, i in counted)


def cost(relevance, positions, k, convention):
    ideal = dcg(relevance, sorted_by(relevance), k, convention)
    return 1.0 - dcg(relevance, positions, k, convention) / ideal if ideal else 0.0


def falls_with(relevance, positions):
    """Whether the documents are sorted by relevance."""
    return all(np.diff([relevance[positions.index(p)] for p in range(len(positions))]) <= 0)


def split(sizes, values):
    return np.split(np.asarray(values), np.cumsum(sizes)[:-1])


@st.composite
def ranking_problems(draw, scale=1.0):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = ["size=1", "size=2", "colour"][: draw(st.integers(0, 3))]
    k, convention = draw(st.sampled_from([None, 1, 2, 10])), draw(st.sampled_from(sorted(GAINS)))
    structure = Ranking(names, k=k, convention=convention)
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    x = np.where(rng.random((sum(sizes), len(names))) < 0.7, rng.normal(size=(sum(sizes), len(names))), 0.0)
    relevance = rng.integers(draw(st.integers(1, 4)), size=sum(sizes)) * draw(st.sampled_from([1.0, 0.3]))
    known = draw(st.booleans())
    weights = rng.uniform(0.0, 2.0, len(sizes)) if draw(st.booleans()) else None
    queries = np.repeat(rng.permutation(len(sizes)), sizes)
    inputs = FORMS[draw(st.sampled_from(sorted(FORMS)))](x), queries
    shard = structure.encode(inputs, relevance if known else None, weights)
    orders = [list(permutations(range(size))) for size in sizes]
    judged = list(zip(split(sizes, relevance), orders, strict=True))
    return Problem(
        structure,
        shard,
        rng.normal(scale=scale, size=structure.n_weights),
        outputs=[[np.array(p) for p in each] for each in orders],
        features=[
            np.array([feature_vector(rows, p) for p in each])
            for rows, each in zip(split(sizes, x), orders, strict=True)
        ],
        own=[each.index(sorted_by(r)) for r, each in judged] if known else None,
        costs=[np.array([cost(r, p, k, convention) for p in each]) for r, each in judged] if known else None,
        equivalent=[np.array([falls_with(r, p) for p in each]) for r, each in judged] if known else None,
    )


@settings(max_examples=60)
@given(problem=ranking_problems() | ranking_problems(scale=1e4))
def test_laws(problem):
    laws.hold(problem)


@settings(max_examples=25)
@given(problem=ranking_problems() | ranking_problems(scale=1e4))
def test_laws_of_losses(problem):
    loss_laws.hold(problem)


def encoded(rng, sizes, k=10, n_features=3, n_grades=3):
    """A random shard, with the data behind it."""
    structure = Ranking([f"x{j}" for j in range(n_features)], k=k)
    x, relevance = rng.normal(size=(sum(sizes), n_features)), rng.integers(0, n_grades, sum(sizes)) / n_grades
    queries = np.repeat(np.arange(len(sizes)), sizes)
    return structure, structure.encode((x, queries), relevance), x, relevance


@pytest.mark.parametrize("n_grades", [2, 3, 6, 30])  # of the last there are too many for states
@pytest.mark.parametrize(("k", "scale"), [(1, 0.3), (5, 0.0), (5, 0.3), (5, 1e6), (None, 0.01), (None, 10.0)])
def test_augmented_orders_of_long_lists(k, scale, n_grades):
    """Against the assignment as it is stated."""
    rng = np.random.default_rng(n_grades)
    sizes = [40, 1, 25]
    structure, shard, x, relevance = encoded(rng, sizes, k, n_grades=n_grades)
    w, rates = scale * rng.normal(size=3), np.array([1.0, 2.0, 0.5])
    outputs, values = structure.best(w, shard, rates)
    for s, r, found, value, rate in zip(
        split(sizes, x @ w), split(sizes, relevance), split(sizes, outputs), values, rates, strict=True
    ):
        ideal = dcg(r, sorted_by(r), k, "letor") or 1.0
        table = np.array(
            [
                [(p + 2) ** -0.25 * s[j] - rate * dcg([r[j]], [p], k, "letor") / ideal for p in range(len(s))]
                for j in range(len(s))
            ]
        )
        most = table[linear_sum_assignment(table, maximize=True)].sum()
        assert sorted(found) == list(range(len(s)))
        assert_allclose(table[np.arange(len(s)), found].sum(), most, rtol=1e-12, atol=1e-12)
        assert_allclose(value, most + rate * any(r > 0), rtol=1e-12, atol=1e-12)


def test_equal_scores_keep_the_given_order():
    structure = Ranking(["x"])
    shard = structure.encode((np.array([[0.0], [1.0], [0.0], [1.0], [0.0]]), list("aaaab")))
    assert structure.best(np.array([1.0]), shard)[0].tolist() == [2, 0, 3, 1, 0]
    assert structure.best(np.array([0.0]), shard)[0].tolist() == [0, 1, 2, 3, 0]


def test_slices_of_dense_rows_share_memory():
    _, shard, x, _ = encoded(np.random.default_rng(0), [2, 3, 4])
    assert shard.design.matrix is x
    part = shard.take(slice(1, 3))
    assert (len(part), part.n_parts, part.sizes().tolist()) == (2, 7, [3, 4])
    assert np.shares_memory(part.design.matrix, x)
    assert not np.shares_memory(shard.take([2, 1]).design.matrix, x)
    assert len(shard.take([])) == shard.take([]).n_parts == 0


def test_groups_are_prefixes():
    structure = Ranking(["size=1", "size=2", "colour"])
    assert structure.weight_names() == ["size=1", "size=2", "colour"]
    assert structure.groups().names == ("size", "colour")
    assert structure.groups().sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("matrix", "queries", "relevance", "weights", "message"),
    [
        ([[1.0]], [0], None, None, r"feature matrix \(one document per row\): "),
        (np.zeros((2, 2)), [0], None, None, "there are 1 query ids, but 2 documents"),
        (np.zeros((3, 2)), list("aba"), None, None, "document 2: the query a occurs again; it began at d"),
        (np.zeros((3, 2)), [7, 7, 5], [0, 1], None, r"relevances must have the shape \(3,\), not \(2,\)"),
        (np.zeros((2, 2)), [7, 7], [5000, 0], None, r"relevance 5000\.0 cannot be used.* with a gain of"),
        (np.zeros((3, 2)), [7, 7, 5], None, [1.0, -2.0], "example 1 has the weight -2.0"),
        (np.zeros((3, 2)), [7, 7, 5], None, np.ones(3), r"weights must have the shape \(2,\), not \(3,\)"),
    ],
)
def test_encode_refuses(matrix, queries, relevance, weights, message):
    with pytest.raises(DataError, match=message):
        Ranking(["x", "y"]).encode((matrix, queries), relevance, weights)
    with pytest.raises(DataError, match="must be a pair of a feature matrix and query ids, not ndarray"):
        Ranking(["x"]).encode(np.zeros((2, 1)))


def test_scores_of_unknown_outputs():
    structure = Ranking(["x"])
    shard, w = structure.encode((np.zeros((2, 1)), [0, 0])), np.zeros(1)
    for question in (
        lambda: structure.score(w, shard),
        lambda: structure.features(shard, w),
        lambda: structure.cost(shard, np.array([0, 1])),
        lambda: structure.best(w, shard, np.ones(1)),
        lambda: structure.best_equivalent(w, shard),
    ):
        with pytest.raises(DataError, match="the shard has no relevances"):
            question()
    with pytest.raises(DataError, match=r"positions must have the shape \(2,\), not \(1,\)"):
        structure.score(w, shard, np.array([0]))


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        (["b", "a", "b", "a", "c"], [0, 2, 1, 3, 4]),
        ([7, 7, 3], [0, 1, 2]),
        ([2.5], [0]),
        (np.array(["x", 1, "x"], dtype=object), [0, 2, 1]),
    ],
)
def test_documents_are_brought_together(queries, expected):
    """Queries by their first documents; the documents of each keep their order."""
    ids, order = brought_together(queries)
    assert order.tolist() == expected
    assert_array_equal(ids, queries)
    check_queries(ids[order])


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], r"queries must be one id per document.* shape given is \(0,\)"),
        ([[1], [2]], r"queries must be one id per document.* shape given is \(2, 1\)"),
        ([1.0, np.nan], "document 1: the query is nan, which is not an id"),
    ],
)
def test_ids_that_are_refused(queries, message):
    with pytest.raises(DataError, match=message):
        brought_together(queries)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([1, 2, 255, 256, 300]), st.sampled_from([2, 5, 10**6]))
def test_documents_by_score(seed, n_queries, n_values):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 6, n_queries))))
    scores = rng.integers(-n_values, n_values, offsets[-1]).astype(float)
    scores[scores == 1.0] = -0.0  # equal to 0
    order = sorted_by_score(offsets, scores)
    expected = [
        d for a, b in pairwise(offsets.tolist()) for d in sorted(range(a, b), key=lambda k: -scores[k])
    ]
    assert order.tolist() == expected == sorted_documents(offsets, -scores).tolist()
    positions = positions_of(offsets, order)
    assert_array_equal(order[offsets[:-1]], np.flatnonzero(positions == 0))


def test_documents_of_very_many_queries():
    offsets = np.arange(0, 2 * 70_000 + 1, 2)
    order = sorted_by_score(offsets, np.tile([1.0, 2.0], 70_000))
    assert_array_equal(order, np.arange(offsets[-1]) ^ 1)
