"""Genomes of genes without introns, easy enough to be learned from a few."""

from __future__ import annotations

import numpy as np

from simulated_genes import CODONS, flip, letters
from structune.genes.formats.record import AnnotatedSequence, Transcript

_STARTS, _STOPS = ("ATG", "GTG", "TTG"), ("TAA", "TAG", "TGA")


def gene(rng, codons):
    """The bases of a gene."""
    codons = rng.choice(codons, int(rng.integers(40, 80)))
    return rng.choice(_STARTS, p=[0.8, 0.15, 0.05]) + "".join(codons) + rng.choice(_STOPS)


def annotated(rng, name="c", n_genes=8, codons=CODONS):
    """A sequence with genes on both strands, each behind a ribosome-binding site."""
    text, found = letters(rng, 50), []
    for k in range(1, n_genes + 1):
        strand, bases, site = str(rng.choice(["+", "-"])), gene(rng, codons), "AGGAGG" + letters(rng, 7)
        if strand == "+":
            text += site
        start = len(text)
        text += bases if strand == "+" else flip(bases) + flip(site)
        found.append(Transcript(name, strand, ((start, start + len(bases)),), f"{name}.t{k}", f"{name}.{k}"))
        text += letters(rng, int(rng.integers(20, 80)))
    return AnnotatedSequence(name, text, tuple(found))


def genome(seed, n_contigs=4, **options):
    rng = np.random.default_rng(seed)
    return [annotated(rng, f"c{k}", **options) for k in range(n_contigs)]
