"""The commands of RNA secondary structures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structune.cli import options as opt
from structune.cli.settings import Results, Running, Sharding, Telling, Tuning, spread
from structune.rna.commands import options as own


@spread
def train(
    train: own.TrainFiles,
    results: Results,
    *,
    penalty: Annotated[
        list[str] | None,
        typer.Option(
            help="Precision of the Gaussian prior of all weights, 1 by default, or GROUP=NUMBER for one "
            "group of them, such as 'helix stacking=3'; may be given several times.",
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    loss: opt.LossOption = opt.Loss.log,
    groups: own.GroupsOption = opt.KindGroups.kind,
    center: own.Center = None,
    space: own.Space,
    test: own.TestFile = None,
    input_format: own.InputFormatOption = None,
    running: Running,
) -> None:
    """Learn to fold RNA, with a regularisation that you give.

    Pairs of pseudoknots are not learned from. Shows which sequences were left out. The cost of margin and
    ramp losses is 1 - recall of base pairs.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train rna train.dbn more/ --model rna.structune --penalty 0.5 --test test.dbn
      structune train rna mine.dbn --model mine.structune --center pretrained --penalty 10
    """
    from structune.rna.commands.training import run

    settings = {
        "loss": loss.value,
        "groups": groups.value,
        **space.parameters(),
        **running.parameters(results),
    }
    raise typer.Exit(
        run(
            train,
            None,
            test,
            settings,
            results,
            center=center,
            penalty=penalty or (),
            input_format=input_format,
        )
    )


@spread
def tune(
    train: own.TrainFiles,
    results: Results,
    tuning: Tuning,
    *,
    families: own.Families = None,
    loss: opt.TunedLoss = opt.Loss.log,
    groups: own.GroupsOption = opt.KindGroups.kind,
    center: own.Center = None,
    space: own.Space,
    test: own.TestFile = None,
    input_format: own.InputFormatOption = None,
    running: Running,
) -> None:
    """Learn to fold RNA, and the regularisation with it.

    Every group of weights has a precision (the inverse variance of its Gaussian prior), learned from TRAIN.
    Pairs of pseudoknots are not learned from. Shows which sequences were left out.

    Related sequences on both sides of a held-out split make the held-out loss too good, and precisions too
    low: give their --families.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune rna train.dbn --model rna.structune --families families.tsv --plot tuning.png
    """
    from structune.rna.commands.training import run

    settings = {"loss": loss.value, "groups": groups.value, **space.parameters()}
    settings |= tuning.parameters() | running.parameters(results)
    raise typer.Exit(
        run(
            train,
            families,
            test,
            settings,
            results,
            tuning.plot,
            center=center,
            input_format=input_format,
        )
    )


@spread
def shard(
    train: own.TrainFiles,
    sharding: Sharding,
    space: own.Space,
    families: own.Families = None,
    input_format: own.InputFormatOption = None,
    quiet: opt.Quiet = False,
) -> None:
    """Encode RNA sequences with structures as a folder that train and tune can read.

    The files may be larger than memory: they are read once, a million bases at a time. What lies in
    the folder is mapped into memory when it is needed. Features and the space of structures are those given
    here.

    \b
    Example:
      structune shard rna train.dbn more/ shards/ --families families.tsv
      structune tune rna shards/ --model rna.structune
    """
    from structune.rna.commands.sharding import run
    from structune.rna.folder import RNAFolder

    run(train, families, RNAFolder(**space.parameters()), sharding, quiet, input_format)


@spread
def evaluate(
    model: own.ModelArgument,
    files: own.TestFiles,
    *,
    input_format: own.InputFormatOption = None,
    gamma: own.Gamma = None,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Also for gamma = 2^-5 .. 2^10, and the area below that curve."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw that curve to this file.", show_default=False)
    ] = None,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
    telling: Telling,
) -> None:
    """Compare predicted base pairs with those of known structures.

    Shows sensitivity (the share of the known pairs that are found), PPV (the share of the predicted pairs
    that are right) and F1 of the pairs of all sequences together (pooled), and the mean of those of the
    sequences. With slip 1 a pair counts as right, too, if one of its bases is off by one.

    Structures are compared as fold gives them. Known pairs of pseudoknots count as missed: none
    are ever predicted.

    \b
    Example:
      structune evaluate rna pretrained test.dbn --curve --plot curve.png
    """
    from structune.rna.commands.evaluation import run

    run(model, files, input_format, gamma, curve, plot, jobs, quiet, telling)


@spread
def fold(
    reading: own.Reading,
    wanted: own.Wanted,
    writing: own.Writing,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
) -> None:
    """Fold RNA sequences.

    Structures come in the order of the sequences, and as soon as they are known: INPUT may be of any length.
    Bases count from 1. With --nbest or --samples the name of each structure is followed by its rank and
    probability, or its number.

    What was folded before a wrong record, or before Ctrl-C, has been written; the exit code is then 2, or
    130.

    \b
    Example:
      structune fold sequences.fa > structures.dbn
      structune fold tRNA.fa --format json --plot tRNA.svg --dot-plot tRNA-dots.png
      structune fold probed.fa --shape reactivities.txt --nbest 5
      structune fold family.sto --alignment > consensus.sto
      structune fold genome.fa --max-span 300 --format bases --window 8
      structune fold known.dbn --evaluate
    """
    from structune.rna.commands.folding import run

    raise typer.Exit(run(reading, wanted, writing, jobs, quiet))


def warm() -> None:
    """Compile the kernels of RNA structures."""
    from structune.rna.commands.warming import run

    run()
