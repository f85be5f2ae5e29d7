"""Tables on standard output; without colours where that is a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from structune.metrics import Score, Scores

_MOST_ROWS = 40
_PIPE_WIDTH = 100


def print_tables(*tables: Table) -> None:
    """Print them, as wide as the terminal."""
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPE_WIDTH)
    for table in tables:
        console.print(table)


def scores_table(title: str, what: str, scores: Scores) -> Table:
    """Precision, recall and F1 of each label or segment type, and of all."""
    table = _table(title, [what], ["precision", "recall", "F1", "support"])
    _filled(table, map(_score_row, scores.by_name)).add_section()
    return _filled(table, [_score_row(scores.overall)])


def precisions_table(names: Sequence[str], sizes: Sequence[int], precisions: Sequence[float]) -> Table:
    """A row for each group, falling; of very many, the highest and the lowest precisions."""
    table = _table(f"Precisions of {len(names)} groups", ["group"], ["weights", "precision"])
    rows = sorted(zip(names, sizes, precisions, strict=True), key=lambda row: -row[2])
    shown = [(name, f"{size:,}", f"{precision:.4g}") for name, size, precision in rows]
    if len(shown) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        shown = [*shown[:half], ("...", "", ""), *shown[-half:]]
    return _filled(table, shown)


def record_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what belongs to them, such as what a training was."""
    table = _table(title, ["", ""], [])
    table.show_header = False
    return _filled(table, rows)


def nodes_table(rows: Sequence[tuple[str, int, Mapping[str, Any]]], most: int | None = _MOST_ROWS) -> Table:
    """Nodes of a tree of tasks, with their depths, and what `MultitaskEstimator.nodes_` says of each."""
    table = _table("Nodes of the tree", ["node"], ["examples", "gamma", "factor", "status"])
    for name, depth, told in rows[:most]:
        gamma = f"{told['gamma']:g}" if depth else ""  # the root is drawn to nothing
        table.add_row(
            "  " * depth + name, f"{told['n_examples']:,}", gamma, f"{told['factor']:g}", told["status"]
        )
    if most is not None and len(rows) > most:
        table.add_row(f"... and {len(rows) - most:,} more")
    return table


def names_table(title: str, name: str, value: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Names and texts; of very many, the first."""
    more = [("...", f"and {len(rows) - _MOST_ROWS:,} more")] if len(rows) > _MOST_ROWS else []
    return _filled(_table(title, [name, value], []), [*rows[:_MOST_ROWS], *more])


def numbers_table(
    title: str, name: str, columns: Sequence[str], rows: Iterable[tuple[str, Iterable[float]]]
) -> Table:
    """A name and some numbers a row."""
    table = _table(title, [name], columns)
    return _filled(table, [[first, *(f"{value:.4f}" for value in values)] for first, values in rows])


def _score_row(score: Score) -> list[str]:
    return [score.name, *(f"{value:.4f}" for value in score[1:4]), f"{score.support:,}"]


def _filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    for row in rows:
        table.add_row(*row)
    return table


def _table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
