"""Options of the alignment commands. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli.file_names import format_of
from structune.cli.options import Jobs, KindGroups, Quiet
from structune.errors import DataError


class Loss(StrEnum):
    """What is minimised."""

    log = "log"
    margin = "margin"
    ramp = "ramp"
    equivalent = "equivalent"


class FeatureSet(StrEnum):
    """Which features a model has."""

    full = "full"
    affine = "affine"


class Letters(StrEnum):
    """What sequences are of."""

    protein = "protein"
    nucleotide = "nucleotide"


class Decoding(StrEnum):
    """Which alignment of a pair is wanted."""

    mea = "mea"
    viterbi = "viterbi"


class Which(StrEnum):
    """Which sequences of a file are aligned."""

    pairs = "pairs"
    all = "all"


class Format(StrEnum):
    """What alignments are written as."""

    fasta = "fasta"
    clustal = "clustal"
    stockholm = "stockholm"
    phylip = "phylip"
    msf = "msf"
    json = "json"


ENDINGS = {  # of files; the first of a format is the usual one
    ".fa": Format.fasta,
    ".aln": Format.clustal,
    ".clustal": Format.clustal,
    ".sto": Format.stockholm,
    ".stk": Format.stockholm,
    ".stockholm": Format.stockholm,
    ".phy": Format.phylip,
    ".phylip": Format.phylip,
    ".msf": Format.msf,
    ".json": Format.json,
}

_OTHERS = (".nex", ".nexus", ".nxs", ".pir", ".maf", ".xml", ".sam", ".csv", ".tsv", ".html")

TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN",
        help="Alignments in FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP or MSF, also .gz, or folders of such "
        "files. Each two rows of an alignment are an example; where there are residues in lower case, "
        "only the columns of two residues in upper case are known to be right. For train and tune also "
        "a folder that shard wrote.",
    ),
]
TestFile = Annotated[
    list[Path] | None,
    typer.Option("--test", help="Alignments to evaluate the model on; may be repeated.", show_default=False),
]
TestFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Alignments; see train alignment.")]
_MODEL = (
    "A file that train alignment or tune alignment wrote; the word pretrained, for the model that comes with "
    "structune; or BLOSUM62 or another matrix of Biopython, for the algorithm of Needleman & Wunsch with "
    "gaps of 11 and 1 (B, Z, X count as means of residues)."
)
FoundArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help=f"{_MODEL} Or multiple alignments, of any program: a file or a folder, with the names of the "
        "known ones.",
    ),
]
ModelOption = Annotated[str, typer.Option("--model", "-m", metavar="MODEL", help=_MODEL)]
LossOption = Annotated[
    Loss,
    typer.Option(
        help="log: the negative log-probability of what is known. The others count the share of the known "
        "matches that is missed, and have no probabilities. margin: relative to the alignment as it is. "
        "equivalent: to the best one with all known matches. ramp: pairs that are far off count no more "
        "than their cost."
    ),
]
Features = Annotated[
    FeatureSet,
    typer.Option(
        help="affine: substitutions, gaps that are opened and extended, terminal gaps. full: also classes of "
        "the residues around a match, residues in gaps, lengths of gaps, and how hydrophilic the sequences "
        "are where gaps are."
    ),
]
GroupsOption = Annotated[
    KindGroups, typer.Option(help="Which weights share a precision: those of a kind, all, or none.")
]
MostPairs = Annotated[
    int | None,
    typer.Option(min=1, help="Of each alignment at most this many pairs, at random.", show_default=False),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="With mea, how much a right match counts beside two residues rightly left unmatched; by default "
        "that of the model.",
        show_default=False,
    ),
]
Center = Annotated[
    str | None,
    typer.Option(
        metavar="MATRIX",
        help="With --loss log: penalties pull towards the scores of this matrix, such as BLOSUM62, with gaps "
        "of 11 and 1, and not towards zero. For few alignments.",
        show_default=False,
    ),
]
Band = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many residues of the longer sequence an alignment may be off the line between both "
        "ends: for long sequences that go together all along.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Space:
    """Which alignments there are, and what is looked at."""

    features: Features = FeatureSet.full
    band: Band = None
    alphabet: Annotated[Letters, typer.Option(help="What the letters of sequences are.")] = Letters.protein

    def parameters(self) -> dict[str, Any]:
        """Of `SequenceAligner`."""
        return {"features": self.features.value, "band": self.band, "alphabet": self.alphabet.value}


@dataclass(frozen=True)
class Request:
    """What is aligned, how, and where alignments go."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Two proteins or a family in FASTA, also .gz, or - for standard input. Of several files, "
            "and of those in folders, each is a family. Gaps are left out.",
            show_default=False,
        ),
    ] = None
    multiple: Annotated[
        bool,
        typer.Option(
            "--multiple",
            help="One alignment of all the sequences of each file, however many there are: the default for "
            "3 to 2,000.",
        ),
    ] = False
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Align the first sequence with the second, the third with the fourth, and so on."
        ),
    ] = False
    model: ModelOption = "pretrained"
    which: Annotated[
        Which | None,
        typer.Option(
            help="Which two sequences are aligned. pairs: as with --pairs. all: each with each.",
            show_default=False,
        ),
    ] = None
    method: Annotated[
        Decoding | None,
        typer.Option(
            help="Of two sequences, mea: the alignment of maximum expected accuracy. viterbi: the most "
            "probable one, or that of the highest score for models without probabilities.",
            show_default="mea, or viterbi without probabilities",
        ),
    ] = None
    gamma: Gamma = None
    band: Band = None
    format: Annotated[
        Format | None,
        typer.Option(
            show_default="by the ending of --output, or fasta",
            help="Alignments one after the other. stockholm: with a line of the confidence of columns. json: "
            "an object a line, with the probability of each column's match.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write; standard output by default. For several families, or a folder of them, a "
            "folder in which alignments have the names of the files.",
            show_default=False,
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the probabilities of matches and the alignment to this file (.png, .pdf, .svg); those "
            "of several pairs, or of any two sequences of families, to FILE-NAME-NAME each.",
            show_default=False,
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help="Write an HTML page of the alignments of families, coloured by confidence, and their guide "
            "trees.",
            show_default=False,
        ),
    ] = None
    jobs: Jobs = -1
    quiet: Quiet = False

    @property
    def are_pairs(self) -> bool:
        """Whether sequences are to be aligned two by two, however many there are."""
        return self.pairs or self.which is not None

    @property
    def of_pairs(self) -> list[str]:
        """The options that are given and mean something for two sequences only."""
        given = {"--which": self.which, "--method": self.method, "--gamma": self.gamma}
        return [name for name, value in given.items() if value is not None]

    @property
    def written_as(self) -> Format:
        """The format that is asked for, or that of the name of the output."""
        name = "" if self.output is None else self.output.name.lower().removesuffix(".gz")
        if self.format is None and name.endswith(_OTHERS):
            raise DataError(
                f"{self.output}: found an ending of no format that is written, expected --format or one of "
                f"{', '.join(ENDINGS)}"
            )
        return format_of(self.format, self.output, ENDINGS)
