"""The faces of other libraries, for programs that were written for them: change the import.

For sklearn-crfsuite: ``from structune.compat import CRF, metrics, scorers``.

- ``crf``: the estimator; ``tagger``: a fitted one as python-crfsuite's, and the tokens that it takes
- ``metrics``, ``scorers``: of labels, token by token and sequence by sequence
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
