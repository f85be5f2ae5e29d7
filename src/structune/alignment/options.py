"""Options of the alignment commands. Nothing heavy is imported here, so that ``--help`` is fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from structune.cli.fields import jobs_option, option, quiet_option
from structune.cli.task import NoOptions
from structune.errors import DataError
from structune.files.text import without_compression

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
    "Model file written by train alignment or tune alignment; or the word pretrained for the included "
    "model; or the name of a substitution matrix of Biopython such as BLOSUM62. With a matrix, pairs are "
    "aligned by the Needleman-Wunsch algorithm, and families by the log odds of the matrix; gaps cost 11 for "
    "the first residue, 1 for each further one. B, Z and X score as the mean of the residues they may be."
)
_GAMMA = (
    "Value of a correct match, relative to two residues correctly left unmatched, in alignments of maximum "
    "expected accuracy (mea). Higher values match more residues. The default is the gamma of the model."
)


@dataclass(frozen=True)
class Learning(NoOptions):
    """How training alignments are read."""

    most_pairs: int | None = option(
        None,
        min=1,
        help="Largest number of pairs to take from each alignment, at random (see --seed); all by default.",
    )


@dataclass(frozen=True)
class Scoring:
    """Options of `evaluate`."""

    multiple: bool = option(False, help="Align whole families instead of pairs of sequences.")
    gamma: float | None = option(None, min=0.0, help=_GAMMA)
    jobs: int = jobs_option("Evaluation")


@dataclass(frozen=True)
class Request:
    """What to align, how, and where to write the alignments."""

    multiple: bool = option(
        False,
        help="Align all sequences of each file as one family. This is the default for several files or a "
        "folder, and for one file with more than two sequences (up to 2,000 per file).",
    )
    pairs: bool = option(
        False, help="Align pairs: the first sequence with the second, the third with the fourth, and so on."
    )
    model: str = option("pretrained", "--model", "-m", metavar="MODEL", help=_MODEL)
    which: Literal["pairs", "all"] | None = option(
        None, help="Pairs to align. pairs: the same as --pairs. all: every sequence with every other one."
    )
    method: Literal["mea", "viterbi"] | None = option(
        None,
        help="Method for pairs. mea: the alignment of maximum expected accuracy, the default. viterbi: the "
        "alignment of the highest score, which is the most probable one; the default for models without "
        "probabilities.",
        panel="Prediction",
    )
    gamma: float | None = option(None, min=0.0, help=_GAMMA, panel="Prediction")
    band: int | None = option(
        None,
        min=1,
        help="Largest distance of the alignment from the diagonal, in residues of the longer sequence. A "
        "small value saves time and memory for long sequences that are similar from end to end. By default "
        "there is no limit.",
        panel="Prediction",
    )
    format: Literal["fasta", "clustal", "stockholm", "phylip", "msf", "json"] | None = option(
        None,
        help="Output format. Several alignments are written one after the other. stockholm adds a line with "
        "the confidence of each column. json writes one object per line, with the confidence of each column. "
        "By default, the ending of --output decides; without --output, the format is fasta.",
        panel="Output",
    )
    output: Path | None = option(
        None,
        "--output",
        "-o",
        help="Output file; standard output by default. For several input files, or a folder of them, an "
        "output folder: each alignment gets the name of its input file.",
        panel="Output",
    )
    plot: Path | None = option(
        None,
        help="Draw the match probabilities and the alignment to this file (.png, .pdf, .svg). With several "
        "pairs or a family, one file is written per pair of sequences, named FILE-NAME-NAME.",
        panel="Output",
    )
    report: Path | None = option(
        None,
        help="Write a report to this .html file: alignments with columns colored by confidence; "
        "sequence identities; and the guide trees of families.",
        panel="Output",
    )
    jobs: int = jobs_option()
    quiet: bool = quiet_option()

    @property
    def are_pairs(self) -> bool:
        """Whether sequences are aligned in pairs, however many there are."""
        return self.pairs or self.which is not None

    @property
    def of_pairs(self) -> list[str]:
        """The given options that apply to pairs of sequences only."""
        given = {"--which": self.which, "--method": self.method, "--gamma": self.gamma}
        return [name for name, value in given.items() if value is not None]

    @property
    def written_as(self) -> str:
        """The output format: that of --format, or else of the ending of --output."""
        from structune.cli.files import format_of

        name = "" if self.output is None else without_compression(self.output.name.lower())
        if self.format is None and name.endswith(_OTHERS):
            raise DataError(
                f"{self.output}: no output format has this ending. Use --format, or one of the endings "
                f"{', '.join(ENDINGS)}"
            )
        return format_of(self.format, self.output, ENDINGS)
