"""``structune shard`` of ``genes`` and ``prokaryotic-genes``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from structune.cli.batches import Progress
from structune.cli.checks import short_warnings
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.genes.commands.data import Learner, read_annotated
from structune.genes.commands.genetic_codes import learn_by_code_of
from structune.genes.commands.options import Source
from structune.genes.formats.record import AnnotatedSequence
from structune.running.batches import batches

_MOST_BASES, _MOST_SEQUENCES = 1 << 23, 1 << 14  # that are in memory at a time, or one sequence


def run(source: Source, finder: Learner, sharding: Sharding, quiet: bool, finds_code: bool = False) -> None:
    """Genomes are read block by block, more than once if the model depends on all of them."""

    target = Target(sharding)

    def read() -> Iterator[list[AnnotatedSequence]]:
        found = read_annotated(source.train, source.sequences, source.stop_codon)
        return batches(found, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES)

    begun = [read()]

    def blocks() -> Iterator[list[AnnotatedSequence]]:
        with Progress(not quiet, stage="shards", unit="sequences") as progress:
            for block in begun.pop() if begun else read():
                yield block
                progress.advance(len(block))

    if finds_code:
        first = list(islice(begun[0], 1))
        learn_by_code_of(finder, chain.from_iterable(first), str(source.train[0]))
        begun = [chain(first, begun[0])]  # a pipe is read once
    with short_warnings():
        written = finder.write_blocks(blocks, target.writer())
    target.tell(written, target.described(written, "examples", "bases"))
