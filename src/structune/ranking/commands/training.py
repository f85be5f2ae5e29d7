"""``structune train ranking`` and ``structune tune ranking``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structune.cli.learning import Lesson, learn
from structune.ranking.commands.data import open_training
from structune.ranking.commands.evaluation import evaluate
from structune.ranking.letor import LetorData
from structune.ranking.ranker import Ranker


@dataclass(frozen=True)
class Request:
    """The files of one training, and how to read them."""

    train: list[Path]
    model: Path
    missing: float | None
    test: Path | None = None
    plot: Path | None = None
    report: Path | None = None


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code."""
    ranker = Ranker(**settings)
    return learn(ranker, request, partial(_read, ranker, request))


def _read(ranker: Ranker, request: Request) -> Lesson:
    reader, found = open_training(request.train, request.missing)
    test = None if request.test is None else reader.read(request.test)
    X, relevance = (np.concatenate([getattr(data, name) for data in found]) for name in ("X", "relevance"))
    queries = [f"{file} {query}" for file, data in enumerate(found) for query in data.queries]
    told = [("data", _described(found, len(set(queries))))]
    evaluated = None if test is None else partial(evaluate, ranker, [test])
    return Lesson(lambda: ranker.fit(X, relevance, queries), told, evaluated, reader.header())


def _described(found: Sequence[LetorData], n_queries: int) -> str:
    n_features = found[0].feature_indices.size
    return f"{n_queries:,} queries, {sum(map(len, found)):,} documents, {n_features:,} features"
