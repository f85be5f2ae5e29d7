"""Tables of the matches of all residues: what third sequences say of two, and what an alignment has of it."""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel


class Sparse(NamedTuple):
    """A table, sparse by rows: those of row r are ``starts[r]:starts[r + 1]``, columns rising."""

    starts: Any
    columns: Any
    values: Any


@kernel
def relax(rows, later, table, scale, sequence, pattern, out):
    """Products of rows of a symmetric table of residues, where ``pattern`` has a value: they become ``out``.

    Of residues ``rows[0]:rows[1]``, with those after their own sequence, which begin at ``later``
    (n_sequences,). Products of residues of two sequences are multiplied by ``scale`` (n_sequences,
    n_sequences). ``sequence`` (n_residues,) is that of each residue.
    """
    # sum_z P_xz P_zy (Do et al. 2005), Gustavson's way: a row is spread out once, and each product that is
    # wanted is a sparse row of the other residue times it (the table is symmetric)
    own = np.zeros(sequence.size, np.float32)
    for r in range(rows[0], rows[1]):
        x = sequence[r]
        _put(own, table, r, 1.0)
        for k in range(_from(pattern, r, later[x]), pattern.starts[r + 1]):
            c = pattern.columns[k]
            total = np.float32(0.0)
            for other in range(table.starts[c], table.starts[c + 1]):
                total += table.values[other] * own[table.columns[other]]
            out[k] = total * scale[x, sequence[c]]
        _put(own, table, r, 0.0)


@kernel
def _put(row, table, r, factor):
    for k in range(table.starts[r], table.starts[r + 1]):
        row[table.columns[k]] = table.values[k] * factor


@kernel
def _from(table, r, first):
    """The place of the first match of a row with a residue from ``first`` on."""
    a, b = table.starts[r], table.starts[r + 1]
    while a < b:
        k = (a + b) // 2
        if table.columns[k] < first:
            a = k + 1
        else:
            b = k
    return a


@kernel
def chains(table, x, offsets, sequence, best, out):
    """The most that matches of an alignment add up to, of sequence x with each after it, into ``out``.

    ``offsets`` (n_sequences + 1,) tell where residues of sequences begin, ``sequence`` (n_residues,) that of
    each; ``best`` (n_residues + n_sequences,) is to work in.
    """
    # The heaviest chain of matches that rise in both sequences: for residues of x in their order, a match
    # with residue c of y adds to the best chain that ends before c. A tree of prefix maxima for each y
    # (Fenwick 1994) finds it in log time, so that only matches cost, and not cells.
    best[:] = 0.0
    found = np.empty(sequence.size - offsets[x + 1])
    for r in range(offsets[x], offsets[x + 1]):
        first, last = _from(table, r, offsets[x + 1]), table.starts[r + 1]
        for k in range(first, last):
            c = table.columns[k]
            y = sequence[c]
            found[k - first] = table.values[k] + _most(best[offsets[y] + y :], c - offsets[y])
        for k in range(first, last):  # only now, or two matches of one residue would follow each other
            c = table.columns[k]
            y = sequence[c]
            own, j = best[offsets[y] + y : offsets[y + 1] + y + 1], c - offsets[y] + 1
            while j < own.size:
                own[j] = max(own[j], found[k - first])
                j += j & -j
    for y in range(x + 1, out.size):
        out[y] = _most(best[offsets[y] + y :], offsets[y + 1] - offsets[y])


@kernel
def _most(best, j):
    value = 0.0
    while j > 0:  # j & -j is the lowest bit that is set: the number of places that best[j] is the maximum of
        value = max(value, best[j])
        j -= j & -j
    return value
