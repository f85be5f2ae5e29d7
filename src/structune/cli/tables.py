"""Tables on standard output; without colours where that is a pipe.

Rich is imported when there is a table: predictions have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_MOST_ROWS = 40
_PIPE_WIDTH = 100


def print_tables(*tables: Table) -> None:
    """Print them, as wide as the terminal."""
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPE_WIDTH)
    for table in tables:
        console.print(table)


def precisions_table(names: Sequence[str], sizes: Sequence[int], precisions: Sequence[float]) -> Table:
    """A row for each group, falling; of very many, the highest and the lowest precisions."""
    table = new_table(f"Precisions of {len(names)} groups", ["group"], ["weights", "precision"])
    rows = sorted(zip(names, sizes, precisions, strict=True), key=lambda row: -row[2])
    shown = [(name, f"{size:,}", f"{precision:.4g}") for name, size, precision in rows]
    if len(shown) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        shown = [*shown[:half], ("...", "", ""), *shown[-half:]]
    return filled(table, shown)


def record_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what belongs to them, such as what a training was."""
    table = new_table(title, ["", ""], [])
    table.show_header = False
    return filled(table, rows)


def names_table(title: str, name: str, value: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Names and texts; of very many, the first."""
    more = [("...", f"and {len(rows) - _MOST_ROWS:,} more")] if len(rows) > _MOST_ROWS else []
    return filled(new_table(title, [name, value], []), [*rows[:_MOST_ROWS], *more])


def numbers_table(
    title: str, name: str, columns: Sequence[str], rows: Iterable[tuple[str, Iterable[float]]]
) -> Table:
    """A name and some numbers a row."""
    table = new_table(title, [name], columns)
    return filled(table, [[first, *(f"{value:.4f}" for value in values)] for first, values in rows])


def filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    """The table with more rows."""
    for row in rows:
        table.add_row(*row)
    return table


def new_table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table, with columns of texts and then of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
