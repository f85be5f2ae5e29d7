"""Documents in the rows of a table, those of a query together: which are whose, and sorting them."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import Array, IntArray


def check_queries(queries: Any) -> tuple[Array, IntArray]:
    """The query of each document as an array, and offsets, shape (n_queries + 1,).

    Documents ``offsets[q]:offsets[q + 1]`` are those of query q.

    Parameters
    ----------
    queries : array-like, shape (n_documents,)
        Numbers or strings; equal for the documents of a query, which lie together.

    Raises
    ------
    DataError
        No documents, an id that is not a number, or a query that comes back after another.
    """
    ids = _ids(queries)
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    first: dict[Any, int] = {}
    for start in starts.tolist():
        if (begun := first.setdefault(ids[start], start)) != start:
            raise DataError(
                f"document {start}: found the query {ids[start]} again, which began at document {begun}; "
                "expected the documents of a query together"
            )
    return ids, np.append(starts, ids.size)


def brought_together(queries: Any) -> tuple[Array, IntArray]:
    """Query ids as an array, and the documents in an order in which those of a query lie together.

    Queries come in the order of their first documents, and the documents of each in the order given.

    Raises
    ------
    DataError
        No documents, or an id that is not a number.
    """
    ids = _ids(queries)
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(query, len(numbers)) for query in ids.tolist()]
    return ids, np.argsort(codes, kind="stable")


def _ids(queries: Any) -> Array:
    ids = np.asarray(queries)
    if ids.ndim != 1 or not ids.size:
        raise DataError(f"found query ids of shape {ids.shape}, expected one a document, and a document")
    for j in np.flatnonzero(ids != ids)[:1]:
        raise DataError(f"document {j}: found the query {ids[j]}, expected an id")
    return ids


def sorted_documents(offsets: IntArray, *keys: Array) -> IntArray:
    """Documents sorted within each query, by the first key and then by the next; equal ones stay in order."""
    return np.lexsort((*keys[::-1], _queries(offsets)))


def sorted_by_score(offsets: IntArray, scores: Array) -> IntArray:
    """Documents of each query by falling score; equal ones stay in order, and cost a second sort."""
    queries = _queries(offsets)
    # By score, and then, stably, by query. The first sort is not stable: where a query has equal scores, a
    # stable sort by both follows.
    order = np.argsort(-scores)  # NumPy's fastest sort, which is not stable
    order = order[np.argsort(queries[order], kind="stable")]
    found = scores[order]
    if np.any((found[1:] == found[:-1]) & (queries[1:] == queries[:-1])):
        return sorted_documents(offsets, -scores)
    return order


def _queries(offsets: IntArray) -> IntArray:
    """The number of each document's query, in as few bytes as will do."""
    sizes = np.diff(offsets)
    return np.repeat(np.arange(sizes.size, dtype=np.min_scalar_type(sizes.size)), sizes)


def positions_of(offsets: IntArray, order: IntArray) -> IntArray:
    """The position of each document, from 0, in an order of those of each query."""
    positions = np.empty_like(order)
    positions[order] = np.arange(order.size) - np.repeat(offsets[:-1], np.diff(offsets))
    return positions


def sorted_positions(offsets: IntArray, *keys: Array) -> IntArray:
    """The position of each document, from 0, in that order."""
    return positions_of(offsets, sorted_documents(offsets, *keys))
