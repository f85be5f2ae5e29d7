"""Groups of commands: what they do with errors, and with a word that is no command."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from structune.errors import StructuneError

SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
_ORDER = ("train", "tune", "predict", "fold", "rank", "align", "genes", "evaluate")
_DEFAULT = "tagger"


class Commands(TyperGroup):
    """Tells wrong input in one line on stderr, and ends with exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except StructuneError as error:
            self._fail(str(error))

    def list_commands(self, ctx: Any) -> list[str]:
        """Learning first, then use."""
        names = super().list_commands(ctx)
        return [*filter(names.__contains__, _ORDER), *(name for name in names if name not in _ORDER)]

    def _fail(self, message: str) -> None:
        typer.echo(f"structune: {message}", err=True)
        raise typer.Exit(2)


class Learning(TyperCommand):
    """A command whose results tell what was asked for."""

    def invoke(self, ctx: Any) -> Any:
        _asked.set(ctx)
        return super().invoke(ctx)


_asked: ContextVar[Any] = ContextVar("asked")


def asked() -> tuple[str, list[tuple[str, str]]]:
    """The command that runs, and the arguments and options that it was given."""
    ctx, given = _asked.get(), []
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name).name == "COMMANDLINE":
            value = ctx.params[parameter.name]
            values = value if isinstance(value, list | tuple) else [value]
            given.append((parameter.opts[0], ", ".join(str(getattr(v, "value", v)) for v in values)))
    return ctx.command_path, given


class TaggerByDefault(TyperGroup):
    """A command for each kind of model; arguments that begin with no kind are those of the tagger."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


def kinds(help: str, names: Iterable[str]) -> typer.Typer:
    """A group with a command for each kind of model."""
    app = typer.Typer(cls=TaggerByDefault, subcommand_metavar=f"[{' | '.join(names)}] ...", **SETTINGS)
    app.callback(help=help)(_nothing)
    return app


def _nothing() -> None:
    pass
