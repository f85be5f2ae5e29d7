"""The RNA structure of highest total value, given the values of all pairs and unpaired bases.

A recursion of its own, over maxima: that of `structune.rna.kernels.sums` for models without loops. ``table``
holds the best value of stretches i..j, ``suffixes`` that of i..n - 1.
"""

from structune.kernels.jit import bare_kernel, part_of_bare_kernel
from structune.kernels.vectors import cells, larger, load, splat, store, width
from structune.rna.kernels.sums import row


@part_of_bare_kernel
def _inside(table, n, reach, i, k):
    """Best value of the bases within the pair (i, k)."""
    return table[row(i + 1, n, reach) + k - 1] if k > i + 1 else 0.0


@part_of_bare_kernel
def _from(table, suffixes, n, reach, i, last):
    """Best value of i..last, bases of the exterior if this is the last of all."""
    if last == n - 1:
        return suffixes[i]
    return table[row(i, n, reach) + last] if i <= last else 0.0


@bare_kernel
def accuracies(pairs, unpaired, reach, lanes, scratch, table, suffixes):
    """Fill the table and the suffixes; pairs that are worth nothing are left out.

    Tables are of pairs (see `structune.rna.kernels.sums`); ``scratch`` is (n + width(lanes),).
    """
    n, w = unpaired.size, width(lanes)
    p, t, best, exterior = cells(pairs), cells(table), cells(scratch), cells(suffixes)
    exterior[n] = 0.0
    for i in range(n - 1, -1, -1):
        end, here, below = min(n, i + reach + 1), row(i, n, reach), row(i + 1, n, reach)
        best[i], total = unpaired[i], unpaired[i] + exterior[i + 1]
        for j in range(i + 1, end):
            best[j] = unpaired[i] + t[below + j]
        for k in range(i + 1, end):
            if p[here + k] <= 0.0:
                continue
            pair, at = p[here + k] + _inside(t, n, reach, i, k), row(k + 1, n, reach)
            best[k] = max(best[k], pair)
            total = max(total, pair + exterior[k + 1])
            run = splat(pair, lanes)
            for j in range(k + 1, end, w):
                store(best, j, larger(load(best, j, lanes), run + load(t, at + j, lanes)))
        for j in range(i, end):
            t[here + j] = best[j]
        exterior[i] = total


@bare_kernel
def trace(pairs, unpaired, reach, table, suffixes, todo, partner):
    """The structure of the best value; ``todo`` is (n + 1, 2) scratch."""
    n = unpaired.size
    partner[:] = -1
    todo[0, 0], todo[0, 1], left = 0, n - 1, 1
    while left:
        left -= 1
        i, last = todo[left, 0], todo[left, 1]
        while i <= last:
            best, best_k = unpaired[i] + _from(table, suffixes, n, reach, i + 1, last), -1
            for k in range(i + 1, min(last, i + reach) + 1):
                p = pairs[row(i, n, reach) + k]
                if p > 0.0:
                    value = p + _inside(table, n, reach, i, k)
                    value += _from(table, suffixes, n, reach, k + 1, last)
                    if value > best:
                        best, best_k = value, k
            if best_k >= 0:
                partner[i], partner[best_k] = best_k, i
                todo[left, 0], todo[left, 1] = i + 1, best_k - 1
                left += 1
                i = best_k
            i += 1
