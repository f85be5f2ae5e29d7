"""The commands that learn to find the genes of bacteria and archaea."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli import options as opt
from structune.cli.settings import Results, Running, Sharding, Tuning, spread
from structune.genes.commands import evaluate as evaluate  # with introns or without
from structune.genes.commands import options as own


@spread
def train(
    source: own.Source,
    results: Results,
    *,
    penalty: Annotated[
        float | None,
        typer.Option(
            help="Precision of the Gaussian prior of all weights; by default one for each kind of weight, "
            "about what tuning finds on a thousand genes, which serves ten genes too; ten times that for "
            "losses other than log.",
            show_default=False,
        ),
    ] = None,
    loss: opt.LossOption = opt.Loss.log,
    code: own.Code = None,
    starts: own.StartsOption = own.Starts.learned,
    tree: Annotated[
        Path | None,
        typer.Option(
            help="A tree of organisms, in Newick format, or, if named .json, as nested objects with names as "
            "keys. Each ANNOTATION is then of a leaf: the one of its name without folder, .gz and .gb, "
            ".gbk, .gbff, .genbank, .gff, .gff3 or .gtf; or that of NAME=FILE.",
            show_default=False,
        ),
    ] = None,
    test: own.Test,
    running: Running,
) -> None:
    """Learn to find the genes of bacteria or archaea, with a regularisation that you give.

    Genes that overlap others by more than 60 bases, are shorter than 90, are in several parts, or lack a
    start codon (ATG, GTG or TTG) or a stop codon, are left out, and named.

    With --tree, every node of the tree gets a model, around that of the node above: what organisms have in
    common is learned from all of them. How near to it, and with which factor of the precisions, is chosen
    on held-out genes. One file holds the models of all nodes. Several files of a leaf are taken together,
    and leaves without files have the model of the nearest node above that has some.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130. With --tree nothing
    is saved.

    \b
    Example:
      structune train prokaryotic-genes genome.gbff.gz --model genes.structune
      structune train prokaryotic-genes E.coli.gb new=x.gb --tree tree.nwk --model tree.structune
    """
    from structune.genes.commands.training import run
    from structune.genes.prokaryotes.commands.tasks import run_tree
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    settings: dict[str, Any] = {
        "penalty": penalty,
        "loss": loss.value,
        "starts": starts.value,
        **own.code_given(code),
    }
    finder = ProkaryoticGeneFinder(**settings, **running.parameters(results))
    if tree is not None:
        raise typer.Exit(run_tree(source, test, tree, finder, results, code is None))
    raise typer.Exit(run(source, test, finder, results, finds_code=code is None))


@spread
def tune(
    source: own.Source,
    results: Results,
    tuning: Tuning,
    *,
    loss: opt.TunedLoss = opt.Loss.log,
    code: own.Code = None,
    starts: own.StartsOption = own.Starts.learned,
    groups: own.GroupsOption = opt.KindGroups.kind,
    test: own.Test,
    running: Running,
) -> None:
    """Learn to find the genes of bacteria or archaea, and the regularisation with it.

    What is held out are parts of about five genes. Which genes cannot be learned from: see train
    prokaryotic-genes.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune prokaryotic-genes genome.gbff.gz --model genes.structune --plot tuning.png
    """
    from structune.genes.commands.training import run
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    settings: dict[str, Any] = {"loss": loss.value, "starts": starts.value, **own.code_given(code)}
    settings |= {"groups": groups.value, **tuning.parameters(), **running.parameters(results)}
    finder = ProkaryoticGeneFinder(**settings)
    raise typer.Exit(run(source, test, finder, results, tuning.plot, code is None))


@spread
def shard(source: own.Source, sharding: Sharding, code: own.Code = None, quiet: opt.Quiet = False) -> None:
    """Encode genomes that are larger than memory as a folder that train and tune can read.

    The files are read some sequences at a time. What lies in the folder is mapped into memory when it is
    needed. The genetic code is the one given here, or that of the first genes.

    \b
    Example:
      structune shard prokaryotic-genes *.gbff.gz shards/
      structune tune prokaryotic-genes shards/ --model genes.structune
    """
    from structune.genes.commands.sharding import run
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    run(source, ProkaryoticGeneFinder(**own.code_given(code)), sharding, quiet, code is None)


def warm() -> None:
    """Compile the kernels of genes of bacteria and archaea."""
    from structune.genes.commands.warming import run_prokaryotic

    run_prokaryotic()
