"""Pages of sections with texts, tables and pictures: one HTML file that loads nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
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
    """A table of text cells; columns of numbers are aligned to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_number: Sequence[bool]
    bars: Sequence[tuple[float, float]] = ()  # behind each row: start and length, in percent of their column


@dataclass(frozen=True)
class Picture:
    """A picture inside the page; it may be scaled down a little unless it `scrolls`."""

    uri: str
    alt: str
    width: int  # in pixels
    caption: str = ""
    scrolls: bool = False

    @property
    def least(self) -> int:
        """The smallest width at which its texts can be read, in pixels."""
        return self.width if self.scrolls else round(_LEAST_SHARE * self.width)


@dataclass(frozen=True)
class Verbatim:
    text: str


@dataclass(frozen=True)
class File:
    """Results that the reader of the page can save as a file."""

    name: str
    content: str

    @property
    def uri(self) -> str:
        """An address that contains the file, for a link that saves it."""
        # bytes of the input that are not UTF-8 stay as they were
        data = b64encode(self.content.encode("utf-8", "surrogateescape")).decode()
        return f"data:text/plain;charset=utf-8;base64,{data}"


@dataclass(frozen=True)
class Widget:
    """Markup of structune's own and a script for it, which runs once, however many widgets share it.

    Texts in `markup` must be escaped. The script may use nothing but the page.
    """

    markup: str
    script: str


@dataclass(frozen=True)
class Tokens:
    """Tokens with their labels: the true one and, where it differs, the predicted one."""

    tokens: Sequence[tuple[str, str, str]]
    unsure: frozenset[int] = frozenset()  # numbers of tokens to underline


@dataclass(frozen=True)
class Columns:
    """Rows of letters of equal length, with background colors for columns."""

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
    """Blocks that are shown when their title is clicked."""

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


Block = Text | Table | Picture | Verbatim | File | Widget | Tokens | Columns | Fold


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it; small pictures stand side by side if there is room."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)


def from_terminal(table: rich.table.Table) -> Table:
    """Convert a table of the terminal for a page."""
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    header = [str(column.header) for column in table.columns] if table.show_header else []
    is_number = [column.justify == "right" for column in table.columns]
    return Table(str(table.title or ""), header, list(zip(*cells, strict=True)), is_number)


def make_table(
    title: str, texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]], most: int
) -> Table:
    """A table with text columns, then number columns; at most `most` rows are shown."""
    rows = list(rows)
    if len(rows) > most:
        more = [f"... and {len(rows) - most:,} more", *[""] * (len(texts) + len(numbers) - 1)]
        rows = [*rows[:most], more]
    return Table(title, [*texts, *numbers], rows, [*[False] * len(texts), *[True] * len(numbers)])


def bars_of(values: Sequence[float]) -> list[tuple[float, float]]:
    """Bars of `Table` from the origin 0, to the right or to the left: start and length, in percent."""
    low, high = min([*values, 0.0]), max([*values, 0.0])
    percent = 100 / max(high - low, 1e-300)
    return [(percent * (min(v, 0.0) - low), percent * abs(v)) for v in values]


def first_rows(n_shown: int, n: int, what: str) -> list[Block]:
    """A sentence about what a table leaves out, if anything."""
    return [Text(f"The table has the first {n_shown:,} of {n:,} {what}.")] if n_shown < n else []


def check_installed() -> None:
    """Raise a `StructuneError` if a library that reports need is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise StructuneError(f"reports need {error.name}: pip install 'structune[reports]'") from None


def write_page(path: Path, title: str, sections: Iterable[Section], headline: str = "") -> None:
    """Write a page in one step; if that fails, an existing file is unchanged."""
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
    sections = list(sections)
    script = "\n".join(dict.fromkeys(_scripts(block for section in sections for block in section.blocks)))
    values: dict[str, Any] = {
        "title": title,
        "headline": headline,
        "script": script,
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        "runs": _runs,
        "form_of": lambda block: type(block).__name__.lower(),
        "sections": sections,
        "version": structune.__version__,
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
    }
    # names of files may hold bytes that are no text
    text = environment.get_template("page.html").render(values)
    replace_file(path, text.encode("utf-8", "replace"))


def _scripts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Widget):
            yield block.script
        elif isinstance(block, Fold):
            yield from _scripts(block.blocks)


def _runs(blocks: Iterable[Block]) -> Iterator[tuple[bool, list[Block]]]:
    """Runs of blocks, and whether each stands side by side, as small pictures and tables do."""

    def form(block: Block) -> str:
        is_small = isinstance(block, Table) or (isinstance(block, Picture) and not block.scrolls)
        return type(block).__name__ if is_small else ""

    for name, run in groupby(blocks, form):
        yield bool(name), list(run)
