"""What is known of an RNA structure beforehand: pairs that must or cannot be, and scores of single bases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.formats.brackets import STRANDS, check_cut
from structune.rna.kernels.loops import GAP
from structune.rna.kernels.sums import row
from structune.rna.structure.space import (
    Space,
    check_notation,
    n_cells,
    nested_pairs,
    nick_of,
    offences,
    partners_of,
    places,
    rows_of,
    strands_of,
)
from structune.structure import Array, FloatArray, IntArray

# A pair that must be is worth so much that the best structure has as many of these as there can be. Taken off
# again, rounding leaves an error of 1e7 * 2^-53 with ten of them, about 1e-9.
FORCED = 1e6
NOTATION = ".x|<>()"
_MOST_SCORE = 1000.0  # of a base: small beside FORCED
_OF_BASES = {  # as the left base of a pair, and as the right one
    "x": (-np.inf, -np.inf),
    "|": (FORCED, FORCED),
    "<": (FORCED, -np.inf),
    ">": (-np.inf, FORCED),
}


class PairScores(NamedTuple):
    """Scores of the pairs of a sequence beside their own."""

    bases: FloatArray  # shape (n, 2), of each base as the left one of its pair, and as the right one
    pairs: IntArray  # shape (n_pairs, 2), those that have more, or are not to be
    values: FloatArray

    @property
    def required(self) -> Array:
        """Of each base, whether it must pair, shape (n,)."""
        # FORCED / 2 stands between what must be (1e6) and all other scores, which add up to less.
        found = np.max(self.bases, axis=1, initial=0.0) > FORCED / 2
        found[self.pairs[self.values > FORCED / 2]] = True
        return np.asarray(found)

    def table(self, reach: int) -> FloatArray:
        """The scores of all pairs that are at most so far apart, a table of pairs."""
        (left, right), n = self.bases.T, len(self.bases)
        scores = np.empty(n_cells(n, reach) if n else 0)
        # score(i, j) = left[i] + right[j], row by row: -inf on either side forbids the pair.
        for i, of_row in enumerate(rows_of(scores, n, reach)):
            np.add(left[i], right[i : i + of_row.size], out=of_row)
        for (i, j), value in zip(self.pairs.tolist(), self.values.tolist(), strict=True):
            if j - i <= reach:
                scores[row(i, n, reach) + j] += value
        return scores


@dataclass(frozen=True)
class Constraints:
    """Constraints on the structure of one sequence of n bases, and log odds of its bases to be paired.

    Parameters
    ----------
    notation : str, length n or 0
        One character per base, and ``&`` between two strands: ``.`` free, ``x`` unpaired, ``|`` paired, ``<``
        paired with a base to its right, ``>`` with one to its left, ``(`` and ``)`` paired with each other.
    prohibited : sequence of (i, j)
        Pairs of bases that must not pair with each other, in either order. Bases are numbered from 0, through
        both strands.
    paired : array-like, shape (n,), optional
        Log odds of each base to be paired, with any partner, against unpaired, such as from probing. They are
        added to the scores of structures. Positive numbers favor pairs; allowed are -1000 to 1000.
    between : bool
        Whether to allow only pairs between two strands, none within a strand.
    """

    notation: str = ""
    prohibited: Sequence[tuple[int, int]] = ()
    paired: Any = None
    between: bool = False

    def scores(self, letters: Array) -> PairScores:
        """Return the scores that the constraints add to pairs of bases; -inf for a pair that they forbid."""
        forced, bases, prohibited = self._forced(), places(letters), list[IntArray]()
        for pair in self.prohibited:
            i, j = sorted(pair) if len(pair) == 2 else (-1, -1)
            if not (isinstance(i + j, Integral) and 0 <= i < j < bases.size):
                raise DataError(f"the prohibited pair {pair} must be two bases, from 0 to {bases.size - 1}")
            prohibited.append(bases[[i, j]])
        pairs = np.array([*forced, *prohibited], np.int64).reshape(-1, 2)
        values = [FORCED] * len(forced) + [-np.inf] * len(prohibited)
        return PairScores(self._base_scores(letters), pairs, np.array(values, float))

    def check(self, letters: Array, space: Space) -> None:
        """Raise `DataError` if `notation` requires a pair that the model cannot produce."""
        partner = partners_of(self._forced(), letters.size)
        for i, j, reason, in_long_loop in offences(letters, partner, space):
            if not in_long_loop:  # there may be other pairs in it
                raise DataError(f"bases {i} and {j} (from 0) are constrained to pair, but {reason}")

    @property
    def forced(self) -> float:
        """Score added to structures that satisfy `notation`: 1e6 for each ``|``, ``<``, ``>`` and pair."""
        return FORCED * sum(1.0 for character in self.notation if character in "|<>(")

    def _base_scores(self, letters: Array) -> FloatArray:
        notation, bases = self.notation.replace(STRANDS, GAP * "."), places(letters)
        if notation:
            check_cut(self.notation, *strands_of(letters), "constraints")
        check_notation(self.notation, NOTATION + STRANDS, "constraint")
        scores = np.zeros((letters.size, 2))
        n = bases.size
        given = np.zeros(n) if self.paired is None else np.array(self.paired, np.float64)
        if given.shape != (n,):
            raise DataError(f"paired has shape {given.shape}, but must have ({n},), one number per base")
        if (bad := np.flatnonzero(~(np.abs(given) <= _MOST_SCORE))).size:
            raise DataError(
                f"base {bad[0]} (from 0): the log odds {given[bad[0]]} are not within +-{_MOST_SCORE:g}; use "
                "0 for no information, and 'x' or '|' in the notation for a base that is unpaired or paired"
            )
        if self.forced and np.abs(given).sum() > FORCED / 4:  # more would outweigh what must be
            raise DataError(
                f"the absolute log odds of bases to be paired add up to {np.abs(given).sum():g}; with bases "
                f"that must pair, at most {FORCED / 4:g} is allowed. Scale them down"
            )
        scores[bases] += given[:, None]
        # Scores as the left and as the right base of a pair: "<" must be left, ">" right, "|" either, "x"
        # neither.
        for i, character in enumerate(notation):
            scores[i] += _OF_BASES.get(character, 0.0)
        if self.between:
            nick = nick_of(letters)
            if nick == letters.size:
                raise DataError("between=True (--duplex) needs a sequence of two strands, 'A&B'")
            # Between strands only: no base of the first is a right one, and none of the second a left one.
            scores[:nick, 1] = scores[nick:, 0] = -np.inf
        return scores

    def _forced(self) -> list[tuple[int, int]]:
        return nested_pairs(self.notation, "constraints, base")


def as_constraints(given: Constraints | str | None) -> Constraints | None:
    """Constraints, from themselves or from their notation."""
    if given is not None and not isinstance(given, Constraints | str):
        raise DataError(f"constraints must be a str or Constraints, not {type(given).__name__}")
    return Constraints(given) if isinstance(given, str) else given
