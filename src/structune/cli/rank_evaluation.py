"""``structune evaluate rank``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from structune.cli.rank_data import open_ranker
from structune.cli.tables import numbers_table, print_tables, record_table
from structune.estimators.ranker import Ranker
from structune.formats import LetorData
from structune.metrics import ndcg

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
    ndcg: dict[int, float]
    n_queries: int
    n_documents: int
    n_without: int  # queries without relevant documents

    @property
    def mean(self) -> float:
        """Of all k."""
        return float(np.mean(list(self.ndcg.values())))

    def show(self) -> None:
        """Print it as tables."""
        rows = [*((str(k), [value]) for k, value in self.ndcg.items()), ("mean", [self.mean])]
        print_tables(
            numbers_table("NDCG@k", "k", ["NDCG"], rows), record_table("What was ranked", self._record())
        )

    def _record(self) -> list[tuple[str, str]]:
        return [
            ("gain and discount", f"{self.convention}: {_CONVENTIONS[self.convention]}"),
            ("data", f"{self.n_queries:,} queries, {self.n_documents:,} documents"),
            ("nothing relevant", f"{self.n_without:,} queries, which count 0"),
        ]

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "convention": self.convention,
            "queries": self.n_queries,
            "documents": self.n_documents,
            "queries_without_relevant_documents": self.n_without,
            "ndcg": self.ndcg,
            "mean": self.mean,
        }


def run(model_path: Path, files: list[Path], as_json: bool) -> None:
    """Show how well a model ranks the documents of files."""
    model, reader = open_ranker(model_path)
    evaluation = evaluate(model, [reader.read(file) for file in files])
    if as_json:
        typer.echo(json.dumps(evaluation.as_dict(), indent=2))
    else:
        evaluation.show()


def evaluate(model: Ranker, found: Sequence[LetorData]) -> Evaluation:
    """Compare rankings with relevances; queries of different files are different ones."""
    scores = [model.predict(data.X) for data in found]
    values = {
        k: np.concatenate(
            [
                ndcg(data.relevance, score, data.queries, k, model.convention)
                for data, score in zip(found, scores, strict=True)
            ]
        )
        for k in _POSITIONS
    }
    best = np.concatenate(
        [ndcg(data.relevance, data.relevance, data.queries, 1, model.convention) for data in found]
    )
    return Evaluation(
        model.convention,
        {k: float(value.mean()) for k, value in values.items()},
        best.size,
        sum(map(len, found)),
        int(np.count_nonzero(best == 0.0)),
    )
