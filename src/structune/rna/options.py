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
    "More predicts more pairs. By default the model's: 1.5 of the pretrained one, 4 of others unless they "
    "were given another."
)
_predicted, _written = partial(option, panel="Prediction"), partial(option, panel="Output")


@dataclass(frozen=True)
class Reading:
    input_format: Literal["fasta", "dot_bracket", "plain", "bpseq", "ct", "stockholm"] | None = option(
        None,
        help="Format of the input files; plain is a sequence a line, or below a header, perhaps with its "
        "structure. By default that of the ending of each name, or what the first lines look like.",
    )


@dataclass(frozen=True)
class Learning(Reading):
    families: Path | None = option(
        None,
        help="File with a line for each sequence, its name and its family, separated by a tab. Families stay "
        "on one side of held-out splits.",
    )


@dataclass(frozen=True)
class Training(Learning):
    """What changes the model that learns, too."""

    center: str | None = option(
        None,
        metavar="MODEL",
        help="Model file, or the word pretrained: the prior has its mean at the weights of this model, which "
        "is what few structures of your own need. Its features, or more, are learned.",
        panel="Model",
    )


@dataclass(frozen=True)
class Source:
    """The model that folds, and how it is changed."""

    model: str = option(
        PRETRAINED, "--model", "-m", metavar="MODEL", help="A file that train rna or tune rna wrote."
    )
    contrafold: Path | None = option(
        None, help="Parameter file of CONTRAfold or EternaFold to use instead of a model."
    )
    max_span: int | None = option(
        None,
        min=1,
        help="How far the bases of a pair may be apart: for genomes, which then take time and memory by "
        "their length only.",
    )
    jobs: int = jobs_option()

    def open(self, command: str = "", **settings: Any) -> RNAFolder:
        """The model, for one thread; one with probabilities if a command needs them."""
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
            raise CapabilityError(f"{self.model}: a model without probabilities, which {command} needs.")
        return folder


@dataclass(frozen=True)
class Shape:
    """Circles, and the score of two strands."""

    circular: bool = option(False, help="Sequences are circles: the last base is followed by the first.")
    initiation: float | None = option(
        None,
        help="Of two strands, A&B: the score of being together, before any pair. At concentrations below 1 M "
        f"add 0.6 times their log, -8 at 1 uM. {INITIATION:g} by default, for 1 M.",
    )
    skip_bad: bool = option(
        False, help="Leave out records below a header >name that cannot be read, and tell of each."
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of `RNAFolder` that are not to be the model's own."""
        return {"circular": self.circular or None, "initiation": self.initiation}


@dataclass(frozen=True)
class Known:
    """What is known of sequences beside their bases."""

    duplex: bool = option(False, help="Of two strands, A&B: pairs between them only.")
    constraints: bool = option(
        False,
        help="Below each sequence there may be a line of constraints, a character a base: . free, x "
        "unpaired, | paired, < paired with a base further right, > with one further left, ( and ) paired "
        "with each other. Every structure satisfies them.",
    )
    shape: Path | None = option(
        None,
        help="Reactivities: of one sequence a line a base, its place, from 1, and its reactivity (as "
        "ViennaRNA and RNAstructure read them); of several lines '>name' with the reactivities of all bases "
        "below. NA or -999 where there is none.",
    )
    shape_method: Literal["learned", "deigan"] = option(
        "learned",
        help="learned: log odds by letter and reactivity, from RNAs probed with 1M7. deigan: "
        "pseudo-energies, 1.8 log(1 + reactivity) - 0.6 kcal/mol.",
    )


@dataclass(frozen=True)
class Wanted:
    method: Literal["mea", "viterbi", "centroid"] | None = _predicted(
        None,
        help="mea: the structure of maximum expected accuracy. viterbi: the most probable one. centroid: the "
        "nested pairs of the greatest sum of probability - --threshold. By default the model's: of the "
        "pretrained one that sum at a threshold of 1 / (1 + --gamma), of others mea.",
    )
    gamma: float | None = _predicted(None, min=0.0, help=_GAMMA)
    threshold: float | None = _predicted(
        None, min=0.0, max=1.0, help="Least probability of a pair with --method centroid, 0.5 by default."
    )
    pseudoknots: bool = _predicted(False, help="Predict also helices that cross the others, written in [].")
    no_lonely_pairs: bool = _predicted(False, help="Predict only pairs that stack on another.")
    samples: int | None = _predicted(
        None, min=1, help="Sample N structures instead of predicting one.", metavar="N"
    )
    nbest: int | None = _predicted(None, min=1, help="Predict the N most probable structures.", metavar="N")
    within: float | None = _predicted(
        None,
        min=0.0,
        help="Predict all structures whose log odds against the most probable one are at least minus this, "
        "or the --nbest most probable of them.",
    )
    seed: int = _predicted(
        0,
        min=0,
        help="Random seed for --samples. With the same seed a sequence has the same samples, whatever else "
        "is folded.",
    )

    @property
    def is_ranked(self) -> bool:
        return self.nbest is not None or self.within is not None

    @property
    def most_structures(self) -> int:
        """Of a sequence; within a range there may be any number."""
        return self.samples or self.nbest or (1 if self.within is None else sys.maxsize)


@dataclass(frozen=True)
class Output:
    output: str = output_option()


@dataclass(frozen=True)
class Writing:
    format: Literal["dbn", "ct", "bpseq", "json", "pairs", "bases"] | None = _written(
        None,
        help="dbn: dot-bracket. ct, bpseq: tables of bases. json: an object a line, with the probabilities "
        "of pairs, what of the structure is expected to be right, and the log-partition function. pairs: a "
        "table of the probabilities of pairs, separated by tabs. bases: one of the probability of each base "
        "to be unpaired, and of the entropy of its partner, in bits. By default by the ending of --output, "
        "or dbn.",
    )
    window: int | None = _written(
        None,
        min=1,
        help="With --format bases: also the probability that so many bases, this one and those to its right, "
        "are all unpaired, for what may bind there.",
    )
    min_probability: float = _written(
        0.01, min=0.0, max=1.0, help="Least probability of the pairs that json and pairs show."
    )
    output: str = _written(
        "-",
        "--output",
        "-o",
        help="Where to write (compressed if it ends in .gz): a file, - for standard output, or a folder that "
        "exists, for a file of each sequence.",
    )
    plot: Path | None = option(
        None,
        help="Draw the structure to this file (.png, .pdf, .svg); those of several sequences to FILE-NAME "
        "each, and those of --samples, --nbest and --within to FILE-1, FILE-2, and so on.",
        panel="Output",
    )
    dot_plot: Path | None = option(
        None,
        help="Draw the probabilities of pairs to this file; those of several sequences to FILE-NAME each.",
        panel="Output",
    )
    quiet: bool = quiet_option()

    @property
    def written_as(self) -> str:
        """The format that is asked for, or that of the name of the output."""
        from structune.cli.files import format_of

        endings = {f".{each}": each for each in ("dbn", "ct", "bpseq", "json")}
        return format_of(self.format, Path(self.output), endings)

    @property
    def is_drawn(self) -> bool:
        return self.plot is not None or self.dot_plot is not None


@dataclass(frozen=True)
class Scoring:
    """Which predictions `evaluate` compares."""

    gamma: float | None = option(None, min=0.0, help=_GAMMA)
    curve: bool = option(False, help="Also for gamma = 2^-5 .. 2^10, and the area below that curve.")
    plot: Path | None = option(None, help="Draw that curve to this file.")
    jobs: int = jobs_option("Evaluation")
    quiet: bool = quiet_option("Evaluation")


@dataclass(frozen=True)
class Consensus(Output):
    """Which pairs the structure of an alignment has."""

    threshold: float = _predicted(CONSENSUS_THRESHOLD, min=0.0, max=1.0, help="Least probability of a pair.")
