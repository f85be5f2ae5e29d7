"""``structune train`` and ``structune tune`` of ``genes`` and ``prokaryotic-genes``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from structune.cli import reports, shard_data
from structune.cli.gene_data import Finder, read_annotated
from structune.cli.gene_evaluation import evaluate
from structune.formats import AnnotatedSequence

_DECIDED = ("--sequences", "--features", "--strands", "--donors", "--flank", "--code")  # by shard


@dataclass(frozen=True)
class Request:
    """The files of one training."""

    train: list[Path]
    sequences: list[Path] | None
    model: Path
    test: list[Path] | None = None
    test_sequences: list[Path] | None = None
    plot: Path | None = None
    report: Path | None = None


def run(request: Request, finder: Finder) -> int:
    """Fit, save, report; returns the exit code."""
    reports.check_targets([request.model], [request.plot], request.report)
    shards = shard_data.sharded(request.train, *_DECIDED)
    data = [] if shards else list(read_annotated(request.train, request.sequences))
    test = list(read_annotated(request.test or [], request.test_sequences))
    start = time.perf_counter()
    with reports.short_warnings():
        if shards:
            finder.fit_shards(shards)
        else:
            finder.fit(data)
    seconds = time.perf_counter() - start
    reports.check_begun(finder)
    reports.save(finder, request.model)
    told = shard_data.described(shards, "bases") if shards else described(data)
    evaluated = partial(evaluate, finder, test) if test else None
    return reports.finish(finder, [("data", told)], seconds, request, evaluated)


def described(data: Sequence[AnnotatedSequence]) -> str:
    n_genes = sum(len({t.gene for t in each.transcripts}) for each in data)
    n_bases = sum(len(each.sequence) for each in data)
    return f"{n_genes:,} annotated genes on {len(data):,} sequences of {n_bases:,} bases"
