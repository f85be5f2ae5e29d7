"""Many strings in one buffer, as kernels read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structune.structure import IntArray
from structune.tagging.kernels.names import concatenate

BEYOND = 8  # bytes that kernels read beyond a string
_ERRORS = "surrogatepass"  # any str can be an attribute


class Strings(Sequence[str]):
    """Strings as UTF-8, decoded when they are asked for; string i is ``buffer[starts[i]:ends[i]]``."""

    def __init__(self, buffer: NDArray[np.uint8], starts: IntArray, ends: IntArray) -> None:
        self.buffer, self.starts, self.ends = buffer, starts, ends

    @classmethod
    def of(cls, strings: Sequence[str]) -> Self:
        """A byte of 0 after each; `TypeError` if one is no string."""
        if isinstance(strings, cls):
            return strings
        joined = "\0".join([*strings, "\0" * BEYOND])
        buffer = np.frombuffer(bytearray(joined.encode(errors=_ERRORS)), np.uint8)
        ends = (buffer == 0).nonzero()[0]
        if ends.size == len(strings) + BEYOND:
            ends = ends[: len(strings)]
        else:  # a string with a 0 in it
            ends = np.cumsum([len(string.encode(errors=_ERRORS)) + 1 for string in strings]) - 1
        starts = np.zeros_like(ends)
        np.add(ends[:-1], 1, out=starts[1:])
        found = cls(buffer, starts, ends)
        found._decoded = strings
        return found

    @classmethod
    def of_pairs(cls, keys: Sequence[str], texts: Sequence[str], has_text: NDArray[np.bool_]) -> Self:
        """``key=text``, or the key alone where it has none, and an empty text stands for it."""
        pieces = [""] * (2 * len(keys))
        pieces[::2], pieces[1::2] = keys, texts
        both = cls.of(pieces)
        key_ends, text_ends = both.ends[::2], both.ends[1::2]
        both.buffer[key_ends[has_text]] = ord("=")
        return cls(both.buffer, both.starts[::2].copy(), np.where(has_text, text_ends, key_ends))

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
        middle = np.frombuffer(separator.encode(errors=_ERRORS), np.uint8).copy()
        sizes = (left.ends - left.starts)[a] + middle.size + (right.ends - right.starts)[b]
        ends = np.cumsum(sizes + 1) - 1
        buffer = np.zeros(int(ends[-1]) + BEYOND if ends.size else BEYOND, np.uint8)
        concatenate(
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
