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
    """Constraints on the structure of one sequence of n bases.

    Parameters
    ----------
    notation : str, length n or 0
        A character a base, and ``&`` between two strands: ``.`` free, ``x`` unpaired, ``|`` paired, ``<``
        paired with a base to its right, ``>`` with one to its left, ``(`` and ``)`` with each other.
    prohibited : sequence of (i, j)
        Bases, from 0, and through both strands, that do not pair with each other, in either order.
    paired : array-like, shape (n,), optional
        Score of each base for being paired, whatever its partner, beside that of being unpaired: a log odds,
        such as probing experiments give, within +-1000. Positive numbers favour pairs.
    between : bool
        Of two strands: pairs between them only.
    """

    notation: str = ""
    prohibited: Sequence[tuple[int, int]] = ()
    paired: Any = None
    between: bool = False

    def scores(self, letters: Array) -> PairScores:
        """What they add to the scores of pairs: -inf for one that cannot be."""
        forced, bases, prohibited = self._forced(), places(letters), list[IntArray]()
        for pair in self.prohibited:
            i, j = sorted(pair) if len(pair) == 2 else (-1, -1)
            if not (isinstance(i + j, Integral) and 0 <= i < j < bases.size):
                raise DataError(f"found the prohibited pair {pair}, expected two of {bases.size} bases")
            prohibited.append(bases[[i, j]])
        pairs = np.array([*forced, *prohibited], np.int64).reshape(-1, 2)
        values = [FORCED] * len(forced) + [-np.inf] * len(prohibited)
        return PairScores(self._base_scores(letters), pairs, np.array(values, float))

    def check(self, letters: Array, space: Space) -> None:
        """Refuse forced pairs that a model cannot produce."""
        partner = partners_of(self._forced(), letters.size)
        for i, j, reason, in_long_loop in offences(letters, partner, space):
            if not in_long_loop:  # there may be other pairs in it
                raise DataError(f"the bases {i} and {j} (from 0) are to pair: found {reason}")

    @property
    def forced(self) -> float:
        """Score of all that must be."""
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
            raise DataError(f"found scores of shape {given.shape} for {n} bases, expected one each")
        if (bad := np.flatnonzero(~(np.abs(given) <= _MOST_SCORE))).size:
            raise DataError(
                f"base {bad[0]} (from 0): found the score {given[bad[0]]}, expected one within "
                f"+-{_MOST_SCORE:g} ('x' in the notation keeps a base unpaired, '|' paired; 0 says nothing)"
            )
        if self.forced and np.abs(given).sum() > FORCED / 4:  # more would outweigh what must be
            raise DataError(
                f"the scores of bases for being paired add up to {np.abs(given).sum():g}: beside bases that "
                f"must pair they may add up to {FORCED / 4:g}. Scale them down"
            )
        scores[bases] += given[:, None]
        # Scores as the left and as the right base of a pair: "<" must be left, ">" right, "|" either, "x"
        # neither.
        for i, character in enumerate(notation):
            scores[i] += _OF_BASES.get(character, 0.0)
        if self.between:
            nick = nick_of(letters)
            if nick == letters.size:
                raise DataError("found one strand, expected two with pairs between strands only")
            # Between strands only: no base of the first is a right one, and none of the second a left one.
            scores[:nick, 1] = scores[nick:, 0] = -np.inf
        return scores

    def _forced(self) -> list[tuple[int, int]]:
        return nested_pairs(self.notation, "constraint")


def as_constraints(given: Constraints | str | None) -> Constraints | None:
    """Constraints, from themselves or from their notation."""
    if given is not None and not isinstance(given, Constraints | str):
        raise DataError(f"found constraints of type {type(given).__name__}, expected a str or Constraints")
    return Constraints(given) if isinstance(given, str) else given
