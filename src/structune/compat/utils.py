"""A helper with the name of sklearn-crfsuite's."""

from itertools import chain
from typing import Any


def flatten(y: Any) -> list[Any]:
    """Return the items of all sequences in one list."""
    return list(chain.from_iterable(y))
