"""The RNA structure of highest total value, given the values of all pairs and unpaired bases.

A recursion of its own, over maxima: that of `structune.rna.kernels.sums` for models without loops. ``table``
holds the best value of stretches i..j, ``suffixes`` that of i..n - 1. Where no pair is to be lonely, each is
stacked on another, outside of it or inside.

Pairs of at most ``least`` are left out: 0 where they are of no use, -inf where only those of -inf cannot be.
A base of -inf must pair; all values are -inf where it cannot.
"""

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel
from structune.kernels.vectors import cells, larger, load, splat, store, width
from structune.rna.kernels.loops import row


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
def accuracies(pairs, unpaired, reach, lonely, least, lanes, scratch, table, suffixes):
    """Fill the table and the suffixes.

    Tables are of pairs (see `structune.rna.kernels.sums`); ``scratch`` is (3, n + width(lanes)).
    """
    n, w = unpaired.size, width(lanes)
    p, t, best, exterior = cells(pairs), cells(table), cells(scratch[0]), cells(suffixes)
    stacked, stacked_below = cells(scratch[1]), cells(scratch[2])  # with a pair outside: (i, k), (i + 1, k)
    exterior[n] = 0.0
    for k in range(n):
        stacked[k] = stacked_below[k] = -np.inf
    for i in range(n - 1, -1, -1):
        end, here, below = min(n, i + reach + 1), row(i, n, reach), row(i + 1, n, reach)
        # T[i, j] = max(unpaired[i] + T[i + 1, j], max over k of value(i, k) + T[i + 1, k - 1] + T[k + 1, j]),
        # and the same with j = n - 1 for suffixes, so that rows need not reach to the end (Nussinov's
        # recursion with values of pairs: Do, Woods & Batzoglou 2006, section 2.5).
        best[i], total = unpaired[i], unpaired[i] + exterior[i + 1]
        for j in range(i + 1, end):
            best[j] = unpaired[i] + t[below + j]
        for k in range(i + 1, end):
            # Pairs that gain nothing are left out, which makes the recursion fast: most pairs are improbable.
            stacked[k] = -np.inf
            if p[here + k] <= least:
                continue
            pair, at = p[here + k] + _inside(t, n, reach, i, k), row(k + 1, n, reach)
            # Without lonely pairs a helix has two pairs at least: `stacked` is the best with (i, k) as the
            # outer pair of a helix of any length, to which the pair outside of it may be added; `pair` needs
            # one inside.
            if not lonely:
                longer = p[here + k] + stacked_below[k - 1]
                stacked[k], pair = max(pair, longer), longer
                if pair == -np.inf:
                    continue
            best[k] = max(best[k], pair)
            total = max(total, pair + exterior[k + 1])
            # What follows (i, k) is the row of k + 1, which is known: one vector operation for all j.
            run = splat(pair, lanes)
            for j in range(k + 1, end, w):
                store(best, j, larger(load(best, j, lanes), run + load(t, at + j, lanes)))
        for j in range(i, end):
            t[here + j] = best[j]
        exterior[i] = total
        stacked, stacked_below = stacked_below, stacked


@part_of_bare_kernel
def _helix(pairs, table, n, reach, lonely, least, i, k):
    """Best value of the pair (i, k) with what is inside, and how many pairs are stacked then."""
    value, total, length = pairs[row(i, n, reach) + k], 0.0, 0
    if lonely:
        return value + _inside(table, n, reach, i, k), 1
    best, best_length = -np.inf, 0
    # The longest helix is not always the best: all lengths from two on are tried.
    while value > least:
        total += value
        length += 1
        closed = total + _inside(table, n, reach, i + length - 1, k - length + 1)
        if length > 1 and closed > best:
            best, best_length = closed, length
        if k - i < 2 * length + 1:
            break
        value = pairs[row(i + length, n, reach) + k - length]
    return best, best_length


@bare_kernel
def trace(pairs, unpaired, reach, lonely, least, table, suffixes, todo, partner):
    """The structure of the best value; ``todo`` is (n + 1, 2) scratch."""
    n = unpaired.size
    partner[:] = -1
    todo[0, 0], todo[0, 1], left = 0, n - 1, 1
    while left:
        left -= 1
        i, last = todo[left, 0], todo[left, 1]
        while i <= last:
            best, best_k, best_length = unpaired[i] + _from(table, suffixes, n, reach, i + 1, last), -1, 0
            for k in range(i + 1, min(last, i + reach) + 1):
                if pairs[row(i, n, reach) + k] > least:
                    value, length = _helix(pairs, table, n, reach, lonely, least, i, k)
                    value += _from(table, suffixes, n, reach, k + 1, last)
                    if value > best:
                        best, best_k, best_length = value, k, length
            if best_k >= 0:
                for s in range(best_length):
                    partner[i + s], partner[best_k - s] = best_k - s, i + s
                todo[left, 0], todo[left, 1] = i + best_length, best_k - best_length
                left += 1
                i = best_k
            i += 1
