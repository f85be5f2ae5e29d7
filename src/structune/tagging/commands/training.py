"""``structune train`` and ``structune tune`` of sequence taggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from structune.cli.learning import Lesson, learn
from structune.cli.shard_data import refuse_given
from structune.files.shards import open_shards
from structune.tagging.commands.columns import Reader, open_training, reader_of
from structune.tagging.commands.evaluation import evaluate
from structune.tagging.tagger import SequenceTagger


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


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code."""
    tagger = SequenceTagger(**settings)
    read = _of_folder if request.train.is_dir() else _of_file
    return learn(tagger, request, partial(read, tagger, request))


def _of_file(tagger: SequenceTagger, request: Request) -> Lesson:
    reader, data = open_training(request.train, request.columns, request.templates)
    attributes, labels = reader.attributes(data), reader.labels(data)
    n_labels = len(set(chain.from_iterable(labels)))
    sizes = f"{len(data):,} sentences, {data.n_tokens:,} tokens, {n_labels} labels"
    return _lesson(tagger, request, reader, lambda: tagger.fit(attributes, labels), sizes)


def _of_folder(tagger: SequenceTagger, request: Request) -> Lesson:
    """A folder of shards, whose features and labels are fixed."""
    path = request.train
    refuse_given(path, "--columns", "--templates", "--forbidden", "--states")
    folder = open_shards(path)
    reader = reader_of(folder.model, f"{path}: found no columns and templates, expected them of shard")
    n_labels = len(folder.model.classes_)
    sizes = f"{len(folder):,} sentences, {sum(folder.n_parts):,} tokens, {n_labels} labels"
    return _lesson(tagger, request, reader, lambda: tagger.fit_shards(path), sizes)


def _lesson(
    tagger: SequenceTagger, request: Request, reader: Reader, fit: Callable[[], Any], sizes: str
) -> Lesson:
    test = None if request.test is None else reader.read_labelled(request.test)
    evaluated = None if test is None else partial(evaluate, tagger, reader, test)
    return Lesson(fit, [("data", sizes)], evaluated, reader.header())
