"""``structune shard alignment``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structune.alignment.aligner import SequenceAligner
from structune.alignment.commands.data import read_aligned
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target


def run(files: Sequence[Path], most_pairs: int | None, aligner: SequenceAligner, sharding: Sharding) -> None:
    """Pairs of one alignment are held out together."""
    target = Target(sharding)
    data = read_aligned(files, aligner.alphabet, most_pairs, sharding.seed)
    groups = data.families if len(set(data.families)) > 1 else None
    written = target.write(aligner, data.pairs, data.rows, groups=groups)
    target.tell(written, target.described(written, "pairs", "residues"))
