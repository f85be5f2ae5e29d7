"""The largest and smallest weights of a tagger, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from structune.cli.terminal import filled, new_table, print_tables
from structune.files.models import check_class
from structune.tagging.crfsuite import load_either
from structune.tagging.tagger import SequenceTagger

_END = "(none)"  # before the first label, and after the last


def print_weights(path: str, top: int) -> None:
    """Show so many weights of each end."""
    tagger = check_class(load_either(path), SequenceTagger, path, "a sequence tagger")
    labels = ["label", "next", "after that"]
    trigrams = [_table("trigrams", labels, tagger.trigram_features_, top)] if tagger.trigram_features_ else []
    print_tables(
        _table("transitions", ["from", "to"], tagger.transition_features_, top),
        *trigrams,
        _table("state features", ["attribute", "label"], tagger.state_features_, top),
    )


def _table(what: str, names: Sequence[str], weights: Mapping[Any, float], top: int) -> Table:
    table = new_table(f"{len(weights):,} {what}", names, ["weight"])
    return filled(table, _rows(weights, top))


def _rows(weights: Mapping[Any, float], top: int) -> Iterator[Sequence[str]]:
    """The largest, falling, and then the smallest."""
    falling = sorted(weights.items(), key=lambda item: -item[1])
    is_cut = len(falling) > 2 * top
    for names, weight in falling[:top] if is_cut else falling:
        yield *(_END if name is None else str(name) for name in names), f"{weight:.4f}"
    if is_cut:
        yield "...", "", ""
        yield from _rows(dict(falling[-top:]), top)
