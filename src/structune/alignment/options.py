"""Options of the commands of alignments; nothing heavy is imported here, so that ``--help`` comes at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from structune.cli.fields import jobs_option, option, quiet_option
from structune.cli.task import NoOptions
from structune.errors import DataError

ENDINGS = {  # of files; the first of a format is the usual one
    ".fa": "fasta",
    ".aln": "clustal",
    ".clustal": "clustal",
    ".sto": "stockholm",
    ".stk": "stockholm",
    ".stockholm": "stockholm",
    ".phy": "phylip",
    ".phylip": "phylip",
    ".msf": "msf",
    ".json": "json",
}
_OTHERS = (".nex", ".nexus", ".nxs", ".pir", ".maf", ".xml", ".sam", ".csv", ".tsv", ".html")
_MODEL = (
    "A file that train alignment or tune alignment wrote; the word pretrained, for the model that comes with "
    "structune; or BLOSUM62 or another matrix of Biopython, for the algorithm of Needleman & Wunsch with "
    "gaps of 11 and 1 (B, Z, X count as means of residues)."
)
_GAMMA = (
    "With mea, how much a right match counts beside two residues rightly left unmatched; by default that of "
    "the model."
)


@dataclass(frozen=True)
class Learning(NoOptions):
    """How alignments are read to learn from."""

    most_pairs: int | None = option(
        None, min=1, help="Take at most this many pairs of each alignment, at random."
    )


@dataclass(frozen=True)
class Scoring:
    """What `evaluate` compares."""

    multiple: bool = option(False, help="Align the whole families, not their sequences two by two.")
    gamma: float | None = option(None, min=0.0, help=_GAMMA)
    jobs: int = jobs_option("Evaluation")


@dataclass(frozen=True)
class Request:
    """What is aligned, how, and where alignments go."""

    multiple: bool = option(
        False,
        help="Align all the sequences of each file, however many there are: the default for 3 to 2,000.",
    )
    pairs: bool = option(
        False, help="Align the first sequence with the second, the third with the fourth, and so on."
    )
    model: str = option("pretrained", "--model", "-m", metavar="MODEL", help=_MODEL)
    which: Literal["pairs", "all"] | None = option(
        None, help="Which two sequences are aligned. pairs: as with --pairs. all: each with each."
    )
    method: Literal["mea", "viterbi"] | None = option(
        None,
        help="Of two sequences, mea: the alignment of maximum expected accuracy. viterbi: the most probable "
        "one, or that of the highest score for models without probabilities. By default mea, or viterbi "
        "without probabilities.",
        panel="Prediction",
    )
    gamma: float | None = option(None, min=0.0, help=_GAMMA, panel="Prediction")
    band: int | None = option(
        None,
        min=1,
        help="How many residues of the longer sequence an alignment may be off the line between both ends: "
        "for long sequences that go together all along.",
        panel="Prediction",
    )
    format: Literal["fasta", "clustal", "stockholm", "phylip", "msf", "json"] | None = option(
        None,
        help="Alignments one after the other. stockholm: with a line of the confidence of columns. json: an "
        "object a line, with the probability of each column's match. By default by the ending of --output, "
        "or fasta.",
        panel="Output",
    )
    output: Path | None = option(
        None,
        "--output",
        "-o",
        help="Where to write; standard output by default. For several families, or a folder of them, a "
        "folder in which alignments have the names of the files.",
        panel="Output",
    )
    plot: Path | None = option(
        None,
        help="Draw the probabilities of matches and the alignment to this file (.png, .pdf, .svg); those of "
        "several pairs, or of any two sequences of families, to FILE-NAME-NAME each.",
        panel="Output",
    )
    report: Path | None = option(
        None,
        help="Write an HTML page of the alignments of families, coloured by confidence, and their guide "
        "trees.",
        panel="Output",
    )
    jobs: int = jobs_option()
    quiet: bool = quiet_option()

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
    def written_as(self) -> str:
        """The format that is asked for, or that of the name of the output."""
        from structune.cli.files import format_of

        name = "" if self.output is None else self.output.name.lower().removesuffix(".gz")
        if self.format is None and name.endswith(_OTHERS):
            raise DataError(
                f"{self.output}: found an ending of no format that is written, expected --format or one of "
                f"{', '.join(ENDINGS)}"
            )
        return format_of(self.format, self.output, ENDINGS)
