"""Many strings at a time: in one buffer, as kernels read them; numbered; and as columns of categories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structune.structure import IntArray
from structune.tagging.kernels import text as kernels

BEYOND = 8  # bytes that kernels read beyond a string
_ERRORS = "surrogatepass"  # any str can be an attribute
_AT_A_TIME = 1 << 14  # strings whose bytes the caches hold
Numbers = NDArray[np.int32]
Codes = NDArray[np.signedinteger[Any]]


class Strings(Sequence[str]):
    """Strings as UTF-8, decoded when they are asked for; string i is ``buffer[starts[i]:ends[i]]``."""

    def __init__(self, buffer: NDArray[np.uint8], starts: IntArray, ends: IntArray) -> None:
        self.buffer, self.starts, self.ends = buffer, starts, ends

    @classmethod
    def of(cls, strings: Sequence[str]) -> Self:
        """A byte of 0 before each and after the last; `TypeError` if one is no string."""
        if isinstance(strings, cls):
            return strings
        # Bytes of 0 between strings are found in one search. UTF-8 has a byte of 0 in the character 0 alone.
        joined = "\0".join(["", *strings, "\0" * BEYOND])
        buffer = np.frombuffer(bytearray(joined.encode(errors=_ERRORS)), np.uint8)
        marks = (buffer == 0).nonzero()[0]
        if marks.size == len(strings) + 1 + BEYOND:
            marks = marks[: len(strings) + 1]
        else:  # a string with a 0 in it
            marks = np.cumsum([0, *(len(string.encode(errors=_ERRORS)) + 1 for string in strings)])
        found = cls(buffer, marks[:-1] + 1, marks[1:])
        found._decoded = strings
        return found

    @classmethod
    def chained(cls, parts: Sequence[Strings]) -> Self:
        """The strings of all parts, one after the other."""
        parts = [cls.of([]), *parts]
        shifts = np.cumsum([0, *(part.buffer.size for part in parts)])
        pairs = list(zip(parts, shifts.tolist(), strict=False))
        return cls(
            np.concatenate([part.buffer for part in parts]),
            np.concatenate([part.starts + shift for part, shift in pairs]),
            np.concatenate([part.ends + shift for part, shift in pairs]),
        )

    @classmethod
    def joined(cls, left: Strings, a: IntArray, separator: str, right: Strings, b: IntArray) -> Self:
        """``left[a[i]] + separator + right[b[i]]`` for all i."""
        # A byte of 0 after each.
        middle = np.frombuffer(separator.encode(errors=_ERRORS), np.uint8).copy()
        sizes = (left.ends - left.starts)[a] + middle.size + (right.ends - right.starts)[b]
        ends = np.cumsum(sizes + 1) - 1
        buffer = np.zeros(int(ends[-1]) + BEYOND if ends.size else BEYOND, np.uint8)
        kernels.concatenate(
            left.buffer, left.starts, left.ends, a, middle, right.buffer, right.starts, right.ends, b,
            buffer, ends - sizes,
        )  # fmt: skip
        return cls(buffer, ends - sizes, ends)

    @cached_property
    def _decoded(self) -> Sequence[str]:
        whole = self.buffer.tobytes()
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [whole[a:b].decode(errors=_ERRORS) for a, b in bounds]

    def take(self, chosen: IntArray) -> Strings:
        """The chosen strings, in the same buffer."""
        return Strings(self.buffer, self.starts[chosen], self.ends[chosen])

    def __len__(self) -> int:
        return self.ends.size

    def __getitem__(self, i: Any) -> Any:
        return self._decoded[i]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._decoded == list(other)

    __hash__ = None  # type: ignore[assignment]


class Names:
    """Distinct `strings`, numbered in the order in which they are first met."""

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
            names.enter(Strings.of(strings[first : first + _AT_A_TIME]))
        names.strings = strings
        return names

    def __len__(self) -> int:
        return len(self.strings)

    def find(self, strings: Strings) -> Numbers:
        """The number of each, -1 for those that are not here."""
        return self._number(strings, np.empty(0, np.int32))[0]

    def enter(self, strings: Strings) -> Numbers:
        """The number of each; those that are not here are entered."""
        # A record is one word and the string's bytes, at most so many words; at most half
        # of the slots are kept full.
        n_bytes = int((strings.ends - strings.starts).sum())
        n, words = len(self) + len(strings), self._used + 2 * len(strings) + n_bytes // 8
        if words > self._records.size:
            records = np.empty(2 * words, np.uint64)
            records[: self._used] = self._records[: self._used]
            self._records = records
        if 2 * n > self._slots.size:
            self._slots = np.zeros(1 << (2 * n).bit_length(), np.uint64)
            kernels.fill_slots(self._seed, self._slots, self._records, self._used)
        new = np.empty(len(strings), np.int32)
        numbers, n = self._number(strings, new)
        self.strings += map(strings.__getitem__, new[: n - len(self)].tolist())
        return numbers

    def _number(self, strings: Strings, new: Numbers) -> tuple[Numbers, int]:
        out = np.empty(len(strings), np.int32)
        self._used, n = kernels.number(
            strings.buffer, strings.starts, strings.ends, self._seed, self._slots, self._records,
            self._used, len(self), out, new,
        )  # fmt: skip
        return out, n


@dataclass(frozen=True)
class Categorical:
    """One string a token, or none."""

    codes: Codes  # indices into `categories`, (n_tokens,); -1 where a token has no value
    categories: Strings  # distinct; some may occur at no token until `compact` is called

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
        # Lookups by code are cheap as long as codes are small and dense.
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
