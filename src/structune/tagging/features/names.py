"""Distinct strings and their numbers, many strings at a time: dicts took most of the time of reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structune.tagging.features.strings import Strings
from structune.tagging.kernels import names as kernels

_AT_A_TIME = 1 << 14  # strings whose bytes the caches hold
Numbers = NDArray[np.int32]


class Names:
    """Distinct strings, numbered in the order in which they are first met.

    Attributes
    ----------
    strings : sequence of str
    """

    def __init__(self) -> None:
        self.strings: Any = []
        self._seed = np.uint64(int.from_bytes(os.urandom(8)))  # so that nobody can make strings that collide
        self._slots, self._records = np.zeros(2, np.uint64), np.zeros(1, np.uint64)
        self._used = 1  # words of records; place 0 stands for none

    @classmethod
    def of(cls, strings: Sequence[str]) -> Self:
        """The names of a list, which is kept as it is."""
        names = cls()
        for first in range(0, len(strings), _AT_A_TIME):
            some = strings[first : first + _AT_A_TIME]
            names.enter(Strings.of(some), some.__getitem__)
        names.strings = strings
        return names

    def __len__(self) -> int:
        return len(self.strings)

    def find(self, strings: Strings) -> Numbers:
        """The number of each, -1 for those that are not here."""
        return self._number(strings, np.empty(0, np.int32))[0]

    def enter(self, strings: Strings, name_of: Callable[[int], str]) -> Numbers:
        """The number of each; those that are not here are entered, as ``name_of(i)`` has them."""
        self._make_room(strings)
        new = np.empty(len(strings), np.int32)
        numbers, n = self._number(strings, new)
        self.strings += map(name_of, new[: n - len(self)].tolist())
        return numbers

    def _number(self, strings: Strings, new: Numbers) -> tuple[Numbers, int]:
        out = np.empty(len(strings), np.int32)
        self._used, n = kernels.number(
            strings.buffer, strings.starts, strings.ends, self._seed, self._slots, self._records,
            self._used, len(self), out, new,
        )  # fmt: skip
        return out, n

    def _make_room(self, strings: Strings) -> None:
        n_bytes = int((strings.ends - strings.starts).sum())
        n, words = len(self) + len(strings), self._used + 2 * len(strings) + n_bytes // 8
        if words > self._records.size:
            records = np.empty(2 * words, np.uint64)
            records[: self._used] = self._records[: self._used]
            self._records = records
        if 2 * n > self._slots.size:
            self._slots = np.zeros(1 << (2 * n).bit_length(), np.uint64)
            kernels.fill_slots(self._seed, self._slots, self._records, self._used)
