"""Which alignments are in the space of a model; errors name the pair."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import numpy as np

from structune.alignment.structure.rows import AlignedPair
from structune.errors import DataError, warn
from structune.structure import IntArray

_WIDEST = 1 << 31  # of bands: longer than any sequence, and its products are no overflow


def checked_band(band: int | None) -> int | None:
    """A band that alignments can be held to; None for none."""
    if band is not None and (not isinstance(band, Integral) or band < 1):
        raise DataError(f"band={band!r}: expected a whole number from 1 on, or None")
    return None if band is None else min(int(band), _WIDEST)


def check_rising(alignment: AlignedPair, m: int, p: int) -> None:
    """That matches are of residues that there are, in the order of both sequences."""
    partner, scored = alignment.partner, alignment.scored
    matched = partner[partner >= 0]
    if np.any(np.diff(matched) <= 0) or np.any(matched >= m) or np.any(partner[scored] < 0):
        raise DataError(f"pair {p}: found matches that are not those of an alignment with {m} residues")


def check_cells(alignment: AlignedPair, m: int, band: int, p: int) -> None:
    """That what is known of the path of an alignment stays in the band."""
    i = np.flatnonzero(alignment.partner >= 0 if alignment.whole else alignment.scored)
    off = _off_line(i, alignment.partner, m, alignment.whole)
    if off > band:
        raise DataError(
            f"pair {p}: found an alignment {off:.1f} residues off the diagonal, expected at most band={band}"
        )


def _off_line(i: IntArray, partner: IntArray, m: int, whole: bool) -> float:
    """How many residues of the longer sequence the path through matches is off the line between both ends."""
    n, j = partner.size, partner[i]
    rows, columns = np.concatenate((i, i + 1)), np.concatenate((j, j + 1))
    if whole:  # corners between two matches, too
        rows, columns = np.concatenate((rows, i[1:])), np.concatenate((columns, j[:-1] + 1))
    return float(np.abs(columns * n - rows * m).max(initial=0) / max(1, n, m))


def warn_of_band(alignments: Iterable[tuple[IntArray, int]], band: int | None) -> None:
    """Tell where a band may be too narrow: of partners of the residues of x, and the number of those of y."""
    if band is not None and any(_is_narrow(partner, m, band) for partner, m in alignments):
        warn_of_narrow_band(band)


def _is_narrow(partner: IntArray, m: int, band: int) -> bool:
    """Whether a path comes within a residue of the edge, or hardly anything is matched."""
    shorter, matched = min(partner.size, m), np.flatnonzero(partner >= 0)
    if band >= shorter:  # all cells are within it
        return False
    return 2 * matched.size < shorter or _off_line(matched, partner, m, True) > band - 1


def warn_of_narrow_band(band: int) -> None:
    warn(
        f"Some alignments reach the edge of the band (band={band}), or match less than half of the shorter "
        "sequence within it: a wider band (--band, band=) may give others."
    )


def check_overhangs(alignment: AlignedPair, m: int, p: int) -> None:
    """That residues beyond an end of the matches are of one sequence."""
    i = np.flatnonzero(alignment.partner >= 0)
    if not (alignment.whole and i.size):
        return
    first, last = alignment.partner[i[0]], alignment.partner[i[-1]]
    if (i[0] and first) or (i[-1] < alignment.partner.size - 1 and last < m - 1):
        raise DataError(f"pair {p}: found residues of both beyond an end of the matches, expected of one")
