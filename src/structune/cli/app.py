"""The commands and their groups; the work is done in the modules that they import when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import structune
from structune.cli import rank_commands, rna_commands, tagger_commands
from structune.cli.groups import SETTINGS, Commands, kinds

_TRAIN = """Learn a model, with a regularisation that you give.

`rna` learns to fold RNA from files of sequences and structures; `rank` to rank the documents of queries from
LETOR files; `tagger`, a word that may be left out, to label sequences from a column file. Each has its own
options: see `structune train rna --help`, `structune train rank --help`, `structune train tagger --help`.

\b
Example:
  structune train train.txt --model chunker.structune --penalty 2
  structune train rna train.dbn --model rna.structune --penalty 0.5
  structune train rank queries.txt --model ranker.structune --penalty 2
"""
_TUNE = """Learn a model, and its regularisation with it.

`rna` learns to fold RNA from files of sequences and structures; `rank` to rank the documents of queries from
LETOR files; `tagger`, a word that may be left out, to label sequences from a column file. Each has its own
options: see `structune tune rna --help`, `structune tune rank --help`, `structune tune tagger --help`.

\b
Example:
  structune tune train.txt --model chunker.structune --plot tuning.png
  structune tune rna train.dbn --model rna.structune --families families.tsv
  structune tune rank queries.txt --model ranker.structune
"""
_EVALUATE = """Compare predictions with what is known to be right.

`rna` compares the base pairs of RNA structures; `rank` rankings with relevances, by NDCG; `tagger`, a word
that may be left out, the labels of a column file. Each has its own options: see `structune evaluate rna
--help`, `structune evaluate rank --help`, `structune evaluate tagger --help`.

\b
Example:
  structune evaluate chunker.structune test.txt
  structune evaluate rna pretrained test.dbn --curve
  structune evaluate rank ranker.structune test.txt
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
    """Sequence taggers (CRFs), RNA structures and rankings, by models that tune their own regularisation.

    `tune` learns a model and its regularisation from examples, `train` with a regularisation that you give;
    `evaluate` says how good it is. Each is for taggers, or with the word `rna` for RNA, or `rank` for
    rankings. `predict` labels new text with a tagger, `fold` gives the structures of RNA sequences, with the
    model that comes with structune or with your own, and `rank` sorts the documents of queries.

    Results go to standard output, progress and errors to standard error.

    \b
    Example:
      structune fold sequences.fa
      structune tune train.txt --model chunker.structune
    """


def _add(name: str, help: str, tagger: Command, rna: Command, rank: Command) -> None:
    group = kinds(help)
    group.command("tagger")(tagger)
    group.command("rna")(rna)
    group.command("rank")(rank)
    app.add_typer(group, name=name)


_add("train", _TRAIN, tagger_commands.train, rna_commands.train, rank_commands.train)
_add("tune", _TUNE, tagger_commands.tune, rna_commands.tune, rank_commands.tune)
_add("evaluate", _EVALUATE, tagger_commands.evaluate, rna_commands.evaluate, rank_commands.evaluate)
app.command()(tagger_commands.predict)
app.command()(rna_commands.fold)
app.command()(rank_commands.rank)
