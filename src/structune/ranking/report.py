"""How well queries were ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structune.html_reports.page import Section
from structune.html_reports.pictures import histogram, line
from structune.html_reports.tables import make_table

_MOST_ROWS, _N_TOP = 100, 10


_TOLD = "How many queries were ranked how well; those without relevant documents count 0."


@dataclass(frozen=True)
class Query:
    """A query, the relevances of its documents in the order of their scores, and its NDCG@10."""

    name: str
    relevance: Sequence[float]
    ndcg: float


def ranking_sections(by_k: dict[int, float], queries: Sequence[Query]) -> Iterator[Section]:
    """NDCG@k, and the queries that were ranked worst."""
    worst = sorted((q for q in queries if max(q.relevance) > 0), key=lambda q: q.ndcg)
    rows = [
        (
            query.name,
            " ".join(f"{r:g}" for r in query.relevance[:_N_TOP]),
            f"{len(query.relevance):,}",
            f"{np.count_nonzero(query.relevance):,}",
            f"{query.ndcg:.4f}",
        )
        for query in worst
    ]
    yield Section(
        "Queries",
        [
            line(list(by_k), list(by_k.values()), "k", "NDCG@k", "Mean over the queries."),
            histogram([q.ndcg for q in queries], "NDCG@10", "queries", _TOLD),
            make_table(
                "Queries with relevant documents, the worst first",
                ["query", f"relevances of the first {_N_TOP}"],
                ["documents", "relevant", "NDCG@10"],
                rows,
                _MOST_ROWS,
            ),
        ],
    )
