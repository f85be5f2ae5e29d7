"""Genes with introns on contigs of several lengths: whole genes only, or parts of genes at ends as well.

    python benchmarks/cut_genes.py            three organisms: five minutes
    python benchmarks/cut_genes.py --quick    40 windows of the fly, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). A model learns from the
windows of the fly that are given for training, or from every second chromosome of A. thaliana and C. elegans.
The other sequences are cut at random into contigs, from half to one and a half times as long as the table
says. "whole genes" is ``GeneFinder(closed=True)``, "parts" is the default. Known exons are cut where the
contig ends, and an exon is right by both ends. Predictions of the fly count within 200 bases of a known gene:
others lie there that are not annotated. How likely the default finds an end at the end of a contig
(``_LIKELY``) was chosen on the same organisms, on the fly by one half of its training windows for the other.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator
from typing import Any

from common import asked_to_be_quick, keep
from structune import GeneFinder
from structune.genes import AnnotatedSequence, Transcript, gene_regions, gene_scores, load_genes

NAME = "cut_genes"
SIZES = (None, 20_000, 10_000, 5_000)
SHORTEST = 500
MARGIN = 200


def learned_from_and_left(name: str, quick: bool) -> tuple[list[AnnotatedSequence], list[AnnotatedSequence]]:
    """Sequences to learn from, and others."""
    if name == "fly":
        n = 40 if quick else None
        return load_genes("fly_train")[:n], load_genes("fly_test")[:n]
    chromosomes = [x for x in load_genes(name) if len(x.sequence) > 10_000]
    return chromosomes[::2], chromosomes[1::2]


def contigs(sequences: list[AnnotatedSequence], size: int | None) -> Iterator[AnnotatedSequence]:
    """Pieces of sequences, with the parts of genes that lie on them."""
    rng = random.Random(0)
    for whole in sequences:
        start, n = 0, len(whole.sequence)
        while start < n:
            end = n if size is None else min(n, start + int(rng.uniform(0.5, 1.5) * size))
            if end - start >= SHORTEST:
                name = f"{whole.name}:{start}"
                parts = tuple(p for t in whole.transcripts if (p := part(t, name, start, end)))
                yield AnnotatedSequence(name, whole.sequence[start:end], parts)
            start = end


def part(t: Transcript, contig: str, start: int, end: int) -> Transcript | None:
    """What of a transcript lies between two places."""
    exons = tuple((max(a, start) - start, min(b, end) - start) for a, b in t.exons if a < end and b > start)
    return Transcript(contig, t.strand, exons, t.name, t.gene) if exons else None


def compared(name: str, quick: bool) -> dict[str, Any]:
    """Both ways on one organism, by the length of contigs."""
    train, test = learned_from_and_left(name, quick)
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder = GeneFinder(tuning=None, n_jobs=1).fit(train)
    for size in SIZES:
        pieces = list(contigs(test, size))
        known = {x.name: list(x.transcripts) for x in pieces}
        regions = gene_regions(known, MARGIN) if name == "fly" else None
        for way, closed in (("whole genes", True), ("parts", False)):
            start = time.process_time()
            predicted = finder.set_params(closed=closed).predict(pieces)
            seconds = time.process_time() - start
            genes = {x.name: list(of) for x, of in zip(pieces, predicted, strict=True)}
            scores = gene_scores(known, genes, regions)
            row = {level: scores.pooled(level)._asdict() for level in ("nucleotide", "exon", "gene")}
            partial = sum(any(t.partial) for of in predicted for t in of)
            found.setdefault(str(size or "uncut"), {})[way] = {**row, "partial": partial, "seconds": seconds}
            print(
                f"{name:12} {size or 'uncut':>6} {way:12}",
                f"exons {scores.exon.f1:.3f} genes {scores.gene.f1:.3f} {partial} partial",
                flush=True,
            )
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    organisms = ("fly",) if quick else ("fly", "a_thaliana", "c_elegans")
    keep(NAME, quick, {name: compared(name, quick) for name in organisms})


if __name__ == "__main__":
    main()
