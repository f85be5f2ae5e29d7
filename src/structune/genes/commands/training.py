"""``structune train`` and ``structune tune`` of ``genes`` and ``prokaryotic-genes``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from structune.cli import shard_data
from structune.cli.learning import Lesson, learn
from structune.genes.commands.data import Finder, read_annotated
from structune.genes.commands.evaluation import evaluate
from structune.genes.formats.record import AnnotatedSequence

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
    return learn(finder, request, partial(_read, finder, request))


def _read(finder: Finder, request: Request) -> Lesson:
    shards = shard_data.sharded(request.train, *_DECIDED)
    data = [] if shards else list(read_annotated(request.train, request.sequences))
    told = shard_data.described(shards, "bases") if shards else described(data)
    test = list(read_annotated(request.test or [], request.test_sequences))
    fit = partial(finder.fit_shards, shards) if shards else partial(finder.fit, data)
    return Lesson(fit, [("data", told)], partial(evaluate, finder, test) if test else None)


def described(data: Sequence[AnnotatedSequence]) -> str:
    n_genes = sum(len({t.gene for t in each.transcripts}) for each in data)
    n_bases = sum(len(each.sequence) for each in data)
    return f"{n_genes:,} annotated genes on {len(data):,} sequences of {n_bases:,} bases"
