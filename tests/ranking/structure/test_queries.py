"""Documents of queries: bringing them together, and sorting them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.ranking.structure.queries import brought_together, check_queries


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
