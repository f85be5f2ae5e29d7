"""``structune shard rna``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from structune.cli.batches import Progress
from structune.cli.checks import short_warnings
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.rna.commands.data import read_families, stream_with_structures
from structune.rna.folder import RNAFolder
from structune.running.batches import batches

_MOST_BASES, _MOST_SEQUENCES = 1 << 20, 1 << 14  # that are in memory at a time, or one sequence


def run(
    files: Sequence[Path],
    families: Path | None,
    folder: RNAFolder,
    sharding: Sharding,
    quiet: bool,
    format: str | None = None,
) -> None:
    """Sequences are read block by block. Families are held out together, if they are known."""
    target = Target(sharding)
    known = None if families is None else read_families(families)

    def blocks() -> Iterator[tuple[Any, ...]]:
        examples = stream_with_structures(files, format)
        with Progress(not quiet, stage="shards", unit="sequences") as progress:
            for block in batches(examples, lambda each: each.record.n_bases, _MOST_BASES, _MOST_SEQUENCES):
                sequences = [example.record.sequence for example in block]
                structures = [example.structure for example in block]
                groups = None if known is None else known.of(block)
                yield sequences, structures, None, groups, [example.called for example in block]
                progress.advance(len(block))

    with short_warnings():
        written = folder.write_blocks(blocks, target.writer())
    target.tell(written, target.described(written, "sequences", "bases"))
