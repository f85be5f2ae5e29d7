"""Rows of alignments as text, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.structure import IntArray

GAPS = "-."
_DROP_GAPS = str.maketrans("", "", GAPS)


class AlignedPair(NamedTuple):
    """An alignment of x and y.

    ``partner`` (n,): the residue of y that each of x is matched with, -1 for none; ``scored`` (n,): matches
    of two residues in upper case; ``whole``: whether no residue is in lower case.
    """

    partner: IntArray
    scored: NDArray[np.bool_]
    whole: bool


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
        raise DataError(f"{name}: found rows of {a.size} and {b.size} columns, expected as many")
    in_x, in_y = (~np.isin(row, list(GAPS)) for row in (a, b))
    for column in np.flatnonzero(~in_x & ~in_y)[:1]:
        raise DataError(f"{name}, column {column} (from 0): found a gap in both rows")
    for row, inside, sequence, which in zip((a, b), (in_x, in_y), pair, "xy", strict=True):
        _check_residues("".join(row[inside]), sequence, f"{name}, {which}")
    i, j = np.cumsum(in_x) - 1, np.cumsum(in_y) - 1
    both = in_x & in_y
    upper = np.char.isupper(a) & np.char.isupper(b) if a.size else both
    partner, scored = np.full(len(pair[0]), -1), np.zeros(len(pair[0]), bool)
    partner[i[both]], scored[i[both]] = j[both], upper[both]
    whole = not any(np.char.islower(row).any() for row in (a, b) if row.size)
    return AlignedPair(partner, scored, whole)


def identity(known: AlignedPair, pair: tuple[str, str]) -> float:
    """Share of the scored matches that are of the same residue; 0 without any."""
    i = np.flatnonzero(known.scored)
    x, y = (np.array(list(sequence.upper()), "U1") for sequence in pair)
    return float(np.mean(x[i] == y[known.partner[i]])) if i.size else 0.0


def _check_residues(found: str, expected: str, name: str) -> None:
    found, expected = found.upper(), expected.upper()
    if found == expected:
        return
    if len(found) != len(expected):
        raise DataError(f"{name}: found {len(found)} residues in the alignment, expected {len(expected)}")
    k = next(k for k, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
    raise DataError(
        f"{name}: found {found[k]!r} in the alignment at residue {k} (from 0), expected {expected[k]!r}"
    )
