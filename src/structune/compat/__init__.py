"""Drop-in replacements for other libraries: change the import, and a program runs with structune.

For sklearn-crfsuite: ``from structune.compat import CRF, metrics, scorers``. For python-crfsuite:
``from structune.compat import pycrfsuite``.

- ``crf``: the estimator; ``tagger``: a fitted model with the methods of python-crfsuite's ``Tagger``
- ``pycrfsuite``: the module of python-crfsuite, with its trainer
- ``metrics``, ``scorers``, ``utils``: scores of labels, per token and per sequence; lists in one
- ``weights``: tables of weights, as eli5 shows them
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
