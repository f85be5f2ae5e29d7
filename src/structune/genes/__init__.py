"""Protein-coding genes of a genome.

Two models: `GeneFinder` for genes with introns, a graph of exons (``eukaryotes/``), and
`ProkaryoticGeneFinder` for those without, a graph of candidates (``prokaryotes/``), with trees of organisms.
`adapt` learns from genomes that nobody annotated. On the command line begin with ``structune genes``.

- ``formats/``: GenBank, GFF3, GTF, DNA, hints; records of genes, checks and writers
- ``metrics``: genes found; ``plots``: tracks of genes
- ``examples``, ``inputs``, ``adaptation``, ``nucleotides``, ``kernels/``: what both models do with sequences
- ``data``: genomes with known genes
- ``task``, ``options``, ``finding``, ``scores``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
