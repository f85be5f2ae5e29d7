"""The commands of protein alignments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from structune.alignment.commands import options as align_opt
from structune.cli import options as opt


def train(
    train: align_opt.TrainFiles,
    model: opt.ModelOption,
    penalty: Annotated[
        float,
        typer.Option(
            help="Precision of the Gaussian prior of all weights. Losses other than log want larger ones, of "
            "about the number of pairs."
        ),
    ] = 1.0,
    loss: align_opt.LossOption = align_opt.Loss.log,
    features: align_opt.Features = align_opt.FeatureSet.full,
    center: align_opt.Center = None,
    band: align_opt.Band = None,
    most_pairs: align_opt.MostPairs = None,
    test: align_opt.TestFile = None,
    report: opt.Report = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice of pairs.")] = 0,
    jobs: opt.Jobs = -1,
    executor: opt.ExecutorOption = None,
    max_seconds: opt.MaxSeconds = None,
    resume: opt.Resume = False,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn to align proteins, with a regularisation that you give.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train alignment families/ --model aligner.structune --penalty 5 --most-pairs 3
    """
    from structune.alignment.commands.training import Request, run

    settings = {
        "tuning": None,
        "penalty": penalty,
        "random_state": seed,
        **_space(loss, features, center, band),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, most_pairs, test, report=report), settings))


def tune(
    train: align_opt.TrainFiles,
    model: opt.ModelOption,
    method: opt.MethodOption = opt.Method.implicit,
    loss: align_opt.LossOption = align_opt.Loss.log,
    features: align_opt.Features = align_opt.FeatureSet.full,
    center: align_opt.Center = None,
    band: align_opt.Band = None,
    groups: align_opt.GroupsOption = opt.KindGroups.kind,
    most_pairs: align_opt.MostPairs = None,
    holdout: opt.Holdout = 0.2,
    folds: opt.Folds = None,
    test: align_opt.TestFile = None,
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
    """Learn to align proteins, and the regularisation with it.

    Pairs of one alignment are held out together.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune alignment families/ --model aligner.structune --most-pairs 3 --plot tuning.png
    """
    from structune.alignment.commands.training import Request, run

    settings = {
        "tuning": method.value,
        "groups": groups.value,
        "holdout": holdout,
        "folds": folds,
        "random_state": seed,
        **_space(loss, features, center, band),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, most_pairs, test, plot, report=report), settings))


def shard(
    train: align_opt.TrainFiles,
    folder: opt.ShardFolder,
    features: align_opt.Features = align_opt.FeatureSet.full,
    band: align_opt.Band = None,
    most_pairs: align_opt.MostPairs = None,
    folds: opt.ShardFolds = 5,
    seed: opt.ShardSeed = 0,
) -> None:
    """Encode alignments as a folder that train and tune can read.

    What lies in the folder is mapped into memory when it is needed. Features and the band are those given
    here. Pairs of one alignment are held out together.

    \b
    Example:
      structune shard alignment families/ shards/ --most-pairs 3
      structune tune alignment shards/ --model aligner.structune
    """
    from structune.alignment.aligner import SequenceAligner
    from structune.alignment.commands.sharding import run
    from structune.cli.shard_data import Target

    aligner = SequenceAligner(**_space(align_opt.Loss.log, features, None, band))
    run(train, most_pairs, aligner, Target(folder, folds, seed))


def evaluate(
    model: align_opt.ModelArgument,
    files: align_opt.TestFiles,
    gamma: align_opt.Gamma = None,
    jobs: opt.Jobs = -1,
    report: opt.EvaluationReport = None,
    json: opt.Json = False,
) -> None:
    """Compare alignments with known ones.

    Shows the recall (Q, the developer's score) and precision of matches, means over pairs, by the identity
    of the known matches.

    \b
    Example:
      structune evaluate alignment aligner.structune test/
      structune evaluate alignment pretrained test.fa
    """
    from structune.alignment.commands.evaluation import run

    run(model, files, gamma, jobs, json, report)


def align(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Proteins in FASTA, or - for standard input.", show_default=False
        ),
    ] = "-",
    model: align_opt.ModelOption = "pretrained",
    which: Annotated[
        align_opt.Which,
        typer.Option(
            help="pairs: the first with the second, the third with the fourth, ... all: each with each."
        ),
    ] = align_opt.Which.pairs,
    method: Annotated[
        align_opt.Decoding,
        typer.Option(
            help="mea: the alignment of maximum expected accuracy. viterbi: the most probable one. Both "
            "are that of the highest score for models without probabilities."
        ),
    ] = align_opt.Decoding.mea,
    gamma: align_opt.Gamma = None,
    band: align_opt.Band = None,
    format: Annotated[
        align_opt.Format,
        typer.Option(
            help="fasta, clustal: alignments one after the other. json: an object a line, with the "
            "probability of each column's match."
        ),
    ] = align_opt.Format.fasta,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write; standard output by default.", show_default=False
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the probabilities of matches and the alignment to this file (.png, .pdf, .svg); those "
            "of several pairs to FILE-NAME-NAME each.",
            show_default=False,
        ),
    ] = None,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
) -> None:
    """Align proteins, two by two.

    Alignments come in the order of FILE, and as soon as they are known. What was aligned before Ctrl-C has
    been written; the exit code is then 130.

    \b
    Example:
      structune align proteins.fa --which all > alignments.fa
      structune align two.fa --model aligner.structune --format json --plot matches.png
      structune align proteins.fa --model BLOSUM62 --format clustal
    """
    from structune.alignment.commands.aligning import Request, run

    target = "-" if output is None else str(output)
    request = Request(
        model, file, which.value, method.value, gamma, band, format.value, target, plot, jobs, quiet
    )
    raise typer.Exit(run(request))


def _space(
    loss: align_opt.Loss, features: align_opt.FeatureSet, center: str | None, band: int | None
) -> dict[str, Any]:
    """Settings of `SequenceAligner` that train and tune share."""
    return {"loss": loss.value, "features": features.value, "center": center, "band": band}
