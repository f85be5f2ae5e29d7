"""Folders of shards as the commands write them and learn from them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structune.cli.tables import print_tables, record_table
from structune.errors import DataError
from structune.shard_files import ShardFolder, ShardWriter, is_shard_folder, open_shards, write_shards


@dataclass(frozen=True)
class Target:
    """Where shards go, and how examples are dealt to them."""

    folder: Path
    folds: int
    seed: int
    start: float = field(default_factory=time.perf_counter)

    def writer(self) -> ShardWriter:
        return ShardWriter(self.folder, self.folds, self.seed)

    def write(self, estimator: Any, X: Any, y: Any, groups: Any) -> ShardFolder:
        """Write examples that are in memory."""
        return write_shards(
            estimator, self.folder, X, y, groups=groups, n_folds=self.folds, random_state=self.seed
        )

    def tell(self, written: ShardFolder, data: str, more: Iterable[tuple[str, str]] = ()) -> None:
        """Print what was written."""
        rows = [
            ("data", data),
            *more,
            ("weights", f"{written.model._structure.n_weights:,}"),
            ("shards", f"{len(written.fold)} in {written.path}, {written.n_bytes / 1e6:,.1f} MB"),
            ("seconds", f"{time.perf_counter() - self.start:.1f}"),
        ]
        print_tables(record_table("Shards", rows))


def sharded(train: Sequence[Path], **given: Any) -> Path | None:
    """The folder of shards, if the files to learn from are one: alone, and without options about files.

    Raises
    ------
    DataError
        There are other files, or one of the options `given`, which are of files.
    """
    for path in train:
        if is_shard_folder(path):
            if len(train) > 1:
                raise DataError(f"{path}: found a folder of shards beside other files, expected it alone")
            for option, value in given.items():
                if value is not None:
                    raise DataError(f"{path}: found --{option} with a folder of shards, expected it at shard")
            return path
    return None


def described(path: Path, parts: str) -> str:
    """How many examples a folder has, and how many parts."""
    data = open_shards(path)
    return f"{len(data):,} examples, {sum(data.n_parts):,} {parts}"
