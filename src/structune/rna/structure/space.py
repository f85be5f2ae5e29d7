"""RNA sequences and structures as arrays, and which structures a model can produce."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.structure.features import LETTERS, MAX_LOOP, UNKNOWN
from structune.structure import Array, IntArray

_MOST_BASES = 1 << 31  # kernels add it to positions, and do not look for overflows
_CODES = np.full(256, -1, np.int8)
_CODES[[ord(c) for c in "NRYSWKMBDHVX"]] = UNKNOWN
_CODES[[ord(c) for c in LETTERS]] = range(len(LETTERS))
_CODES[ord("T")] = LETTERS.index("U")
_CODES[ord("a") : ord("z") + 1] = _CODES[ord("A") : ord("Z") + 1]


def parse_sequence(s: int, sequence: str) -> Array:
    """Letters of sequence number s: 0-3 for ACGU, 4 for any other base."""
    codes = _CODES[np.frombuffer(sequence.encode("latin-1", "replace"), np.uint8)]
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise DataError(
            f"sequence {s}, base {bad[0]} (from 0): found {sequence[bad[0]]!r}, expected a nucleotide"
        )
    return codes


def parse_structure(s: int, structure: str, n: int) -> IntArray:
    """Partners of the bases of a dot-bracket string without pseudoknots; -1 for none."""
    if len(structure) != n:
        raise DataError(f"sequence {s} has {n} bases: found a structure of length {len(structure)}")
    place = f"sequence {s}, base"
    check_notation(structure, "(.)", place)
    return partners_of(nested_pairs(structure, place), n)


def check_notation(text: str, notation: str, place: str) -> None:
    """Refuse characters that a notation does not have; `place` is what is counted."""
    for j, character in enumerate(text):
        if character not in notation:
            raise DataError(f"{place} {j} (from 0): found {character!r}, expected one of {notation!r}")


def nested_pairs(text: str, place: str) -> list[tuple[int, int]]:
    """The pairs of round brackets, inner ones first; other characters do not matter."""
    stack, pairs = [], []
    for j, character in enumerate(text):
        if character == "(":
            stack.append(j)
        elif character == ")":
            if not stack:
                raise DataError(f"{place} {j} (from 0): found ')' without its '('")
            pairs.append((stack.pop(), j))
    if stack:
        raise DataError(f"{place} {stack[-1]} (from 0): found '(' without its ')'")
    return pairs


def partners_of(pairs: list[tuple[int, int]], n: int) -> IntArray:
    """The partner of each of n bases; -1 for none."""
    partner = np.full(n, -1, np.int64)
    for i, j in pairs:
        partner[i], partner[j] = j, i
    return partner


def dot_bracket(partner: IntArray) -> str:
    """The notation of the partners of bases, -1 for none."""
    marks = np.where(partner < 0, b".", np.where(partner > np.arange(partner.size), b"(", b")"))
    return marks.tobytes().decode()


def check_nested(s: int, partner: IntArray) -> None:
    """Refuse partners that are not those of pairs without pseudoknots: read back, they would be others."""
    pairs = nested_pairs(dot_bracket(partner), f"sequence {s}, base")
    if not np.array_equal(partners_of(pairs, partner.size), partner):
        raise DataError(f"sequence {s}: found partners that are not each other's, or not nested")


class Space(NamedTuple):
    """The pairs that a model can produce.

    Attributes
    ----------
    allowed : ndarray of bool, shape (4, 4)
        Bases that may pair.
    min_hairpin : int
    max_span : int or None
        How far the bases of a pair may be apart, j - i.
    """

    allowed: Array
    min_hairpin: int
    max_span: int | None

    def reach(self, n: int) -> int:
        """How far they may be apart in a sequence of n bases."""
        return max(0, n - 1 if self.max_span is None else min(n - 1, self.max_span))


def n_cells(n: int, reach: int) -> int:
    """Cells of a table of pairs: (i, i..min(i + reach, n - 1)) for each of n bases."""
    return n * (reach + 1) - reach * (reach + 1) // 2


def row_of(i: IntArray, n: int, reach: int) -> IntArray:
    """Where the cells (i, 0) of such a table would lie: `structune.rna.kernels.sums.row` of many."""
    shorter = np.maximum(i - (n - 1 - reach), 0)
    return np.asarray(i * reach - shorter * (shorter - 1) // 2)


class Offence(NamedTuple):
    """A pair that a model cannot produce, and why.

    Attributes
    ----------
    in_long_loop : bool
        The reason is too many unpaired bases in the loop that it closes.
    """

    i: int
    j: int
    reason: str
    in_long_loop: bool = False


def offences(letters: Array, partner: IntArray, space: Space) -> list[Offence]:
    """The pairs that a model cannot produce; inner ones first."""
    found = []
    loops = [[0, 0]]  # of the exterior and of each open pair: unpaired bases, branches
    for j, i in enumerate(partner.tolist()):
        if i > j:
            loops.append([0, 0])
        if i < 0:
            loops[-1][0] += 1
        if not 0 <= i < j:
            continue
        unpaired, branches = loops.pop()
        loops[-1][1] += 1
        if max(letters[i], letters[j]) >= UNKNOWN or not space.allowed[letters[i], letters[j]]:
            found.append(Offence(i, j, "a pair of two bases that cannot pair"))
        elif space.max_span is not None and j - i > space.max_span:
            found.append(Offence(i, j, f"a span of {j - i}, expected at most {space.max_span}"))
        elif not branches and unpaired < space.min_hairpin:
            found.append(Offence(i, j, f"a hairpin of {unpaired}, expected at least {space.min_hairpin}"))
        elif branches == 1 and unpaired > MAX_LOOP:
            reason = f"a loop of {unpaired} unpaired bases, expected at most {MAX_LOOP}"
            found.append(Offence(i, j, reason, in_long_loop=True))
    return found


def checked_span(n: Any) -> int | None:
    """How far the bases of a pair may be apart, as a number that kernels can add to positions, or None."""
    if n is not None and (isinstance(n, bool) or not (isinstance(n, int | np.integer) and n >= 0)):
        raise DataError(f"max_span={n!r}: expected a whole number >= 0, or None")
    return None if n is None else min(int(n), _MOST_BASES)


def checked_hairpin(n: Any) -> int:
    """The fewest unpaired bases of a hairpin, as a number that kernels can add to positions."""
    if not (isinstance(n, int | np.integer) and 0 <= n <= _MOST_BASES):
        raise DataError(f"min_hairpin={n!r}: expected a whole number from 0 to {_MOST_BASES}")
    return int(n)
