"""The RNA structure of highest total value, given the values of all pairs and unpaired bases.

A recursion of its own, over maxima: that of `structune.rna.kernels.sums` for models without loops.
"""

from structune.kernels.jit import bare_kernel, part_of_bare_kernel
from structune.kernels.vectors import cells, larger, load, splat, store, width
from structune.rna.kernels.sums import row


@part_of_bare_kernel
def _inside(table, n, i, k):
    """Best value of the bases within the pair (i, k)."""
    return table[row(i + 1, n) + k - 1] if k > i + 1 else 0.0


@bare_kernel
def accuracies(pairs, unpaired, lanes, scratch, table):
    """table[i, j] = the best value of the stretch i..j; pairs that are worth nothing are left out.

    Tables are triangular (see `structune.rna.kernels.sums`); ``scratch`` is (n + width(lanes),).
    """
    n, w = unpaired.size, width(lanes)
    p, t, best = cells(pairs), cells(table), cells(scratch)
    for i in range(n - 1, -1, -1):
        here, below = row(i, n), row(i + 1, n)
        best[i] = unpaired[i]
        for j in range(i + 1, n):
            best[j] = unpaired[i] + t[below + j]
        for k in range(i + 1, n):
            if p[here + k] <= 0.0:
                continue
            pair, at = p[here + k] + _inside(t, n, i, k), row(k + 1, n)
            best[k] = max(best[k], pair)
            run = splat(pair, lanes)
            for j in range(k + 1, n, w):
                store(best, j, larger(load(best, j, lanes), run + load(t, at + j, lanes)))
        for j in range(i, n):
            t[here + j] = best[j]


@bare_kernel
def trace(pairs, unpaired, table, todo, partner):
    """The structure of the best value; ``todo`` is (n + 1, 2) scratch."""
    n = unpaired.size
    partner[:] = -1
    todo[0, 0], todo[0, 1], left = 0, n - 1, 1
    while left:
        left -= 1
        i, last = todo[left, 0], todo[left, 1]
        while i <= last:
            best, best_k = unpaired[i] + (table[row(i + 1, n) + last] if i < last else 0.0), -1
            for k in range(i + 1, last + 1):
                p = pairs[row(i, n) + k]
                if p > 0.0:
                    value = p + _inside(table, n, i, k)
                    value += table[row(k + 1, n) + last] if k < last else 0.0
                    if value > best:
                        best, best_k = value, k
            if best_k >= 0:
                partner[i], partner[best_k] = best_k, i
                todo[left, 0], todo[left, 1] = i + 1, best_k - 1
                left += 1
                i = best_k
            i += 1
