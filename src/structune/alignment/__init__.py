"""Alignments of proteins, two by two and of whole families.

A conditional log-linear model of matches and gaps, with the probability of every match. Begin with
``SequenceAligner.pretrained().predict(pairs)`` or ``.align(family)``, or `SequenceAligner` to learn one of
your own; on the command line with ``structune align``.

- ``aligner``: the estimator
- ``structure/``: the model, its shards, its answers; ``kernels/``: its recursions
- ``multiple``: alignments of families, from those of two
- ``formats``: FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP, MSF; ``data``: reference alignments
- ``metrics``: matches found; ``plots``: probabilities of matches, guide trees; ``report``: pages
- ``task``, ``options``, ``align``, ``examples``, ``scores``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
