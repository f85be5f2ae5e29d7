"""From the words of a command line to the command that they mean, and what becomes of its errors.

Commands are those of the kinds (`structune.kinds`), and are imported and built when they are asked for.
"""

from __future__ import annotations

import difflib
import gc
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from structune.cli.checks import asking, remember, say
from structune.errors import StructuneError
from structune.kinds import Kind, every_kind, find_kind, kinds

SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
_FIRST = ("train", "tune")  # then the commands of one kind, then the others
_DEFAULT = "tagging"
_SELDOM = 50_000  # new objects between looks for garbage, which else are a tenth of a start, and find nothing


class Commands(TyperGroup):
    """All commands; tells wrong input in one line on stderr, and ends with exit code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _told_in_one_line():  # --version writes, too
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        gc.set_threshold(_SELDOM)
        with _told_in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Learning first, then use."""
        names = super().list_commands(ctx)
        own = [name for kind in kinds().values() for name in kind.own]
        return [*_FIRST, *dict.fromkeys(own), *(name for name in names if name not in _FIRST)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is None:
            kind = next((kind for kind in every_kind() if cmd_name in kind.own), None)
            function = kind and kind.command(cmd_name)
            return function and _built(function, cmd_name)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:  # typer suggests one of these
            found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
            self.commands = {name: command for name, command in found.items() if command is not None}
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("What can be learned"):
            formatter.write_dl([(kind.word, kind.about) for kind in kinds().values() if kind.commands])


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Tell what users can mend, and end with exit code 2."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except StructuneError as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"found too little memory ({error or 'it ran out'}), expected smaller files or fewer jobs")


def _fail(message: str) -> None:
    say(message)
    raise typer.Exit(2)


class OfKinds(TyperGroup):
    """A command for each kind; arguments that begin with no kind are those of the default."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [kind.word for kind in kinds().values() if kind.command(str(self.name))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        kind = find_kind(cmd_name)
        function = kind and kind.command(str(self.name))
        return kind and function and _built(function, kind.word)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in ctx.help_option_names and self.get_command(ctx, args[0]) is None:
            self._check_word(ctx, args[0])
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def _check_word(self, ctx: Any, word: str) -> None:
        """Refuse what looks like a kind, and is none that has this command, if there is no such file."""
        if os.path.exists(word) or not word.replace("-", "").isalpha():
            return
        words = self.list_commands(ctx)  # imports the commands of all kinds
        if find_kind(word) is not None:
            ctx.fail(f"There is no {self.name} for {word!r}: expected one of {', '.join(words)}")
        if near := difflib.get_close_matches(word, words, 1):
            ctx.fail(f"No such kind {word!r}. Did you mean {near[0]!r}?")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [*pieces[:-1], f"[{' | '.join(self.list_commands(ctx))}] ..."]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The first example of each kind."""
        with formatter.section("Examples"):
            for kind in kinds().values():
                examples = list(_examples(kind.command(str(self.name))))
                own = [line for line in examples if f" {kind.word} " in line]  # of a command of several kinds
                for line in (own or examples)[:1]:
                    formatter.write(f"  {line}\n")


class Command(TyperCommand):
    """A command whose results can tell what was asked for."""

    def invoke(self, ctx: Any) -> Any:
        remember(ctx)
        return super().invoke(ctx)


def asked_kind() -> Kind:
    """The kind that the command which runs is for: one command may be that of several."""
    kind = find_kind(asking().info_name)
    assert kind is not None  # by its word the command was found
    return kind


@cache
def _built(function: Callable[..., Any], name: str) -> Any:
    app = typer.Typer(**SETTINGS)
    app.command(name, cls=Command)(function)
    return typer.main.get_command(app)


def _examples(function: Callable[..., Any] | None) -> Iterator[str]:
    """The lines below "Example:" in the help of a command."""
    _, _, lines = (inspect.getdoc(function) or "").partition("Example:\n") if function else ("", "", "")
    yield from (line.strip() for line in lines.splitlines())
