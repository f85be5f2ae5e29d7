"""Highest-scoring RNA structure: the recursion of `structune.kernels.rna` with maxima and sums of scores.

Tables hold scores, -inf where there is no potential. ``truth`` and ``bonus`` change the score of the pairs of
one given structure, which is all that a cost on its pairs takes.
"""

import numpy as np

from structune.kernels._jit import kernel
from structune.kernels._vectors import cells, larger, load, splat, store, width
from structune.kernels.rna import LEFT, LOOP, N_LETTERS, RIGHT, RING, quad, row


@kernel
def _interior(i, n, loop, ring, lanes, out):
    """out[j] = best over loop sizes of score + G[i + 1 + l1, j - 1 - l2], for all j."""
    stride = LEFT + n + RIGHT
    w = width(lanes)
    least = splat(-np.inf, lanes)
    for j in range(i + 1, n, 4 * w):
        a = b = c = d = least
        for l1 in range(min(LOOP, n - i - 1)):
            at = (i + 1 + l1) % RING * stride + LEFT + j - 1
            for l2 in range(LOOP - l1):
                size = splat(loop[l1 * LOOP + l2], lanes)
                a = larger(a, size + load(ring, at - l2, lanes))
                b = larger(b, size + load(ring, at - l2 + w, lanes))
                c = larger(c, size + load(ring, at - l2 + 2 * w, lanes))
                d = larger(d, size + load(ring, at - l2 + 3 * w, lanes))
        store(out, j, a)
        store(out, j + w, b)
        store(out, j + 2 * w, c)
        store(out, j + 3 * w, d)


@kernel
def _multi(i, n, here, below, unpaired, partners, found, b, m, m2, sums, lanes):
    """Row i of M and M2."""
    w = width(lanes)
    for j in range(i, n + w):
        sums[j] = -np.inf
    for f in range(found):
        k = partners[f]
        first, at = splat(b[k], lanes), row(k + 1, n)
        for j in range(k + 1, n, w):
            store(sums, j, larger(load(sums, j, lanes), first + load(m, at + j, lanes)))
    single = -np.inf
    for j in range(i, n):
        single = max(single + unpaired, b[j])
        m[here + j], m2[here + j] = max(single, sums[j]), sums[j]
    for j in range(i + 1, n):
        m[here + j] = max(m[here + j], unpaired + m[below + j])
        m2[here + j] = max(m2[here + j], unpaired + m2[below + j])


@kernel
def viterbi(
    letters,
    tables,
    scalars,
    min_hairpin,
    truth,
    bonus,
    lanes,
    pairs,
    multi,
    multi_2,
    exterior,
    ring,
    scratch,
    partners,
):
    """Fill P, M, M2 and E as `structune.kernels.rna.inside` does; E[0] is the best score.

    ``ring`` is full of -inf; ``truth`` (n,) holds the partner of each base, or -1.
    """
    n = letters.size - 2
    base_pair, stack = cells(tables[0]), cells(tables[1])
    junction_b, junction_a = cells(tables[2]), cells(tables[3])
    hairpin, loop, bulge, one_by_one = cells(tables[4]), cells(tables[5]), cells(tables[6]), cells(tables[7])
    closing, branch, unpaired, outer, free = scalars[0], scalars[1], scalars[2], scalars[3], scalars[4]
    p, m, m2, e = cells(pairs), cells(multi), cells(multi_2), cells(exterior)
    g, s, best, b = cells(ring), cells(letters), cells(scratch[0]), cells(scratch[1])
    stride = LEFT + n + RIGHT
    e[n] = 0.0
    for i in range(n - 1, -1, -1):
        here, below, slot = row(i, n), row(i + 1, n), i % RING * stride
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i + 1) % RING * stride + LEFT, (i + 2) % RING * stride + LEFT
        _interior(i, n, loop, g, lanes, best)
        for k in range(slot, slot + stride):
            g[k] = -np.inf
        for j in range(i, n):
            p[here + j] = -np.inf
            b[j] = -np.inf
        total, found = e[i + 1] + free, 0
        for j in range(i + min_hairpin + 1, n):
            y, y_next, y_before = s[j + 1], s[j + 2], s[j]
            own = base_pair[x * N_LETTERS + y]
            if own == -np.inf:
                continue
            if truth[i] == j:
                own += bonus
            word = quad(x, y, x_next, y_before)
            inner = max(hairpin[j - i - 1], best[j])
            inner = max(inner, bulge[y_before] + g[slot1 + j - 2])
            inner = max(inner, bulge[x_next] + g[slot2 + j - 1])
            inner = max(inner, one_by_one[x_next * N_LETTERS + y_before] + g[slot2 + j - 2])
            inner += junction_b[word]
            if j > i + 1:
                inner = max(inner, closing + junction_a[word] + m2[below + j - 1])
                inner = max(inner, stack[word] + p[below + j - 1])
            value = own + inner
            word = quad(y, x, y_next, x_before)
            p[here + j] = value
            g[slot + LEFT + j] = value + junction_b[word]
            b[j] = value + junction_a[word] + branch
            total = max(total, value + junction_a[word] + outer + e[j + 1])
            partners[found] = j
            found += 1
        e[i] = total
        _multi(i, n, here, below, unpaired, partners, found, b, m, m2, best, lanes)


@kernel
def _seen_from_outside(letters, table, i, j):
    """Score in a junction table of the pair (i, j) as an inner pair."""
    return table[quad(letters[j + 1], letters[i + 1], letters[j + 2], letters[i])]


@kernel
def _inner_pair(letters, tables, i, j, p):
    """The inner pair and the score of the best loop of two pairs that (i, j) closes."""
    n = letters.size - 2
    stack, junction_b, loop, bulge, one_by_one = tables[1], tables[2], tables[5], tables[6], tables[7]
    word = quad(letters[i + 1], letters[j + 1], letters[i + 2], letters[j])
    best, best_p, best_q = -np.inf, -1, -1
    for l1 in range(min(LOOP, j - i - 2)):
        for l2 in range(min(LOOP - l1, j - i - 2 - l1)):
            first, last = i + 1 + l1, j - 1 - l2
            value = p[row(first, n) + last]
            if value == -np.inf:
                continue
            if l1 + l2 == 0:
                value += stack[word]
            else:
                value += junction_b[word] + _seen_from_outside(letters, junction_b, first, last)
                if l1 + l2 == 1:
                    value += bulge[letters[i + 2] if l1 else letters[j]]
                elif l1 == 1 and l2 == 1:
                    value += one_by_one[letters[i + 2] * N_LETTERS + letters[j]]
                else:
                    value += loop[l1 * LOOP + l2]
            if value > best:
                best, best_p, best_q = value, first, last
    return best, best_p, best_q


@kernel
def _branch(letters, tables, scalars, i, j, n, p, m, least):
    """Where the best first branch from base i ends in the stretch i..j, and whether others follow.

    ``least`` is the number of branches that there must be. -1 if base i is better unpaired.
    """
    junction_a, branch, unpaired = tables[3], scalars[1], scalars[2]
    best, best_k, more = -np.inf, -1, False
    for k in range(i + 1, j + 1):
        value = p[row(i, n) + k]
        if value == -np.inf:
            continue
        value += _seen_from_outside(letters, junction_a, i, k) + branch
        if least == 1 and value + (j - k) * unpaired > best:
            best, best_k, more = value + (j - k) * unpaired, k, False
        if k < j and value + m[row(k + 1, n) + j] > best:
            best, best_k, more = value + m[row(k + 1, n) + j], k, True
    return best, best_k, more


@kernel
def trace(letters, tables, scalars, pairs, multi, multi_2, exterior, todo, partner):
    """The structure that `viterbi` scored.

    Parameters
    ----------
    todo : (n + 1, 3) scratch
    partner : (n,)
        Gets the partners, -1 where unpaired.
    """
    n = letters.size - 2
    partner[:] = -1
    left, i = 0, 0
    while i < n:
        best, best_j = exterior[i + 1] + scalars[4], -1
        for j in range(i + 1, n):
            value = pairs[row(i, n) + j]
            if value > -np.inf:
                value += _seen_from_outside(letters, tables[3], i, j) + scalars[3] + exterior[j + 1]
                if value > best:
                    best, best_j = value, j
        if best_j >= 0:
            todo[left, 0], todo[left, 1], todo[left, 2] = i, best_j, 0
            left += 1
            i = best_j
        i += 1
    while left:
        left -= 1
        i, j, least = todo[left, 0], todo[left, 1], todo[left, 2]
        if least:  # a stretch of a multi-branch loop
            best, k, more = _branch(letters, tables, scalars, i, j, n, pairs, multi, least)
            table = multi if least == 1 else multi_2
            if i < j and scalars[2] + table[row(i + 1, n) + j] > best:
                todo[left, 0] = i + 1
                left += 1
                continue
            if more:
                todo[left, 0], todo[left, 1], todo[left, 2] = k + 1, j, 1
                left += 1
            todo[left, 0], todo[left, 1], todo[left, 2] = i, k, 0
            left += 1
            continue
        partner[i], partner[j] = j, i
        word = quad(letters[i + 1], letters[j + 1], letters[i + 2], letters[j])
        best, p, q = _inner_pair(letters, tables, i, j, pairs)
        hairpin = tables[4][j - i - 1] + tables[2][word]
        several = -np.inf
        if j > i + 1:
            several = scalars[0] + tables[3][word] + multi_2[row(i + 1, n) + j - 1]
        if several > best and several > hairpin:
            todo[left, 0], todo[left, 1], todo[left, 2] = i + 1, j - 1, 2
            left += 1
        elif best > hairpin:
            todo[left, 0], todo[left, 1], todo[left, 2] = p, q, 0
            left += 1
