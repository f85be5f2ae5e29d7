"""Secondary structures of RNA.

The models score nested base pairs with CONTRAfold's features or an extended set, and sum exactly over all
structures. Start with ``RNAFolder.pretrained().predict(sequences)``, or train your own `RNAFolder`; on the
command line, use ``structune fold``.

- ``folder``: the estimator, with its ``defaults``; ``inputs``: checks of its inputs and training structures
- ``structure/``: the model, its shards and its predictions; ``kernels/``: its recursions
- ``formats/``: files of sequences and structures, alignments, parameters
- ``consensus``: one structure for aligned sequences
- ``probing``: log odds of bases to be paired from reactivities; ``energies`` of structures (Turner 2004);
  ``distilling``: a folder trained on these or another teacher
- ``metrics``: accuracy of base pairs, and a model's judgement of structures; ``plots``
- ``data``: data sets of known structures; ``task``, ``options``, ``fold_commands``,
  ``energy_commands``, ``folded``, ``fold_report``, ``examples``, ``scores``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
