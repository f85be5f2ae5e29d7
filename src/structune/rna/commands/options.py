"""Options of the RNA commands. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli.options import KindGroups


class Decoding(StrEnum):
    """Which structure of a sequence is wanted."""

    mea = "mea"
    viterbi = "viterbi"
    centroid = "centroid"


class Format(StrEnum):
    """What structures are written as."""

    dbn = "dbn"
    ct = "ct"
    bpseq = "bpseq"
    json = "json"
    pairs = "pairs"


class FeatureSet(StrEnum):
    """Which features a model has."""

    contrafold = "contrafold"
    extended = "extended"


class Outside(StrEnum):
    """What to do with structures that the model cannot produce."""

    skip = "skip"
    trim = "trim"
    error = "error"


TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN",
        help="Files with sequences and structures (dot-bracket, CT, BPSEQ or Stockholm, also .gz), or "
        "folders of such files. For train and tune also a folder that shard wrote.",
    ),
]
Families = Annotated[
    Path | None,
    typer.Option(
        help="File with a line for each sequence, its name and its family, separated by a tab. Families "
        "stay on one side of held-out splits.",
        show_default=False,
    ),
]
TestFile = Annotated[
    Path | None,
    typer.Option("--test", help="File or folder to evaluate the model on.", show_default=False),
]
Features = Annotated[
    FeatureSet,
    typer.Option(
        help="contrafold: the 708 features of CONTRAfold. extended: these and more, such as special hairpins."
    ),
]
GroupsOption = Annotated[
    KindGroups,
    typer.Option(help="Weights that share a precision: those of one kind of feature, all, or none."),
]
OutsideOption = Annotated[
    Outside,
    typer.Option(
        help="Structures that the model cannot produce (other pairs, shorter hairpins, loops of more than 30 "
        "unpaired bases): skip these sequences, trim the pairs that offend, or end with an error."
    ),
]
MinHairpin = Annotated[int, typer.Option(min=0, help="Fewest unpaired bases in a hairpin.")]
Noncanonical = Annotated[
    bool, typer.Option("--noncanonical", help="Let all bases pair, and not only AU, CG and GU.")
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A file that train rna or tune rna wrote, or the word pretrained: the model that comes with "
        "structune.",
    ),
]
TestFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Files with sequences and structures, or folders of such files; see train rna.",
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Of structures of maximum expected accuracy: more predicts more pairs. By default the model's, "
        "which is 4 unless it was given another.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Space:
    """Which structures there are, and what is looked at."""

    features: Features = FeatureSet.contrafold
    outside: OutsideOption = Outside.skip
    min_hairpin: MinHairpin = 3
    noncanonical: Noncanonical = False

    def parameters(self) -> dict[str, Any]:
        """Of `RNAFolder`."""
        return {
            "features": self.features.value,
            "outside": self.outside.value,
            "min_hairpin": self.min_hairpin,
            "noncanonical": self.noncanonical,
        }
