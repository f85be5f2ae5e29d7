"""``structune train`` and ``structune tune`` of sequence taggers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structune.cli import reports
from structune.cli.columns import open_training
from structune.cli.evaluation import evaluate
from structune.estimators.tagger import SequenceTagger
from structune.formats import ConllData


@dataclass(frozen=True)
class Request:
    """The files of one training, and how to read them."""

    train: Path
    model: Path
    columns: str | None
    templates: str | None
    test: Path | None = None
    plot: Path | None = None


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code."""
    reports.check_targets([request.model], [request.plot])
    reader, data = open_training(request.train, request.columns, request.templates)
    test = None if request.test is None else reader.read_labelled(request.test)
    start = time.perf_counter()
    with reports.short_warnings():
        tagger = SequenceTagger(**settings).fit(reader.attributes(data), reader.labels(data))
    seconds = time.perf_counter() - start
    reports.check_begun(tagger)
    tagger.save(request.model, extra=reader.header())
    reports.report(tagger, [("data", _described(tagger, data))], seconds, request.model)
    if test is not None:
        evaluate(tagger, reader, test).show()
    if request.plot is not None:
        reports.draw(tagger, request.plot)
    return reports.exit_code(tagger)


def _described(tagger: SequenceTagger, data: ConllData) -> str:
    return f"{len(data):,} sentences, {data.n_tokens:,} tokens, {len(tagger.classes_)} labels"
