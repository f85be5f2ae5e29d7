"""``structune shard rna``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structune.cli.checks import short_warnings
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.rna.commands.data import read_families, read_with_structures
from structune.rna.folder import RNAFolder


def run(files: Sequence[Path], families: Path | None, folder: RNAFolder, sharding: Sharding) -> None:
    """Families are held out together, if they are known."""
    target, examples = Target(sharding), read_with_structures(files)
    groups = None if families is None else read_families(families, examples)
    sequences = [example.record.sequence for example in examples]
    with short_warnings():
        written = target.write(folder, sequences, [example.structure for example in examples], groups=groups)
    target.tell(written, target.described(written, "sequences", "bases"))
