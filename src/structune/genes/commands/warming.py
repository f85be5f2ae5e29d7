"""What `structune warm` does for genes."""

from __future__ import annotations

from structune.genes.adaptation import adapt
from structune.genes.eukaryotes.gene_finder import GeneFinder
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

_BETWEEN, _INTRON = "ATTAAATCATTT" * 5, f"GTAAGT{'ATTCT' * 6}TTTTCAG"
_CODING = f"ATG{'GCCGAGCTGAAGGGC' * 7}TAA"
_FLIPPED = str.maketrans("ACGT", "TGCA")


def run() -> None:
    """Learn as commands do if nothing else is asked for, and find genes with introns."""
    known = [_annotated(2, _INTRON), _annotated(2, _INTRON)]
    for tuning in (None, "implicit"):
        GeneFinder(tuning=tuning, n_jobs=1).fit(known).predict(known)


def run_prokaryotic() -> None:
    """The same without introns, and with the model that comes with structune."""
    known = [_annotated(12), _annotated(12)]
    for tuning in (None, "implicit"):
        ProkaryoticGeneFinder(tuning=tuning, n_jobs=1).fit(known)
    adapt(MetagenomeFinder.pretrained(known).set_params(n_jobs=1), known, 1).predict(known)


def _annotated(n_genes: int, intron: str = "") -> AnnotatedSequence:
    """Genes on both strands, each with an intron."""
    text, found, half = _BETWEEN, list[Transcript](), len(_CODING) // 2
    gene = f"{_CODING[:half]}{intron}{_CODING[half:]}"
    for k in range(n_genes):
        start, end, strand = len(text), len(text) + len(gene), "+-"[k % 2]
        cuts = (half, half + len(intron)) if strand == "+" else (len(_CODING) - half, len(gene) - half)
        exons = (start, start + cuts[0]), (start + cuts[1], end)
        text += (gene if strand == "+" else gene.translate(_FLIPPED)[::-1]) + _BETWEEN
        found.append(Transcript("c", strand, exons if intron else ((start, end),), f"t{k}", f"g{k}"))
    return AnnotatedSequence("c", text, tuple(found))
