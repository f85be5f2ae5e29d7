"""Options of the gene commands. Nothing heavy is imported here, so that ``--help`` is fast."""

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
        help="FASTA file of the sequences, also compressed. Give one for each annotation, in the same order.",
    )


@dataclass(frozen=True)
class Learning(Reading):
    """How annotations are read to learn from."""

    stop_codon: Literal["auto", "included", "excluded"] = option(
        "auto",
        help="Whether the coding sequences (CDS) in the annotation include the stop codon. auto: add it to "
        "transcripts that end directly before a stop codon.",
    )


@dataclass(frozen=True)
class ProkaryoticLearning(Learning):
    """And by which genetic code."""

    code: int | None = option(
        None,
        panel="Model",
        help="NCBI number of the genetic code: 11, or 4 for Mycoplasma and its relatives. By default the "
        "code of the annotated genes (transl_table), or 11.",
    )


@dataclass(frozen=True)
class Scoring:
    """What is compared with annotations."""

    task: str | None = _of_prediction(
        None,
        metavar="NODE",
        help="Node of the tree (leaf or inner node) whose model to use. Needs pretrained or a model "
        "from train --tree.",
    )
    code: int | None = option(
        None,
        help="NCBI number of the genetic code, for prokaryotic models. The default is the code of the "
        "model. With --task or pretrained it is 4 if the first million bases show that TGA is not a stop "
        "codon.",
    )
    margin: int | None = option(
        None,
        min=0,
        help="Compare only annotated genes and the N bases on either side of them. Use it if the rest of the "
        "sequence is not annotated. By default whole sequences are compared.",
    )
    jobs: int = jobs_option("Evaluation")


@dataclass(frozen=True)
class Finding:
    """How genes are found, and where they go."""

    task: str | None = _of_prediction(
        None,
        metavar="NODE",
        help="Node of the tree (leaf or inner node) whose model to use. Needs pretrained or a model from "
        "train --tree. By default, for your own tree, the inner node that fits the sequences best.",
    )
    adapt: int = _of_prediction(
        0,
        min=0,
        metavar="ROUNDS",
        help="Adapt the model to the genome first, by self-training on the genes that it finds there. Stops "
        "after at most ROUNDS rounds; 20 is a good value. Use it for whole genomes of new organisms.",
    )
    meta: bool = _of_prediction(
        False,
        help="Treat each sequence as a contig of an unknown organism. Needs a metagenome model, such as "
        "pretrained.",
    )
    code: int | None = _of_prediction(
        None,
        help="NCBI number of the genetic code, for prokaryotic models. The default is the code of the "
        "model. With --adapt, --task or pretrained, but not with --meta, it is 4 if the sequences show "
        "that TGA is not a stop codon.",
    )
    hints: Path | None = option(
        None,
        panel="Prediction",
        help="File of evidence for genes with introns: splice junctions from RNA reads, or aligned proteins. "
        "Reads GFF from AUGUSTUS, ProtHint or miniprot, and SJ.out.tab from STAR. Used for prediction only, "
        "not for the self-training of --adapt.",
    )
    hint_weight: float = _of_prediction(
        6.0,
        min=0.0,
        max=1000.0,
        help="Log odds that the hint of an intron with ten or more reads adds to the score of genes that "
        "agree with it. 100 coding bases with this support add as much. Hints with less support add less.",
    )
    avoid: Path | None = option(
        None,
        panel="Prediction",
        help="File of regions where no genes are predicted: the RNA genes and repeats in a GFF file, or all "
        "regions in a BED file.",
    )
    closed: bool = _of_prediction(
        False,
        help="Predict only complete genes: none that continue beyond the end of a sequence or, with "
        "prokaryotic models, into a gap.",
    )
    output: str = output_option()
    format: Literal["gff3", "genbank", "tsv"] | None = option(
        None,
        panel="Output",
        help="Output format. genbank: the sequences with genes and proteins. tsv: a table with one line per "
        "gene. By default chosen by the file name extension of --output, or gff3.",
    )
    proteins: Path | None = option(None, panel="Output", help="Write the proteins to this FASTA file.")
    nucleotides: Path | None = option(
        None, panel="Output", help="Write the coding sequences to this FASTA file."
    )
    report: Path | None = option(
        None,
        panel="Output",
        help="Write a report to this .html file: tracks of the genes, a table of the genes with their "
        "scores, and a histogram of the scores.",
    )
    skip_bad: bool = option(
        False,
        panel="Running",
        help="Skip sequences that cannot be read, report each of them, and end with exit code 1.",
    )
    jobs: int = jobs_option()
    quiet: bool = quiet_option()
