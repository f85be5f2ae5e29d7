"""Pages of --report: what a command has found, and what it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structune.cli.fields import given_parameters
from structune.cli.terminal import record_table

if TYPE_CHECKING:
    from rich.table import Table

    from structune.cli.task import Scores
    from structune.html_reports import Section


def write_sections_page(path: Path, sections: Iterable[Section]) -> None:
    """Write what a command has found, and the options that it was given.

    Those of commands that have --config are told in the form that it reads.
    """
    from structune.html_reports.page import Section, Text, Verbatim, write_page

    ctx = click.get_current_context()
    names = {each.name: each.opts[0] for each in ctx.command.params}
    given = {names[name]: value for name, value in given_parameters().items()}
    if "config" in names:
        import yaml

        files = ", ".join(given.pop("files"))
        told = f"Learned from {files}, with these options, in a form that --config reads:"
        plain = {name.removeprefix("--"): _plain(value) for name, value in given.items()}
        asked = Section("Options", [Text(told), Verbatim(yaml.safe_dump(plain, sort_keys=False))])
    else:
        rows = [(name, v if isinstance(v, list | tuple) else [v]) for name, v in given.items()]
        asked = tables_section("Options", record_table("", [(n, ", ".join(map(str, v))) for n, v in rows]))
    write_page(path, ctx.command_path, [*sections, asked])


def tables_section(title: str, *tables: Table) -> Section:
    """Tables of the terminal as a section of a page."""
    from structune.html_reports import Section
    from structune.html_reports.page import from_terminal

    blocks = [from_terminal(table) for table in tables]
    return Section(title, [replace(block, title="") if block.title == title else block for block in blocks])


def evaluation_sections(evaluation: Scores) -> Iterator[Section]:
    """How good predictions are."""
    yield tables_section("Scores", *evaluation.tables())
    yield from evaluation.sections()


def _plain(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        numbers = [each for each in value if isinstance(each, tuple)]  # by group
        if numbers:
            return [number if group is None else f"{group}={number}" for group, number in numbers]
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)
