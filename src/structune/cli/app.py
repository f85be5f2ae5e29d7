"""The commands and their groups; the work is done in the modules that they import when they run."""

from __future__ import annotations

from typing import Annotated

import typer

import structune
from structune.alignment import commands as align_commands
from structune.cli.groups import SETTINGS, Commands, Learning, kinds
from structune.genes import commands as gene_commands
from structune.genes.prokaryotes import commands as prokaryotic_commands
from structune.ranking import commands as rank_commands
from structune.rna import commands as rna_commands
from structune.tagging import commands as tagger_commands

_TRAIN = """Learn a model, with a regularisation that you give.

`rna` learns to fold RNA from files of sequences and structures; `rank` to rank the documents of queries from
LETOR files; `align` to align proteins from alignments; `genes` to find genes from GenBank or GFF3, and
`prokaryotic-genes` those of bacteria and archaea; `tagger`, a word that may be left out, to label sequences
from a column file. Each has its own options: see `structune train rna --help` and the like.

\b
Example:
  structune train train.txt --model chunker.structune --penalty 2
  structune train rna train.dbn --model rna.structune --penalty 0.5
  structune train rank queries.txt --model ranker.structune --penalty 2
  structune train align families/ --model aligner.structune --penalty 5
  structune train genes genes.gb --model genes.structune
  structune train prokaryotic-genes genome.gb --model bacteria.structune
"""
_TUNE = """Learn a model, and its regularisation with it.

`rna` learns to fold RNA from files of sequences and structures; `rank` to rank the documents of queries from
LETOR files; `align` to align proteins from alignments; `genes` to find genes from GenBank or GFF3, and
`prokaryotic-genes` those of bacteria and archaea; `tagger`, a word that may be left out, to label sequences
from a column file. Each has its own options: see `structune tune rna --help` and the like.

\b
Example:
  structune tune train.txt --model chunker.structune --plot tuning.png
  structune tune rna train.dbn --model rna.structune --families families.tsv
  structune tune rank queries.txt --model ranker.structune
  structune tune align families/ --model aligner.structune
  structune tune genes genes.gff3 --sequences genome.fa --model genes.structune
  structune tune prokaryotic-genes genome.gb --model bacteria.structune
"""
_EVALUATE = """Compare predictions with what is known to be right.

`rna` compares the base pairs of RNA structures; `rank` rankings with relevances, by NDCG; `align` the matches
of alignments; `genes` genes, of bacteria or others, with an annotation; `tagger`, a word that may be left
out, the labels of a column file. Each has its own options: see `structune evaluate rna --help` and the like.

\b
Example:
  structune evaluate chunker.structune test.txt
  structune evaluate rna pretrained test.dbn --curve
  structune evaluate rank ranker.structune test.txt
  structune evaluate align aligner.structune test.fa
  structune evaluate genes genes.structune test.gb
"""

_SHARD = """Encode examples that are larger than memory as a folder that train and tune can read.

`rna` encodes RNA structures; `align` alignments; `genes` genes, and `prokaryotic-genes` those of bacteria and
archaea; `tagger`, a word that may be left out, a column file. Each has its own options: see `structune shard
rna --help` and the like. Random parts of the examples go to files of their own, which tuning can hold out.

\b
Example:
  structune shard train.txt shards/
  structune shard rna train.dbn shards/
  structune shard align families/ shards/
  structune shard genes genes.gb shards/
  structune shard prokaryotic-genes *.gbff.gz shards/
"""

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
    """Sequence taggers (CRFs), RNA structures, rankings, alignments, genes: models that tune themselves.

    `tune` learns a model and its regularisation from examples, `train` with a regularisation that you give;
    `evaluate` says how good it is. Each is for taggers, or with the word `rna` for RNA, `rank` for rankings,
    `align` for alignments, `genes` for genes; `train` and `tune` also with `prokaryotic-genes`, for those of
    bacteria and archaea. `predict` labels new text with a tagger, `fold` gives the structures of RNA
    sequences, with the model that comes with structune or with your own, `rank` sorts the documents of
    queries, `align` aligns proteins two by two, and `genes` finds the genes of a genome. `shard` encodes
    examples that are larger than memory.

    Results go to standard output, progress and errors to standard error.

    \b
    Example:
      structune fold sequences.fa
      structune tune train.txt --model chunker.structune
    """


def _add(name: str, help: str) -> None:
    """A group with the command of each kind of model that has one of its own."""
    homes = {
        "tagger": tagger_commands,
        "rna": rna_commands,
        "rank": rank_commands,
        "align": align_commands,
        "genes": gene_commands,
        "prokaryotic-genes": prokaryotic_commands,
    }
    commands = {kind: getattr(home, name) for kind, home in homes.items() if hasattr(home, name)}
    group = kinds(help, commands)
    for kind, command in commands.items():
        group.command(kind, cls=Learning)(command)
    app.add_typer(group, name=name)


_add("train", _TRAIN)
_add("tune", _TUNE)
_add("evaluate", _EVALUATE)
_add("shard", _SHARD)
app.command()(tagger_commands.predict)
app.command()(rna_commands.fold)
app.command()(rank_commands.rank)
app.command()(align_commands.align)
app.command()(gene_commands.genes)
