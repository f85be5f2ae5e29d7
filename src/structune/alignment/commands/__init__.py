"""The commands of protein alignments."""

from __future__ import annotations

from typing import Annotated

import typer

from structune.alignment.commands import options as own
from structune.cli import options as opt
from structune.cli.settings import Results, Running, Sharding, Telling, Tuning, spread
from structune.errors import DataError


@spread
def train(
    train: own.TrainFiles,
    results: Results,
    *,
    penalty: Annotated[
        float,
        typer.Option(
            help="Precision of the Gaussian prior of all weights. Losses other than log want larger ones, of "
            "about the number of pairs."
        ),
    ] = 1.0,
    loss: own.LossOption = own.Loss.log,
    space: own.Space,
    center: own.Center = None,
    most_pairs: own.MostPairs = None,
    test: own.TestFile = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice of pairs by --most-pairs.")] = 0,
    running: Running,
) -> None:
    """Learn to align proteins, with a regularisation that you give.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train alignment families/ --model aligner.structune --penalty 5 --most-pairs 3
    """
    from structune.alignment.commands.training import run
    from structune.cli.checks import asked

    if most_pairs is None and any(name == "--seed" for name, _ in asked()[1]):
        raise DataError("found --seed, expected it with --most-pairs only")
    settings = {"penalty": penalty, "loss": loss.value, "center": center, "random_state": seed}
    settings |= space.parameters() | running.parameters(results)
    raise typer.Exit(run(train, most_pairs, test, settings, results))


@spread
def tune(
    train: own.TrainFiles,
    results: Results,
    tuning: Tuning,
    *,
    loss: own.LossOption = own.Loss.log,
    space: own.Space,
    center: own.Center = None,
    groups: own.GroupsOption = opt.KindGroups.kind,
    most_pairs: own.MostPairs = None,
    test: own.TestFile = None,
    running: Running,
) -> None:
    """Learn to align proteins, and the regularisation with it.

    Pairs of one alignment are held out together.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune alignment families/ --model aligner.structune --most-pairs 3 --plot tuning.png
    """
    from structune.alignment.commands.training import run

    settings = {"loss": loss.value, "center": center, "groups": groups.value, **space.parameters()}
    settings |= tuning.parameters() | running.parameters(results)
    raise typer.Exit(run(train, most_pairs, test, settings, results, tuning.plot))


@spread
def shard(
    train: own.TrainFiles,
    sharding: Sharding,
    space: own.Space,
    most_pairs: own.MostPairs = None,
    quiet: opt.Quiet = False,
) -> None:
    """Encode alignments as a folder that train and tune can read.

    The files may be larger than memory, but none of the alignments: these are read one at a
    time. What lies in the folder is mapped into memory when it is needed. Features and the band are those
    given here. Pairs of one alignment are held out together.

    \b
    Example:
      structune shard alignment families/ shards/ --most-pairs 3
      structune tune alignment shards/ --model aligner.structune
    """
    from structune.alignment.aligner import SequenceAligner
    from structune.alignment.commands.sharding import run

    run(train, most_pairs, SequenceAligner(**space.parameters()), sharding, quiet)


@spread
def evaluate(
    model: own.FoundArgument,
    files: own.TestFiles,
    *,
    multiple: Annotated[
        bool, typer.Option("--multiple", help="Align the whole families, not their sequences two by two.")
    ] = False,
    gamma: own.Gamma = None,
    jobs: opt.Jobs = -1,
    telling: Telling,
) -> None:
    """Compare alignments with known ones.

    Of a model the recall (Q, the developer's score) and precision of matches, means over pairs, by the
    identity of the known matches. Of whole families, with --multiple or in place of a model, the shares of
    matches (Q, also called SPS) and of whole columns (TC) that were found. Residues of known alignments that
    are in lower case are not scored.

    \b
    Example:
      structune evaluate alignment aligner.structune test/
      structune evaluate alignment pretrained test.fa
      structune evaluate alignment pretrained test/ --multiple
      structune evaluate alignment aligned/ test/
    """
    from structune.alignment.commands.evaluation import run

    run(model, files, multiple, gamma, jobs, telling)


@spread
def align(request: own.Request) -> None:
    """Align proteins: two, or all of a family together.

    More than two sequences of a file are a family, and so are those of each file, if there are several. With
    --pairs sequences are aligned two by two. Alignments come in the order of the input, and as soon as they
    are known. What was aligned before Ctrl-C has been written; the exit code is then 130.

    \b
    Example:
      structune align family.fa > aligned.fa
      structune align families/ -o alignments/ --format stockholm
      structune align proteins.fa --pairs > alignments.fa
      structune align two.fa --model aligner.structune --format json --plot matches.png
      structune align proteins.fa --which all --model BLOSUM62 --format clustal
    """
    from structune.alignment.commands.reading import run

    raise typer.Exit(run(request))


def warm() -> None:
    """Compile the kernels of alignments."""
    from structune.alignment.commands.warming import run

    run()
