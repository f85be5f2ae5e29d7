"""Sections of texts, tables and pictures, and the page that holds them: one file, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structune
from structune.errors import StructuneError
from structune.files.models import replace_file

if TYPE_CHECKING:
    import rich.table

_LEAST_SHARE = 2 / 3


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Table:
    """Cells of text, of which numbers are set to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_number: Sequence[bool]
    bars: Sequence[tuple[float, float]] = ()  # behind each row: start and length, in percent of their column


@dataclass(frozen=True)
class Picture:
    """A picture in the page itself; one that `scrolls` is never made smaller, others a bit."""

    uri: str
    alt: str
    width: int  # in pixels
    caption: str = ""
    scrolls: bool = False

    @property
    def least(self) -> int:
        """The width at which its texts can still be read."""
        return self.width if self.scrolls else round(_LEAST_SHARE * self.width)


@dataclass(frozen=True)
class Verbatim:
    text: str


@dataclass(frozen=True)
class Tokens:
    """Tokens with their labels: the true one and, where it differs, the predicted one."""

    tokens: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Columns:
    """Rows of letters below each other, of one length, whose columns have colours behind them."""

    names: Sequence[str]
    rows: Sequence[str]
    runs: Sequence[tuple[int, str]]  # the columns from left to right: so many, and their colour

    @property
    def behind(self) -> str:
        """The style of all the rows together."""
        # a gradient with hard stops, in units of a letter: one element behind all rows
        stops, end = [], 0
        for length, colour in self.runs:
            stops.append(f"{colour} {end}ch {end + length}ch")
            end += length
        return f"background-image:linear-gradient(to right,{','.join(stops)})"


@dataclass(frozen=True)
class Fold:
    """What is seen when its title is clicked."""

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


Block = Text | Table | Picture | Verbatim | Tokens | Columns | Fold


@dataclass(frozen=True)
class Section:
    """A heading and what is below it; pictures stand side by side where there is room."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The section's name in links within the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


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


def check_installed() -> None:
    """Raise a `StructuneError` if a library is missing that reports need."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise StructuneError(f"reports need {error.name}: pip install 'structune[reports]'") from None


def write_page(path: Path, title: str, sections: Iterable[Section]) -> None:
    """Write a page in one step: where it cannot be written, what was there stays."""
    check_installed()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # all texts are escaped, as names in files of data may hold anything, and a missing value is an error
    environment = Environment(
        loader=PackageLoader("structune.html_reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values: dict[str, Any] = {
        "title": title,
        "runs": _runs,
        "form_of": lambda block: type(block).__name__.lower(),
        "sections": list(sections),
        "version": structune.__version__,
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
    }
    # names of files may hold bytes that are no text
    text = environment.get_template("page.html").render(values)
    replace_file(path, text.encode("utf-8", "replace"))


def _runs(blocks: Iterable[Block]) -> Iterator[tuple[bool, list[Block]]]:
    """Blocks that follow each other, and whether they stand side by side: small pictures, and tables."""

    def form(block: Block) -> str:
        is_small = isinstance(block, Table) or (isinstance(block, Picture) and not block.scrolls)
        return type(block).__name__ if is_small else ""

    for name, run in groupby(blocks, form):
        yield bool(name), list(run)
