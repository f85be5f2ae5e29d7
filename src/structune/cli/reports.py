"""What commands tell of models and predictions, on the terminal and on pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structune.cli.checks import given_parameters
from structune.cli.fields import option
from structune.cli.tables import print_tables, record_table

if TYPE_CHECKING:
    from rich.table import Table

    from structune.cli.task import Scores
    from structune.html_reports import Section
    from structune.learning.estimator import StructuredEstimator


@dataclass(frozen=True)
class Telling:
    """What an evaluation is told as."""

    report: Path | None = option(None, help="Write a page to this .html file: the scores, and the errors.")
    json: bool = option(False, help="Write JSON instead of tables.")


def tell(evaluation: Scores, telling: Telling) -> None:
    """Print an evaluation, and write its page if there is to be one."""
    if telling.json:
        click.echo(json.dumps(evaluation.as_dict(), indent=2))
    else:
        print_tables(*evaluation.tables())
    if telling.report is not None:
        write_sections_page(telling.report, _evaluation_sections(evaluation))


def write_training_page(
    page: Path, model: StructuredEstimator, record: Table, evaluation: Scores | None
) -> None:
    """Write what a training was, its course, and how good the model is."""
    from structune.html_reports.training import training_sections

    sections = [tables_section("Training", record), *training_sections(model)]
    if evaluation is not None:
        sections += _evaluation_sections(evaluation)
    write_sections_page(page, sections)


def write_tables_page(page: Path, tables: Mapping[str, Table]) -> None:
    """Write tables as sections of these titles."""
    write_sections_page(page, [tables_section(title, table) for title, table in tables.items()])


def tables_section(title: str, *tables: Table) -> Section:
    """Tables of the terminal as a section of a page."""
    from structune.html_reports import Section
    from structune.html_reports.tables import from_terminal

    blocks = [from_terminal(table) for table in tables]
    return Section(title, [replace(block, title="") if block.title == title else block for block in blocks])


def _evaluation_sections(evaluation: Scores) -> Iterator[Section]:
    yield tables_section("Scores", *evaluation.tables())
    yield from evaluation.sections()


def write_sections_page(path: Path, sections: Iterable[Section]) -> None:
    """Write what a command has found, and what it was asked, as a page."""
    from structune.html_reports import write_page

    write_page(path, click.get_current_context().command_path, [*sections, _settings()])


def _settings() -> Section:
    """The options that were given, of commands that have --config in the form that it reads."""
    names = {each.name: each.opts[0] for each in click.get_current_context().command.params}
    given = {names[name]: value for name, value in given_parameters().items()}
    if "config" not in names:
        return tables_section("Options", record_table("", [(name, _text(v)) for name, v in given.items()]))
    import yaml

    from structune.html_reports.page import Section, Text, Verbatim

    files = ", ".join(given.pop("files"))
    told = f"Learned from {files}, with these options, in a form that --config reads:"
    plain = {name.removeprefix("--"): _plain(value) for name, value in given.items()}
    return Section("Options", [Text(told), Verbatim(yaml.safe_dump(plain, sort_keys=False))])


def _text(value: Any) -> str:
    return ", ".join(map(str, value if isinstance(value, list | tuple) else [value]))


def _plain(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        numbers = [each for each in value if isinstance(each, tuple)]  # by group
        if numbers:
            return [number if group is None else f"{group}={number}" for group, number in numbers]
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)
