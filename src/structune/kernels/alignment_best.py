"""The alignment of the highest score, some rows at a time, and that of the highest expected accuracy."""

import numpy as np

from structune.kernels._jit import kernel

BEGIN, MATCH, _GAP = 0, 1, 2  # what a match follows; from _GAP on the L states of a gap in x, then those in y
AFTER = 255  # what a match follows, where it is told elsewhere
_STAYS_X, _STAYS_Y, _SOURCE = (
    1,
    2,
    4,
)  # bits: the last state of a gap follows itself; times what a gap in y follows


@kernel
def best_rows(match, first, f, rows, ends, came, ways):
    """Fill rows 1..B from row 0 with the best scores, as `forward` does with sums; ``f`` holds logs.

    ``came`` (B + 1, m + 1) tells what a match may best follow, ``ways`` how gaps were reached. ``ends``
    (B + 1, 2) become the best score of an alignment whose last match is in the row, and the column.
    """
    B, m = match.shape
    L, t, both, corner = rows.gap_x.shape[1], f.steps, f.both[0], f.both[1]
    x, y, n = f.x, f.y, f.x.residue.size
    done, source = np.empty(m + 1), np.empty(m + 1, np.uint8)
    for r in range(1, B + 1):
        i = first + r
        here, before, by = rows.match[r], rows.start[r - 1], match[r - 1]
        here[0] = -np.inf
        for j in range(m):
            here[j + 1] = by[j] + before[j]

        way = ways[r]
        way[:] = 0
        residue = x.residue[i - 1]
        for k in range(L - 1, -1, -1):  # a state takes the old value of the one before it
            if k == 0:
                above, factor = rows.match[r - 1], residue + t[0] + x.opens[i - 1]
            else:
                above, factor = rows.gap_x[r - 1, k - 1], residue + t[k]
            out, again = rows.gap_x[r, k], rows.gap_x[r - 1, k]
            for j in range(m + 1):
                value = above[j] + factor + y.site[j]
                if k == 0:
                    value += y.site_open[j]
                if k == L - 1:
                    stays = again[j] + residue + t[L] + y.site[j]
                    if stays > value:
                        value = stays
                        way[j] |= _STAYS_X
                out[j] = value
        for j in range(m + 1):
            done[j], source[j] = rows.gap_x[r, 0, j], 0
        for k in range(1, L):
            gap = rows.gap_x[r, k]
            for j in range(m + 1):
                if gap[j] > done[j]:
                    done[j], source[j] = gap[j], k
        for j in range(m + 1):
            done[j] += x.closes[i - 1]

        site = x.site[i]
        rows.gap_y[r, :, 0] = -np.inf
        for k in range(L):
            out, factor = rows.gap_y[r, k], site + t[k]
            if k == 0:
                factor += x.site_open[i]
                for j in range(m):
                    value = here[j]
                    if done[j] + both > value:
                        value = done[j] + both
                        way[j + 1] |= _SOURCE * (1 + source[j])
                    out[j + 1] = value + factor + y.opens[j] + y.residue[j]
            else:
                left = rows.gap_y[r, k - 1]
                for j in range(m):
                    out[j + 1] = left[j] + factor + y.residue[j]
        out = rows.gap_y[r, L - 1]
        for j in range(m):
            stays = out[j] + site + t[L] + y.residue[j]
            if stays > out[j + 1]:
                out[j + 1] = stays
                way[j + 1] |= _STAYS_Y

        out, origin, begins = rows.start[r], came[r], x.begins[i]
        for j in range(m + 1):
            out[j], origin[j] = begins + y.begins[j] + (corner if j else 0.0), BEGIN
            if here[j] > out[j]:
                out[j], origin[j] = here[j], MATCH
            if done[j] > out[j]:
                out[j], origin[j] = done[j], _GAP + source[j]
        for k in range(L):
            gap = rows.gap_y[r, k]
            for j in range(m):
                value = gap[j + 1] + y.closes[j]
                if value > out[j + 1]:
                    out[j + 1], origin[j + 1] = value, _GAP + L + k
        ends[r, 0], ends[r, 1] = -np.inf, 0.0
        for j in range(m + 1):
            value = here[j] + y.ends[j] + x.ends[i] + (corner if i < n and j < m else 0.0)
            if value > ends[r, 0]:
                ends[r, 0], ends[r, 1] = value, j


@kernel
def trace(state, i, j, first, L, came, ways, partner):
    """Follow the best path up to row ``first``; returns the state and the cell where it goes on.

    ``state`` is that of the cell: `BEGIN` if the path has ended.
    """
    while state != BEGIN and i > first:
        way = ways[i - first, j]
        if state == MATCH:
            i, j = i - 1, j - 1
            partner[i] = j
            if i == first:
                return AFTER if i else BEGIN, i, j
            state = came[i - first, j]
        elif state < _GAP + L:
            i -= 1
            if not (state == _GAP + L - 1 and way & _STAYS_X):
                state = state - 1  # that of a match where the gap began
        else:
            j -= 1
            if state == _GAP + 2 * L - 1 and way & _STAYS_Y:
                continue
            if state == _GAP + L:
                source = way // _SOURCE
                state = MATCH if source == 0 else _GAP + source - 1
            else:
                state -= 1
    return state, i, j


@kernel
def accuracy_rows(worth, below, choices):
    """The most that the matches from a cell on are worth, from the last row of ``worth`` (B, m) to the first.

    ``below`` (m + 1,) holds the row after the last, and then the first. ``choices`` (B, m): 0 leaves out the
    residue of x, 1 that of y, 2 matches them.
    """
    B, m = worth.shape
    for r in range(B - 1, -1, -1):
        diagonal = below[m]
        for j in range(m - 1, -1, -1):
            matched, value, choice = diagonal + worth[r, j], below[j], 0
            diagonal = below[j]
            if below[j + 1] > value:
                value, choice = below[j + 1], 1
            if matched > value:
                value, choice = matched, 2
            below[j], choices[r, j] = value, choice


@kernel
def accuracy_trace(choices, partner):
    """Follow the choices from the first cell on."""
    n, m = choices.shape
    partner[:] = -1
    i = j = 0
    while i < n and j < m:
        choice = choices[i, j]
        if choice == 2:
            partner[i] = j
        i, j = i + (choice != 1), j + (choice != 0)
