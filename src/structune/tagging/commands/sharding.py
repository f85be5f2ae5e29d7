"""``structune shard``: a column file, encoded, as a folder of shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from structune.cli.batches import Progress
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.tagging.commands.columns import Reader, open_blocks
from structune.tagging.commands.options import Features
from structune.tagging.conll import ConllData, read_conll_blocks
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.orders import chain_class
from structune.tagging.tagger import SequenceTagger

_LINES = 1 << 20  # that are in memory at a time


def run(path: Path, features: Features, settings: Mapping[str, Any], sharding: Sharding, quiet: bool) -> None:
    """Read the file twice, block by block: for its features and labels, and to encode it."""
    target = Target(sharding)
    writer = target.writer()
    reader, blocks = open_blocks(path, features, _LINES)
    chain = _vocabulary(reader, _shown(blocks, quiet, "features"), settings)
    again = read_conll_blocks(path, reader.columns, n_lines=_LINES)
    for data in _shown(again, quiet, "shards"):
        writer.add(chain.encode(reader.attributes(data), reader.labels(data)))
    tagger = SequenceTagger(**settings).with_structure(chain)
    tagger.extra_ = reader.header()
    folder = writer.finish(tagger)
    sizes = f"{len(folder):,} sentences, {sum(folder.n_parts):,} tokens, {chain.n_labels} labels"
    target.tell(folder, sizes, [("attributes", f"{len(chain.attributes):,}")])


def _vocabulary(reader: Reader, blocks: Iterable[ConllData], settings: Mapping[str, Any]) -> ChainInference:
    """The chain over the features and labels of all blocks."""
    chains, of = list[ChainInference](), chain_class(settings["order"])
    options = {name: value for name, value in settings.items() if name != "order"}
    for data in blocks:
        chains.append(of.build(reader.attributes(data), reader.labels(data), **options))
        chains = [of.merge(chains, states=settings["states"], transitions="all")]
    return chains[0]


def _shown(blocks: Iterable[ConllData], quiet: bool, stage: str) -> Iterator[ConllData]:
    """The blocks, with progress."""
    with Progress(not quiet, stage=stage, unit="tokens") as progress:
        for data in blocks:
            yield data
            progress.advance(data.n_tokens)
