"""Options of the ranking commands. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli import options as opt
from structune.cli.settings import check_held_out

_FOLDS = 5


class Loss(StrEnum):
    """Which bound on 1 - NDCG is minimised."""

    ramp = "ramp"
    equivalent = "equivalent"
    margin = "margin"


class Method(StrEnum):
    """How to choose the precision."""

    grid = "grid"
    majorize = "majorize"


class Convention(StrEnum):
    """Gains and discounts of the NDCG."""

    letor = "letor"
    burges = "burges"
    scikit_learn = "scikit-learn"


TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN",
        help="LETOR files, also .gz: a document a line, such as '2 qid:10 1:0.03 2:0.5 # docid = 7', and "
        "those of a query together. A feature that a line leaves out is 0. Or a folder that shard wrote.",
    ),
]
TestFile = Annotated[
    Path | None, typer.Option("--test", help="LETOR file to evaluate the model on.", show_default=False)
]
TestFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="LETOR files; see train ranking.")]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that train ranking or tune ranking wrote.")
]
LossOption = Annotated[
    Loss,
    typer.Option(
        help="Of a query, a bound on 1 - NDCG@k. ramp: the ramp loss. equivalent: the margin loss, relative "
        "to the best order that sorts by relevance. margin: relative to one such order, that of TRAIN."
    ),
]
K = Annotated[int, typer.Option(min=0, help="Of the NDCG: how many positions count; 0 for all.")]
ConventionOption = Annotated[
    Convention,
    typer.Option(
        help="Gains of a relevance r and discounts of a position i. letor: 2^r - 1, 1 / log2(max(i, 2)). "
        "burges: 2^r - 1, 1 / log2(1 + i). scikit-learn: r, 1 / log2(1 + i)."
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Number of parts of the queries, each of which is held out in turn.  [default: 5]",
        show_default=False,
    ),
]
Missing = Annotated[
    float | None,
    typer.Option(help="The value of NULL, here and where the model is used.", show_default=False),
]
MethodOption = Annotated[
    Method,
    typer.Option(
        help="grid: try 8^-3 .. 8^3, and keep the one of the highest NDCG@k on held-out queries. "
        "majorize: no held-out data, the precision is integrated out; weights may come out as 0."
    ),
]


@dataclass(frozen=True)
class Measure:
    """Which NDCG."""

    k: K = 10
    convention: ConventionOption = Convention.letor

    def parameters(self) -> dict[str, Any]:
        """Of `Ranker`."""
        return {"k": self.k or None, "convention": self.convention.value}


@dataclass(frozen=True)
class Tuning:
    """How the precision is chosen."""

    method: MethodOption = Method.grid
    folds: Folds = None
    plot: opt.TuningPlot = None
    seed: opt.Seed = None

    def parameters(self) -> dict[str, Any]:
        """Of `Ranker`."""
        check_held_out(self.method.value, {"--folds": self.folds, "--seed": self.seed})
        return {"tuning": self.method.value, "folds": self.folds or _FOLDS, "random_state": self.seed or 0}
