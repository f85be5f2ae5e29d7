"""The alignment of two groups of aligned sequences whose matches are worth most."""

import numpy as np

from structune.kernels.jit import kernel


@kernel
def merge(members, other, group, column, widths, sequence, offsets, table):
    """Align two groups and give their residues columns of the whole; returns how many there are.

    ``members`` and ``other`` are the sequences of both groups, best the fewer ones first; ``group`` tells
    which are of ``other``. ``column`` (n_residues,) has the columns of residues in their group, of
    ``widths``. ``sequence`` is that of each residue, and ``table`` the values of matches, symmetric.
    """
    n, m = widths
    # the worth of a column of the one group with one of the other is the sum of the values of their matches
    starts, residues = _by_column(members, column, offsets, n)
    matched = _best(starts, residues, group, column, m, sequence, table)
    mine, others = np.empty(n, np.int32), np.empty(m, np.int32)
    width = _place(matched, mine, others)
    _move(members, mine, column, offsets)
    _move(other, others, column, offsets)
    return width


@kernel
def _move(members, to, column, offsets):
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            column[r] = to[column[r]]


@kernel
def _by_column(members, column, offsets, n):
    """The residues of each column of a group, by its sequences, and where those of each begin."""
    # a counting sort: sizes of columns two places on, then where they begin, then the next place to fill
    starts = np.zeros(n + 2, np.int64)
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            starts[column[r] + 2] += 1
    for i in range(2, n + 2):
        starts[i] += starts[i - 1]
    residues = np.empty(starts[n + 1], np.int64)
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            residues[starts[column[r] + 1]] = r
            starts[column[r] + 1] += 1
    return starts[: n + 1], residues


@kernel
def _best(starts, residues, group, column, m, sequence, table):
    """The matched columns of both groups, the last first, (n_matches, 2).

    Memory is that of the matches that any alignment of what is before them has, and of one row. Where several
    alignments are worth as much, the last match is in the first such column of the one group, and then in
    the last one of the other.
    """
    worth = np.zeros(m, np.float32)
    # Of the first j columns of the other group: what is worth most, and its last match. As gaps cost nothing,
    # best[j + 1] = max(best[j + 1] of the row above, best[j], best[j] of the row above + worth[j]), which
    # never falls along j. So a row changes nothing before its first match, nor after its last one from where
    # the row above is as good.
    best, last = np.zeros(m + 1), np.full(m + 1, -1)
    found, n_found = np.empty((m + 1, 3), np.int64), 0  # matches, and those before them
    for i in range(starts.size - 1):
        # the worth of column i with each of the other group, and the span of those that have any
        low, high = m, -1
        for r in residues[starts[i] : starts[i + 1]]:
            for k in range(table.starts[r], table.starts[r + 1]):
                c = table.columns[k]
                if group[sequence[c]]:
                    j = column[c]
                    low, high = min(low, j), max(high, j)
                    worth[j] += table.values[k]
        if n_found + high - low >= len(found):
            larger = np.empty((2 * len(found) + high - low, 3), np.int64)
            for k in range(n_found):  # to assign a slice would compile the text of an error, for five seconds
                larger[k, 0], larger[k, 1], larger[k, 2] = found[k, 0], found[k, 1], found[k, 2]
            found = larger
        here, own, before, match = 0.0, -1, 0.0, -1
        if low < m:
            before, match = best[low], last[low]
        for j in range(low, m):
            above, match_above = best[j + 1], last[j + 1]
            if j > high and here <= above:
                break
            if j <= high:
                value = before + worth[j]
                worth[j] = 0.0
                # a match is kept as it is found better than what is known; its chain goes back by numbers
                if value > above and value >= here:
                    found[n_found, 0], found[n_found, 1], found[n_found, 2] = i, j, match
                    here, own, n_found = value, n_found, n_found + 1
            if here > above:
                best[j + 1], last[j + 1] = here, own
            before, match = above, match_above
    # the matches up to the last one, brought to the front of a table that has room for all
    size, k, out = 0, last[m], np.empty((min(starts.size - 1, m), 2), np.int64)
    while k >= 0:
        out[size, 0], out[size, 1] = found[k, 0], found[k, 1]
        size, k = size + 1, found[k, 2]
    return out[:size]


@kernel
def _place(matched, mine, others):
    """Columns of the whole that those of both groups become; between two matches `others` come first."""
    i = j = width = 0
    for c in range(len(matched) - 1, -2, -1):  # the last match comes first
        above, left = (matched[c, 0], matched[c, 1]) if c >= 0 else (mine.size, others.size)
        while j < left:
            others[j] = width
            j, width = j + 1, width + 1
        while i < above:
            mine[i] = width
            i, width = i + 1, width + 1
        if c >= 0:
            mine[i] = others[j] = width
            i, j, width = i + 1, j + 1, width + 1
    return width


@kernel
def close_up(members, column, offsets, used):
    """Leave out the columns that no residue of a group has; returns how many are left.

    ``used`` are zeros, one for each column, and become where columns have gone.
    """
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            used[column[r]] = 1
    width = 0
    for k in range(used.size):
        if used[k]:
            used[k] = width
            width += 1
    _move(members, used, column, offsets)
    return width
