"""``structune train`` and ``structune tune`` of ``genes`` and ``prokaryotic-genes``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from structune.cli import shard_data
from structune.cli.checks import say
from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.genes.commands.data import Learner, read_annotated
from structune.genes.commands.evaluation import evaluate
from structune.genes.commands.genetic_codes import learn_by_code_of
from structune.genes.commands.options import Source, Test
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

_LONG = 10_000  # bases of a sequence that has genes
_MANY, _HARDLY = 300, 0.01  # genes, and the share of them with introns
_OF_READING = ("--sequences", "--stop-codon")
_DECIDED = (*_OF_READING, "--features", "--strands", "--donors", "--flank", "--code")  # by shard


def run(
    source: Source,
    test: Test,
    finder: Learner,
    results: Results,
    plot: Path | None = None,
    finds_code: bool = False,
) -> int:
    """Fit, save, report; returns the exit code."""

    def read() -> Lesson:
        shards = shard_data.sharded(source.train, *_DECIDED)
        known = list(read_annotated(test.test or [], test.test_sequences))
        evaluation = partial(evaluate, finder, known, None, test.test or []) if known else None
        if shards:
            told = shard_data.described(shards, "bases")
            return Lesson(partial(finder.fit_shards, shards), [("data", told)], evaluation)
        data = list(read_annotated(source.train, source.sequences, source.stop_codon))
        if finds_code:
            learn_by_code_of(finder, data, str(source.train[0]))
        _advise(finder, data, str(source.train[0]))
        rows = [("data", described(data))]

        def fit() -> None:
            finder.fit(data)
            rows.append(("left out", _left_out(finder, data)))

        return Lesson(fit, rows, evaluation)

    return learn(finder, results, [*source.files, *test.files], read, plot)


def _advise(finder: Learner, data: Sequence[AnnotatedSequence], name: str) -> None:
    """Say what is strange for a model of this kind."""
    if isinstance(finder, ProkaryoticGeneFinder):
        long = [each for each in data if len(each.sequence) >= _LONG]
        n_empty = sum(not each.transcripts for each in long)
        if 2 * n_empty > len(long):
            where = f"{n_empty:,} of {len(long):,} sequences of {_LONG:,} bases or more"
            say(f"{name}: found no gene on {where}, which are not learned from")
        return
    genes = {(each.name, t.gene): bool(t.introns) for each in data for t in each.transcripts}
    if len(genes) >= _MANY and sum(genes.values()) < _HARDLY * len(genes):
        some = f"{sum(genes.values()):,} of {len(genes):,} genes"
        say(f"{name}: found introns in {some}: those of bacteria and archaea are for prokaryotic-genes")


def _left_out(finder: Learner, data: Sequence[AnnotatedSequence]) -> str:
    """How many of the annotated genes: what readers skipped is none of these."""
    n = len(finder.skipped_) - sum(len(each.skipped) for each in data)
    return f"{n:,} of these genes"


def described(data: Sequence[AnnotatedSequence]) -> str:
    n_genes = sum(len({t.gene for t in each.transcripts}) for each in data)
    n_bases = sum(len(each.sequence) for each in data)
    return f"{n_genes:,} annotated genes on {len(data):,} sequences of {n_bases:,} bases"
