"""RNA sequences and structures as arrays, and which structures a model can produce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.formats.brackets import STRANDS, check_cut, check_strands
from structune.rna.kernels.loops import ABSENT, GAP
from structune.rna.structure.features import LETTERS, MAX_LOOP, UNKNOWN
from structune.structure import Array, IntArray

_CODES = np.full(256, -1, np.int8)
_CODES[[ord(c) for c in "NRYSWKMBDHVX"]] = UNKNOWN
_CODES[[ord(c) for c in LETTERS]] = range(len(LETTERS))
_CODES[ord("T")] = LETTERS.index("U")
_CODES[ord(STRANDS)] = ABSENT
_CODES[ord("a") : ord("z") + 1] = _CODES[ord("A") : ord("Z") + 1]

# Two strands, ``A&B``, are one sequence with GAP places that are absent between them: so no loop of two pairs
# spans both strands, and nothing but the loop between them has to know of it.


def nick_of(letters: Array) -> int:
    """Where the first of two strands ends; the number of bases of one strand."""
    is_absent = letters == ABSENT
    return int(np.argmax(is_absent)) if np.any(is_absent) else letters.size


def check_absent(letters: Array) -> None:
    """Refuse letters from a file that are neither one strand nor two."""
    absent, last = np.flatnonzero(letters == ABSENT), letters.size - 1
    if absent.size and not (np.ptp(absent) == absent.size - 1 == GAP - 1 and 0 < absent[0] <= last - GAP):
        raise DataError(f"absent letters are only allowed between two strands, {GAP} of them")


def places(letters: Array) -> IntArray:
    """The places of all bases."""
    return np.flatnonzero(letters != ABSENT)


def strands_of(letters: Array) -> tuple[int, int]:
    """The number of bases, and that of the first strand, or -1 if there is one."""
    n, nick = int(np.count_nonzero(letters != ABSENT)), nick_of(letters)
    return n, nick if nick < letters.size else -1


def parse_sequences(sequences: Sequence[str]) -> list[Array]:
    """Letters of sequences, as `parse_sequence` gives them: of all at once, where they are bases alone."""
    # One table look-up for all letters of all sequences: a thousand short ones cost as much as one long one.
    codes = _codes("".join(sequences))
    if codes.size and codes.min() >= 0 and codes.max() < ABSENT:
        return [codes[a:b] for a, b in pairwise(accumulate(map(len, sequences), initial=0))]
    return [parse_sequence(s, sequence) for s, sequence in enumerate(sequences)]


def parse_sequence(s: int, sequence: str) -> Array:
    """Letters of sequence number s: 0-3 for ACGU, 4 for any other base, and 5 between two strands."""
    codes = _codes(sequence)
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise DataError(
            f"sequence {s}, base {_base(sequence, bad[0])} (from 0): {sequence[bad[0]]!r} is not a "
            "nucleotide. Allowed: ACGUT, IUPAC codes, and & between two strands"
        )
    try:
        check_strands(sequence)
    except DataError as error:
        raise DataError(f"sequence {s}: {error}") from None
    return np.repeat(codes, np.where(codes == ABSENT, GAP, 1)) if STRANDS in sequence else codes


def _codes(text: str) -> Array:
    """The number of each letter."""
    return _CODES[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]


def parse_structure(s: int, structure: str, letters: Array) -> IntArray:
    """Partners of the bases of a dot-bracket string without pseudoknots; -1 for none."""
    try:
        check_cut(structure, *strands_of(letters), "a structure")
    except DataError as error:
        raise DataError(f"sequence {s}: {error}") from None
    place = f"sequence {s}, base"
    check_notation(structure, "(.)" + STRANDS, place)
    return partners_of(nested_pairs(structure, place), letters.size)


def _base(text: str, j: int) -> int:
    """The number of bases before a character."""
    return j - text.count(STRANDS, 0, j)


def check_notation(text: str, notation: str, place: str) -> None:
    """Refuse characters that a notation does not have; `place` is what is counted."""
    for j, character in enumerate(text):
        if character not in notation:
            raise DataError(f"{place} {_base(text, j)} (from 0): {character!r} is not one of {notation!r}")


def nested_pairs(text: str, place: str) -> list[tuple[int, int]]:
    """The pairs of round brackets, inner ones first, as places; other characters do not matter."""
    nick = text.find(STRANDS)
    places = [k if nick < 0 or k <= nick else k + GAP - 1 for k in range(len(text))]
    stack, pairs = [], []
    for j, character in enumerate(text):
        if character == "(":
            stack.append(j)
        elif character == ")":
            if not stack:
                raise DataError(f"{place} {_base(text, j)} (from 0): ')' has no matching '('")
            pairs.append((places[stack.pop()], places[j]))
    if stack:
        raise DataError(f"{place} {_base(text, stack[-1])} (from 0): '(' has no matching ')'")
    return pairs


def partners_of(pairs: list[tuple[int, int]], n: int) -> IntArray:
    """The partner of each of n bases; -1 for none."""
    partner = np.full(n, -1, np.int64)
    for i, j in pairs:
        partner[i], partner[j] = j, i
    return partner


def dot_bracket(partner: IntArray, letters: Array | None = None) -> str:
    """The notation of the partners of bases, -1 for none; of two strands if the letters have them."""
    letters = np.zeros(partner.size, np.int8) if letters is None else letters
    return dot_brackets(partner, letters, np.array([0, partner.size]))[0]


def dot_brackets(partners: IntArray, letters: Array, offsets: IntArray) -> list[str]:
    """The same of sequences, from the partners of all bases, each counted within its sequence."""
    places = np.arange(partners.size)
    if offsets.size > 2:
        places -= np.repeat(offsets[:-1], np.diff(offsets))
    marks = np.where(partners < 0, b".", np.where(partners > places, b"(", b")"))
    marks[letters == ABSENT] = STRANDS.encode()
    text = marks.tobytes().decode()
    return [text[a:b].replace(GAP * STRANDS, STRANDS) for a, b in pairwise(offsets.tolist())]


def check_nested(s: int, partner: IntArray) -> None:
    """Refuse partners that are not those of pairs without pseudoknots: read back, they would be others."""
    pairs = nested_pairs(dot_bracket(partner), f"sequence {s}, base")
    if not np.array_equal(partners_of(pairs, partner.size), partner):
        raise DataError(f"sequence {s}: partners are not mutual or not nested")


class Space(NamedTuple):
    """The pairs that a model can produce."""

    allowed: Array  # shape (4, 4), bases that may pair
    min_hairpin: int
    max_span: int | None  # how far the bases of a pair may be apart, j - i
    circular: bool = False  # whether the last base is followed by the first

    def reach(self, n: int) -> int:
        """How far they may be apart in a sequence of n bases."""
        return max(0, n - 1 if self.max_span is None else min(n - 1, self.max_span))


def n_cells(n: int, reach: int) -> int:
    """Cells of a table of pairs: (i, i..min(i + reach, n - 1)) for each of n bases."""
    return n * (reach + 1) - reach * (reach + 1) // 2


def row_of(i: IntArray, n: int, reach: int) -> IntArray:
    """Where the cells (i, 0) of such a table would lie: `structune.rna.kernels.sums.row` of many."""
    shorter = np.maximum(i - (n - 1 - reach), 0)
    # The same arithmetic as in the kernel, on an array of rows.
    return np.asarray(i * reach - shorter * (shorter - 1) // 2)


def rows_of(table: Array, n: int, reach: int) -> Iterator[Array]:
    """Views of the rows (i, i..min(i + reach, n - 1)) of a table of pairs."""
    start = 0
    for i in range(n):
        size = min(reach + 1, n - i)
        yield table[start : start + size]
        start += size


class Offence(NamedTuple):
    """A pair that a model cannot produce, and why."""

    i: int
    j: int
    reason: str
    in_long_loop: bool = False  # the reason is too many unpaired bases in the loop that it closes


def offences(letters: Array, partner: IntArray, space: Space) -> list[Offence]:
    """The pairs that a model cannot produce; inner ones first."""
    nick, found, last = nick_of(letters), list[Offence](), (0, 0)

    def judge_loop(i: int, j: int, unpaired: int, branches: int, is_open: bool) -> None:
        """Add an offence if the pair (i, j) closes a loop that the model does not allow."""
        if not is_open and not branches and unpaired < space.min_hairpin:
            why = f"they close a hairpin of {unpaired} bases; min_hairpin is {space.min_hairpin}"
            found.append(Offence(i, j, why))
        elif not is_open and branches == 1 and unpaired > MAX_LOOP:
            why = f"they close a bulge or internal loop of {unpaired} bases; the maximum is {MAX_LOOP}"
            found.append(Offence(i, j, why, in_long_loop=True))

    # One pass from left to right with a stack of open loops: a pair is judged when its right base comes, and
    # the loops within it are complete then. Of each loop its unpaired bases, its branches, and whether two
    # strands end in it.
    loops: list[list[int]] = [[0, 0, False]]
    for j, i in enumerate(partner.tolist()):
        if i > j:
            loops.append([0, 0, False])
        if i < 0:
            loops[-1][0] += 1
            loops[-1][2] |= j == nick
        if not 0 <= i < j:
            continue
        (unpaired, branches, is_open), last = loops.pop(), (i, j)
        loops[-1][1] += 1
        if max(letters[i], letters[j]) >= UNKNOWN or not space.allowed[letters[i], letters[j]]:
            found.append(Offence(i, j, "they cannot pair"))
        elif space.max_span is not None and j - i > space.max_span:
            found.append(Offence(i, j, f"they are {j - i} apart, but max_span is {space.max_span}"))
        else:
            judge_loop(i, j, unpaired, branches, bool(is_open))
    if space.circular and last[1]:
        # Seen from the last pair, the outermost loop of a circle has one branch less: this pair closes it.
        unpaired, branches, is_open = loops[0]
        judge_loop(*last, unpaired, branches - 1, bool(is_open))

    def counted_through(k: int) -> int:
        return k if k < nick else k - GAP

    return [o._replace(i=counted_through(o.i), j=counted_through(o.j)) for o in found]
