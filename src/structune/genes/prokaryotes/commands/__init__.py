"""The commands that learn to find the genes of bacteria and archaea."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structune.cli import options as opt
from structune.genes.commands import options as gene_opt


def train(
    train: gene_opt.TrainFiles,
    model: opt.ModelOption,
    sequences: gene_opt.Sequences = None,
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
    code: gene_opt.Code = 11,
    tree: Annotated[
        Path | None,
        typer.Option(
            help="A tree of organisms, in Newick format, or, if named .json, as nested objects with names as "
            "keys. Each ANNOTATION is then of a leaf: the one of its name without folder, .gz and .gb, "
            ".gbk, .gbff, .genbank, .gff or .gff3; or that of NAME=FILE.",
            show_default=False,
        ),
    ] = None,
    test: gene_opt.TestFiles = None,
    test_sequences: gene_opt.TestSequences = None,
    report: opt.Report = None,
    jobs: opt.Jobs = -1,
    executor: opt.ExecutorOption = None,
    max_seconds: opt.MaxSeconds = None,
    resume: opt.Resume = False,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
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
    from structune.genes.commands.training import Request, run
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    fitting = opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet)
    finder = ProkaryoticGeneFinder(penalty=penalty, loss=loss.value, code=code, **fitting)
    request = Request(train, sequences, model, test, test_sequences, report=report)
    if tree is None:
        raise typer.Exit(run(request, finder))
    from structune.genes.prokaryotes.commands.tasks import run_tree

    raise typer.Exit(run_tree(request, tree, finder))


def tune(
    train: gene_opt.TrainFiles,
    model: opt.ModelOption,
    sequences: gene_opt.Sequences = None,
    method: opt.MethodOption = opt.Method.implicit,
    loss: opt.TunedLoss = opt.Loss.log,
    code: gene_opt.Code = 11,
    groups: Annotated[
        opt.KindGroups, typer.Option(help="Which weights share a precision: those of a kind, all, or none.")
    ] = opt.KindGroups.kind,
    holdout: opt.Holdout = 0.2,
    folds: opt.Folds = None,
    test: gene_opt.TestFiles = None,
    test_sequences: gene_opt.TestSequences = None,
    plot: opt.TuningPlot = None,
    report: opt.Report = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = -1,
    executor: opt.ExecutorOption = None,
    max_seconds: opt.MaxSeconds = None,
    resume: opt.Resume = False,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn to find the genes of bacteria or archaea, and the regularisation with it.

    What is held out are parts of about five genes. Which genes cannot be learned from: see train
    prokaryotic-genes.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune prokaryotic-genes genome.gbff.gz --model genes.structune --plot tuning.png
    """
    from structune.genes.commands.training import Request, run
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    finder = ProkaryoticGeneFinder(
        tuning=method.value,
        loss=loss.value,
        code=code,
        groups=groups.value,
        holdout=holdout,
        folds=folds,
        random_state=seed,
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    )
    raise typer.Exit(run(Request(train, sequences, model, test, test_sequences, plot, report=report), finder))


def shard(
    train: gene_opt.TrainFiles,
    folder: opt.ShardFolder,
    sequences: gene_opt.Sequences = None,
    code: gene_opt.Code = 11,
    folds: opt.ShardFolds = 5,
    seed: opt.ShardSeed = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Encode genomes that are larger than memory as a folder that train and tune can read.

    The files are read some sequences at a time. What lies in the folder is mapped into memory when it is
    needed. The genetic code is the one given here.

    \b
    Example:
      structune shard prokaryotic-genes *.gbff.gz shards/
      structune tune prokaryotic-genes shards/ --model genes.structune
    """
    from structune.cli.shard_data import Target
    from structune.genes.commands.sharding import run
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

    target = Target(folder, folds, seed)
    run(train, sequences, ProkaryoticGeneFinder(code=code), target, quiet)
