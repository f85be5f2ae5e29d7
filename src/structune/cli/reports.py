"""Pages of --report: the results of a command, and its options."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structune.cli.fields import given_parameters
from structune.cli.terminal import record_table, say
from structune.errors import StructuneError

if TYPE_CHECKING:
    from rich.table import Table

    from structune.html_reports import Section
    from structune.html_reports.page import Block

_MOST_KEPT, _MOST_FILES = 10_000_000, 20  # letters and files of results in a page


def write_sections_page(path: Path, sections: Iterable[Section], headline: str = "") -> None:
    """Write a page with the results of a command, the command itself, and its options.

    Commands that have --config show their options in the form that it reads. `headline` is the result in one
    line, which the page begins with.
    """
    from structune.html_reports.page import Section, Text, Verbatim, write_page

    ctx = click.get_current_context()
    names = {each.name: each.opts[0] for each in ctx.command.params}
    given = {names[name]: value for name, value in given_parameters().items()}
    command = Verbatim(shlex.join(["structune", *(ctx.find_root().obj or ())]))
    if "config" in names:
        import yaml

        files = ", ".join(given.pop("files"))
        told = f"Trained on {files} with these options. Save them as a file for --config to use them again:"
        plain = {name.removeprefix("--"): _plain(value) for name, value in given.items()}
        options: list[Block] = [Text(told), Verbatim(yaml.safe_dump(plain, sort_keys=False))]
    else:
        rows = [(n, v if isinstance(v, list) else [v]) for n, v in ((n, _plain(v)) for n, v in given.items())]
        table = record_table("Options", [(n, ", ".join(map(str, v))) for n, v in rows])
        options = [*tables_section("", table).blocks]
    made = Section("How this page was made", [command, *options])
    write_page(path, ctx.command_path, [*sections, made], headline)


class Report(ABC):
    """What a page of --report shows, collected while the results are written."""

    results: Results

    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    @abstractmethod
    def sections(self) -> Iterator[Section]:
        """Sections about the results, without their files."""


class Predictions(Report):
    """Predictions of ``predict``."""

    name: str  # of a file with the output


@contextmanager
def page_at_end(path: Path | None, report: Report | None, output: Path | None) -> Iterator[None]:
    """Write the page after the block, also if an error or Ctrl-C cuts it short after the first results."""
    if path is None or report is None:
        yield
        return

    def write(told: str) -> None:
        sections = [*report.sections(), report.results.section(output)]
        write_sections_page(path, sections, report.headline() + told)

    try:
        yield
    except BaseException:
        if not report.results.is_empty:
            try:
                write("; incomplete")
            except (OSError, StructuneError) as error:  # the first error is the one to tell
                say(f"the report could not be written: {error}")
        raise
    write("")


class Results:
    """The files that a command writes, which its page holds, too, if they are small enough."""

    def __init__(self, model: str) -> None:
        self._model, self._texts, self._size = model, dict[str, list[str]](), 0

    @property
    def is_empty(self) -> bool:
        return not self._size

    def add(self, path: str, text: str) -> None:
        """Add to the text of a file; that of standard output has a name, too."""
        self._size += len(text)
        if self._size > _MOST_KEPT:
            self._texts.clear()
        else:
            self._texts.setdefault(path, []).append(text)

    def kept(self, name: str, texts: Iterable[str]) -> Iterator[str]:
        """Yield the same texts, and add them to the file `name`."""
        for text in texts:
            yield text
            self.add(name, text)

    def section(self, output: Path | None) -> Section:
        """The files, or where they are: in `output`, or on standard output."""
        from structune.files.provenance import made_by
        from structune.files.text import without_compression
        from structune.html_reports.page import File, Section, Text

        named = [(without_compression(Path(path).name), texts) for path, texts in self._texts.items()]
        files = [File(name, "".join(texts)) for name, texts in named]
        blocks: list[Block] = [Text(f"Made by {made_by(self._model)}.")]
        if self._size > _MOST_KEPT or len(files) > _MOST_FILES:
            what = f"{len(files)} files" if files else f"more than {_MOST_KEPT // 10**6} MB"
            where = "standard output" if output is None else output
            told = f"The results are in {where}. They are {what}, which is too much for this page."
            return Section("Results", [*blocks, Text(told)])
        return Section("Results", [*blocks, *files])


def headline_of(table: Table) -> str:
    """The first row of a table of scores, or that of all together, in one line."""
    header, *columns = table.columns
    names = [str(cell) for cell in header.cells]
    if not names:
        return str(table.title or "")
    firsts = [name.split(" ")[0] for name in names]
    row = next((firsts.index(word) for word in ("all", "pooled", "mean") if word in firsts), 0)
    numbers = [f"{c.header} {list(c.cells)[row]}" for c in columns if str(list(c.cells)[row])]
    what = [str(table.title or ""), names[row]] if str(header.header) or numbers else []
    return f"{', '.join(filter(None, what))}: {', '.join(numbers)}"


def tables_section(title: str, *tables: Table) -> Section:
    """Tables of the terminal as a section of a page."""
    from structune.html_reports import Section
    from structune.html_reports.page import from_terminal

    blocks = [from_terminal(table) for table in tables]
    return Section(title, [replace(block, title="") if block.title == title else block for block in blocks])


def _plain(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        numbers = [each for each in value if isinstance(each, tuple)]  # by group
        if numbers:
            return [number if group is None else f"{group}={number}" for group, number in numbers]
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)
