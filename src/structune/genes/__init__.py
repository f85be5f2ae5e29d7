"""Finding protein-coding genes in genomes.

`GeneFinder` finds genes with introns, by a graph of exons (``eukaryotes/``). `ProkaryoticGeneFinder` and
`MetagenomeFinder` find genes without introns, by a graph of candidates (``prokaryotes/``). `adapt` trains on
genomes without annotation. On the command line begin with ``structune genes``.

- ``formats/``: GenBank, GFF3, GTF, DNA, hints; records of genes, checks and writers
- ``metrics``: accuracy of predicted genes; ``plots``: tracks of genes
- ``examples``, ``inputs``, ``adaptation``, ``nucleotides``, ``kernels/``: what both models do with sequences
- ``data``: genomes with known genes
- ``task``, ``options``, ``finding``, ``scores``, ``report``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
