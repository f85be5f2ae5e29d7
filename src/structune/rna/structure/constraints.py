"""What is known of an RNA structure beforehand: pairs that must or cannot be, scores of bases and pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.text import shown
from structune.rna.formats.brackets import STRANDS, bases_of, check_cut, cut_as
from structune.rna.kernels.loops import GAP
from structune.rna.structure.features import UNKNOWN
from structune.rna.structure.space import (
    Space,
    check_notation,
    n_cells,
    nested_pairs,
    nick_of,
    offences,
    partners_of,
    places,
    row_of,
    rows_of,
    strands_of,
)
from structune.structure import Array, FloatArray, IntArray

# A pair that must be is worth so much that the best structure has as many of these as there can be. Taken off
# again, rounding leaves an error of 1e7 * 2^-53 with ten of them, about 1e-9.
FORCED = 1e6
NOTATION = ".x|<>()"
RT = 0.61632  # kcal/mol at 37 C: an energy e is worth -e / RT
MOST_SCORE = 1000.0  # of a base or a pair: small beside FORCED
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
        i, j = self.pairs[near := self.pairs[:, 1] - self.pairs[:, 0] <= reach].T
        np.add.at(scores, row_of(i, n, reach) + j, self.values[near])
        return scores


@dataclass(frozen=True)
class Constraints:
    """Constraints on the structure of one sequence of n bases, and log odds of its bases and pairs.

    Parameters
    ----------
    notation : str, length n or 0
        One character per base, and ``&`` between two strands: ``.`` free, ``x`` unpaired, ``|`` paired, ``<``
        paired with a base to its right, ``>`` with one to its left, ``(`` and ``)`` paired with each other.
    prohibited : array-like, shape (n_prohibited, 2)
        Pairs of bases that must not pair with each other, in either order. Bases are numbered from 0, through
        both strands.
    paired : array-like, shape (n,), optional
        Log odds of each base to be paired, with any partner, against unpaired, such as from probing. They are
        added to the scores of structures. Positive numbers favor pairs; allowed are -1000 to 1000.
    between : bool
        Whether to allow only pairs between two strands, none within a strand.
    pairs : array-like, shape (n_pairs, 3)
        Rows (i, j, log odds) of two bases, in either order: log odds of this pair, added to the scores of
        structures that have it. Positive numbers favor it; allowed are -1000 to 1000.
    required : array-like, shape (n_required, 2)
        Pairs of bases that must pair with each other, in either order, beside those of `notation`.
    """

    notation: str = ""
    prohibited: Any = ()
    paired: Any = None
    between: bool = False
    pairs: Any = ()
    required: Any = ()

    def scores(self, letters: Array) -> PairScores:
        """Return the scores that the constraints add to pairs of bases; -inf for a pair that they forbid."""
        forced, bases = self._forced(letters), places(letters)
        prohibited, _ = pair_rows(self.prohibited, bases.size, 2)
        scored, values = self._scored(bases.size)
        pairs = np.concatenate([forced, bases[prohibited], bases[scored]])
        values = np.concatenate([np.full(len(forced), FORCED), np.full(len(prohibited), -np.inf), values])
        return PairScores(self._base_scores(letters), pairs, values)

    def check(self, letters: Array, space: Space) -> None:
        """Raise `DataError` if the model cannot produce a pair that is required or has log odds."""
        bases = places(letters)
        scored = bases[self._scored(bases.size)[0]]
        for pairs, what in (
            (self._forced(letters), "are constrained to pair"),
            (scored, "have log odds as a pair"),
        ):
            if (found := impossible(letters, pairs, space)) is not None:
                _, i, j, reason = found
                raise DataError(f"bases {i} and {j} (from 0) {what}, but {reason}")

    @property
    def forced(self) -> float:
        """Score of structures for what is required: 1e6 for each ``|``, ``<``, ``>`` and pair."""
        n_marks = sum(1 for character in self.notation if character in "|<>(")
        return FORCED * (n_marks + len(self.required))

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
        if (bad := np.flatnonzero(~(np.abs(given) <= MOST_SCORE))).size:
            raise DataError(
                f"base {bad[0]} (from 0): the log odds {given[bad[0]]} are not within +-{MOST_SCORE:g}; use "
                "0 for no information, and 'x' or '|' in the notation for a base that is unpaired or paired"
            )
        of_pairs, (ends, values) = np.zeros(n), self._scored(n)
        np.maximum.at(of_pairs, ends, np.abs(values)[:, None])  # a base is in one pair of a structure
        total = np.abs(given).sum() + of_pairs.sum() / 2
        if self.forced and total > FORCED / 4:  # more would outweigh what must be
            raise DataError(
                f"the absolute log odds of bases and pairs add up to {total:g}; with bases that must pair, "
                f"at most {FORCED / 4:g} is allowed. Scale them down"
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

    def _forced(self, letters: Array) -> IntArray:
        """The places of required pairs."""
        of_notation, bases = nested_pairs(self.notation, "constraints, base"), places(letters)
        of_pairs = bases[pair_rows(self.required, bases.size, 2)[0]]
        return np.concatenate([np.array(of_notation, np.int64).reshape(-1, 2), of_pairs])

    def _scored(self, n: int) -> tuple[IntArray, FloatArray]:
        """The pairs that have log odds, and these."""
        pairs, values = pair_rows(self.pairs, n, 3)
        for k in np.flatnonzero(~(np.abs(values) <= MOST_SCORE))[:1]:
            told = f"the log odds {values[k]} of the pair {tuple(pairs[k].tolist())} (from 0)"
            raise DataError(f"{told} are not within +-{MOST_SCORE:g}; to forbid a pair use prohibited")
        if len(np.unique(pairs @ [n, 1])) < len(pairs):
            raise DataError("pairs has two log odds for the same pair of bases; add them up")
        return pairs, values


def pair_rows(given: Any, n: int, width: int) -> tuple[IntArray, FloatArray]:
    """Pairs of n bases, the left base first, and what else their rows have."""
    try:
        rows = np.array(given, np.float64).reshape(len(given), width)
    except (TypeError, ValueError):
        told = f"expected rows (i, j{', log odds' * (width - 2)})"
        raise DataError(f"pairs of constraints: {told}, not {shown(repr(given))}") from None
    ends = np.sort(rows[:, :2], axis=1)
    is_pair = (ends == np.floor(ends)).all(axis=1) & (ends[:, 0] >= 0) & (ends[:, 0] < ends[:, 1])
    for k in np.flatnonzero(~(is_pair & (ends[:, 1] < n)))[:1]:
        raise DataError(f"the pair {given[k]} of constraints must be two bases, from 0 to {n - 1}")
    return ends.astype(np.int64), rows[:, 2:].ravel()


def impossible(letters: Array, pairs: IntArray, space: Space) -> tuple[int, int, int, str] | None:
    """The first of some pairs of places that the model cannot produce: its number, its two bases, and why."""
    (i, j), n, nick = pairs.T, letters.size, nick_of(letters)
    one, other = letters[i], letters[j]
    can_pair = (np.maximum(one, other) < UNKNOWN) & space.allowed[one % UNKNOWN, other % UNKNOWN]
    # The smallest loop that the pair may close: a hairpin, unless two strands end in it.
    inner = np.where((i < nick) & (nick < j), n, j - i - 1)
    inner = np.minimum(inner, n - 2 - inner) if space.circular else inner
    is_bad = ~can_pair | (j - i > space.reach(n)) | (inner < space.min_hairpin)
    for k in np.flatnonzero(is_bad)[:1].tolist():
        offence = offences(letters, partners_of([(int(i[k]), int(j[k]))], n), space)[0]
        return k, offence.i, offence.j, offence.reason
    return None


def as_constraints(given: Constraints | str | None) -> Constraints | None:
    """Constraints, from themselves or from their notation."""
    if given is not None and not isinstance(given, Constraints | str):
        raise DataError(f"constraints must be a str or Constraints, not {type(given).__name__}")
    return Constraints(given) if isinstance(given, str) else given


def without_pairs(given: Constraints | str | None, excluded: Array, structure: str) -> Constraints:
    """The same constraints for structures in which some bases, shape (n,), are unpaired."""
    limits = as_constraints(given) or Constraints()
    notation = bases_of(limits.notation) or "." * excluded.size
    marks = (mark if not out else "x" for mark, out in zip(notation, excluded.tolist(), strict=True))
    required, _ = pair_rows(limits.required, excluded.size, 2)
    required = required[~excluded[required].any(axis=1)]
    return replace(limits, notation=cut_as(structure, "".join(marks)), required=required)
