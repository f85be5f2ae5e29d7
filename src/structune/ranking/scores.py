"""Scores of rankings, for the terminal, as JSON and for report pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.table import Table

from structune.cli.terminal import numbers_table, record_table
from structune.files.text import plural
from structune.ranking.letor import LetorData
from structune.ranking.metrics import ndcg
from structune.ranking.ranker import Ranker

if TYPE_CHECKING:
    from structune.html_reports.page import Block, Section

_POSITIONS = range(1, 11)
_MOST_ROWS, _N_TOP = 100, 10
_CONVENTIONS = {  # gain of a relevance r, discount of the position i
    "letor": "2^r - 1, 1 / log2(max(i, 2))",
    "burges": "2^r - 1, 1 / log2(1 + i)",
    "scikit-learn": "r, 1 / log2(1 + i)",
}


@dataclass(frozen=True)
class Query:
    """A query, the relevances of its documents by rank, and its NDCG@1 .. NDCG@10."""

    name: str
    relevance: Sequence[float]
    ndcg: Sequence[float]


@dataclass(frozen=True)
class RankingScores:
    """Mean NDCG@1 .. NDCG@10 over queries; a query without relevant documents counts as 0."""

    convention: str
    queries: list[Query]

    @classmethod
    def of_blocks(cls, model: Ranker, blocks: Iterable[LetorData]) -> Self:
        """Compare rankings with relevances; queries of different blocks are different ones."""
        queries = list[Query]()
        for data in blocks:
            scores = model.predict(data.X)
            found = [ndcg(data.relevance, scores, data.queries, k, model.convention) for k in _POSITIONS]
            names = groupby(range(len(data)), data.queries.__getitem__)
            for (name, documents), values in zip(names, np.transpose(found).tolist(), strict=True):
                by_rank = sorted(documents, key=lambda row: -scores[row])
                queries.append(Query(name, data.relevance[by_rank].tolist(), values))
        return cls(model.convention, queries)

    @property
    def ndcg(self) -> dict[int, float]:
        """Mean NDCG@k by k."""
        return dict(zip(_POSITIONS, np.mean([q.ndcg for q in self.queries], axis=0).tolist(), strict=True))

    def tables(self) -> list[Table]:
        """Tables for the terminal: NDCG@k by k, and what was ranked."""
        told = self.as_dict()
        rows = [*((str(k), [value]) for k, value in told["ndcg"].items()), ("mean", [told["mean"]])]
        names = "queries", "queries_without_relevant_documents"
        n_queries, n_none = (plural(told[name], "query", "queries") for name in names)
        record = [
            ("gain and discount", f"{self.convention}: {_CONVENTIONS[self.convention]}"),
            ("data", f"{n_queries}, {plural(told['documents'], 'document')}"),
            ("nothing relevant", f"{n_none}, NDCG counted as 0"),
        ]
        return [numbers_table("NDCG@k", "k", ["NDCG"], rows), record_table("What was ranked", record)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "convention": self.convention,
            "queries": len(self.queries),
            "documents": sum(len(query.relevance) for query in self.queries),
            "queries_without_relevant_documents": sum(max(query.relevance) <= 0 for query in self.queries),
            "ndcg": self.ndcg,
            "mean": float(np.mean(list(self.ndcg.values()))),
        }

    def sections(self) -> Iterator[Section]:
        from structune.html_reports.page import Section, make_table
        from structune.html_reports.pictures import histogram, line

        at_last = f"NDCG@{_POSITIONS[-1]}"
        worst = sorted((q for q in self.queries if max(q.relevance) > 0), key=lambda q: q.ndcg[-1])
        rows = [
            (
                query.name,
                " ".join(f"{r:g}" for r in query.relevance[:_N_TOP]),
                f"{len(query.relevance):,}",
                f"{np.count_nonzero(query.relevance):,}",
                f"{query.ndcg[-1]:.4f}",
            )
            for query in worst
        ]
        blocks: list[Block] = [
            line(list(self.ndcg), list(self.ndcg.values()), "k", "NDCG@k", "NDCG@k by k, mean over queries."),
            histogram(
                [query.ndcg[-1] for query in self.queries],
                at_last,
                "queries",
                "Number of queries by NDCG; queries without relevant documents count as 0.",
            ),
            make_table(
                "Queries with relevant documents, the worst first",
                ["query", f"relevances of the first {_N_TOP}"],
                ["documents", "relevant", at_last],
                rows,
                _MOST_ROWS,
            ),
        ]
        yield Section("Queries", blocks)
