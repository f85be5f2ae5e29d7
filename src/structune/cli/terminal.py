"""What commands print on the terminal: messages, warnings, progress and tables.

Rich is imported when there is progress or a table: most predictions have neither.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

import click

from structune.files.text import plural
from structune.running.progress import Bars, longest_step

if TYPE_CHECKING:
    from rich.table import Table

INTERRUPTED = 130  # exit code after Ctrl-C
# Errors of the library say "sequence 3 (from 0)" or "bases 0 and 3 (from 0)", as Python counts.
_FROM_0, _NUMBER = re.compile(r"(\d+(?: and \d+)?) \(from 0\)"), re.compile(r"\d+")
_SOON, _LOOK = 3.0, 0.5  # seconds: steps that take less are not shown; how often is looked
_MOST_ROWS = 40
_PIPE_WIDTH = 160


# --- messages ---------------------------------------------------------------------------------------------


@contextmanager
def short_warnings(*told: type[Warning]) -> Iterator[None]:
    """Print warnings in one line, without the place in the code; ignore the categories in `told`."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(str(message))
        for category in told:
            warnings.simplefilter("ignore", category)
        yield


def say(message: str) -> None:
    """Print a message on standard error."""
    click.echo(f"structune: {counted_from_one(message)}", err=True)


def counted_from_one(message: str) -> str:
    """A message with numbers that count from 1, as on the command line, instead of 0, as in Python."""

    def next_number(number: re.Match[str]) -> str:
        return str(int(number[0]) + 1)

    return _FROM_0.sub(lambda found: f"{_NUMBER.sub(next_number, found[1])} (from 1)", message)


def time_in_words(minutes: float) -> str:
    """An approximate time, such as "5 minutes"."""
    return f"{max(2, round(minutes))} minutes" if minutes < 100 else f"{round(minutes / 60)} hours"


# --- progress ---------------------------------------------------------------------------------------------


class Progress:
    """Shows count and rate of items on standard error, if it is a terminal, and steps that take long.

    `stage` names the work and `unit` its items; the count is shown with `digits` decimals.
    """

    def __init__(
        self,
        shown: bool,
        total: int | None = None,
        *,
        stage: str = "fold",
        unit: str = "sequences",
        digits: int = 0,
    ) -> None:
        self.count, self._total, self._stage, self._unit, self._digits = 0.0, total, stage, unit, digits
        self._bars = Bars() if shown and sys.stderr.isatty() else None
        self._start, self._ended = time.perf_counter(), Event()

    def __enter__(self) -> Self:
        self.advance(0)
        if self._bars is not None:
            Thread(target=self._show_steps, args=(self._bars,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._bars is not None:
            self._bars.stop()

    def _show_steps(self, bars: Bars) -> None:
        """Show the current step of an example that takes long."""
        while not self._ended.wait(_LOOK):
            step = longest_step()
            if step is None or time.monotonic() - step.start < _SOON:
                bars.hide_part()
            else:
                done = step.done()
                bars.show_part(step.name, done, f"{done:.0%} of this step")

    def advance(self, count: float) -> None:
        """Count more items as done."""
        self.count += count
        if self._bars is not None:
            rate = self.count / max(time.perf_counter() - self._start, 1e-9)
            done = None if self._total is None else self.count / self._total
            line = f"{self.count:,.{self._digits}f} {self._unit}, {rate:,.{max(1, self._digits)}f} a second"
            self._bars.show_whole(self._stage, done, line)


# --- tables -----------------------------------------------------------------------------------------------


def print_tables(*tables: Table) -> None:
    """Print tables, as wide as the terminal."""
    from rich.console import Console

    # texts of users may look like markup; a pipe has no width of its own, and rich would take 80
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPE_WIDTH)
    for table in tables:
        console.print(table)


def precisions_table(names: Sequence[str], sizes: Sequence[int], precisions: Sequence[float]) -> Table:
    """A row for each group, strongest penalty first; of many groups, the strongest and the weakest."""
    table = new_table(f"Penalties of {plural(len(names), 'group')}", ["group"], ["weights", "L2 penalty"])
    rows = sorted(zip(names, sizes, precisions, strict=True), key=lambda row: -row[2])
    shown = [(name, f"{size:,}", f"{precision:.4g}") for name, size, precision in rows]
    if len(shown) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        shown = [*shown[:half], ("...", "", ""), *shown[-half:]]
    return filled(table, shown)


def record_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """A table without a header: names and texts, such as facts about a training."""
    table = new_table(title, ["", ""], [])
    table.show_header = False
    return filled(table, rows)


def names_table(title: str, name: str, value: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and texts; only the first rows if there are many."""
    more = [("...", f"and {len(rows) - _MOST_ROWS:,} more")] if len(rows) > _MOST_ROWS else []
    return filled(new_table(title, [name, value], []), [*rows[:_MOST_ROWS], *more])


def numbers_table(
    title: str, name: str, columns: Sequence[str], rows: Iterable[tuple[str, Iterable[float]]]
) -> Table:
    """A table with a name and numbers, shown with four decimals, in each row."""
    table = new_table(title, [name], columns)
    return filled(table, [[first, *(f"{value:.4f}" for value in values)] for first, values in rows])


def filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    """Add rows to a table, and return it."""
    for row in rows:
        table.add_row(*row)
    return table


def new_table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table with text columns, then number columns, with these headers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
