"""Label sequences: words, residues, bases, events.

The models are linear-chain CRFs, or structured SVMs: each token has named attributes, which templates compute
from columns, and pairs of neighboring labels have weights. Start with `SequenceTagger` or ``structune tune``.

- ``tagger``: the estimator; ``segment_tagger``: a semi-Markov CRF, which labels whole segments
- ``token_weights``: weights of tokens and labels in the log loss
- ``label_predictions``: marginals and n best outputs, for both; ``crfsuite``: model files of CRFsuite
- ``confidence``: probabilities and their reliability; ``explain``: why a label; ``reviews``: wrong labels
- ``structure/``: chains and their shards; ``kernels/``: their recursions
- ``features/``: attribute tables, templates
- ``conll``: reading and writing column files; ``column_look``: detection of their format
- ``annotated``: texts with spans of characters, or tagged fields; ``schemes``: conversion to BIO and BIOES
- ``metrics``: scores of tokens and segments; ``scores``: their display in commands and reports
- ``task``, ``options``: the command line; ``report``: pages of predictions
- ``data/``: CoNLL-2000, and simulated sequences
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
