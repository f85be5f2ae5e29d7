"""NDCG: what a document is worth at a position, by the conventions in use."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray

_CONVENTIONS = ("letor", "burges", "scikit-learn")
LARGEST_GAIN = 1e300  # sums of gains stay finite


@dataclass(frozen=True)
class Ndcg:
    """NDCG@k under a stated convention.

    The DCG of a query is the sum over its documents of gain times discount. NDCG divides it by that of the
    documents sorted by relevance, and is 0 for a query without relevant documents.

    Parameters
    ----------
    convention : {"letor", "burges", "scikit-learn"}
        Gains and discounts, as `structune.ranking.ndcg` has them.
    k : int, optional
        Discounts are 0 after the first k positions; None counts all.

    Raises
    ------
    DataError
        Another convention, or a k below 1.
    """

    convention: str = "letor"
    k: int | None = 10

    def __post_init__(self) -> None:
        if self.convention not in _CONVENTIONS:
            raise DataError(f"found the convention {self.convention!r}, expected one of {_CONVENTIONS}")
        if self.k is not None and not (isinstance(self.k, Integral) and self.k >= 1):
            raise DataError(f"found k = {self.k!r}, expected at least 1, or None for all positions")

    def gains(self, relevance: Any, queries: Array) -> FloatArray:
        """Gain of each document, shape (n_documents,).

        Parameters
        ----------
        relevance : array-like, shape (n_documents,)
        queries : ndarray, shape (n_documents,)
            Named in errors.

        Raises
        ------
        DataError
            A wrong number of relevances; one that is negative, not finite, or too large for its gain.
        """
        values = np.asarray(relevance, dtype=np.float64)
        if values.shape != queries.shape:
            raise DataError(f"found relevances of shape {values.shape} for {queries.size} documents")
        with np.errstate(over="ignore"):
            gains = values if self.convention == "scikit-learn" else np.exp2(values) - 1.0
        for j in np.flatnonzero(~((values >= 0.0) & (gains <= LARGEST_GAIN)))[:1]:
            raise DataError(
                f"document {j}, query {queries[j]}: found the relevance {values[j]}, "
                f"expected a number >= 0 with a gain of at most {LARGEST_GAIN}"
            )
        return gains

    def discounts(self, n_positions: int) -> FloatArray:
        """Discount of each position, shape (n_positions,)."""
        # LETOR divides by log2 of the position from the second on, so the first two are worth the same
        rank = np.arange(1.0, n_positions + 1.0)
        counted = 1.0 / np.log2(np.maximum(rank, 2.0) if self.convention == "letor" else rank + 1.0)
        return np.where(rank <= min(self.k or n_positions, n_positions), counted, 0.0)

    def tells_apart(self, n_documents: int) -> bool:
        """Whether orders of so many documents may have different DCGs."""
        discounts = self.discounts(n_documents)
        return bool(discounts[0] > discounts[-1])

    def dcg(self, gains: FloatArray, positions: IntArray, offsets: IntArray) -> FloatArray:
        """DCG of each query, shape (n_queries,); documents ``offsets[q]:offsets[q + 1]`` are query q's."""
        discounts = self.discounts(int(np.diff(offsets).max(initial=0)))
        return np.add.reduceat(gains * discounts[positions], offsets[:-1])


def ratio(part: FloatArray, ideal: FloatArray) -> FloatArray:
    """``part / ideal``; 0 where the ideal is, for queries without relevant documents."""
    return np.divide(part, ideal, out=np.zeros_like(ideal), where=ideal > 0.0)
