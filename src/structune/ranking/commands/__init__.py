"""The commands of rankings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from structune.cli import options as opt
from structune.ranking.commands import options as rank_opt


def train(
    train: rank_opt.TrainFiles,
    model: opt.ModelOption,
    penalty: Annotated[float, typer.Option(help="Precision of the Gaussian prior of all weights.")] = 1.0,
    loss: rank_opt.LossOption = rank_opt.Loss.ramp,
    k: rank_opt.K = 10,
    convention: rank_opt.ConventionOption = rank_opt.Convention.letor,
    missing: rank_opt.Missing = None,
    test: rank_opt.TestFile = None,
    report: opt.Report = None,
    jobs: opt.Jobs = -1,
    executor: opt.ExecutorOption = None,
    max_seconds: opt.MaxSeconds = None,
    resume: opt.Resume = False,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn to rank the documents of queries, with a regularisation that you give.

    A document's score is a weighted sum of its features. Queries of different files are different ones.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train ranking train.txt --model ranker.structune --penalty 2 --test test.txt
    """
    from structune.ranking.commands.training import Request, run

    settings = {
        "tuning": None,
        "penalty": penalty,
        **_measure(loss, k, convention),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, missing, test, report=report), settings))


def tune(
    train: rank_opt.TrainFiles,
    model: opt.ModelOption,
    method: Annotated[
        rank_opt.Method,
        typer.Option(
            help="grid: try 8^-3 .. 8^3, and keep the one of the highest NDCG@k on held-out queries. "
            "majorize: no held-out data, the precision is integrated out; weights may come out as 0."
        ),
    ] = rank_opt.Method.grid,
    loss: rank_opt.LossOption = rank_opt.Loss.ramp,
    k: rank_opt.K = 10,
    convention: rank_opt.ConventionOption = rank_opt.Convention.letor,
    missing: rank_opt.Missing = None,
    folds: rank_opt.Folds = 5,
    test: rank_opt.TestFile = None,
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
    """Learn to rank the documents of queries, and the regularisation with it.

    A document's score is a weighted sum of its features. Queries of different files are different ones.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune ranking train.txt --model ranker.structune --test test.txt
    """
    from structune.ranking.commands.training import Request, run

    settings = {
        "tuning": method.value,
        "folds": folds,
        "random_state": seed,
        **_measure(loss, k, convention),
        **opt.fitting(model, jobs, executor, max_seconds, resume, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, missing, test, plot, report=report), settings))


def evaluate(
    model: rank_opt.ModelArgument,
    files: rank_opt.TestFiles,
    report: opt.EvaluationReport = None,
    json: opt.Json = False,
) -> None:
    """Compare rankings with known relevances.

    Shows the mean NDCG@1 .. NDCG@10 over the queries of all files, in the convention that the model was
    trained for, and the mean of these. A query without relevant documents counts 0.

    \b
    Example:
      structune evaluate ranking ranker.structune test.txt
    """
    from structune.ranking.commands.evaluation import run

    run(model, files, json, report)


def rank(
    model: rank_opt.ModelArgument,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="LETOR file, whose relevances are not looked at, or - for standard input."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Where to write (compressed if it ends in .gz), or - for standard output.",
        ),
    ] = "-",
) -> None:
    """Rank the documents of queries.

    Writes a table, separated by tabs, of query, rank, document, score, and the comment on the document. The
    queries come in the order of FILE, the documents of each by rank; documents count from 1 in FILE.

    \b
    Example:
      structune rank ranker.structune new.txt > ranked.tsv
    """
    from structune.ranking.commands.ranking import run

    run(model, file, output)


def _measure(loss: rank_opt.Loss, k: int, convention: rank_opt.Convention) -> dict[str, Any]:
    """Settings of `Ranker` that train and tune share."""
    return {"loss": loss.value, "k": k or None, "convention": convention.value}
