"""Options of the commands of genes; nothing heavy is imported here, so that ``--help`` comes at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from structune.cli.fields import jobs_option, option, output_option, quiet_option

ENDINGS = {
    **dict.fromkeys([".gff3", ".gff"], "gff3"),
    **dict.fromkeys([".gb", ".gbk", ".gbff", ".genbank"], "genbank"),
    ".tsv": "tsv",
}


_of_prediction = partial(option, panel="Prediction")


@dataclass(frozen=True)
class Reading:
    """Where the sequences of annotations are."""

    sequences: tuple[Path, ...] = option(
        (),
        "--sequences",
        "-s",
        metavar="FASTA",
        help="FASTA of the sequences, also .gz; given once for each annotation, in their order.",
    )


@dataclass(frozen=True)
class Learning(Reading):
    """How annotations are read to learn from."""

    stop_codon: Literal["auto", "included", "excluded"] = option(
        "auto",
        help="Whether coding parts include the stop codon, which some files leave out. auto: it is added to "
        "transcripts that end before one.",
    )


@dataclass(frozen=True)
class ProkaryoticLearning(Learning):
    """And by which genetic code."""

    code: int | None = option(
        None,
        panel="Model",
        help="NCBI's number of the genetic code: 11, or 4 for Mycoplasma and its relatives. By default "
        "that of the genes (transl_table), or 11.",
    )


@dataclass(frozen=True)
class Scoring:
    """What is compared with annotations."""

    task: str | None = _of_prediction(
        None,
        metavar="NODE",
        help="Leaf or inner node whose model to use, of a model that train --tree wrote.",
    )
    code: int | None = option(
        None,
        help="NCBI's number of the genetic code, for prokaryotic models. By default that of the model; with "
        "--task or pretrained it is 4 if the first million bases show that TGA is no stop codon.",
    )
    margin: int | None = option(
        None,
        min=0,
        help="Compare only within so many bases of annotated genes, where other genes would be known.",
    )
    jobs: int = jobs_option("Evaluation")


@dataclass(frozen=True)
class Finding:
    """How genes are found, and where they go."""

    task: str | None = _of_prediction(
        None,
        metavar="NODE",
        help="Leaf or inner node whose model to use, of pretrained or a model that train --tree wrote. By "
        "default the inner node of your own tree that is surest of most of the sequence.",
    )
    adapt: int = _of_prediction(
        0,
        min=0,
        metavar="ROUNDS",
        help="First learn the genome itself from the genes that the model finds there, in at most so many "
        "rounds, such as 20. For whole genomes of organisms that are not those of the training.",
    )
    meta: bool = _of_prediction(
        False,
        help="The sequences are contigs of many organisms. Needs a model for metagenomes, as pretrained is.",
    )
    code: int | None = _of_prediction(
        None,
        help="NCBI's number of the genetic code, for prokaryotic models. By default that of the model; with "
        "--adapt, --task or pretrained it is 4 if the sequences show that TGA is no stop codon.",
    )
    hints: Path | None = option(
        None,
        panel="Prediction",
        help="Evidence for genes with introns: junctions of RNA reads and aligned proteins, in GFF as "
        "AUGUSTUS, ProtHint or miniprot write it, or SJ.out.tab of STAR. Not used by --adapt.",
    )
    hint_weight: float = _of_prediction(
        6.0,
        min=0.0,
        max=1000.0,
        help="What an intron of ten reads adds to the score of genes that have it, as log odds.",
    )
    avoid: Path | None = option(
        None,
        panel="Prediction",
        help="Regions that genes keep away from: RNA genes and repeats of a GFF file, or all regions of a "
        "BED file.",
    )
    closed: bool = _of_prediction(
        False,
        help="Predict no genes beyond ends of sequences and, with prokaryotic models, beyond gaps.",
    )
    output: str = output_option()
    format: Literal["gff3", "genbank", "tsv"] | None = option(
        None,
        panel="Output",
        help="genbank: the sequences with their genes and proteins. tsv: a table, a line a gene. By default "
        "by the ending of --output, or gff3.",
    )
    proteins: Path | None = option(None, panel="Output", help="Write the proteins to this FASTA file.")
    nucleotides: Path | None = option(
        None, panel="Output", help="Write the coding sequences to this FASTA file."
    )
    skip_bad: bool = option(
        False,
        panel="Running",
        help="Leave out sequences that cannot be read, report each, and end with exit code 1.",
    )
    jobs: int = jobs_option()
    quiet: bool = quiet_option()
