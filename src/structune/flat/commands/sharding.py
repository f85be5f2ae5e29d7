"""``structune shard`` of ``classifier`` and ``regressor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.flat.classifier import Classifier
from structune.flat.commands.data import Tables
from structune.flat.regressor import Regressor


def run(files: Sequence[Path], estimator: Classifier | Regressor, sharding: Sharding, quiet: bool) -> None:
    """Read the files three times, block by block: for features, for classes and means, and to encode."""
    target = Target(sharding)
    writer, tables = target.writer(), Tables.open(files, quiet)
    are_codes = isinstance(estimator, Classifier) and tables.are_whole

    def blocks() -> Iterator[tuple[Any, Any]]:
        for X, y in tables.blocks(quiet):
            yield X, y.astype(np.int64) if are_codes else y

    written = estimator.write_blocks(blocks, writer)
    examples = f"{len(written):,} examples of {tables.n_features:,} features"
    target.tell(written, examples)
