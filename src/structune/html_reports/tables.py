"""Tables of a page, and those of the terminal as such."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import rich.table

from structune.html_reports.page import Table


def from_terminal(table: rich.table.Table) -> Table:
    """The same table for a page."""
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    header = [str(column.header) for column in table.columns] if table.show_header else []
    is_number = [column.justify == "right" for column in table.columns]
    return Table(str(table.title or ""), header, list(zip(*cells, strict=True)), is_number)


def make_table(
    title: str, texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]], most: int
) -> Table:
    """Columns of texts, then of numbers; of very many rows the first."""
    rows = list(rows)
    if len(rows) > most:
        more = [f"... and {len(rows) - most:,} more", *[""] * (len(texts) + len(numbers) - 1)]
        rows = [*rows[:most], more]
    return Table(title, [*texts, *numbers], rows, [*[False] * len(texts), *[True] * len(numbers)])
