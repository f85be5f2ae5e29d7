"""Options of the RNA commands. Nothing heavy is imported here, so that ``--help`` comes at once."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli.file_names import format_of
from structune.cli.options import KindGroups
from structune.rna.commands.choices import Decoding, FeatureSet, Format, InputFormat, Outside, ShapeMethod
from structune.rna.defaults import CONSENSUS_THRESHOLD, INITIATION

_ENDINGS = {f".{format}": format for format in (Format.dbn, Format.ct, Format.bpseq, Format.json)}

TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN",
        help="Files with sequences and structures (dot-bracket, CT, BPSEQ or Stockholm, also .gz), or "
        "folders of such files. For train and tune also a folder that shard wrote.",
    ),
]
InputFormatOption = Annotated[
    InputFormat | None,
    typer.Option(
        help="Format of the input files; plain is a sequence a line, or below a header, perhaps with its "
        "structure. By default that of the ending of each name, or what the first lines look like.",
        show_default=False,
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
Center = Annotated[
    str | None,
    typer.Option(
        help="Model file, or the word pretrained: the prior has its mean at the weights of this model, which "
        "is what few structures of your own need. Its features, or more, are learned.",
        metavar="MODEL",
        show_default=False,
    ),
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
        help="More predicts more pairs. By default the model's: 1.5 of the pretrained one, 4 of others "
        "unless they were given another.",
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


@dataclass(frozen=True)
class Reading:
    """What is folded, and by which model."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="FASTA files, or others with sequences (dot-bracket, CT, BPSEQ, Stockholm, one a line, "
            "also .gz), or folders of these, or - for standard input, the default. Two strands are A&B.",
            show_default=False,
        ),
    ] = None
    input_format: InputFormatOption = None
    alignment: Annotated[
        bool,
        typer.Option(
            "--alignment",
            help="INPUT holds alignments (Stockholm, Clustal, or FASTA with gaps): one structure of each, by "
            "the mean probabilities of its sequences and covariation, written as Stockholm with SS_cons.",
        ),
    ] = False
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            help="INPUT holds sequences with structures: a table of what the model says of these. Their log "
            "probability, and its log odds against the best; their expected PPV, sensitivity, and distance "
            "from others, in pairs.",
        ),
    ] = False
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="A file that train rna or tune rna wrote.", metavar="MODEL"),
    ] = "pretrained"
    contrafold: Annotated[
        Path | None,
        typer.Option(
            help="Parameter file of CONTRAfold or EternaFold to use instead of a model.", show_default=False
        ),
    ] = None
    max_span: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How far the bases of a pair may be apart: for genomes, which then take time and memory by "
            "their length only.",
            show_default=False,
        ),
    ] = None
    circular: Annotated[
        bool,
        typer.Option(
            "--circular",
            help="Sequences are circles: the last base is followed by the first.",
        ),
    ] = False
    initiation: Annotated[
        float | None,
        typer.Option(
            help="Of two strands, A&B: the score of being together, before any pair. At concentrations below "
            f"1 M add 0.6 times their log, -8 at 1 uM. {INITIATION:g} by default, for 1 M.",
            show_default=False,
        ),
    ] = None
    duplex: Annotated[
        bool, typer.Option("--duplex", help="Of two strands, A&B: pairs between them only.")
    ] = False
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad", help="Leave out records below a header >name that cannot be read, and tell of each."
        ),
    ] = False
    constraints: Annotated[
        bool,
        typer.Option(
            "--constraints",
            help="Below each sequence of INPUT there may be a line of constraints, a character a base: . "
            "free, x unpaired, | paired, < paired with a base further right, > with one further left, "
            "( and ) paired with each other. Every structure satisfies them.",
        ),
    ] = False
    shape: Annotated[
        Path | None,
        typer.Option(
            help="Reactivities: of one sequence a line a base, its place, from 1, and its reactivity (as "
            "ViennaRNA and RNAstructure read them); of several lines '>name' with the reactivities of all "
            "bases below. NA or -999 where there is none.",
            show_default=False,
        ),
    ] = None
    shape_method: Annotated[
        ShapeMethod,
        typer.Option(
            help="learned: log odds by letter and reactivity, from RNAs probed with 1M7. deigan: "
            "pseudo-energies, 1.8 log(1 + reactivity) - 0.6 kcal/mol."
        ),
    ] = ShapeMethod.learned

    @property
    def inputs(self) -> list[str]:
        """What is read."""
        return self.files or ["-"]

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of `RNAFolder` that are not to be the model's own."""
        given = {"max_span": self.max_span, "circular": self.circular or None, "initiation": self.initiation}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Wanted:
    """Which structures."""

    method: Annotated[
        Decoding | None,
        typer.Option(
            help="mea: the structure of maximum expected accuracy. viterbi: the most probable one. centroid: "
            "the nested pairs of the greatest sum of probability - --threshold. By default the model's: of "
            "the pretrained one that sum at a threshold of 1 / (1 + --gamma), of others mea.",
            show_default=False,
        ),
    ] = None
    gamma: Gamma = None
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help=f"Of --method centroid, 0.5 by default, or of --alignment, {CONSENSUS_THRESHOLD:g}.",
            show_default=False,
        ),
    ] = None
    pseudoknots: Annotated[
        bool,
        typer.Option("--pseudoknots", help="With helices that cross the others, in []."),
    ] = False
    no_lonely_pairs: Annotated[
        bool,
        typer.Option("--no-lonely-pairs", help="Each pair is stacked on another."),
    ] = False
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, help="Instead, this many structures drawn with their probabilities.", show_default=False
        ),
    ] = None
    nbest: Annotated[
        int | None,
        typer.Option(min=1, help="Instead, this many most probable structures.", show_default=False),
    ] = None
    within: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Instead, all structures whose log odds against the most probable one are at least minus "
            "this, or the --nbest most probable of them.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Random seed for --samples. With the same seed a sequence has the same samples, whatever "
            "else is folded.",
        ),
    ] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of `RNAFolder` that are not to be the model's own."""
        return {"decoding": "mea"} if self.method is Decoding.mea else {}

    @property
    def is_ranked(self) -> bool:
        """Whether the most probable structures are wanted."""
        return self.nbest is not None or self.within is not None

    @property
    def has_many(self) -> bool:
        """Whether a sequence has several structures."""
        return self.samples is not None or self.is_ranked

    @property
    def most_structures(self) -> int:
        """Of a sequence; within a range there may be any number."""
        return self.samples or self.nbest or (1 if self.within is None else sys.maxsize)


@dataclass(frozen=True)
class Writing:
    """Where structures go, and as what."""

    format: Annotated[
        Format | None,
        typer.Option(
            show_default="by the ending of --output, or dbn",
            help="dbn: dot-bracket. ct, bpseq: tables of bases. json: an object a line, with the "
            "probabilities of pairs, what of the structure is expected to be right, and the log-partition "
            "function. pairs: a table of the probabilities of "
            "pairs, separated by tabs. bases: one of the probability of each base to be unpaired, and of the "
            "entropy of its partner, in bits.",
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --format bases: also the probability that so many bases, this one and those to its "
            "right, are all unpaired, for what may bind there.",
            show_default=False,
        ),
    ] = None
    min_probability: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Of pairs that json and pairs show.")
    ] = 0.01
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Where to write (compressed if it ends in .gz), or - for standard output, or a folder that "
            "exists, for a file of each sequence.",
        ),
    ] = "-"
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the structure to this file (.png, .pdf, .svg); those of several sequences to "
            "FILE-NAME each, and those of --samples, --nbest and --within to FILE-1, FILE-2, and so on.",
            show_default=False,
        ),
    ] = None
    dot_plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the probabilities of pairs to this file; those of several sequences to FILE-NAME "
            "each.",
            show_default=False,
        ),
    ] = None

    @property
    def written_as(self) -> Format:
        """The format that is asked for, or that of the name of the output."""
        return format_of(self.format, Path(self.output), _ENDINGS)

    @property
    def is_drawn(self) -> bool:
        """Whether there are pictures of each sequence."""
        return self.plot is not None or self.dot_plot is not None
