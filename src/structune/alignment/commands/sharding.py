"""``structune shard alignment``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from structune.alignment.aligner import SequenceAligner
from structune.alignment.commands.data import KnownPair, files_of, read_pairs
from structune.alignment.formats.any import read_protein_alignments
from structune.cli.batches import Progress
from structune.cli.checks import short_warnings
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.running.batches import batches

_MOST_RESIDUES, _MOST_PAIRS = 1 << 21, 1 << 14  # that are in memory at a time, or one pair


def run(
    files: Sequence[Path],
    most_pairs: int | None,
    aligner: SequenceAligner,
    sharding: Sharding,
    quiet: bool,
) -> None:
    """Alignments are read one at a time; pairs of one are held out together, if there are several."""
    target = Target(sharding)
    grouped = _are_several(files)

    def blocks() -> Iterator[tuple[Any, ...]]:
        pairs = read_pairs(files, aligner.alphabet, most_pairs, sharding.seed)
        with Progress(not quiet, stage="shards", unit="pairs") as progress:
            for block in batches(pairs, _n_residues, _MOST_RESIDUES, _MOST_PAIRS):
                families = [each.family for each in block] if grouped else None
                yield [each.pair for each in block], [each.rows for each in block], None, families
                progress.advance(len(block))

    with short_warnings():
        written = aligner.write_blocks(blocks, target.writer())
    target.tell(written, target.described(written, "pairs", "residues"))


def _are_several(files: Sequence[Path]) -> bool:
    """Whether there is a second alignment."""
    alignments = chain.from_iterable(read_protein_alignments(path) for path in files_of(files))
    return len(list(islice(alignments, 2))) > 1


def _n_residues(known: KnownPair) -> int:
    return sum(map(len, known.pair))
