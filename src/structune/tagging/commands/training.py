"""``structune train`` and ``structune tune`` of sequence taggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.cli.shard_data import refuse_given
from structune.files.shards import open_shards
from structune.tagging.commands.columns import Reader, open_training, reader_of
from structune.tagging.commands.evaluation import evaluate
from structune.tagging.commands.options import Features, Format
from structune.tagging.structure.outside import LeftOut, fit_to_rules
from structune.tagging.tagger import SequenceTagger

_Data = tuple[Reader, Callable[[], Any], str]  # how to read more of it, how to fit it, and what it is


def run(
    train: Path,
    features: Features,
    reading: Format,
    test: Path | None,
    settings: Mapping[str, Any],
    results: Results,
    plot: Path | None = None,
) -> int:
    """Fit, save, report; returns the exit code."""
    tagger = SequenceTagger(**settings)

    def read() -> Lesson:
        if train.is_dir():
            refuse_given(train, *(("--separator", "--comment") if test is None else ()))
            reader, fit, data = _of_folder(tagger, train)
        else:
            reader, fit, data = _of_file(tagger, train, features, reading)
        known = None if test is None else list(reader.read_labelled(test, reading))
        evaluated = None if known is None else partial(evaluate, tagger, reader, known)
        return Lesson(fit, [("data", data)], evaluated, reader.header())

    return learn(tagger, results, [train, test], read, plot)


def _of_file(tagger: SequenceTagger, path: Path, features: Features, reading: Format) -> _Data:
    reader, data = open_training(path, features, reading)
    attributes, left_out = reader.attributes(data), LeftOut()
    rules = tagger.forbidden, tagger.outside
    kept, labels = fit_to_rules(reader.labels(data), data.lengths, *rules, left_out, data.place)
    left_out.report(tagger.forbidden)
    attributes = attributes if kept.size == len(data) else attributes.take(kept)
    n_labels = len(set(chain.from_iterable(labels)))
    return reader, lambda: tagger.fit(attributes, labels), _described(len(data), data.n_tokens, n_labels)


def _of_folder(tagger: SequenceTagger, path: Path) -> _Data:
    """A folder of shards, whose features and labels are fixed."""
    refuse_given(path, "--columns", "--templates", "--forbidden", "--outside", "--states", "--order")
    folder = open_shards(path)
    reader = reader_of(folder.model, f"{path}: found no columns and templates, expected them of shard")
    sizes = len(folder), sum(folder.n_parts), len(folder.model.classes_)
    return reader, lambda: tagger.fit_shards(path), _described(*sizes)


def _described(n_sentences: int, n_tokens: int, n_labels: int) -> str:
    return f"{n_sentences:,} sentences, {n_tokens:,} tokens, {n_labels} labels"
