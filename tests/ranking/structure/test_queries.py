"""Documents of queries: bringing them together, and sorting them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.ranking.structure.queries import (
    brought_together,
    check_queries,
    positions_of,
    sorted_by_score,
    sorted_documents,
)


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
        ([], r"found query ids of shape \(0,\), expected one a document"),
        ([[1], [2]], r"found query ids of shape \(2, 1\)"),
        ([1.0, np.nan], "document 1: found the query nan, expected an id"),
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
