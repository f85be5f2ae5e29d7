"""The commands of rankings."""

from __future__ import annotations

from typing import Annotated

import typer

from structune.cli import options as opt
from structune.cli.settings import Results, Running, Sharding, Telling, spread
from structune.ranking.commands import options as own


@spread
def train(
    train: own.TrainFiles,
    results: Results,
    *,
    penalty: Annotated[float, typer.Option(help="Precision of the Gaussian prior of all weights.")] = 1.0,
    loss: own.LossOption = own.Loss.ramp,
    measure: own.Measure,
    missing: own.Missing = None,
    test: own.TestFile = None,
    running: Running,
) -> None:
    """Learn to rank the documents of queries, with a regularisation that you give.

    A document's score is a weighted sum of its features. Queries of different files are different ones.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train ranking train.txt --model ranker.structune --penalty 2 --test test.txt
    """
    from structune.ranking.commands.training import run

    settings = {"tuning": None, "penalty": penalty, "loss": loss.value}
    settings |= measure.parameters() | running.parameters(results)
    raise typer.Exit(run(train, missing, test, settings, results))


@spread
def tune(
    train: own.TrainFiles,
    results: Results,
    tuning: own.Tuning,
    *,
    loss: own.LossOption = own.Loss.ramp,
    measure: own.Measure,
    missing: own.Missing = None,
    test: own.TestFile = None,
    running: Running,
) -> None:
    """Learn to rank the documents of queries, and the regularisation with it.

    A document's score is a weighted sum of its features. Queries of different files are different ones.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune ranking train.txt --model ranker.structune --test test.txt
    """
    from structune.ranking.commands.training import run

    settings = {"loss": loss.value, **tuning.parameters()}
    settings |= measure.parameters() | running.parameters(results)
    raise typer.Exit(run(train, missing, test, settings, results, tuning.plot))


@spread
def shard(
    train: own.TrainFiles,
    sharding: Sharding,
    measure: own.Measure,
    missing: own.Missing = None,
    quiet: opt.Quiet = False,
) -> None:
    """Encode documents of queries that are larger than memory as a folder that train and tune can read.

    The files are read twice, some megabytes at a time. What lies in the folder is mapped into memory when it
    is needed. Queries of different files are different ones.

    \b
    Example:
      structune shard ranking train.txt shards/
      structune tune ranking shards/ --model ranker.structune
    """
    from structune.ranking.commands.sharding import run
    from structune.ranking.ranker import Ranker

    run(train, missing, Ranker(**measure.parameters()), sharding, quiet)


@spread
def evaluate(model: own.ModelArgument, files: own.TestFiles, telling: Telling) -> None:
    """Compare rankings with known relevances.

    Shows the mean NDCG@1 .. NDCG@10 over the queries of all files, in the convention that the model was
    trained for, and the mean of these. A query without relevant documents counts 0.

    \b
    Example:
      structune evaluate ranking ranker.structune test.txt
    """
    from structune.ranking.commands.evaluation import run

    run(model, files, telling)


def rank(
    model: own.ModelArgument,
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
    queries come in the order of FILE, the documents of each by rank; documents count from 1 in FILE. It may
    be of any length; what was ranked before a wrong line has been written then.

    \b
    Example:
      structune rank ranker.structune new.txt > ranked.tsv
    """
    from structune.ranking.commands.ranking import run

    run(model, file, output)


def warm() -> None:
    """Compile the kernels of rankings."""
    from structune.ranking.commands.warming import run

    run()
