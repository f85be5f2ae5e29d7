"""Folders of shards as the commands write them and learn from them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from structune.cli.checks import asked
from structune.cli.settings import Sharding
from structune.cli.tables import print_tables, record_table
from structune.errors import DataError
from structune.files.shards import ShardFolder, ShardWriter, is_shard_folder, open_shards


class Target:
    """Where shards go, from the moment on that this is known."""

    def __init__(self, sharding: Sharding) -> None:
        self._to, self._start = sharding, time.perf_counter()

    def writer(self) -> ShardWriter:
        return ShardWriter(self._to.folder, self._to.folds, self._to.seed)

    @staticmethod
    def described(written: ShardFolder, examples: str, parts: str) -> str:
        """How much of what was written."""
        return f"{len(written):,} {examples}, {sum(written.n_parts):,} {parts}"

    def tell(self, written: ShardFolder, data: str, more: Iterable[tuple[str, str]] = ()) -> None:
        """Print what was written."""
        rows = [
            ("data", data),
            *more,
            ("weights", f"{written.model._structure.n_weights:,}"),
            ("shards", f"{len(written.fold)} in {written.path}, {written.n_bytes / 1e6:,.1f} MB"),
            ("seconds", f"{time.perf_counter() - self._start:.1f}"),
        ]
        print_tables(record_table("Shards", rows))


def sharded(train: Sequence[Path], *decided: str) -> Path | None:
    """The folder of shards, if the files to learn from are one.

    Raises
    ------
    DataError
        There are other files beside it, or one of the options that shard has decided was given.
    """
    for path in train:
        if is_shard_folder(path):
            if len(train) > 1:
                raise DataError(f"{path}: found a folder of shards beside other files, expected it alone")
            refuse_given(path, *decided)
            return path
    return None


def refuse_given(folder: Path, *decided: str) -> None:
    """Refuse options of the command that runs, if it has those that shard has decided."""
    for option, _ in asked()[1]:
        if option in decided:
            raise DataError(f"{folder}: found {option} with a folder of shards, expected it at shard")


def described(path: Path, parts: str) -> str:
    """How many examples a folder has, and how many parts."""
    data = open_shards(path)
    return f"{len(data):,} examples, {sum(data.n_parts):,} {parts}"
