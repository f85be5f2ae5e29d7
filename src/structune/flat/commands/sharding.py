"""``structune shard`` of ``classifier`` and ``regressor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.flat.classifier import Classifier
from structune.flat.commands.data import Tables
from structune.flat.regressor import Regressor


def run(files: Sequence[Path], estimator: Classifier | Regressor, sharding: Sharding, quiet: bool) -> None:
    """Read the files twice, block by block: for features and outputs, and to encode."""
    target = Target(sharding)
    writer = target.writer()
    with TemporaryFile(dir=writer.path.parent) as file:
        tables = Tables.open(files, file, quiet)
        are_codes = isinstance(estimator, Classifier) and tables.are_whole
        passes = iter((tables.outputs(), tables.blocks(quiet)))  # to survey, and to encode

        def blocks() -> Iterator[tuple[Any, Any]]:
            for X, y in next(passes):
                yield X, y.astype(np.int64) if are_codes else y

        written = estimator.write_blocks(blocks, writer)
    target.tell(written, f"{len(written):,} examples of {tables.n_features:,} features")
