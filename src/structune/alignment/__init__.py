"""Alignment of pairs and of whole families of proteins, DNA or RNA.

The conditional log-linear model of matches and gaps gives the probability of every match. Start with
``SequenceAligner.pretrained().predict(pairs)`` or ``.align(family)``; train your own model by
``SequenceAligner().fit``. On the command line, start with ``structune align``.

- ``aligner``: the estimator
- ``structure/``: the structured model, its shards and inference; ``kernels/``: its recursions
- ``multiple``: alignments of families, made from match probabilities of pairs
- ``formats``: FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP, MSF; ``data``: reference alignments
- ``metrics``: recall and precision; ``plots``: match probabilities, guide trees; ``report``: report pages
- ``task``, ``options``, ``align``, ``examples``, ``scores``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
