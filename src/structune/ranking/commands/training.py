"""``structune train ranking`` and ``structune tune ranking``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.cli.shard_data import described, sharded
from structune.files.shards import open_shards
from structune.ranking.commands.data import Reader, open_training, reader_of
from structune.ranking.commands.evaluation import evaluate
from structune.ranking.letor import LetorData
from structune.ranking.ranker import Ranker

_Data = tuple[Reader, Callable[[], Any], str]  # how to read more of it, how to fit it, and what it is


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
        shards = sharded(train, "--missing", "--k", "--convention")
        reader, fit, told = _of_shards(ranker, shards) if shards else _of_files(ranker, train, missing)
        known = None if test is None else list(reader.read(test))
        evaluated = None if known is None else partial(evaluate, ranker, known)
        return Lesson(fit, [("data", told)], evaluated, reader.header(), sources=[*train, test])

    return learn(ranker, results, read, plot)


def _of_shards(ranker: Ranker, path: Path) -> _Data:
    reader = reader_of(open_shards(path).model, path)
    return reader, lambda: ranker.fit_shards(path), described(path, "documents")


def _of_files(ranker: Ranker, paths: list[Path], missing: float | None) -> _Data:
    reader, found = open_training(paths, missing)
    X, relevance = (np.concatenate([getattr(data, name) for data in found]) for name in ("X", "relevance"))
    queries = [f"{file} {query}" for file, data in enumerate(found) for query in data.queries]
    return reader, lambda: ranker.fit(X, relevance, queries), _described(found, len(set(queries)))


def _described(found: Sequence[LetorData], n_queries: int) -> str:
    n_features = found[0].feature_indices.size
    return f"{n_queries:,} queries, {sum(map(len, found)):,} documents, {n_features:,} features"
