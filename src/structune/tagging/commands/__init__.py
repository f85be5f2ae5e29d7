"""The commands of sequence taggers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli import options as opt


def train(
    train: opt.TrainData,
    model: opt.ModelOption,
    columns: opt.Columns = None,
    templates: opt.Templates = None,
    penalty: Annotated[float, typer.Option(help="Precision of the Gaussian prior of all weights.")] = 1.0,
    loss: opt.LossOption = opt.Loss.log,
    forbidden: opt.Forbidden = None,
    states: opt.StatesOption = opt.States.seen,
    constraints: opt.ConstraintsOption = None,
    validation_sets: opt.ValidationSets = 3,
    gamma: opt.Gamma = 0.01,
    test: opt.TestFile = None,
    report: opt.Report = None,
    jobs: opt.Jobs = -1,
    executor: opt.ExecutorOption = None,
    max_seconds: opt.MaxSeconds = None,
    resume: opt.Resume = False,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn a tagger, with a regularisation that you give.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train train.txt --model chunker.structune --penalty 2 --test test.txt
    """
    from structune.tagging.commands.training import Request, run

    settings = {
        "penalty": penalty,
        "loss": loss.value,
        **_rules(forbidden, states),
        **opt.held_to(constraints, validation_sets, gamma),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, columns, templates, test, report=report), settings))


def tune(
    train: opt.TrainData,
    model: opt.ModelOption,
    method: opt.MethodOption = opt.Method.implicit,
    loss: opt.TunedLoss = opt.Loss.log,
    groups: Annotated[
        opt.TemplateGroups,
        typer.Option(help="Weights that share a precision: those of one template, all, or none."),
    ] = opt.TemplateGroups.template,
    holdout: opt.Holdout = 0.2,
    folds: opt.Folds = None,
    columns: opt.Columns = None,
    templates: opt.Templates = None,
    forbidden: opt.Forbidden = None,
    states: opt.StatesOption = opt.States.seen,
    constraints: opt.ConstraintsOption = None,
    validation_sets: opt.ValidationSets = 3,
    gamma: opt.Gamma = 0.01,
    test: opt.TestFile = None,
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
    """Learn a tagger, and its regularisation with it.

    Every group of weights has a precision (the inverse variance of its Gaussian prior), learned from TRAIN.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune train.txt --model chunker.structune --test test.txt --plot tuning.png
    """
    from structune.tagging.commands.training import Request, run

    settings = {
        "tuning": method.value,
        "loss": loss.value,
        "groups": groups.value,
        "holdout": holdout,
        "folds": folds,
        "random_state": seed,
        **_rules(forbidden, states),
        **opt.held_to(constraints, validation_sets, gamma),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, columns, templates, test, plot, report=report), settings))


def shard(
    train: opt.TrainFile,
    folder: opt.ShardFolder,
    columns: opt.Columns = None,
    templates: opt.Templates = None,
    forbidden: opt.Forbidden = None,
    states: opt.StatesOption = opt.States.seen,
    folds: opt.ShardFolds = 5,
    seed: opt.ShardSeed = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Encode a column file that is larger than memory as a folder that train and tune can read.

    The file is read twice, a million lines at a time. What lies in the folder is mapped into memory when it
    is needed, by this machine or, if they see the folder too, by those of a Dask cluster.

    \b
    Example:
      structune shard train.txt shards/
      structune tune shards/ --model chunker.structune
    """
    from structune.cli.shard_data import Target
    from structune.tagging.commands.sharding import Request, run

    target = Target(folder, folds, seed)
    run(Request(train, columns, templates), target, _rules(forbidden, states), quiet)


def predict(
    model: opt.ModelArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Column file, or - for standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write, or - for standard output.")
    ] = "-",
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column: the probability of each predicted label.")
    ] = False,
    nbest: Annotated[
        int | None,
        typer.Option(
            min=1, help="Write each sentence with its most probable labellings.", show_default=False
        ),
    ] = None,
) -> None:
    """Label the tokens of a column file.

    The output has the columns of FILE and one more, the predicted label, separated by single spaces. FILE
    has the input columns that the model was trained with; it may have a label column or others after these.

    With --nbest K each sentence is written up to K times, the most probable labelling first, each
    after a line such as

    \b
      # sentence 1 rank 2 probability 0.012345

    \b
    Example:
      structune predict chunker.structune new.txt --marginals > labelled.txt
    """
    from structune.tagging.commands.prediction import run

    run(model, file, output, marginals, nbest)


def evaluate(
    model: opt.ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Column file with labels.")],
    report: opt.EvaluationReport = None,
    json: opt.Json = False,
) -> None:
    """Compare predictions with the labels of a column file.

    Shows precision, recall and F1 of every label over tokens and, if labels are BIO or BIOES, of every
    segment type, as conlleval counts them.

    \b
    Example:
      structune evaluate chunker.structune test.txt
    """
    from structune.tagging.commands.evaluation import run

    run(model, file, json, report)


def _rules(forbidden: opt.Scheme | None, states: opt.States) -> dict[str, Any]:
    """Settings of `SequenceTagger` that train and tune share."""
    return {"forbidden": forbidden and forbidden.value, "states": states.value}
