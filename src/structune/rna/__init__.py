"""Secondary structures of RNA.

Nested pairs of bases, scored by CONTRAfold's features or more, with exact sums over all structures. Begin
with ``RNAFolder.pretrained().predict(sequences)``, or `RNAFolder` to learn one of your own; on the command
line with ``structune fold``.

- ``folder``: the estimator, its ``defaults``; ``inputs``: what it is given, and what of that can be learned
  from
- ``structure/``: the model, its shards, its answers; ``kernels/``: its recursions
- ``formats/``: files of sequences and structures, alignments, parameters
- ``consensus``: one structure for aligned sequences
- ``probing``: reactivities as log odds of bases to be paired; ``energies`` of structures, from files;
  ``distilling``: a folder from these, or from another teacher
- ``metrics``: base pairs found, and what a model says of structures; ``plots``
- ``data``: sets of known structures; ``task``, ``options``, ``fold_commands``, ``examples``, ``scores``: the
  command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
