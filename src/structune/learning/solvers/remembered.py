"""Functions that know their last values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from structune.structure import FloatArray

T = TypeVar("T")
_MOST = 3  # iterates: rounds begin and end at known ones


class Remembered(Generic[T]):
    """A function of w that knows its last values, for rounds begin and end at known points."""

    def __init__(self, function: Callable[[FloatArray], T]) -> None:
        self._function = function
        self._known: deque[tuple[FloatArray, T]] = deque(maxlen=_MOST)
        self.n = 0

    def __call__(self, w: FloatArray) -> T:
        for at, value in self._known:
            if np.array_equal(at, w):
                return value
        value = self._function(w)
        self._known.append((w, value))
        self.n += 1
        return value
