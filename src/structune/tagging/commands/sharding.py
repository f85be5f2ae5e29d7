"""``structune shard``: a column file, encoded, as a folder of shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from structune.cli.batches import Progress
from structune.cli.settings import Sharding
from structune.cli.shard_data import Target
from structune.tagging.column_lines import ColumnLines
from structune.tagging.commands.columns import Reader, open_blocks
from structune.tagging.commands.options import Features, Format
from structune.tagging.conll import ConllData, data_blocks
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.orders import chain_class
from structune.tagging.structure.outside import LeftOut, fit_to_rules
from structune.tagging.structure.rules import Rules
from structune.tagging.tagger import SequenceTagger

_LINES = 1 << 20  # that are in memory at a time


def run(
    path: Path,
    features: Features,
    reading: Format,
    settings: Mapping[str, Any],
    sharding: Sharding,
    quiet: bool,
) -> None:
    """Read the file twice, block by block: for its features and labels, and to encode it."""
    target, rules = Target(sharding), (settings["forbidden"], settings["outside"])
    writer = target.writer()
    reader, blocks, layout = open_blocks(path, features, reading, _LINES)
    left_out = LeftOut()
    chain = _vocabulary(_examples(reader, _shown(blocks, quiet, "features"), *rules, left_out), settings)
    left_out.report(settings["forbidden"])
    again = data_blocks(ColumnLines(path, reader.columns, layout=layout), _LINES)
    for table, labels in _examples(reader, _shown(again, quiet, "shards"), *rules, LeftOut()):
        writer.add(chain.encode(table, labels))
    tagger = SequenceTagger(**settings).with_structure(chain)
    tagger.extra_ = reader.header()
    folder = writer.finish(tagger)
    sizes = f"{len(folder):,} sentences, {sum(folder.n_parts):,} tokens, {chain.n_labels} labels"
    target.tell(folder, sizes, [("attributes", f"{len(chain.attributes):,}")])


def _examples(
    reader: Reader, blocks: Iterable[ConllData], forbidden: Rules, outside: str, left_out: LeftOut
) -> Iterator[tuple[AttributeTable, Any]]:
    """The attributes and labels of all sentences that keep to the rules."""
    for data in blocks:
        kept, labels = fit_to_rules(
            reader.labels(data), data.lengths, forbidden, outside, left_out, data.place
        )
        if kept.size:
            yield reader.attributes(data).take(kept), labels
    if left_out.n_skipped == left_out.n_sequences:
        left_out.report(forbidden)  # which raises


def _vocabulary(
    examples: Iterable[tuple[AttributeTable, Any]], settings: Mapping[str, Any]
) -> ChainInference:
    """The chain over the features and labels of all blocks."""
    chains, of = list[ChainInference](), chain_class(settings["order"])
    options = {name: value for name, value in settings.items() if name not in ("order", "outside")}
    for table, labels in examples:
        chains.append(of.build(table, labels, **options))
        chains = [of.merge(chains, states=settings["states"], transitions="all")]
    return chains[0]


def _shown(blocks: Iterable[ConllData], quiet: bool, stage: str) -> Iterator[ConllData]:
    """The blocks, with progress."""
    with Progress(not quiet, stage=stage, unit="tokens") as progress:
        for data in blocks:
            yield data
            progress.advance(data.n_tokens)
