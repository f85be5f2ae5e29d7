"""Documents of queries: query ids and offsets, sorting within queries, and NDCG."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray

_CONVENTIONS = ("letor", "burges", "scikit-learn")
LARGEST_GAIN = 1e300  # sums of gains stay finite


def check_queries(queries: Any) -> tuple[Array, IntArray]:
    """The query of each document as an array, and offsets, shape (n_queries + 1,).

    Documents ``offsets[q]:offsets[q + 1]`` are those of query q; they must be adjacent.
    """
    ids = _ids(queries)
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    first: dict[Any, int] = {}
    for start in starts.tolist():
        if (begun := first.setdefault(ids[start], start)) != start:
            raise DataError(
                f"document {start}: the query {ids[start]} occurs again; it began at document {begun}. Put "
                "the documents of a query together"
            )
    return ids, np.append(starts, ids.size)


def brought_together(queries: Any) -> tuple[Array, IntArray]:
    """Query ids as an array, and the documents in an order in which those of a query lie together.

    Queries come in the order of their first documents, and the documents of each in the order given.
    """
    ids = _ids(queries)
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(query, len(numbers)) for query in ids.tolist()]
    return ids, np.argsort(codes, kind="stable")


def _ids(queries: Any) -> Array:
    ids = np.asarray(queries)
    if ids.ndim != 1 or not ids.size:
        raise DataError(f"queries must be one id per document, at least one; the shape given is {ids.shape}")
    for j in np.flatnonzero(ids != ids)[:1]:
        raise DataError(f"document {j}: the query is {ids[j]}, which is not an id")
    return ids


# --- sorting the documents of each query ------------------------------------------------------------------


def sorted_documents(offsets: IntArray, *keys: Array) -> IntArray:
    """Documents sorted within each query, by the first key and then by the next; equal ones stay in order."""
    return np.lexsort((*keys[::-1], _queries(offsets)))


def sorted_by_score(offsets: IntArray, scores: Array) -> IntArray:
    """Documents of each query by falling score; equal ones stay in order, and cost a second sort."""
    queries = _queries(offsets)
    # By score, and then, stably, by query. The first sort is NumPy's fastest, which is not stable: where a
    # query has equal scores, a stable sort by both follows.
    order = np.argsort(-scores)
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
    """The position of each document, from 0, as `sorted_documents` has them."""
    return positions_of(offsets, sorted_documents(offsets, *keys))


# --- what orders are worth --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ndcg:
    """NDCG@k under a convention for gains and discounts (see `structune.ranking.ndcg`).

    The DCG of a query is the sum over its documents of gain times discount; the discount is 0 after position
    k, if k is not None. NDCG divides the DCG by that of the documents sorted by relevance.
    """

    convention: str = "letor"
    k: int | None = 10

    def __post_init__(self) -> None:
        if self.convention not in _CONVENTIONS:
            raise DataError(f"convention={self.convention!r}: expected one of {_CONVENTIONS}")
        if self.k is not None and not (isinstance(self.k, Integral) and self.k >= 1):
            raise DataError(f"k={self.k!r}: expected a whole number >= 1, or None for all positions")

    def gains(self, relevance: Any, queries: Array) -> FloatArray:
        """Gain of each document's relevance; errors name the document and its query."""
        values = np.asarray(relevance, dtype=np.float64)
        if values.shape != queries.shape:
            raise DataError(f"relevances must have the shape {queries.shape}, not {values.shape}")
        with np.errstate(over="ignore"):
            gains = values if self.convention == "scikit-learn" else np.exp2(values) - 1.0
        for j in np.flatnonzero(~((values >= 0.0) & (gains <= LARGEST_GAIN)))[:1]:
            raise DataError(
                f"document {j}, query {queries[j]}: the relevance {values[j]} cannot be used. It must be a "
                f"number >= 0 with a gain of at most {LARGEST_GAIN}"
            )
        return gains

    def discounts(self, n_positions: int) -> FloatArray:
        """Discount of each position, shape (n_positions,)."""
        # LETOR divides by log2 of the position from the second on, so the first two are worth the same
        rank = np.arange(1.0, n_positions + 1.0)
        counted = 1.0 / np.log2(np.maximum(rank, 2.0) if self.convention == "letor" else rank + 1.0)
        return np.where(rank <= min(self.k or n_positions, n_positions), counted, 0.0)

    def dcg(self, gains: FloatArray, positions: IntArray, offsets: IntArray) -> FloatArray:
        """DCG of each query, shape (n_queries,)."""
        discounts = self.discounts(int(np.diff(offsets).max(initial=0)))
        return np.add.reduceat(gains * discounts[positions], offsets[:-1])


def ratio(part: FloatArray, ideal: FloatArray) -> FloatArray:
    """``part / ideal``; 0 where the ideal is, for queries without relevant documents."""
    return np.divide(part, ideal, out=np.zeros_like(ideal), where=ideal > 0.0)
