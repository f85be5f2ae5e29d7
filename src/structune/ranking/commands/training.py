"""``structune train ranking`` and ``structune tune ranking``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.ranking.commands.data import open_training
from structune.ranking.commands.evaluation import evaluate
from structune.ranking.letor import LetorData
from structune.ranking.ranker import Ranker


def run(
    train: list[Path],
    missing: float | None,
    test: Path | None,
    settings: Mapping[str, Any],
    results: Results,
    plot: Path | None = None,
) -> int:
    """Fit, save, report; returns the exit code."""
    ranker = Ranker(**settings)

    def read() -> Lesson:
        reader, found = open_training(train, missing)
        known = None if test is None else list(reader.read(test))
        X, relevance = (
            np.concatenate([getattr(data, name) for data in found]) for name in ("X", "relevance")
        )
        queries = [f"{file} {query}" for file, data in enumerate(found) for query in data.queries]
        told = [("data", _described(found, len(set(queries))))]
        evaluated = None if known is None else partial(evaluate, ranker, known)
        return Lesson(lambda: ranker.fit(X, relevance, queries), told, evaluated, reader.header())

    return learn(ranker, results, read, plot)


def _described(found: Sequence[LetorData], n_queries: int) -> str:
    n_features = found[0].feature_indices.size
    return f"{n_queries:,} queries, {sum(map(len, found)):,} documents, {n_features:,} features"
