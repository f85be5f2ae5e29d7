"""Sequences and structures as folders get them, and structures as they give them back."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.inputs import as_list
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.shard import Output
from structune.rna.structure.space import dot_bracket
from structune.structure import Array, IntArray

_NO_BASE = re.compile(r"[^ACGU&]")
_DECODINGS = ("mea", "centroid")


def checked_strings(X: Any, what: str) -> list[str]:
    return _checked(X, what, str, "a string")


def checked_outputs(y: Any) -> list[Output]:
    """Structures, and what is known of some."""
    return _checked(y, "structure", str | Constraints, "a string or Constraints")


def _checked(values: Any, what: str, kinds: Any, expected: str) -> list[Any]:
    found = as_list(values, f"{what}s")
    for s, value in enumerate(found):
        if not isinstance(value, kinds):
            raise DataError(f"{what} {s}: found {value!r}, expected {expected}")
    return found


def checked_number(n: Any, name: str = "n") -> int:
    """A number of at least one that kernels can hold."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise DataError(f"{name}={n!r}: expected a whole number of at least 1")
    return min(int(n), sys.maxsize)


def checked_gammas(gammas: Any) -> list[float]:
    given = gammas.item() if getattr(gammas, "ndim", 1) == 0 else gammas  # an array of one number
    return [checked_gamma(gamma) for gamma in as_list(given, "numbers, such as [4.0], for gamma")]


def checked_gamma(gamma: float, name: str = "gamma") -> float:
    return checked_within(gamma, name, sys.float_info.max, "a finite number >= 0")


def checked_threshold(threshold: Any) -> float:
    return checked_within(threshold, "threshold", 1.0, "a number within [0, 1]")


def checked_within(value: Any, name: str, most: float, expected: str) -> float:
    """A number from 0 to `most`."""
    number: Any = value
    if isinstance(value, bool) or not (isinstance(value, Real) and 0.0 <= number <= most):
        raise DataError(f"{name}={value!r}: expected {expected}")
    return float(value)


def checked_decoding(decoding: Any) -> str:
    if decoding not in _DECODINGS:
        raise DataError(f"decoding={decoding!r}: expected one of {_DECODINGS}")
    return str(decoding)


class Draws:
    """Generators of random numbers for sequences, one after the other.

    Each depends on the seed, on the bases of its sequence, and on how often the same bases came before, not
    on what other sequences there are.
    """

    def __init__(self, random_state: Any) -> None:
        self._key = np.random.default_rng(random_state).integers(1 << 32, size=4).tolist()
        self._seen: Counter[int] = Counter()

    def of(self, sequence: str) -> np.random.Generator:
        """The generator for this sequence, another each time."""
        # What counts is what the model sees: case, T or U, and which unknown letter do not matter.
        bases = _NO_BASE.sub("N", sequence.upper().replace("T", "U"))
        digest = int.from_bytes(blake2b(bases.encode(), digest_size=8).digest(), "little")
        self._seen[digest] += 1
        return np.random.default_rng([*self._key, digest, self._seen[digest]])


@dataclass(frozen=True)
class Structures:
    """Structures of one sequence, in dot-bracket notation when they are asked for: there may be millions."""

    partners: IntArray  # shape (n_structures, n_bases), -1 for none
    letters: Array

    def __len__(self) -> int:
        return len(self.partners)

    def __getitem__(self, k: int) -> str:
        return dot_bracket(self.partners[k], self.letters)

    def __iter__(self) -> Iterator[str]:
        return (dot_bracket(row, self.letters) for row in self.partners)
