"""What commands check before their work, and how they tell warnings."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from structune.errors import DataError

INTERRUPTED = 130  # exit code after Ctrl-C
_PAGES = (".html", ".htm")
_FROM_0, _NUMBER = re.compile(r"(\d+(?: and \d+)?) \(from 0\)"), re.compile(r"\d+")


def check_targets(
    files: Iterable[Path | None], plots: Iterable[Path | None], page: Path | None = None
) -> None:
    """Find before the work, not after it, what cannot be written."""
    drawn = [path for path in plots if path is not None]
    written = set[Path]()
    for path in filter(None, [*files, *drawn, page]):
        if _is_device(path):
            continue
        if not os.access(path.parent, os.W_OK) or path.is_dir():
            raise DataError(f"{path}: expected a file in a folder that exists and can be written to")
        if path.resolve() in written:
            raise DataError(f"{path}: found it twice among what is written, expected another file for each")
        written.add(path.resolve())
    for path in drawn:
        from structune.plots.figure import check_path

        check_path(path)
    if page is not None:
        from structune.html_reports import check_installed

        if page.suffix.lower() not in _PAGES:
            raise DataError(f"{page}: expected a name that ends in .html")
        check_installed()


def _is_device(path: Path) -> bool:
    """Whether all may write there, several at a time: /dev/null, a terminal, a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_apart(sources: Iterable[str | Path | None], files: Iterable[Path | None]) -> None:
    """Do not write over what is read: files, and those in folders."""
    known = [Path(source) for source in sources if source is not None and os.path.exists(source)]
    read = [*known, *(path for folder in known if folder.is_dir() for path in folder.iterdir())]
    for path in filter(None, files):
        if path.exists() and any(path.samefile(source) for source in read):
            raise DataError(f"{path}: expected another file than the one that is read")


@contextmanager
def short_warnings(*told: type[Warning]) -> Iterator[None]:
    """Warnings in one line, without the place in the code; none of those that are told otherwise."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(str(message))
        for category in told:
            warnings.simplefilter("ignore", category)
        yield


def say(message: str) -> None:
    """Tell on standard error what is wrong."""
    click.echo(f"structune: {counted_from_one(message)}", err=True)


def counted_from_one(message: str) -> str:
    """A message as the command line tells it, where all that has a number counts from 1."""
    return _FROM_0.sub(lambda found: f"{_NUMBER.sub(_next, found[1])} (from 1)", message)


def _next(number: re.Match[str]) -> str:
    return str(int(number[0]) + 1)


# --- the command that runs --------------------------------------------------------------------------------


def given_parameters() -> dict[str, Any]:
    """What the command that runs was given by the command line or a file of settings, by name."""
    ctx = click.get_current_context()
    default = (ParameterSource.DEFAULT, None)
    names = [str(each.name) for each in ctx.command.params if each.expose_value]
    return {name: ctx.params[name] for name in names if ctx.get_parameter_source(name) not in default}
