"""Normalised discounted cumulative gain (NDCG) of rankings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.errors import DataError
from structune.ranking.structure.queries import Ndcg, check_queries, ratio, sorted_positions


def ndcg(
    relevance: ArrayLike, scores: ArrayLike, queries: ArrayLike, k: int | None = 10, convention: str = "letor"
) -> NDArray[np.float64]:
    """Compute the NDCG@k of each query with its documents sorted by score, shape (n_queries,).

    Queries are in the order of their documents. A query without relevant documents counts as 0.

    Parameters
    ----------
    relevance : array-like, shape (n_documents,)
        Relevance of each document, a number >= 0.
    scores : array-like, shape (n_documents,)
        Score of each document. Documents with equal scores stay in the order given, as in the tool of LETOR;
        scikit-learn averages over their orders.
    queries : array-like, shape (n_documents,)
        Query id of each document, a number or a string. The documents of a query must be adjacent.
    k : int, optional
        Number of first positions that count; None counts all.
    convention : {"letor", "burges", "scikit-learn"}
        Gain of a relevance r, and discount at the position i = 1, 2, ...

        - "letor": 2^r - 1 and 1 / log2(max(i, 2)), the evaluation tool of LETOR 3.0 (Qin et al. 2010).
        - "burges": 2^r - 1 and 1 / log2(1 + i): Burges et al. 2005, and LightGBM (where, however, a query
          without relevant documents counts as 1).
        - "scikit-learn": r and 1 / log2(1 + i): `sklearn.metrics.ndcg_score`.

    Raises
    ------
    DataError
        There are no documents; arrays differ in length; the convention is unknown; `k` is below 1; the
        documents of a query are not adjacent; a relevance is below 0 or too large; or a score is nan.
    """
    ids, offsets = check_queries(queries)
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != ids.shape:
        raise DataError(f"scores must have the shape {ids.shape}, not {values.shape}")
    for j in np.flatnonzero(np.isnan(values))[:1]:
        raise DataError(f"document {j}, query {ids[j]}: the score is nan, not a number")
    measure = Ndcg(convention, k)
    gains = measure.gains(relevance, ids)
    found, ideal = (measure.dcg(gains, sorted_positions(offsets, -key), offsets) for key in (values, gains))
    return ratio(found, ideal)
