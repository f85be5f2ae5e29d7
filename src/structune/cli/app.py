"""Find the command for the arguments of a command line, run it, and report its errors.

Commands of model types (`structune.kinds`) are created on demand by `structune.cli.verbs`.
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
import structune.kernels
from structune.cli.terminal import INTERRUPTED, say, short_warnings
from structune.cli.verbs import VERBS, command_of
from structune.errors import StructuneError
from structune.kinds import every_kind, find_kind, kinds
from structune.running.progress import Bars

_ABOUT = """Train and use models for RNA structures, alignments, genes, sequence labels, rankings and tables.

`train` fits a model, and tunes its regularization unless you set it. `tune` does the same, with options
for the tuning. `predict` applies a model, and `evaluate` compares its predictions with known outputs. The
model type follows the command: `structune tune rna`. Without it, commands are for sequence taggers (tagging);
`predict` finds the type in the model file. `shard` is for data larger than memory.

Pretrained models for RNA, proteins and genes are included: try `structune fold`, `align` or `genes`.
`structune example rna` writes small files to begin with.

Results go to standard output, progress and errors to standard error."""
_DEFAULT = "tagging"
# the keys of `structune.cli.samples.SAMPLES`, which imports NumPy: --help comes without it
_SAMPLES = ("rna", "tagging", "alignment", "genes", "ranking", "classifier")
_SELDOM = 50_000  # new objects between looks for garbage, which else are a tenth of a start, and find nothing
_SETTINGS = {"help_option_names": ["-h", "--help"]}


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Report errors that users can correct in one line, and end with exit code 2."""
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
            told = f"not enough memory{f' ({told})' if told else ''}; use smaller files or fewer --jobs"
        elif isinstance(error, OSError) and error.filename:
            told = f"{error.filename}: {error.strerror}"
        say(told)
        raise click.exceptions.Exit(2) from error


class Commands(click.Group):
    """All commands: verbs, commands of a single model type, and commands of no type."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _told_in_one_line():  # --version writes, too
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        # before imports, which make most of the objects of a short command
        gc.set_threshold(_SELDOM)
        with _told_in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Training first, then use."""
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
        with formatter.section("Model types"):
            formatter.write_dl([(kind.word, kind.about) for kind in kinds().values() if kind.task])


class _OfKinds(click.Group):
    """A verb, with one command per model type; without a type, the default type is used."""

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
        """Refuse a word that looks like a model type without this command, if no file has that name."""
        if os.path.exists(word) or not word.replace("-", "").isalpha():
            return
        words = self.list_commands(ctx)
        if find_kind(word) is not None:
            ctx.fail(f"{self.name} is not available for {word!r}. It is for {', '.join(words)}")
        if near := difflib.get_close_matches(word, words, 1):
            ctx.fail(f"No such model type {word!r}. Did you mean {near[0]!r}?")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The first example of each model type."""
        with formatter.section("Examples"):
            for word in self.list_commands(ctx):
                for line in self.get_command(ctx, word).examples[:1]:
                    formatter.write(f"  {line}\n")


def _kind_of_model(files: list[str]) -> str | None:
    """The type of the first model file among `files`, or None."""
    # the type is in the header of the file; without a file nothing heavy is imported, as for --help
    if not files:
        return None
    from structune.files.models import kind_in_file

    return next(filter(None, map(kind_in_file, files)), None)


@click.group(cls=Commands, help=_ABOUT, context_settings=_SETTINGS, no_args_is_help=True)
@click.version_option(structune.__version__, message="structune %(version)s")
def app() -> None:
    pass


@app.command()
@click.argument("sample", type=click.Choice(_SAMPLES))
@click.option("--folder", metavar="FOLDER", help="Folder for the files.  [default: example-SAMPLE]")
def example(sample: str, folder: str | None) -> None:
    """Write small sample files, and print commands to try with them.

    All files are simulated: they show how commands work and what files look like, not how accurate models
    are on real data. Existing files with other content are never overwritten.

    \b
    Example:
      structune example rna
    """
    from pathlib import Path

    from structune.cli.samples import SAMPLES, write_sample

    files, commands = write_sample(sample, Path(folder or f"example-{sample}"))
    click.echo(f"Wrote {', '.join(map(str, files))}: {SAMPLES[sample].about}.")
    click.echo("Try next:")
    for command in commands:
        click.echo(f"  {command}")


@app.command()
@click.argument("kind", nargs=-1, metavar="[TYPE]...")
def warm(kind: tuple[str, ...]) -> None:
    """Compile the numerical kernels now, instead of at first use.

    TYPE is a model type, such as rna; by default kernels of all types are compiled. This takes some minutes.
    Run it after installation, when you build a container image, or once for cluster nodes that share a home
    folder. The machine code is kept in your cache folder, or in the folder that the environment variable
    STRUCTUNE_CACHE names. It is valid for this version of structune on processors of the same model.

    \b
    Example:
      structune warm
      structune warm rna alignment
    """
    from structune.cli.warming import run

    run(kind)


def _say_that_kernels_compile() -> None:
    """Explain the first seconds of a new installation, in which nothing else happens on the screen."""
    if sys.stderr.isatty():
        line = "compiling kernels, first use only (about 20 s); `structune warm` compiles all in advance"
        say(line) if Bars.shown is None else Bars.shown.print(f"structune: {line}")


def run(args: list[str]) -> None:
    """Run a command line; ends with `SystemExit`."""
    structune.kernels.on_first_compilation = _say_that_kernels_compile
    try:
        with short_warnings():
            code = app.main(args, prog_name="structune", standalone_mode=False, obj=args)
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
