"""The commands of genes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli import options as opt
from structune.genes.commands import options as gene_opt


def train(
    train: gene_opt.TrainFiles,
    model: opt.ModelOption,
    sequences: gene_opt.Sequences = None,
    penalty: Annotated[
        float,
        typer.Option(
            help="Precision of the Gaussian prior of all weights. Losses other than log want larger ones."
        ),
    ] = 1.0,
    loss: opt.LossOption = opt.Loss.log,
    features: gene_opt.Features = gene_opt.FeatureSet.full,
    strands: gene_opt.StrandsOption = gene_opt.Strands.both,
    donors: gene_opt.Donors = ["GT"],  # noqa: B006
    flank: gene_opt.Flank = 1000,
    constraints: opt.ConstraintsOption = None,
    validation_sets: opt.ValidationSets = 3,
    gamma: opt.Gamma = 0.01,
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
    """Learn to find genes, with a regularisation that you give.

    Genes that overlap others, or that lack a start or stop codon, splice sites, or whole codons, are left
    out, and named.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train genes genes.gb --model genes.structune --penalty 5
      structune train genes genes.gff3.gz --sequences genome.fa.gz --model genes.structune
    """
    from structune.genes.commands.training import Request, run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    settings = {
        "tuning": None,
        "penalty": penalty,
        **_model(loss, features, strands, donors, flank),
        **opt.held_to(constraints, validation_sets, gamma),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(
        run(Request(train, sequences, model, test, test_sequences, report=report), GeneFinder(**settings))
    )


def tune(
    train: gene_opt.TrainFiles,
    model: opt.ModelOption,
    sequences: gene_opt.Sequences = None,
    method: opt.MethodOption = opt.Method.implicit,
    loss: opt.TunedLoss = opt.Loss.log,
    features: gene_opt.Features = gene_opt.FeatureSet.full,
    strands: gene_opt.StrandsOption = gene_opt.Strands.both,
    donors: gene_opt.Donors = ["GT"],  # noqa: B006
    flank: gene_opt.Flank = 1000,
    constraints: opt.ConstraintsOption = None,
    validation_sets: opt.ValidationSets = 3,
    gamma: opt.Gamma = 0.01,
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
    """Learn to find genes, and the regularisation with it.

    What is held out are genes, with what is around them. Which genes cannot be learned from: see train genes.
    majorize needs a small part of the time of implicit, and finds worse models.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune genes genes.gb --model genes.structune --plot tuning.png
    """
    from structune.genes.commands.training import Request, run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    settings = {
        "tuning": method.value,
        "groups": groups.value,
        "holdout": holdout,
        "folds": folds,
        "random_state": seed,
        **_model(loss, features, strands, donors, flank),
        **opt.held_to(constraints, validation_sets, gamma),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    request = Request(train, sequences, model, test, test_sequences, plot, report=report)
    raise typer.Exit(run(request, GeneFinder(**settings)))


def shard(
    train: gene_opt.TrainFiles,
    folder: opt.ShardFolder,
    sequences: gene_opt.Sequences = None,
    features: gene_opt.Features = gene_opt.FeatureSet.full,
    strands: gene_opt.StrandsOption = gene_opt.Strands.both,
    donors: gene_opt.Donors = ["GT"],  # noqa: B006
    flank: gene_opt.Flank = 1000,
    folds: opt.ShardFolds = 5,
    seed: opt.ShardSeed = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Encode annotated sequences that are larger than memory as a folder that train and tune can read.

    The files are read twice, some sequences at a time: for the lengths of introns, and to encode the genes.
    What lies in the folder is mapped into memory when it is needed. Features, strands and donors are those
    given here.

    \b
    Example:
      structune shard genes genes.gff3 shards/ --sequences genome.fa
      structune tune genes shards/ --model genes.structune
    """
    from structune.cli.shard_data import Target
    from structune.genes.commands.sharding import run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    finder = GeneFinder(**_model(opt.Loss.log, features, strands, donors, flank))
    run(train, sequences, finder, Target(folder, folds, seed), quiet)


def evaluate(
    model: gene_opt.ModelOrPrediction,
    annotations: gene_opt.Annotations,
    sequences: gene_opt.Sequences = None,
    task: gene_opt.Task = None,
    margin: gene_opt.Margin = None,
    jobs: opt.Jobs = -1,
    report: opt.EvaluationReport = None,
    json: opt.Json = False,
) -> None:
    """Compare predicted genes with annotated ones.

    Shows sensitivity, precision (which the field calls specificity) and F1 of coding bases, exons,
    transcripts, genes and stop codons, all sequences together. The genes are those that a model predicts, of
    bacteria or others, or those of a GFF3 file.

    \b
    Example:
      structune evaluate genes genes.structune test.gb --margin 500
      structune evaluate genes tree.structune test.gb --task E.coli
      structune evaluate genes predicted.gff3 known.gff3
    """
    from structune.genes.commands.evaluation import run

    run(model, task, annotations, sequences, margin, jobs, json, report)


def genes(
    file: Annotated[str, typer.Argument(metavar="FASTA", help="DNA, also .gz, or - for standard input.")],
    model: gene_opt.ModelOption,
    task: gene_opt.Task = None,
    adapt: gene_opt.Adapt = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write, compressed if named .gz; standard output by default.",
            show_default=False,
        ),
    ] = None,
    proteins: Annotated[
        Path | None,
        typer.Option(help="Write the proteins to this FASTA file.", show_default=False),
    ] = None,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
) -> None:
    """Find the genes of DNA sequences.

    Soft-masked bases, in lower case, count as others do. The score of a gene is the mean probability of its
    bases being coding; by a model of train or tune prokaryotic-genes it is the probability of the gene, with
    both its ends. Models of losses other than log give none. Genes come in the order of FASTA, which is not
    held in memory as a whole unless a model is chosen or adapted by it. What was found before Ctrl-C has been
    written; the exit code is then 130.

    By prokaryotic models, genes may go beyond the ends of a sequence: they lack a start or a stop codon then.
    They begin with a whole codon; the last one may not be whole, and proteins are without it.

    \b
    Example:
      structune genes genome.fa.gz --model genes.structune --proteins proteins.faa > genes.gff3
      structune genes bacterium.fa --model tree.structune --task E.coli > genes.gff3
      structune genes new.fa --model pretrained --adapt 20 > genes.gff3
    """
    from structune.genes.commands.finding import Request, run

    raise typer.Exit(run(Request(model, task, adapt, file, output, proteins, jobs, quiet)))


def _model(
    loss: opt.Loss,
    features: gene_opt.FeatureSet,
    strands: gene_opt.Strands,
    donors: list[str],
    flank: int,
) -> dict[str, Any]:
    """Settings of `GeneFinder` that train and tune share."""
    return {
        "loss": loss.value,
        "features": features.value,
        "strands": strands.value,
        "donors": tuple(donor for some in donors for donor in some.split(",")),
        "flank": flank,
    }
