"""Options of the gene commands. Nothing heavy is imported here, so that ``--help`` comes at once."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from structune.cli.file_names import format_of
from structune.cli.options import Jobs, KindGroups, Quiet


class FeatureSet(StrEnum):
    """Which features a model has."""

    full = "full"
    paper = "paper"


class Strands(StrEnum):
    """Where genes may be."""

    both = "both"
    forward = "forward"


class StopCodon(StrEnum):
    """Whether coding parts have the stop codon."""

    auto = "auto"
    included = "included"
    excluded = "excluded"


class Starts(StrEnum):
    """Where predicted genes begin."""

    learned = "learned"
    annotated = "annotated"


class Format(StrEnum):
    """How genes are written."""

    gff3 = "gff3"
    genbank = "genbank"
    tsv = "tsv"


_ENDINGS = {
    **dict.fromkeys([".gff3", ".gff"], Format.gff3),
    **dict.fromkeys([".gb", ".gbk", ".gbff", ".genbank"], Format.genbank),
    ".tsv": Format.tsv,
}
_SEQUENCES = "FASTA of the sequences, also .gz; as many as there are annotations, in their order."

TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="ANNOTATION",
        help="Genes on their sequences: GenBank, GFF3 with the sequences after ##FASTA, or GFF3 or GTF "
        "with --sequences; also .gz. For train and tune also a folder that shard wrote.",
    ),
]
Sequences = Annotated[
    list[Path] | None,
    typer.Option("--sequences", "-s", metavar="FASTA", help=_SEQUENCES, show_default=False),
]
TestFiles = Annotated[
    list[Path] | None,
    typer.Option("--test", help="Annotation to evaluate the model on; may be repeated.", show_default=False),
]
TestSequences = Annotated[
    list[Path] | None,
    typer.Option(metavar="FASTA", help="Those of --test, as --sequences.", show_default=False),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A file that train or tune wrote, of genes or prokaryotic-genes; or what comes with structune: "
        "pretrained, for bacteria and archaea; fly, a_thaliana or c_elegans; or, with --adapt, eukaryotes.",
    ),
]
ModelOrPrediction = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A file that train or tune wrote, of genes or prokaryotic-genes; pretrained, fly, a_thaliana or "
        "c_elegans, as genes has them; or genes that any program predicted, in a file named .gff3, .gff or "
        ".gtf, also .gz.",
    ),
]
Annotations = Annotated[
    list[Path],
    typer.Argument(
        metavar="ANNOTATION",
        help="Genes on their sequences, as in train genes; beside predicted ones, GFF3 or GTF without "
        "sequences will do.",
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        help="With pretrained, or a model that was trained with --tree: the leaf or inner node of the tree "
        "whose model to use. Of your own trees genes takes by default the inner node that is surest of most "
        "of the sequence.",
        show_default=False,
    ),
]
Adapt = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="ROUNDS",
        help="First learn the genome itself from the genes that the model finds there, in at most so "
        "many rounds; 20 will do. For whole genomes, or large parts, of organisms that are not those of the "
        "training.",
    ),
]
Code = Annotated[
    int | None,
    typer.Option(
        help="NCBI's number of the genetic code: 11, or 4 for Mycoplasma and its relatives. By default that "
        "of the genes (transl_table), or 11.",
        show_default=False,
    ),
]
CodeOfGenome = Annotated[
    int | None,
    typer.Option(
        help="NCBI's number of the genetic code, of prokaryotic models: its stop codons count. By default "
        "that of the model; with --adapt, pretrained or a tree, but for --meta, 4, if sequences show that "
        "TGA is no stop. Where it is given, or stays that of the model, it is said which one suits better.",
        show_default=False,
    ),
]
StartsOption = Annotated[
    Starts,
    typer.Option(
        help="Where predicted genes begin. learned: by signals of starts, learned from 200 genes or more, "
        "whose starts may be wrong. annotated: as the model has learned from their starts."
    ),
]
Features = Annotated[
    FeatureSet,
    typer.Option(
        help="full: words, the bases around starts, stops and splice sites, and lengths of exons and introns "
        "are counted in the genes; what is learned is how much each kind counts. paper: words of six bases "
        "by coding position and by phase in introns, each with its own weight (Chen et al. 2009)."
    ),
]
StrandsOption = Annotated[Strands, typer.Option(help="Where genes may be.")]
Donors = Annotated[
    list[str],
    typer.Option(help="The first two bases of introns: GT or GC; several with commas, or repeated."),
]
Flank = Annotated[
    int, typer.Option(min=0, help="How many bases around a gene are learned from, with the gene.")
]
Margin = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Compare only within so many bases of annotated genes, where other genes would be known.",
        show_default=False,
    ),
]
StopCodonOption = Annotated[
    StopCodon,
    typer.Option(
        help="Whether coding parts have the stop codon, which some files leave out; auto: it is added to "
        "transcripts that end before one."
    ),
]
GroupsOption = Annotated[
    KindGroups, typer.Option(help="Which weights share a precision: those of a kind, all, or none.")
]


@dataclass(frozen=True)
class Source:
    """What is learned from."""

    train: TrainFiles
    sequences: Sequences = None
    stop_codon: StopCodonOption = StopCodon.auto

    @property
    def files(self) -> list[Path]:
        """All of them."""
        return [*self.train, *(self.sequences or [])]


def code_given(code: int | None) -> dict[str, Any]:
    """Of `ProkaryoticGeneFinder`."""
    return {} if code is None else {"code": code}


@dataclass(frozen=True)
class Test:
    """What the model is evaluated on."""

    test: TestFiles = None
    test_sequences: TestSequences = None

    @property
    def files(self) -> list[Path]:
        """All of them."""
        return [*(self.test or []), *(self.test_sequences or [])]


@dataclass(frozen=True)
class Space:
    """Which genes there are, and what is looked at."""

    features: Features = FeatureSet.full
    strands: StrandsOption = Strands.both
    donors: Donors = field(default_factory=lambda: ["GT"])
    flank: Flank = 500

    def parameters(self) -> dict[str, Any]:
        """Of `GeneFinder`."""
        return {
            "features": self.features.value,
            "strands": self.strands.value,
            "donors": tuple(donor for some in self.donors for donor in some.split(",")),
            "flank": self.flank,
        }


@dataclass(frozen=True)
class Request:
    """Where genes are to be found, by which model, and where they go."""

    file: Annotated[
        str,
        typer.Argument(metavar="SEQUENCES", help="FASTA or GenBank, also .gz, or - for standard input."),
    ]
    model: ModelOption
    task: Task = None
    adapt: Adapt = 0
    meta: Annotated[
        bool,
        typer.Option(
            "--meta",
            help="Contigs of many organisms, by pretrained or another model for metagenomes: one at a time, "
            "with the model's genetic code or that of --code.",
        ),
    ] = False
    code: CodeOfGenome = None
    hints: Annotated[
        Path | None,
        typer.Option(
            help="What else is known of genes with introns: junctions of RNA reads and aligned proteins, in "
            "GFF as AUGUSTUS, ProtHint or miniprot write it, or SJ.out.tab of STAR. What is not used is "
            "told. --adapt is without them.",
            show_default=False,
        ),
    ] = None
    hint_weight: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1000.0,
            help="What an intron of ten reads adds to the score of genes that have it, as log odds.",
        ),
    ] = 6.0
    avoid: Annotated[
        Path | None,
        typer.Option(
            help="What genes keep away from: tRNA, rRNA and other RNA, and repeats of a GFF file, such as "
            "those of RepeatMasker; or all regions of a BED file. Other features are counted and told.",
            show_default=False,
        ),
    ] = None
    closed: Annotated[
        bool,
        typer.Option(
            "--closed", help="No genes beyond ends of sequences; by prokaryotic models, nor beyond gaps."
        ),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write, compressed if named .gz; standard output by default.",
            show_default=False,
        ),
    ] = None
    format: Annotated[
        Format | None,
        typer.Option(
            show_default="by the ending of --output, or gff3",
            help="gff3; genbank: the sequences with their genes and proteins; tsv: a table of a line a gene.",
        ),
    ] = None
    proteins: Annotated[
        Path | None,
        typer.Option(help="Write the proteins to this FASTA file.", show_default=False),
    ] = None
    nucleotides: Annotated[
        Path | None,
        typer.Option(help="Write the coding sequences to this FASTA file.", show_default=False),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad", help="Leave out sequences that cannot be read, tell of each, and exit with 1."
        ),
    ] = False
    jobs: Jobs = -1
    quiet: Quiet = False

    @property
    def written_as(self) -> Format:
        """The format that is asked for, or that of the name of the output."""
        return format_of(self.format, self.output, _ENDINGS)
