"""Alignments of two sequences: their rows as text, and whether a model allows them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.structure import IntArray

GAPS = "-."
_WIDEST = 1 << 31  # of bands: longer than any sequence, and its products are no overflow
_DROP_GAPS = str.maketrans("", "", GAPS)


class AlignedPair(NamedTuple):
    """An alignment of x and y."""

    partner: IntArray  # (n,): the residue of y that each of x is matched with, -1 for none
    scored: NDArray[np.bool_]  # (n,): matches of two residues in upper case
    whole: bool  # whether no residue is in lower case


def residues_of(rows: tuple[str, str]) -> tuple[str, str]:
    """Both sequences without gaps."""
    return without_gaps(rows[0]), without_gaps(rows[1])


def without_gaps(row: str) -> str:
    return row.translate(_DROP_GAPS)


def rows_of(pair: tuple[str, str], partner: IntArray) -> tuple[str, str]:
    """An alignment as two rows: gaps in x before those in y."""
    (x, y), i, j = pair, 0, 0
    rows: tuple[list[str], list[str]] = ([], [])
    matched = np.flatnonzero(partner >= 0).tolist()
    for next_i, next_j in [*zip(matched, partner[matched].tolist(), strict=True), (len(x), len(y))]:
        rows[0].append(x[i:next_i] + "-" * (next_j - j) + x[next_i : next_i + 1])
        rows[1].append("-" * (next_i - i) + y[j:next_j] + y[next_j : next_j + 1])
        i, j = next_i + 1, next_j + 1
    return "".join(rows[0]), "".join(rows[1])


def parse_alignment(rows: tuple[str, str], pair: tuple[str, str], name: str) -> AlignedPair:
    """Check two rows of an alignment against their sequences."""
    a, b = (np.array(list(row), "U1") for row in rows)
    if a.size != b.size:
        raise DataError(f"{name}: the rows differ in length: {a.size:,} and {b.size:,} columns")
    in_x, in_y = (~np.isin(row, list(GAPS)) for row in (a, b))
    for column in np.flatnonzero(~in_x & ~in_y)[:1]:
        raise DataError(f"{name}, column {column} (from 0): both rows have a gap")
    for row, inside, sequence, which in zip((a, b), (in_x, in_y), pair, "xy", strict=True):
        _check_residues("".join(row[inside]), sequence, f"{name}, {which}")
    # which residue of x and of y each column has, or had last
    i, j = np.cumsum(in_x) - 1, np.cumsum(in_y) - 1
    both = in_x & in_y
    upper = np.char.isupper(a) & np.char.isupper(b) if a.size else both
    partner, scored = np.full(len(pair[0]), -1), np.zeros(len(pair[0]), bool)
    partner[i[both]], scored[i[both]] = j[both], upper[both]
    whole = not any(np.char.islower(row).any() for row in (a, b) if row.size)
    return AlignedPair(partner, scored, whole)


def identity(known: AlignedPair, pair: tuple[str, str]) -> float:
    """Share of the scored matches whose two residues are the same; 0 without matches."""
    i = np.flatnonzero(known.scored)
    x, y = (np.array(list(sequence.upper()), "U1") for sequence in pair)
    return float(np.mean(x[i] == y[known.partner[i]])) if i.size else 0.0


def _check_residues(found: str, expected: str, name: str) -> None:
    found, expected = found.upper(), expected.upper()
    if found == expected:
        return
    if len(found) != len(expected):
        raise DataError(f"{name}: the alignment has {len(found):,} residues, the sequence {len(expected):,}")
    k = next(k for k, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
    raise DataError(
        f"{name}: residue {k} (from 0) is {found[k]!r} in the alignment but {expected[k]!r} in the sequence"
    )


# --- which alignments are in the space of a model ---------------------------------------------------------


def checked_band(band: int | None) -> int | None:
    """The band as an int, checked; None for no band."""
    if band is not None and (not isinstance(band, Integral) or band < 1):
        raise DataError(f"band={band!r}: expected a whole number >= 1, or None")
    return None if band is None else min(int(band), _WIDEST)


def check_rising(alignment: AlignedPair, m: int, p: int) -> None:
    """Check that matches are of existing residues, in the order of both sequences."""
    partner, scored = alignment.partner, alignment.scored
    matched = partner[partner >= 0]
    if np.any(np.diff(matched) <= 0) or np.any(matched >= m) or np.any(partner[scored] < 0):
        told = f"must be in the order of both sequences, within the {m} residues of the second"
        raise DataError(f"pair {p}: the matches {told}")


def check_space(alignment: AlignedPair, m: int, p: int, overhangs: str, band: int | None) -> None:
    """Check that an alignment has overhangs of one sequence only, if so required, and is in the band."""
    partner, whole = alignment.partner, alignment.whole
    i = np.flatnonzero(partner >= 0 if whole else alignment.scored)
    if overhangs == "one" and whole and i.size:
        first, last = partner[i[0]], partner[i[-1]]
        if (i[0] and first) or (i[-1] < partner.size - 1 and last < m - 1):
            raise DataError(
                f"pair {p}: both sequences have unmatched residues at one end, but overhangs='one'"
            )
    if band is not None and (off := _off_line(i, partner, m, whole)) > band:
        raise DataError(
            f"pair {p}: the alignment is {off:.1f} residues off the diagonal, more than band={band}. "
            "Use a wider band"
        )


def _off_line(i: IntArray, partner: IntArray, m: int, whole: bool) -> float:
    """Largest distance of the path from the diagonal, in residues of the longer sequence."""
    # The path goes through both corners of the cell of a match. The line is j n = i m, and the distance from
    # it is measured along the longer sequence.
    n, j = partner.size, partner[i]
    rows, columns = np.concatenate((i, i + 1)), np.concatenate((j, j + 1))
    if whole:  # corners between two matches, too
        rows, columns = np.concatenate((rows, i[1:])), np.concatenate((columns, j[:-1] + 1))
    return float(np.abs(columns * n - rows * m).max(initial=0) / max(1, n, m))


def warn_of_band(alignments: Iterable[tuple[IntArray, int]], band: int | None) -> None:
    """Warn if a path, as partners and the size of y, reaches the edge of the band or matches little."""
    if band is None:
        return
    for partner, m in alignments:
        shorter, matched = min(partner.size, m), np.flatnonzero(partner >= 0)
        if band < shorter and (  # else all cells are within it
            2 * matched.size < shorter or _off_line(matched, partner, m, True) > band - 1
        ):
            warn_of_narrow_band(band)
            return


def warn_of_narrow_band(band: int) -> None:
    warn(
        f"Some alignments reach the edge of the band (band={band}), or match less than half of the shorter "
        "sequence. They may change, and improve, with a wider band (--band, band=)."
    )
