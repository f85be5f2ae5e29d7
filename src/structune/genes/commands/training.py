"""``structune train`` and ``structune tune`` of ``genes`` and ``prokaryotic-genes``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from structune.cli import shard_data
from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.genes.commands.data import Learner, read_annotated
from structune.genes.commands.evaluation import evaluate
from structune.genes.commands.options import Source, Test
from structune.genes.formats.record import AnnotatedSequence

_DECIDED = ("--sequences", "--features", "--strands", "--donors", "--flank", "--code")  # by shard


def run(source: Source, test: Test, finder: Learner, results: Results, plot: Path | None = None) -> int:
    """Fit, save, report; returns the exit code."""

    def read() -> Lesson:
        shards = shard_data.sharded(source.train, *_DECIDED)
        data = [] if shards else list(read_annotated(source.train, source.sequences, source.stop_codon))
        told = shard_data.described(shards, "bases") if shards else described(data)
        known = list(read_annotated(test.test or [], test.test_sequences))
        fit = partial(finder.fit_shards, shards) if shards else partial(finder.fit, data)
        return Lesson(fit, [("data", told)], partial(evaluate, finder, known) if known else None)

    return learn(finder, results, read, plot)


def described(data: Sequence[AnnotatedSequence]) -> str:
    n_genes = sum(len({t.gene for t in each.transcripts}) for each in data)
    n_bases = sum(len(each.sequence) for each in data)
    return f"{n_genes:,} annotated genes on {len(data):,} sequences of {n_bases:,} bases"
