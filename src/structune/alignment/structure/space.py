"""Which alignments are in the space of a model; errors name the pair."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from structune.alignment.structure.rows import AlignedPair
from structune.errors import DataError

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
    n = alignment.partner.size
    i = np.flatnonzero(alignment.partner >= 0 if alignment.whole else alignment.scored)
    j = alignment.partner[i]
    rows, columns = np.concatenate((i, i + 1)), np.concatenate((j, j + 1))
    if alignment.whole:  # corners between two matches, too
        rows, columns = np.concatenate((rows, i[1:])), np.concatenate((columns, j[:-1] + 1))
    off = np.abs(columns * n - rows * m).max(initial=0) / max(1, n, m)
    if off > band:
        raise DataError(
            f"pair {p}: found an alignment {off:.1f} residues off the diagonal, expected at most band={band}"
        )


def check_overhangs(alignment: AlignedPair, m: int, p: int) -> None:
    """That residues beyond an end of the matches are of one sequence."""
    i = np.flatnonzero(alignment.partner >= 0)
    if not (alignment.whole and i.size):
        return
    first, last = alignment.partner[i[0]], alignment.partner[i[-1]]
    if (i[0] and first) or (i[-1] < alignment.partner.size - 1 and last < m - 1):
        raise DataError(f"pair {p}: found residues of both beyond an end of the matches, expected of one")
