"""Options that several commands share. Nothing heavy is imported here, so that ``--help`` comes at once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

PRETRAINED = "pretrained"  # in place of a model file: what comes with structune


class Method(StrEnum):
    """How to choose the precisions."""

    implicit = "implicit"
    majorize = "majorize"
    direct = "direct"
    grid = "grid"


class Loss(StrEnum):
    """What is minimised."""

    log = "log"
    margin = "margin"
    ramp = "ramp"


class Constraints(StrEnum):
    """What a model is held to while it trains."""

    validation = "validation"


class KindGroups(StrEnum):
    """Which weights share a precision, where there are kinds of them."""

    kind = "kind"
    single = "single"
    separate = "separate"


def _of_cores(jobs: int) -> int:
    if jobs > 0 or jobs == -1:
        return jobs
    from structune.running.executors import usable_cores

    cores = usable_cores()
    if jobs == 0 or jobs < -cores:
        raise typer.BadParameter(
            f"expected a number of threads, or -1 for all {cores} cores, -2 for all but one, and so on"
        )
    return jobs


ShardFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder for the shards.")]
ShardFolds = Annotated[int, typer.Option(min=2, help="Random parts, of which tuning can hold some out.")]
ShardSeed = Annotated[int, typer.Option(min=0, help="Of the random parts.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that train or tune wrote.")]
ModelOption = Annotated[Path, typer.Option("--model", "-m", help="Where to save the model.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 takes all cores.", callback=_of_cores)]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        help="Where to work: dask for --jobs processes of this machine, dask://HOST:PORT for a Dask cluster; "
        "threads if not given. Needs structune[dask].",
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from MODEL.checkpoint, which is written every minute, if training was cut short.",
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(min=0.0, help="Stop after this time with the best model so far.", show_default=False),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Random seed for the split into training and held-out part.  [default: 0]",
        show_default=False,
    ),
]
MethodOption = Annotated[
    Method,
    typer.Option(
        help="implicit: descend the held-out loss along its gradient in the precisions. majorize: no "
        "held-out data, the precisions are integrated out. direct: the same objective at once (a "
        "baseline). grid: try 2^-10 .. 2^10, one for all (a baseline)."
    ),
]
LossOption = Annotated[
    Loss,
    typer.Option(
        help="log: the negative log-probability. margin: that of structured support vector machines. ramp: "
        "the same, but examples that are far off count no more than their cost. The last two have no "
        "probabilities."
    ),
]
TunedLoss = Annotated[
    Loss,
    typer.Option(
        help="As in train. margin and ramp go with --method majorize, or grid, which holds out the cost of "
        "predictions."
    ),
]
ConstraintsOption = Annotated[
    Constraints | None,
    typer.Option(
        help="validation: hold the model to parts of the training data while it trains: the best output of "
        "each part is to score at most --gamma above the annotated one (Chen et al. 2009). Needs --loss log; "
        "probabilities may say little then.",
        show_default=False,
    ),
]
ValidationSets = Annotated[int, typer.Option(min=1, help="With --constraints: the number of parts.")]
Bound = Annotated[float, typer.Option(min=0.0, help="With --constraints: the bound.")]
Holdout = Annotated[
    float | None,
    typer.Option(
        min=0.01, max=0.99, help="Share of the examples to hold out.  [default: 0.2]", show_default=False
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(min=2, help="Hold out each of this many folds in turn instead.", show_default=False),
]
TuningPlot = Annotated[
    Path | None,
    typer.Option(
        help="Draw the course of tuning to this file, and the precisions to NAME-precisions beside it.",
        show_default=False,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        help="Write a page to this .html file: how it went, the precisions, and the errors on --test.",
        show_default=False,
    ),
]
EvaluationReport = Annotated[
    Path | None,
    typer.Option(help="Write a page to this .html file: the scores, and the errors.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Keep a line of progress per iteration.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
