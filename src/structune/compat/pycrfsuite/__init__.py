"""The module ``pycrfsuite`` of python-crfsuite, on `SequenceTagger`.

``from structune.compat import pycrfsuite`` replaces ``import pycrfsuite``. A program that is not changed::

    import sys
    from structune.compat import pycrfsuite

    sys.modules["pycrfsuite"] = pycrfsuite

`Tagger` opens models of CRFsuite and of structune. `Trainer` writes structune's format, or CRFsuite's.
"""

from structune.compat.pycrfsuite.trainer import (
    CRFSUITE_VERSION,
    BaseTrainer,
    CRFSuiteError,
    Trainer,
)
from structune.compat.tagger import ItemSequence, Tagger

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
