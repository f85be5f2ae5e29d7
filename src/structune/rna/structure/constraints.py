"""What is known of an RNA structure beforehand: pairs that must or cannot be, and scores of single bases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.rna.kernels.sums import row
from structune.rna.structure.space import check_notation, nested_pairs, offences, partners_of
from structune.structure import Array, FloatArray

# beside it every score is small, and the digits that it leaves to them are enough: 1e-9 with ten forced pairs
FORCED = 1e6
NOTATION = ".x|<>()"
_MOST_SCORE = 1000.0  # of a base: small beside FORCED


@dataclass(frozen=True)
class Constraints:
    """Constraints on the structure of one sequence of n bases.

    Parameters
    ----------
    notation : str, length n or 0
        A character a base: ``.`` free, ``x`` unpaired, ``|`` paired, ``<`` paired with a base to its right,
        ``>`` paired with one to its left, ``(`` and ``)`` paired with each other.
    prohibited : sequence of (i, j)
        Bases, from 0, that do not pair with each other, in either order.
    paired : array-like, shape (n,), optional
        Score of each base for being paired, whatever its partner, beside that of being unpaired: a log odds,
        such as probing experiments give, within +-1000. Positive numbers favour pairs.
    """

    notation: str = ""
    prohibited: Sequence[tuple[int, int]] = ()
    paired: Any = None

    def pair_scores(self, n: int) -> FloatArray:
        """What they add to the score of every pair, triangular: -inf for one that cannot be."""
        base = self._base_scores(n)
        scores = np.concatenate([np.empty(0), *(base[i] + base[i:] for i in range(n))])
        for i, character in enumerate(self.notation):
            if character == ">":
                scores[row(i, n) + i : row(i, n) + n] = -np.inf
            if character == "<":
                scores[[row(k, n) + i for k in range(i)]] = -np.inf
        for i, j in self._forced():
            scores[row(i, n) + j] += FORCED
        for pair in self.prohibited:
            i, j = sorted(pair) if len(pair) == 2 else (-1, -1)
            if not (isinstance(i + j, Integral) and 0 <= i < j < n):
                raise DataError(f"found the prohibited pair {pair}, expected two of {n} bases")
            scores[row(i, n) + j] = -np.inf
        return scores

    def check(self, letters: Array, allowed: Array, min_hairpin: int) -> None:
        """Refuse forced pairs that a model cannot produce."""
        partner = partners_of(self._forced(), letters.size)
        for i, j, reason, in_long_loop in offences(letters, partner, allowed, min_hairpin):
            if not in_long_loop:  # there may be other pairs in it
                raise DataError(f"the bases {i} and {j} (from 0) are to pair: found {reason}")

    @property
    def forced(self) -> float:
        """Score of all that must be."""
        return FORCED * sum(1.0 for character in self.notation if character in "|<>(")

    def _base_scores(self, n: int) -> FloatArray:
        if self.notation and len(self.notation) != n:
            raise DataError(f"found constraints of length {len(self.notation)} for {n} bases")
        given = np.zeros(n) if self.paired is None else np.array(self.paired, np.float64)
        if given.shape != (n,) or not np.all(np.abs(given) <= _MOST_SCORE):
            raise DataError(
                f"found scores of shape {given.shape} for {n} bases, expected one each within +-{_MOST_SCORE}"
                " ('x' in the notation keeps a base unpaired, '|' paired)"
            )
        check_notation(self.notation, NOTATION, "constraint")
        for i, character in enumerate(self.notation):
            given[i] += {"x": -np.inf, "|": FORCED, "<": FORCED, ">": FORCED}.get(character, 0.0)
        return given

    def _forced(self) -> list[tuple[int, int]]:
        return nested_pairs(self.notation, "constraint")


def as_constraints(given: Constraints | str | None) -> Constraints | None:
    """Constraints, from themselves or from their notation."""
    if given is not None and not isinstance(given, Constraints | str):
        raise DataError(f"found constraints of type {type(given).__name__}, expected a str or Constraints")
    return Constraints(given) if isinstance(given, str) else given
