"""Options of the commands of RNA; nothing heavy is imported here, so that ``--help`` comes at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from structune.cli.fields import jobs_option, option, output_option, quiet_option
from structune.rna.defaults import CONSENSUS_THRESHOLD, INITIATION

if TYPE_CHECKING:
    from structune.rna.folder import RNAFolder


PRETRAINED = "pretrained"  # in place of a model file: what comes with structune
_GAMMA = (
    "Weight of a correct pair, relative to two correct unpaired bases (mea) or to a wrong pair (centroid). A "
    "higher value predicts more pairs. By default the value of the model: 1.5 for the pretrained model, 4 "
    "for others unless set in training."
)
_TEMPERATURE = "Temperature of energies, in degrees Celsius."
_predicted, _written = partial(option, panel="Prediction"), partial(option, panel="Output")


@dataclass(frozen=True)
class Reading:
    input_format: Literal["fasta", "dot_bracket", "plain", "seq", "bpseq", "ct", "stockholm"] | None = option(
        None,
        help="Format of the input files. plain: one sequence per line, or below a header; its structure "
        "may follow on the line below. By default detected from the ending of each file "
        "name, or from the first lines.",
    )


@dataclass(frozen=True)
class Learning(Reading):
    families: Path | None = option(
        None,
        help="File with one line per sequence: its name and its family, separated by a tab. A family is "
        "never split between training and held-out data.",
    )


@dataclass(frozen=True)
class Training(Learning):
    """Options of training, including those that change the model."""

    center: str | None = option(
        None,
        metavar="MODEL",
        help="Adapt an existing model: a model file, or the word pretrained for the included model. "
        "The penalty then pulls weights toward those of this model instead of zero. Use it when you have "
        "few structures.",
        panel="Model",
    )


@dataclass(frozen=True)
class Source:
    """The model that folds, and the settings that override its own."""

    model: str = option(
        PRETRAINED,
        "--model",
        "-m",
        metavar="MODEL",
        help="Model file written by train rna or tune rna, or the word pretrained for the included model.",
    )
    contrafold: Path | None = option(
        None, help="Parameter file of CONTRAfold or EternaFold, used instead of a model."
    )
    max_span: int | None = option(
        None,
        min=1,
        help="Largest distance between the two bases of a pair. By default there is no limit. With a limit, "
        "time and memory grow linearly with the length; use it for genomes.",
    )
    jobs: int = jobs_option()

    @property
    def name(self) -> str:
        """The model, as files of results name it."""
        from structune.files.provenance import model_name

        return model_name(self.model if self.contrafold is None else self.contrafold)

    def open(self, command: str = "", **settings: Any) -> RNAFolder:
        """Load the model for one thread; refuse one without probabilities if `command` needs them."""
        from structune.errors import CapabilityError
        from structune.files.models import check_class, load
        from structune.rna.folder import RNAFolder

        settings |= {"max_span": self.max_span, "n_jobs": 1}
        given = {name: value for name, value in settings.items() if value is not None}
        if self.contrafold is not None:
            return RNAFolder.from_contrafold(self.contrafold, **given)
        loaded = RNAFolder.pretrained() if self.model == PRETRAINED else load(self.model)
        folder = check_class(loaded, RNAFolder, self.model, "one for RNA").set_params(**given)
        if command and not folder.has_probabilities:
            needs = f"{self.model}: {command} needs a model with probabilities"
            raise CapabilityError(f"{needs}; this one was fitted with loss={folder.loss!r}.")
        return folder


@dataclass(frozen=True)
class Shape:
    """Circular sequences, two strands, and records that cannot be read."""

    circular: bool = option(
        False, help="Fold circular sequences, in which the last base is followed by the first."
    )
    initiation: float | None = option(
        None,
        help="Score added to a structure if a pair joins its two strands (A&B). By default "
        f"{INITIATION:g}, for 1 M. For another concentration c in mol/l add 0.6 ln(c), such as -8 for 1 uM.",
    )
    skip_bad: bool = option(False, help="Skip and report unreadable records; needs headers >name.")

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of `RNAFolder` that override those of the model."""
        return {"circular": self.circular or None, "initiation": self.initiation}


@dataclass(frozen=True)
class Known:
    """What is known about the structures of sequences."""

    duplex: bool = option(False, help="Allow only pairs between the two strands (A&B), none within one.")
    constraints: bool = option(
        False,
        help="Read a line of constraints below each sequence that has one, one character per base: . free, "
        "x unpaired, | paired, < paired with a base to its right, > with one to its left, ( and ) paired "
        "with each other. Every predicted structure satisfies the constraints.",
    )
    commands: Path | None = option(
        None,
        help="File of constraints: commands F, P, C and E as for RNAfold, with energies in kcal/mol; lines "
        "'i j score' and 'i score' with log odds of a pair, or of a base to be paired (score -inf prohibits "
        "a pair). Positions are from 1. For several sequences, a line '>name' precedes the lines of each. "
        "Structures satisfy these constraints and those of --constraints; scores are added to those of "
        "--shape.",
    )
    shape: Path | None = option(
        None,
        help="File of reactivities (SHAPE, DMS). For one sequence: one line per base with its position, from "
        "1, and its reactivity, as for ViennaRNA and RNAstructure. For several: a line '>name' and below it "
        "the reactivities of all bases. NA or -999 marks a missing value.",
    )
    shape_method: Literal["learned", "deigan"] = option(
        "learned",
        help="How --shape changes the scores. learned: log odds of a base to be paired, given its letter and "
        "reactivity, learned from RNAs probed with 1M7. deigan: pseudo-energies, 1.8 ln(1 + reactivity) - "
        "0.6 kcal/mol.",
    )


@dataclass(frozen=True)
class Wanted:
    method: Literal["mea", "viterbi", "centroid"] | None = _predicted(
        None,
        help="Structure to predict. mea: the one with maximum expected accuracy. viterbi: the most probable "
        "one. centroid: the nested pairs that maximize the sum of (probability minus --threshold). By "
        "default the method of the model: for the pretrained model centroid with threshold 1 / "
        "(1 + --gamma), usually mea for others.",
    )
    gamma: float | None = _predicted(None, min=0.0, help=_GAMMA)
    threshold: float | None = _predicted(
        None, min=0.0, max=1.0, help="Threshold of --method centroid on pair probabilities; by default 0.5."
    )
    pseudoknots: bool = _predicted(False, help="Also predict pseudoknots: helices that cross others, in [].")
    no_lonely_pairs: bool = _predicted(False, help="Predict no pairs without a neighboring stacked pair.")
    samples: int | None = _predicted(
        None, min=1, help="Sample N structures instead of predicting one.", metavar="N"
    )
    nbest: int | None = _predicted(None, min=1, help="Predict the N most probable structures.", metavar="N")
    within: float | None = _predicted(
        None,
        min=0.0,
        help="Predict all structures whose log probability is at most this far below that of the most "
        "probable one. --nbest limits their number.",
    )
    seed: int = _predicted(
        0,
        min=0,
        help="Random seed for --samples. The samples of a sequence do not depend on the other sequences.",
    )

    @property
    def is_ranked(self) -> bool:
        return self.nbest is not None or self.within is not None

    @property
    def most_structures(self) -> int:
        """The largest number of structures of a sequence; --within alone sets no limit."""
        return self.samples or self.nbest or (1 if self.within is None else sys.maxsize)


@dataclass(frozen=True)
class Output:
    output: str = output_option()


@dataclass(frozen=True)
class Writing:
    format: Literal["dbn", "vienna", "ct", "bpseq", "json", "pairs", "bases"] | None = _written(
        None,
        help="Output format. dbn: dot-bracket. vienna: as RNAfold and RNAcofold write it, with --score "
        "behind the structure. With --samples, --nbest or --within as RNAsubopt writes it: the sequence with "
        "the lowest score and the range of scores, in hundredths, then each structure with its score. ct, "
        "bpseq: one line per base. json: one object per line, with pair probabilities, expected PPV and "
        "sensitivity, and the log-partition function. pairs: tab-separated table of pair probabilities. "
        "bases: tab-separated table of the probability that each base is unpaired, and the entropy of its "
        "partner in bits. By default taken from the ending of --output, or dbn.",
    )
    score: Literal["energy", "log-odds"] = _written(
        "energy",
        help="Score in --format vienna. energy: free energy of the structure in kcal/mol, by the "
        "nearest-neighbor parameters of Turner 2004. The model chooses the structure, so it need not have "
        "the minimum energy. log-odds: the model's log odds of the structure against the one without pairs; "
        "higher is better.",
    )
    temperature: float = _written(37.0, help=f"{_TEMPERATURE} It does not change the structures.")
    window: int | None = _written(
        None,
        min=1,
        help="Add a column to --format bases: the probability that N bases, this one and those to its right, "
        "are all unpaired. It shows where something may bind.",
    )
    min_probability: float = _written(
        0.01, min=0.0, max=1.0, help="Lowest probability of the pairs in json and pairs output."
    )
    output: str = _written(
        "-",
        "--output",
        "-o",
        help="Output file, compressed if its name ends in .gz; - for standard output; or an existing folder, "
        "which gets one file per sequence.",
    )
    plot: Path | None = option(
        None,
        help="Draw the structure to this file (.png, .pdf or .svg). With several sequences, the file name "
        "includes the sequence name. With --samples, --nbest or --within it also includes the number of the "
        "structure.",
        panel="Output",
    )
    dot_plot: Path | None = option(
        None,
        help="Draw the pair probabilities as a dot plot to this file (.png, .pdf or .svg). With several "
        "sequences, one file is written per sequence, and its name includes the sequence name.",
        panel="Output",
    )
    report: Path | None = option(
        None,
        help="Write a report to this .html file: drawings of the first structures with the probable "
        "partners of each base; dot plots; a table of all sequences; and the output.",
        panel="Output",
    )
    quiet: bool = quiet_option()

    @property
    def written_as(self) -> str:
        """The requested format, or the one that the ending of the output's name implies."""
        from structune.cli.files import format_of

        endings = {f".{each}": each for each in ("dbn", "ct", "bpseq", "json")}
        return format_of(self.format, Path(self.output), endings)

    @property
    def is_drawn(self) -> bool:
        return self.plot is not None or self.dot_plot is not None


@dataclass(frozen=True)
class Scoring:
    """Options of `evaluate`: which predictions are scored, and the curve."""

    gamma: float | None = option(None, min=0.0, help=_GAMMA)
    curve: bool = option(
        False,
        help="Also score predictions with gamma = 2^-5 to 2^10, and compute the area under their "
        "sensitivity-PPV curve.",
    )
    plot: Path | None = option(
        None, help="Draw the sensitivity-PPV curve to this file (.png, .pdf or .svg). Implies --curve."
    )
    pseudoknots: bool = option(False, help="Score predictions with pseudoknots, as of fold --pseudoknots.")
    jobs: int = jobs_option("Evaluation")
    quiet: bool = quiet_option("Evaluation")


@dataclass(frozen=True)
class Consensus(Output):
    """Options of the consensus structure of an alignment."""

    threshold: float = _predicted(
        CONSENSUS_THRESHOLD,
        min=0.0,
        max=1.0,
        help="Minimum probability of a pair of columns in the consensus structure. Higher values give fewer "
        "pairs.",
    )


@dataclass(frozen=True)
class Energy:
    """Options of the energies of known structures."""

    circular: bool = option(
        False, help="Score circular sequences, in which the last base is followed by the first."
    )
    temperature: float = option(37.0, help=_TEMPERATURE)
    parameters: Path | None = option(
        None, help="Energy parameter file of ViennaRNA, used instead of the parameters of Turner 2004."
    )
    format: Literal["vienna", "json"] = _written(
        "vienna",
        help="Output format. vienna: as RNAeval writes it, with the energy in parentheses behind the "
        "structure. json: one object per line.",
    )
    loops: bool = _written(
        False,
        help="Also write the loops of each structure with their pairs, bases and energies: in vienna output "
        "as lines below it that start with # and have columns separated by tabs. Positions count from 1.",
    )
    output: str = output_option()
