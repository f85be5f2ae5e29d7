"""Sequences with genes of known structure, easy enough to be learned from a few."""

from __future__ import annotations

import numpy as np

from structune.genes.formats.record import AnnotatedSequence, Transcript

CODONS = ["GCC", "GAG", "CTG", "AAG", "GGC", "ATC", "GTG", "CAG"]  # coding sequences are rich in G and C
LETTERS = {"between": [0.4, 0.1, 0.1, 0.4], "intron": [0.2, 0.15, 0.05, 0.6]}
COMPLEMENT = str.maketrans("ACGTacgt", "TGCAtgca")


def flip(text):
    return text.translate(COMPLEMENT)[::-1]


def letters(rng, n, kind="between"):
    return "".join(rng.choice(list("ACGT"), n, p=LETTERS[kind]))


def gene(rng, n_introns, whole=3, codons=CODONS):
    """The bases of a gene, and its coding parts; no introns within so many bases of its ends."""
    n_codons = int(rng.integers(20, 40))
    coding = "ATG" + "".join(rng.choice(codons, n_codons)) + rng.choice(["TAA", "TAG", "TGA"])
    cuts = sorted(rng.choice(np.arange(whole, len(coding) - whole + 1), n_introns, replace=False).tolist())
    text, parts = "", []
    for a, b in zip([0, *cuts], [*cuts, len(coding)], strict=True):
        if text:
            text += "GTAAGT" + letters(rng, int(rng.integers(20, 40)), "intron") + "TTTTCAG"
        parts.append((len(text), len(text) + b - a))
        text += coding[a:b]
    return text, tuple(parts)


def annotated(rng, name="c", n_genes=3, strands="+-", most_introns=2, whole=3, codons=CODONS):
    """A sequence with genes, alternately on the strands."""
    text, found = letters(rng, 50), []
    for k in range(1, n_genes + 1):
        bases, parts = gene(rng, int(rng.integers(most_introns + 1)), whole, codons)
        strand, n = strands[k % len(strands)], len(bases)
        if strand == "-":
            bases, parts = flip(bases), tuple((n - b, n - a) for a, b in reversed(parts))
        exons = tuple((len(text) + a, len(text) + b) for a, b in parts)
        found.append(Transcript(name, strand, exons, f"{name}.t{k}", f"{name}.{k}"))
        text += bases + letters(rng, int(rng.integers(30, 80)))
    return AnnotatedSequence(name, text, tuple(found))


def genome(seed, n_contigs=6, **options):
    rng = np.random.default_rng(seed)
    return [annotated(rng, f"c{k}", **options) for k in range(n_contigs)]


def exons(genes):
    """What two annotations must have in common to be the same."""
    return [(t.strand, t.exons) for t in genes]
