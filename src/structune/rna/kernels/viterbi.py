"""Highest-scoring RNA structure: the recursion of `structune.rna.kernels.sums`, its sums maxima of scores.

Tables hold scores, -inf where there is no potential.
"""

import numpy as np

from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, larger, load, splat, store, width
from structune.rna.kernels.loops import GAP, LOOP, N_LETTERS, quad
from structune.rna.kernels.sums import LEFT, RIGHT, RING, by_table, context, row, special_hairpin


@kernel
def _interior(i, n, end, loop, ring, lanes, out):
    """out[j] = best over loop sizes of score + G[i + 1 + l1, j - 1 - l2], for all j."""
    # As in `structune.rna.kernels.sums`, with sums of scores for products and maxima for sums; no scale is
    # needed, for scores stay in range.
    stride = LEFT + n + RIGHT
    w = width(lanes)
    least = splat(-np.inf, lanes)
    for j in range(i + 1, end, 4 * w):
        a = b = c = d = least
        for l1 in range(min(LOOP, end - i - 1)):
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
def _multi(i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, m2, sums, lanes):
    """Row i of M and M2."""
    w = width(lanes)
    skipped = -np.inf if nick <= i < nick + GAP else unpaired
    for j in range(i, end + w):
        sums[j] = -np.inf
    for f in range(found):
        k = partners[f]
        first, at = splat(b[k], lanes), row(k + 1, n, reach)
        for j in range(k + 1, end, w):
            # M2[i, j] = max over k of b[k] + M[k + 1, j], for all j at once.
            store(sums, j, larger(load(sums, j, lanes), first + load(m, at + j, lanes)))
    # One branch with unpaired bases behind it, in one pass; base i unpaired comes last, from the row below.
    single = -np.inf
    for j in range(i, end):
        single = b[j] if j == nick else max(single + unpaired, b[j])
        m[here + j], m2[here + j] = max(single, sums[j]), sums[j]
    for j in range(i + 1, end):
        m[here + j] = max(m[here + j], skipped + m[below + j])
        m2[here + j] = max(m2[here + j], skipped + m2[below + j])


@kernel
def _prefixes(begin, n, reach, s, p, external_dangle, outer, free, rights):
    """R."""
    for j in range(begin, n):
        total = rights[j] + free
        for k in range(begin, j):
            word = quad(s[j + 1], s[k + 1], s[j + 2], s[k])
            total = max(total, p[row(k, n, reach) + j] + external_dangle[word] + outer + rights[k])
        rights[j + 1] = total


@kernel
def viterbi(
    letters, tables, lengths, at, factors, min_hairpin, reach, nick, circular, lanes, pairs, multi, multi_2,
    exterior, left, right, ring, scratch, partners,
):  # fmt: skip
    """Fill P, M, M2, E, L and R as `structune.rna.kernels.sums.inside` does; E[0] is the best score.

    ``factors`` are scores too; ``ring`` is full of -inf.
    """
    n = letters.size - 2
    (
        base_pair, stack, hairpin_mismatch, mismatch, multi_dangle, external_dangle, hairpin_3, hairpin_4,
        loop, bulge, one_by_one,
    ) = by_table(tables, at)  # fmt: skip
    span, hairpin = cells(lengths[0]), cells(lengths[1])
    branch, unpaired = tables[at.multi_paired], tables[at.multi_unpaired]
    closing = tables[at.multi_base] + branch
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, m, m2, e, factor = cells(pairs), cells(multi), cells(multi_2), cells(exterior), cells(factors)
    g, s, best, b = cells(ring), cells(letters), cells(scratch[0]), cells(scratch[1])
    stride, weighted = LEFT + n + RIGHT, factors.size > 0
    lefts, rights, begin, strands = cells(left), cells(right), nick + GAP, tables[at.strands] + outer
    if nick < n:
        lefts[nick] = rights[begin] = 0.0
    e[n] = 0.0
    for i in range(n - 1, -1, -1):
        partners[n - 1], end = i, min(n, i + reach + 1)
        here, below, slot = row(i, n, reach), row(i + 1, n, reach), i % RING * stride
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i + 1) % RING * stride + LEFT, (i + 2) % RING * stride + LEFT
        _interior(i, n, end, loop, g, lanes, best)
        for j in range(i, min(n, end + RING)):  # of row i + RING
            g[slot + LEFT + j] = -np.inf
        for j in range(i, end):
            p[here + j] = -np.inf
            b[j] = -np.inf
        # E[i] = max(E[i + 1] + free, max over j of P[i, j] + dangle + outer + E[j + 1]).
        total, found = e[i + 1] + (0.0 if nick <= i < begin else free), 0
        total_left = lefts[i + 1] + free if i < nick < n else -np.inf
        for j in range(i + min_hairpin + 1, end):
            y, y_next, y_before = s[j + 1], s[j + 2], s[j]
            own = base_pair[x * N_LETTERS + y]
            if weighted:
                own += factor[here + j]
            if own == -np.inf:
                continue
            word = quad(x, y, x_next, y_before)
            # The best loop with one other pair: any size, then those whose potential sees letters.
            inner = max(best[j], bulge[y_before] + g[slot1 + j - 2])
            inner = max(inner, bulge[x_next] + g[slot2 + j - 1])
            inner = max(inner, one_by_one[x_next * N_LETTERS + y_before] + g[slot2 + j - 2])
            inner += mismatch[word]
            special = special_hairpin(s, i, j, hairpin_3, hairpin_4, 0.0)
            closed, distance = hairpin[j - i - 1] + special + hairpin_mismatch[word], span[j - i]
            if circular:
                distance = span[min(j - i, n - j + i)]
            # Two strands end within the pair: the distance of its bases means nothing.
            crossing = i < nick <= j
            if crossing:
                closed, distance = strands + external_dangle[word] + lefts[i + 1] + rights[j], 0.0
            inner = max(inner, closed)
            if j > i + 1:
                inner = max(inner, closing + multi_dangle[word] + m2[below + j - 1])
                k = context(word, x_before, y_next, circular or crossing)
                inner = max(inner, stack[k] + p[below + j - 1])
            value = own + distance + inner
            word = quad(y, x, y_next, x_before)
            p[here + j] = value
            g[slot + LEFT + j] = value + mismatch[word]
            # As a branch of a multi-branch loop, and of the exterior.
            b[j] = value + multi_dangle[word] + branch
            branched = value + external_dangle[word] + outer
            total = max(total, branched + e[j + 1])
            if j < nick < n:
                total_left = max(total_left, branched + lefts[j + 1])
            partners[found] = j
            found += 1
        e[i] = total
        if i < nick < n:
            lefts[i] = total_left
        if i == begin:
            _prefixes(begin, n, reach, s, p, external_dangle, outer, free, rights)
        _multi(i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, m2, best, lanes)
