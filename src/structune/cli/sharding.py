"""``structune shard``: a column file, encoded, as a folder of shards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structune.cli.batches import Progress
from structune.cli.columns import Reader, open_blocks
from structune.cli.tables import print_tables, record_table
from structune.estimators.tagger import SequenceTagger
from structune.formats import ConllData, read_conll_blocks
from structune.shard_files import ShardFolder, ShardWriter
from structune.structures.chain import Chain

_LINES = 1 << 20  # that are in memory at a time


@dataclass(frozen=True)
class Request:
    """What to read, and where to write."""

    train: Path
    folder: Path
    columns: str | None
    templates: str | None
    folds: int
    seed: int


def run(request: Request, settings: Mapping[str, Any], quiet: bool) -> None:
    """Read the file twice, block by block: for its features and labels, and to encode it."""
    start = time.perf_counter()
    writer = ShardWriter(request.folder, request.folds, request.seed)
    reader, blocks = open_blocks(request.train, request.columns, request.templates, _LINES)
    chain = _vocabulary(reader, _shown(blocks, quiet, "features"), settings)
    again = read_conll_blocks(request.train, reader.columns, n_lines=_LINES)
    for data in _shown(again, quiet, "shards"):
        writer.add(chain.encode(reader.attributes(data), reader.labels(data)))
    tagger = SequenceTagger(**settings).with_structure(chain)
    tagger.extra_ = reader.header()
    folder = writer.finish(tagger)
    print_tables(record_table("Shards", _record(folder, chain, time.perf_counter() - start)))


def _vocabulary(reader: Reader, blocks: Iterable[ConllData], settings: Mapping[str, Any]) -> Chain:
    """The chain over the features and labels of all blocks."""
    chains: list[Chain] = []
    for data in blocks:
        chains.append(Chain.build(reader.attributes(data), reader.labels(data), **settings))
        chains = [Chain.merge(chains, states=settings["states"], transitions="all")]
    return chains[0]


def _shown(blocks: Iterable[ConllData], quiet: bool, stage: str) -> Iterator[ConllData]:
    """The blocks, with progress."""
    with Progress(not quiet, stage=stage, unit="tokens") as progress:
        for data in blocks:
            yield data
            progress.advance(data.n_tokens)


def _record(folder: ShardFolder, chain: Chain, seconds: float) -> Iterator[tuple[str, str]]:
    yield "data", f"{len(folder):,} sentences, {sum(folder.n_parts):,} tokens, {chain.n_labels} labels"
    yield "attributes", f"{len(chain.attributes):,}"
    yield "weights", f"{chain.n_weights:,}"
    yield "shards", f"{len(folder.fold)} in {folder.path}, {folder.n_bytes / 1e6:,.1f} MB"
    yield "seconds", f"{seconds:.1f}"
