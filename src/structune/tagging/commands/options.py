"""Options of the commands of taggers. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.errors import DataError


class Groups(StrEnum):
    """Which weights share a precision."""

    template = "template"
    single = "single"
    separate = "separate"


class Scheme(StrEnum):
    """Label schemes with forbidden transitions."""

    bio = "bio"
    bioes = "bioes"


class Outside(StrEnum):
    """What to do with labels that break the scheme."""

    skip = "skip"
    trim = "trim"
    error = "error"


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
        help="Names of the first columns, the label's last. Further columns are ignored, but all lines must "
        "have the same number unless --separator is given. By default w,y or w,pos,y or w,pos,c2,...,y, for "
        "all columns of the file.",
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
OutsideOption = Annotated[
    Outside | None,
    typer.Option(
        help="Training sentences with labels that --forbidden rules out: skip them (default), trim (take the "
        "labels that break the scheme for unknown), or end with an error.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates columns: tab, whitespace, or other text such as a comma. By default a look at "
        "the first lines tells tabs from white space.",
        show_default=False,
    ),
]
Comment = Annotated[
    str | None,
    typer.Option(
        help="Skip lines that begin with this text; an empty text skips none. By default lines such as "
        "'# sent_id = 1' before a sentence are skipped, and comments of CoNLL-U.",
        show_default=False,
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
class Format:
    """How the lines of column files are read."""

    separator: Separator = None
    comment: Comment = None


@dataclass(frozen=True)
class Weights:
    """Which weights there are."""

    forbidden: Forbidden = None
    outside: OutsideOption = None
    states: StatesOption = States.seen
    order: OrderOption = 1

    def parameters(self) -> dict[str, Any]:
        """Of `SequenceTagger`."""
        if self.outside is not None and self.forbidden is None:
            raise DataError("--outside needs --forbidden: without it no labels are ruled out.")
        return {
            "forbidden": self.forbidden and self.forbidden.value,
            "outside": (self.outside or Outside.skip).value,
            "states": self.states.value,
            "order": self.order,
        }
