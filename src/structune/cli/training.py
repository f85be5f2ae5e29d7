"""``structune train`` and ``structune tune`` of sequence taggers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structune.cli import reports
from structune.cli.columns import Reader, open_training, reader_of
from structune.cli.evaluation import evaluate
from structune.cli.shard_data import refuse_given
from structune.estimators.tagger import SequenceTagger
from structune.shard_files import open_shards


@dataclass(frozen=True)
class Request:
    """The files of one training, and how to read them."""

    train: Path
    model: Path
    columns: str | None
    templates: str | None
    test: Path | None = None
    plot: Path | None = None
    report: Path | None = None


@dataclass(frozen=True)
class _Data:
    """What to learn from, wherever it is."""

    reader: Reader
    n_sentences: int
    n_tokens: int
    fit: Callable[[SequenceTagger], SequenceTagger]


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code."""
    reports.check_targets([request.model], [request.plot], request.report)
    data = _of_folder(request) if request.train.is_dir() else _of_file(request)
    test = None if request.test is None else data.reader.read_labelled(request.test)
    start = time.perf_counter()
    with reports.short_warnings():
        tagger = data.fit(SequenceTagger(**settings))
    seconds = time.perf_counter() - start
    reports.check_begun(tagger)
    reports.save(tagger, request.model, data.reader.header())
    sizes = f"{data.n_sentences:,} sentences, {data.n_tokens:,} tokens, {len(tagger.classes_)} labels"
    evaluated = None if test is None else partial(evaluate, tagger, data.reader, test)
    return reports.finish(tagger, [("data", sizes)], seconds, request, evaluated)


def _of_file(request: Request) -> _Data:
    reader, data = open_training(request.train, request.columns, request.templates)
    attributes, labels = reader.attributes(data), reader.labels(data)
    return _Data(reader, len(data), data.n_tokens, lambda tagger: tagger.fit(attributes, labels))


def _of_folder(request: Request) -> _Data:
    """A folder of shards, whose features and labels are fixed."""
    path = request.train
    refuse_given(path, "--columns", "--templates", "--forbidden", "--states")
    folder = open_shards(path)
    reader = reader_of(folder.model, f"{path}: found no columns and templates, expected them of shard")
    return _Data(reader, len(folder), sum(folder.n_parts), lambda tagger: tagger.fit_shards(path))
