"""The alignment of two groups of aligned sequences whose matches are worth most."""

import numpy as np

from structune.kernels.jit import kernel


@kernel
def merge(members, other, group, column, widths, sequence, offsets, table):
    """Align two groups and give their residues columns of the whole.

    Parameters
    ----------
    members, other : ndarray of int64
        Sequences of both groups; best the fewer ones first.
    group : ndarray of bool, shape (n_sequences,)
        Whether a sequence is one of ``other``.
    column : ndarray of int32, shape (n_residues,)
        Columns of residues in their group; become those in the whole.
    widths : (int, int)
        Columns of both groups.
    sequence, offsets : ndarray
        Of each residue its sequence, and of those where their residues begin.
    table : Sparse
        Values of matches, symmetric.

    Returns
    -------
    int
        Columns of the whole.
    """
    n, m = widths
    worth = np.zeros((n, m), np.float32)
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            row = worth[column[r]]
            for k in range(table.starts[r], table.starts[r + 1]):
                c = table.columns[k]
                if group[sequence[c]]:
                    row[column[c]] += table.values[k]
    choices = _best(worth)
    mine, others = np.empty(n, np.int32), np.empty(m, np.int32)
    width = _place(choices, mine, others)
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            column[r] = mine[column[r]]
    for y in other:
        for r in range(offsets[y], offsets[y + 1]):
            column[r] = others[column[r]]
    return width


@kernel
def _best(worth):
    """What was chosen at each cell, from the end on (0 leaves out a row, 1 a column, 2 matches)."""
    n, m = worth.shape
    choices = np.empty((n, m), np.uint8)
    best, here = np.zeros(m + 1), np.empty(m + 1)
    for i in range(n):
        here[0] = 0.0
        for j in range(m):
            here[j + 1] = max(best[j + 1], best[j] + worth[i, j])
        row = choices[i]
        for j in range(m):
            row[j] = 2 if here[j + 1] > best[j + 1] else 0
        last = 0.0
        for j in range(m):
            if here[j + 1] < last:  # as much without the column
                row[j] = 1
            else:
                last = here[j + 1]
            best[j + 1] = last
    return choices


@kernel
def _place(choices, mine, others):
    """Columns of the whole that those of both groups become; of what is between two matches first `mine`."""
    i, j = choices.shape
    width = 0
    while i or j:  # counted from the end
        width += 1
        choice = choices[i - 1, j - 1] if i and j else (0 if i else 1)
        if choice != 0:
            j -= 1
            others[j] = width
        if choice != 1:
            i -= 1
            mine[i] = width
    for k in range(mine.size):
        mine[k] = width - mine[k]
    for k in range(others.size):
        others[k] = width - others[k]
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
    for x in members:
        for r in range(offsets[x], offsets[x + 1]):
            column[r] = used[column[r]]
    return width
