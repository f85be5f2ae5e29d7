"""Documents of queries: bringing them together, and sorting them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.ranking.structure.queries import brought_together, check_queries
from structune.ranking.structure.ranking import Ranking


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


def test_shards_are_sorted_within_queries():
    structure, x = Ranking(["x"], k=2), np.array([[3.0], [1.0], [2.0], [0.0], [5.0]])
    shard = structure.encode((x, list("aaabb")), [0, 1, 1, 2, 0], [2.0, 3.0])
    scores = np.array([0.0, 1.0, 2.0, 4.0, 4.0])
    other = shard.sorted_by(scores)
    order = [2, 1, 0, 3, 4]
    expected = structure.encode((x[order], list("aaabb")), [1, 1, 0, 2, 0], [2.0, 3.0])
    assert_array_equal(other.design.matrix, x[order])
    for name in ("weights", "offsets", "gains", "ideal", "outputs"):
        assert_array_equal(getattr(other, name), getattr(expected, name), strict=True)
