"""Columns of strings as codes of their distinct values: work is done once a value, not once a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.tagging.features.strings import Strings

Codes = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Categorical:
    """One string a token, or none.

    Attributes
    ----------
    codes : ndarray of int, shape (n_tokens,)
        Indices into `categories`; -1 where a token has no value.
    categories : Strings
        The distinct strings; some may occur at no token until `compact` is called.
    """

    codes: Codes
    categories: Strings

    @classmethod
    def from_values(cls, values: Sequence[str]) -> Categorical:
        """The categories in the order in which they are first met."""
        position = _positions(values)
        codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
        return cls(codes, Strings.of(list(position)))

    def map(self, function: Callable[[str], str | None]) -> Categorical:
        """Each category replaced by its image: equal images become one category, None becomes no value."""
        images = list(map(function, self.categories))
        position = _positions([image for image in images if image is not None])
        table = [-1 if image is None else position[image] for image in images]
        codes = _look_up(np.array(table, dtype=np.int32), self.codes)
        return Categorical(codes, Strings.of(list(position)))

    def take(self, rows: Codes) -> Categorical:
        """The values at the given rows, none at row -1."""
        return Categorical(_look_up(self.codes, rows), self.categories)

    def compact(self) -> Categorical:
        """Only the categories that occur."""
        found, codes = _densify(self.codes, len(self.categories))
        return Categorical(codes, self.categories.take(found))

    def join(self, other: Categorical, separator: str) -> Categorical:
        """Both strings, where a token has both; compact, but two categories may read the same."""
        radix = max(len(other.categories), 1)
        absent = (self.codes < 0) | (other.codes < 0)
        # No overflow: each factor is at most the number of tokens, and tokens are fewer than 2^31.
        pairs = np.where(absent, -1, self.codes.astype(np.int64) * radix + other.codes)
        found, codes = _densify(pairs, len(self.categories) * radix)
        left, right = np.divmod(found, radix)
        return Categorical(codes, Strings.joined(self.categories, left, separator, other.categories, right))


def _positions(values: Sequence[str]) -> dict[str, int]:
    return {value: code for code, value in enumerate(dict.fromkeys(values))}


def _look_up(table: Codes, codes: Codes) -> Codes:
    """``table[codes]``, with -1 where the code is -1."""
    return np.append(table, table.dtype.type(-1))[codes]


def _densify(codes: Codes, size: int) -> tuple[Codes, Codes]:
    """The codes that occur, ascending, and each code's position among them; -1 stays -1."""
    if size > 16 * codes.size:  # a table would be mostly empty: sort instead
        found, ranks = np.unique(codes, return_inverse=True)
        n_missing = int(np.count_nonzero(found[:1] < 0))
        return found[n_missing:], ranks - n_missing
    occurs = np.zeros(size, dtype=bool)
    occurs[codes[codes >= 0]] = True
    found = np.flatnonzero(occurs)
    table = np.full(size, -1, dtype=np.int32)
    table[found] = np.arange(found.size)
    return found, _look_up(table, codes)
