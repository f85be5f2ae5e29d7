"""The commands and their groups; the work is done in the modules that they import when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import structune
from structune.cli import rna_commands, tagger_commands
from structune.cli.groups import SETTINGS, Commands, kinds

_TRAIN = """Learn a model, with a regularisation that you give.

`rna` learns to fold RNA from files of sequences and structures; `tagger`, a word that may be left out, learns
to label sequences from a column file. Each has its own options: see `structune train rna --help` and
`structune train tagger --help`.

\b
Example:
  structune train train.txt --model chunker.structune --penalty 2
  structune train rna train.dbn --model rna.structune --penalty 0.5
"""
_TUNE = """Learn a model, and its regularisation with it.

`rna` learns to fold RNA from files of sequences and structures; `tagger`, a word that may be left out, learns
to label sequences from a column file. Each has its own options: see `structune tune rna --help` and
`structune tune tagger --help`.

\b
Example:
  structune tune train.txt --model chunker.structune --plot tuning.png
  structune tune rna train.dbn --model rna.structune --families families.tsv
"""
_EVALUATE = """Compare predictions with what is known to be right.

`rna` compares the base pairs of RNA structures; `tagger`, a word that may be left out, the labels of a column
file. Each has its own options: see `structune evaluate rna --help` and `structune evaluate tagger --help`.

\b
Example:
  structune evaluate chunker.structune test.txt
  structune evaluate rna pretrained test.dbn --curve
"""

Command = Callable[..., None]
app = typer.Typer(cls=Commands, **SETTINGS)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"structune {structune.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Sequence taggers (CRFs) and RNA secondary structures, by models that tune their own regularisation.

    `tune` learns a model and its regularisation from examples, `train` with a regularisation that you give;
    `evaluate` says how good it is. Each is for taggers, or with the word `rna` for RNA. `predict` labels new
    text with a tagger, and `fold` gives the structures of RNA sequences, with the model that comes with
    structune or with your own.

    Results go to standard output, progress and errors to standard error.

    \b
    Example:
      structune fold sequences.fa
      structune tune train.txt --model chunker.structune
    """


def _add(name: str, help: str, tagger: Command, rna: Command) -> None:
    group = kinds(help)
    group.command("tagger")(tagger)
    group.command("rna")(rna)
    app.add_typer(group, name=name)


_add("train", _TRAIN, tagger_commands.train, rna_commands.train)
_add("tune", _TUNE, tagger_commands.tune, rna_commands.tune)
_add("evaluate", _EVALUATE, tagger_commands.evaluate, rna_commands.evaluate)
app.command()(tagger_commands.predict)
app.command()(rna_commands.fold)
