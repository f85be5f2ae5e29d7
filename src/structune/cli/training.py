"""``structune train`` and ``structune tune``."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from structune.cli.columns import Reader, open_training
from structune.cli.evaluation import evaluate
from structune.cli.tables import precisions_table, print_tables, record_table
from structune.errors import DataError, StructuneError
from structune.estimators.tagger import SequenceTagger
from structune.formats import ConllData

_INTERRUPTED = 130


@dataclass(frozen=True)
class Request:
    """The files of one training, and how to read them."""

    train: Path
    model: Path
    columns: str | None
    templates: str | None
    test: Path | None = None
    plot: Path | None = None

    def check_targets(self) -> None:
        """Find before the work, not after it, what cannot be written."""
        for path in filter(None, [self.model, self.plot]):
            if not os.access(path.parent, os.W_OK) or path.is_dir():
                raise DataError(f"{path}: expected a file in a folder that exists and can be written to")
        if self.plot is not None:
            from structune.plots import check_path

            check_path(self.plot)

    @property
    def precisions_plot(self) -> Path:
        assert self.plot is not None
        return self.plot.with_stem(f"{self.plot.stem}-precisions")


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code."""
    request.check_targets()
    reader, data = open_training(request.train, request.columns, request.templates)
    test = None if request.test is None else reader.read_labelled(request.test)
    start = time.perf_counter()
    tagger = _fit(SequenceTagger(**settings), reader, data)
    seconds = time.perf_counter() - start
    _check_begun(tagger)
    tagger.save(request.model, extra=reader.header())
    _report(tagger, data, seconds, request.model)
    if test is not None:
        evaluate(tagger, reader, test).show()
    if request.plot is not None:
        _plot(tagger, request)
    return _INTERRUPTED if tagger.status_ == "interrupted" else 0


def _fit(tagger: SequenceTagger, reader: Reader, data: ConllData) -> SequenceTagger:
    with _short_warnings():
        return tagger.fit(reader.attributes(data), reader.labels(data))


def _check_begun(tagger: SequenceTagger) -> None:
    """Do not replace a model by one that has learned nothing."""
    if tagger.status_ in ("budget", "interrupted") and not tagger.coef_.any():
        raise StructuneError("stopped before there was anything to save")


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Warnings in one line, without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: typer.echo(f"structune: {message}", err=True)
        yield


def _report(tagger: SequenceTagger, data: ConllData, seconds: float, model: Path) -> None:
    sizes = tagger.group_sizes_
    print_tables(
        precisions_table(tagger.group_names_, sizes.tolist(), tagger.penalty_.tolist()),
        record_table(_record(tagger, data, seconds, model)),
    )


def _record(
    tagger: SequenceTagger, data: ConllData, seconds: float, model: Path
) -> Iterator[tuple[str, str]]:
    yield "data", f"{len(data):,} sentences, {data.n_tokens:,} tokens, {len(tagger.classes_)} labels"
    yield "weights", f"{tagger.coef_.size:,}"
    yield "status", tagger.status_
    yield "passes over the data", f"{tagger.passes_:.1f}"
    yield "seconds", f"{seconds:.1f}"
    losses = [record["heldout_loss"] for record in tagger.history_ if "heldout_loss" in record]
    if losses:
        yield "held-out loss", f"{min(losses):.6g}, from {losses[0]:.6g}"
    yield "saved", str(model)


def _plot(tagger: SequenceTagger, request: Request) -> None:
    from structune.plots import plot_penalties, plot_tuning

    if tagger.history_:
        plot_tuning(tagger.history_, tagger.group_names_, request.plot)
    plot_penalties(tagger.penalty_, tagger.group_names_, request.precisions_plot)
