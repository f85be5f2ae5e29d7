"""Options of the commands of taggers. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Groups(StrEnum):
    """Which weights share a precision."""

    template = "template"
    single = "single"
    separate = "separate"


class Scheme(StrEnum):
    """Label schemes with forbidden transitions."""

    bio = "bio"
    bioes = "bioes"


class States(StrEnum):
    """Which attribute-label pairs have weights."""

    seen = "seen"
    all = "all"


TrainFile = Annotated[
    Path,
    typer.Argument(help="Column file: a token a line, a blank line after each sentence."),
]
TrainData = Annotated[
    Path,
    typer.Argument(
        metavar="TRAIN",
        help="Column file: a token a line, a blank line after each sentence. Or a folder that shard wrote.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Names of the columns, the label's last; columns beyond these are ignored. "
        "By default w,y or w,pos,y or w,pos,c2,...,y, for as many columns as the file has.",
        show_default=False,
    ),
]
Templates = Annotated[
    str | None,
    typer.Option(
        help='Feature templates, such as "w[-2..2] w[-1]|w[0] w[0].suffix3 w[0].shape". By default, for '
        "the columns at hand, windows of 5 tokens, pairs of neighbours, triples (not of the first column) "
        "and ends of the sentence; unless the first column has single letters, also its lower case, shapes "
        "and affixes, and its words together with the other columns.",
        show_default=False,
    ),
]
Forbidden = Annotated[
    Scheme | None,
    typer.Option(
        help="Forbid label transitions that break this scheme, such as O to I-x.", show_default=False
    ),
]
GroupsOption = Annotated[
    Groups, typer.Option(help="Weights that share a precision: those of one template, all, or none.")
]
StatesOption = Annotated[
    States, typer.Option(help="Weights for the attribute-label pairs seen in TRAIN, or for all pairs.")
]
OrderOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=2,
        help="Labels before a token's own that its score looks at; 2 adds weights of three labels in a row.",
    ),
]
TestFile = Annotated[
    Path | None, typer.Option("--test", help="Column file to evaluate the model on.", show_default=False)
]


@dataclass(frozen=True)
class Features:
    """How the columns of a file become features."""

    columns: Columns = None
    templates: Templates = None


@dataclass(frozen=True)
class Weights:
    """Which weights there are."""

    forbidden: Forbidden = None
    states: StatesOption = States.seen
    order: OrderOption = 1

    def parameters(self) -> dict[str, Any]:
        """Of `SequenceTagger`."""
        return {
            "forbidden": self.forbidden and self.forbidden.value,
            "states": self.states.value,
            "order": self.order,
        }
