"""A pytest plugin: the tests of python-crfsuite, sklearn-crfsuite and programs that use them, on structune.

Use it with a copy of their repository::

    PYTHONPATH=tests/compat python -m pytest -p in_place_of_peers PATH/tests
"""

import importlib
import sys
import types

from structune import compat
from structune.compat import pycrfsuite

sys.modules["pycrfsuite"] = pycrfsuite
sys.modules["pycrfsuite._logparser"] = importlib.import_module("structune.compat.pycrfsuite._logparser")
sklearn_crfsuite = types.ModuleType("sklearn_crfsuite")
sklearn_crfsuite.CRF, sklearn_crfsuite.__path__ = compat.CRF, []
for name in ("metrics", "scorers"):
    module = importlib.import_module(f"structune.compat.{name}")
    setattr(sklearn_crfsuite, name, module)
    sys.modules[f"sklearn_crfsuite.{name}"] = module
sys.modules["sklearn_crfsuite"] = sklearn_crfsuite
