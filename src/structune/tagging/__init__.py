"""Labels of sequences: words, letters, bases, days.

A linear-chain CRF, or its support vector machine: each token has named attributes, made by templates from
columns, and neighbouring labels have weights. Begin with `SequenceTagger`; on the command line with
``structune train``, ``tune``, ``predict``.

- ``tagger``: the estimator; ``segment_tagger``: a semi-Markov CRF, which labels whole segments
- ``label_predictions``: marginals and most probable outputs, which both have
- ``crfsuite``: model files of CRFsuite
- ``structure/``: the chain, its shards, its answers; ``kernels/``: its recursions
- ``features/``: attribute tables, templates
- ``conll``: column files, and as models see them; ``column_look``: what their first lines tell
- ``metrics``: scores of tokens and segments; ``scores``: how commands and pages show them
- ``task``, ``options``: the command line
- ``data/``: CoNLL-2000, and simulated sequences
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
