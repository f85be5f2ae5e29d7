"""From the words of a command line to the command that they mean, and what becomes of its errors.

Commands of the kinds (`structune.kinds`) are made when they are asked for, by `structune.cli.verbs`.
"""

from __future__ import annotations

import difflib
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

import structune
from structune.cli.terminal import INTERRUPTED, say, short_warnings
from structune.cli.verbs import VERBS, command_of
from structune.errors import StructuneError
from structune.kinds import every_kind, find_kind, kinds

_ABOUT = """Sequence taggers (CRFs), RNA structures, rankings, alignments, genes: models that tune themselves.

`tune` learns a model and its regularization from examples, `train` with a regularization that you give;
`evaluate` says how good it is. The kind of model comes next: `structune tune rna`. Without a kind, a command
is for taggers. `shard` encodes examples that are larger than memory.

Results go to standard output, progress and errors to standard error."""
_DEFAULT = "tagging"
_SELDOM = 50_000  # new objects between looks for garbage, which else are a tenth of a start, and find nothing
_SETTINGS = {"help_option_names": ["-h", "--help"]}


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Tell what users can mend, and end with exit code 2."""
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:  # here, because click writes an empty line first
        say("interrupted")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except (OSError, StructuneError, MemoryError) as error:
        told = str(error)
        if isinstance(error, MemoryError):
            told = f"found too little memory ({told or 'it ran out'}), expected smaller files or fewer jobs"
        elif isinstance(error, OSError) and error.filename:
            told = f"{error.filename}: {error.strerror}"
        say(told)
        raise click.exceptions.Exit(2) from error


class Commands(click.Group):
    """All commands: the verbs, commands that one kind has, and what is of no kind."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _told_in_one_line():  # --version writes, too
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        # before imports, which make most of the objects of a short command
        gc.set_threshold(_SELDOM)
        with _told_in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Learning first, then use."""
        own = [name for kind in kinds().values() for name in kind.own]
        return [*VERBS, *own, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in VERBS:
            return _OfKinds(cmd_name, help=VERBS[cmd_name], context_settings=_SETTINGS, no_args_is_help=True)
        kind = next((kind for kind in every_kind() if cmd_name in kind.own), None)
        return command_of(cmd_name, kind) if kind else super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        command = self.get_command(ctx, args[0])
        # names are compared only where there is no such command: this asks installed packages, too
        if command is not None:
            return args[0], command, args[1:]
        near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Kinds of models"):
            formatter.write_dl([(kind.word, kind.about) for kind in kinds().values() if kind.task])


class _OfKinds(click.Group):
    """A verb, with a command a kind; arguments that begin with no kind are for the default."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [kind.word for kind in kinds().values() if kind.has(str(self.name))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        kind = find_kind(cmd_name)
        return kind and command_of(str(self.name), kind)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in ctx.help_option_names:
            kind = find_kind(args[0])
            if kind is None or not kind.has(str(self.name)):
                self._check_word(ctx, args[0])
                # without the word of a kind, that of the model, or the default
                files = [arg for arg in args if self.name == "predict" and os.path.isfile(arg)]
                args = [_kind_of_model(files) or _DEFAULT, *args]
        return super().parse_args(ctx, args)

    def _check_word(self, ctx: Any, word: str) -> None:
        """Refuse what looks like a kind, and is none that has this command, if there is no such file."""
        if os.path.exists(word) or not word.replace("-", "").isalpha():
            return
        words = self.list_commands(ctx)
        if find_kind(word) is not None:
            ctx.fail(f"There is no {self.name} for {word!r}: expected one of {', '.join(words)}")
        if near := difflib.get_close_matches(word, words, 1):
            ctx.fail(f"No such kind {word!r}. Did you mean {near[0]!r}?")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The first example of each kind."""
        with formatter.section("Examples"):
            for word in self.list_commands(ctx):
                for line in self.get_command(ctx, word).examples[:1]:
                    formatter.write(f"  {line}\n")


def _kind_of_model(files: list[str]) -> str | None:
    """The word of the kind of the first file that is one of a model."""
    # the header of a file tells its kind; without a file nothing heavy is imported, as for --help
    if not files:
        return None
    from structune.files.models import kind_in_file

    return next(filter(None, map(kind_in_file, files)), None)


@click.group(cls=Commands, help=_ABOUT, context_settings=_SETTINGS, no_args_is_help=True)
@click.version_option(structune.__version__, message="structune %(version)s")
def app() -> None:
    pass


@app.command()
@click.argument("kind", nargs=-1)
def warm(kind: tuple[str, ...]) -> None:
    """Compile ahead what is compiled at first use.

    KIND says what to compile for; by default for all kinds. This takes minutes: do it after an installation,
    in the image of a container, or once for the nodes of a cluster that share a home folder. The machine
    code is kept in the user's cache folder, or in that of the environment variable STRUCTUNE_CACHE. It serves
    this version of structune on processors of this kind.

    \b
    Example:
      structune warm
      structune warm rna alignment
    """
    from structune.cli.warming import run

    run(kind)


def run(args: list[str]) -> None:
    """Run a command line; ends with `SystemExit`."""
    try:
        with short_warnings():
            code = app.main(args, prog_name="structune", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        # one line, as for all errors, in place of click's usage and message
        path, message = error.ctx.command_path if error.ctx else "structune", error.format_message()
        say(f"{message}{'' if message[-1] in '.?' else '.'} See {path} --help.")
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(1)
    sys.exit(code)
