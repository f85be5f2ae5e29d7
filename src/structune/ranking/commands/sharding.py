"""``structune shard ranking``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.ranking.commands.data import open_blocks, shown_blocks
from structune.ranking.ranker import Ranker


def run(
    files: Sequence[Path], missing: float | None, ranker: Ranker, sharding: Sharding, quiet: bool
) -> None:
    """Read the files twice, block by block: for their features, and to encode them."""
    target = Target(sharding)
    writer, reader = target.writer(), open_blocks(files, missing, quiet)

    def blocks() -> Iterator[tuple[Any, ...]]:
        for file, data in shown_blocks(files, reader.features, missing, quiet):
            yield data.X, data.relevance, [f"{file} {query}" for query in data.queries]

    written = ranker.write_blocks(blocks, writer, reader.header())
    target.tell(written, target.described(written, "queries", "documents"))
