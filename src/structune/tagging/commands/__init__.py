"""The commands of sequence taggers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structune.cli import options as opt
from structune.cli.settings import HeldTo, Results, Running, Sharding, Telling, Tuning, spread
from structune.tagging.commands import options as own


@spread
def train(
    train: own.TrainData,
    results: Results,
    features: own.Features,
    reading: own.Format,
    *,
    penalty: Annotated[float, typer.Option(help="Precision of the Gaussian prior of all weights.")] = 1.0,
    l1: Annotated[
        float,
        typer.Option(
            help="Weight of an l1 penalty beside that prior: an elastic net, whose model keeps few "
            "attributes. With the log loss only."
        ),
    ] = 0.0,
    loss: opt.LossOption = opt.Loss.log,
    weights: own.Weights,
    held_to: HeldTo,
    test: own.TestFile = None,
    running: Running,
) -> None:
    """Learn a tagger, with a regularisation that you give.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train train.txt --model chunker.structune --penalty 2 --test test.txt
    """
    from structune.tagging.commands.training import run

    settings = {"penalty": penalty, "l1": l1, "loss": loss.value}
    settings |= weights.parameters() | held_to.parameters()
    settings |= running.parameters(results)
    raise typer.Exit(run(train, features, reading, test, settings, results))


@spread
def tune(
    train: own.TrainData,
    results: Results,
    tuning: Tuning,
    features: own.Features,
    reading: own.Format,
    *,
    loss: opt.TunedLoss = opt.Loss.log,
    groups: own.GroupsOption = own.Groups.template,
    weights: own.Weights,
    held_to: HeldTo,
    test: own.TestFile = None,
    running: Running,
) -> None:
    """Learn a tagger, and its regularisation with it.

    Every group of weights has a precision (the inverse variance of its Gaussian prior), learned from TRAIN.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune train.txt --model chunker.structune --test test.txt --plot tuning.png
    """
    from structune.tagging.commands.training import run

    settings = {"loss": loss.value, "groups": groups.value, **weights.parameters(), **held_to.parameters()}
    settings |= tuning.parameters(held_to) | running.parameters(results)
    raise typer.Exit(run(train, features, reading, test, settings, results, tuning.plot))


@spread
def shard(
    train: own.TrainFile,
    sharding: Sharding,
    features: own.Features,
    reading: own.Format,
    weights: own.Weights,
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
    from structune.tagging.commands.sharding import run

    run(train, features, reading, weights.parameters(), sharding, quiet)


@spread
def predict(
    model: opt.ModelArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Column file, or - for standard input.")],
    *,
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
    reading: own.Format,
) -> None:
    """Label the tokens of a column file.

    The output has the columns of FILE and one more, the predicted label, separated by single spaces, or by
    tabs where values hold spaces. FILE has the input columns that the model was trained with; it may have a
    label column or others after these. Of CoNLL-U the form is labelled, or what the model was trained with.
    FILE may be of any length; what was labelled before a wrong line has been written then.

    With --nbest K each sentence is written up to K times, the most probable labelling first, each
    after a line such as

    \b
      # sentence 1 rank 2 probability 0.012345

    \b
    Example:
      structune predict chunker.structune new.txt --marginals > labelled.txt
    """
    from structune.tagging.commands.prediction import run

    run(model, file, output, marginals, nbest, reading)


def weights(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A tagger's model, or one that CRFsuite saved.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Weights to show of each end.")] = 20,
) -> None:
    """Show the largest and smallest weights of a tagger.

    One table is of transitions between labels, another of state features: attributes with labels. A model of
    order 2 has one of trigrams, too. MODEL may also be a model of CRFsuite.

    \b
    Example:
      structune weights chunker.structune --top 10
    """
    from structune.tagging.commands.weight_tables import run

    run(model, top)


@spread
def evaluate(
    model: opt.ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Column file with labels.")],
    reading: own.Format,
    telling: Telling,
) -> None:
    """Compare predictions with the labels of a column file.

    Shows precision, recall and F1 of every label over tokens and, if labels are BIO or BIOES, of every
    segment type, as conlleval counts them.

    \b
    Example:
      structune evaluate chunker.structune test.txt
    """
    from structune.tagging.commands.evaluation import run

    run(model, file, reading, telling)


def warm() -> None:
    """Compile the kernels of sequence taggers."""
    from structune.tagging.commands.warming import run

    run()
