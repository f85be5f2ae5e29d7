"""``structune evaluate ranking``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.cli.checks import check_apart, check_targets
from structune.cli.reports import tell
from structune.cli.settings import Telling
from structune.cli.tables import numbers_table, record_table
from structune.ranking.commands.data import open_ranker
from structune.ranking.letor import LetorData
from structune.ranking.metrics import ndcg
from structune.ranking.ranker import Ranker
from structune.structure import FloatArray

if TYPE_CHECKING:
    from structune.html_reports import Section

_POSITIONS = range(1, 11)
_CONVENTIONS = {  # gain of a relevance r, discount of the position i
    "letor": "2^r - 1, 1 / log2(max(i, 2))",
    "burges": "2^r - 1, 1 / log2(1 + i)",
    "scikit-learn": "r, 1 / log2(1 + i)",
}


@dataclass(frozen=True)
class Evaluation:
    """Mean NDCG@1 .. NDCG@10 over queries, in a convention."""

    convention: str
    queries: dict[int, FloatArray]  # NDCG@k of each, by k
    n_documents: int
    n_without: int  # queries without relevant documents
    ranked: list[tuple[str, list[float]]]  # each query, and the relevances of its documents by rank

    @property
    def ndcg(self) -> dict[int, float]:
        """Mean NDCG@k by k."""
        return {k: float(values.mean()) for k, values in self.queries.items()}

    @property
    def mean(self) -> float:
        """Of all k."""
        return float(np.mean(list(self.ndcg.values())))

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
        rows = [*((str(k), [value]) for k, value in self.ndcg.items()), ("mean", [self.mean])]
        return [numbers_table("NDCG@k", "k", ["NDCG"], rows), record_table("What was ranked", self._record())]

    def _record(self) -> list[tuple[str, str]]:
        return [
            ("gain and discount", f"{self.convention}: {_CONVENTIONS[self.convention]}"),
            ("data", f"{len(self.ranked):,} queries, {self.n_documents:,} documents"),
            ("nothing relevant", f"{self.n_without:,} queries, which count 0"),
        ]

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "convention": self.convention,
            "queries": len(self.ranked),
            "documents": self.n_documents,
            "queries_without_relevant_documents": self.n_without,
            "ndcg": self.ndcg,
            "mean": self.mean,
        }

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.ranking.report import Query, ranking_sections

        values = self.queries[_POSITIONS[-1]].tolist()
        queries = [Query(*ranked, value) for ranked, value in zip(self.ranked, values, strict=True)]
        return ranking_sections(self.ndcg, queries)


def run(model_path: Path, files: list[Path], telling: Telling) -> None:
    """Show how well a model ranks the documents of files."""
    check_targets([], [], telling.report)
    check_apart([model_path, *files], [telling.report])
    model, reader = open_ranker(model_path)
    tell(evaluate(model, chain.from_iterable(map(reader.read, files))), telling)


def evaluate(model: Ranker, blocks: Iterable[LetorData]) -> Evaluation:
    """Compare rankings with relevances; queries of different blocks are different ones."""
    values: dict[int, list[FloatArray]] = {k: [] for k in _POSITIONS}
    ranked, n_documents, n_without = list[tuple[str, list[float]]](), 0, 0
    for data in blocks:
        scores = model.predict(data.X)
        for k, found in values.items():
            found.append(ndcg(data.relevance, scores, data.queries, k, model.convention))
        best = ndcg(data.relevance, data.relevance, data.queries, 1, model.convention)
        n_without += int(np.count_nonzero(best == 0.0))
        n_documents += len(data)
        ranked += _ranked(data, scores)
    by_k = {k: np.concatenate(found) for k, found in values.items()}
    return Evaluation(model.convention, by_k, n_documents, n_without, ranked)


def _ranked(data: LetorData, scores: FloatArray) -> Iterator[tuple[str, list[float]]]:
    """Queries, and the relevances of their documents by rank."""
    rows = range(len(data))
    for query, documents in groupby(rows, data.queries.__getitem__):
        ranks = sorted(documents, key=lambda row: -scores[row])
        yield query, data.relevance[ranks].tolist()
