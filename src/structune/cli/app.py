"""The command line: groups of what every kind can do, and what is of no kind."""

from __future__ import annotations

from typing import Annotated

import typer

import structune
from structune.cli.dispatch import SETTINGS, Commands, OfKinds

_OF_KINDS = {
    "train": "Learn a model, with a regularisation that you give.",
    "tune": "Learn a model, and its regularisation with it.",
    "evaluate": "Compare predictions with what is known to be right.",
    "shard": """Encode examples that are larger than memory as a folder that train and tune can read.

    Random parts of the examples go to files of their own, which tuning can hold out.""",
}
_EACH = "Each kind has its own options: see `structune {name} rna --help` and the like."

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
    """Sequence taggers (CRFs), RNA structures, rankings, alignments, genes: models that can tune themselves.

    `tune` learns a model and its regularisation from examples, `train` with a regularisation that you give;
    `evaluate` says how good it is. Each is followed by the word of what can be learned, such as `rna`; where
    there is none, it is for taggers. `shard` encodes examples that are larger than memory.

    Results go to standard output, progress and errors to standard error.

    \b
    Example:
      structune fold sequences.fa
      structune tune train.txt --model chunker.structune
    """


@app.command()
def warm(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND", help="What to compile for; all there is by default."),
    ] = None,
) -> None:
    """Compile ahead what is compiled at first use.

    This takes minutes: after an installation, in the image of a container, or once for the nodes of a cluster
    that share a home folder. What is compiled is kept in the user's cache folder, or in that of the
    environment variable STRUCTUNE_CACHE, and serves this version of structune on processors of this kind.

    \b
    Example:
      structune warm
      structune warm rna alignment
    """
    from structune.cli.warming import run

    run(kinds)


def _nothing() -> None:
    pass


for _name, _help in _OF_KINDS.items():
    _group = typer.Typer(cls=OfKinds, **SETTINGS)
    _group.callback(help=f"{_help}\n\n    {_EACH.format(name=_name)}")(_nothing)
    app.add_typer(_group, name=_name)
