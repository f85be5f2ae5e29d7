"""Inside and outside recursions of the CONTRAfold model in the linear domain, one sequence a call.

`inside` is also the recursion of the best structure: with scores in place of potentials, ``scores`` True in
place of None, sums for products and maxima for sums (semirings: Goodman, Computational Linguistics 25:573,
1999). What cannot be is then -inf.

Bases are numbers 0-5: ACGU, one that is none of these, and one that is absent, which stand at both ends of
``letters`` (n + 2,), and GAP of them from ``nick`` on between two strands (``nick`` is n for one). The bases
of a pair are at most ``reach`` apart. Rows (i, i..min(i + reach, n - 1)) of a table of pairs follow one
another; cell (i, j) is ``row(i, n, reach) + j``.

=====  =================================================================================================
P      everything within the pair (i, j), itself included
G      P and the junction of its pair, seen from the loop outside of it; rows i..i + 31, in a ring
M, M2  stretches i..j of a multi-branch loop with at least one branch, with at least two
E      suffixes of the exterior loop, each as often divided by exp(RAISE) as ``raised`` says, so that none
       leaves the range
L, R   of two strands: suffixes of the first, i..nick - 1, and prefixes of the second, up to i - 1
=====  =================================================================================================
"""

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells, larger, load, splat, store, total, width
from structune.rna.kernels.loops import ABSENT, GAP, LOOP, N_LETTERS, quad

# The recursions are McCaskill's (Biopolymers 29:1105, 1990) with CONTRAfold's loops (Do, Woods & Batzoglou,
# Bioinformatics 22:e90, 2006). Rows are filled from the last base to the first, and the work on a row is on
# all j at once: runs of neighbouring cells are one vector. Potentials are exponentials of scores. Every base
# takes a constant factor with it (see `ScaledInference`), so that products of many stay in range.
# An interior loop has at most 30 unpaired bases, so that row i reads G of rows i + 1..i + 31 alone: a ring of
# 32 rows that fits into the cache takes the place of a second table of pairs.
RING = 32
# Runs begin up to 30 cells before i (for l2 = 30) and go on by up to four vectors behind the last j. The
# margins of a row of the ring are zeros, so that what lies outside of it adds nothing.
LEFT, RIGHT = 40, 80  # cells beside a row of a ring that runs may read
# Suffixes of a sequence with a limit of spans may grow or shrink without bound. exp(200) is far within the
# range of a double (1e87 of 1e308).
RAISE = 200.0


@bare_kernel
def row(i, n, reach):
    """Where cell (i, 0) would lie."""
    # Rows have reach + 1 cells as long as i + reach < n; row r of the last ones has n - r. The sum over the
    # rows before i, less i because cell (i, j) is at its start + j - i, is i * reach less what they lack.
    shorter = max(i - (n - 1 - reach), 0)  # rows before that the end of the sequence cuts
    return i * reach - shorter * (shorter - 1) // 2


# `scores` is known when these are compiled: the other branch is not there.


@part_of_bare_kernel
def _both(a, b, scores):
    if scores is None:
        return a * b
    return a + b


@part_of_bare_kernel
def _either(a, b, scores):
    if scores is None:
        return a + b
    return max(a, b)


@part_of_bare_kernel
def _either_run(a, b, scores):
    if scores is None:
        return a + b
    return larger(a, b)


@part_of_bare_kernel
def _impossible(like, scores):
    """Zero or its logarithm, of the type of a potential."""
    if scores is None:
        return like * 0.0
    return -np.inf


@part_of_bare_kernel
def _certain(like, scores):
    """One or its logarithm, likewise."""
    if scores is None:
        return like * 0.0 + 1.0
    return 0.0


@part_of_bare_kernel
def by_table(numbers, at):
    """Views from the beginnings of the tables that see letters or sizes of loops, in this order."""
    return (
        cells(numbers[at.base_pair :]), cells(numbers[at.stack :]), cells(numbers[at.hairpin_mismatch :]),
        cells(numbers[at.interior_mismatch :]), cells(numbers[at.multi_dangle :]),
        cells(numbers[at.external_dangle :]), cells(numbers[at.hairpin_3 :]), cells(numbers[at.hairpin_4 :]),
        cells(numbers[at.loop :]), cells(numbers[at.bulge_0x1 :]), cells(numbers[at.internal_1x1 :]),
    )  # fmt: skip


@part_of_bare_kernel
def context(word, before, behind, no_outside):
    """Cell of a stack; what is outside of it does not count where nothing says which side that is."""
    if no_outside:
        return (word * N_LETTERS + ABSENT) * N_LETTERS + ABSENT
    return (word * N_LETTERS + before) * N_LETTERS + behind


@part_of_bare_kernel
def levelled(value, steps):
    """A suffix's value beside those that are raised so much less."""
    return value if steps == 0 else value * np.exp(RAISE * steps)


@part_of_one_kernel
def special_hairpin(s, i, j, hairpin_3, hairpin_4, one):
    """What the letters of a hairpin of three or four bases add; ``one`` for any other."""
    if j - i == 4:
        return hairpin_3[(s[i + 2] * N_LETTERS + s[i + 3]) * N_LETTERS + s[i + 4]]
    if j - i == 5:
        return hairpin_4[quad(s[i + 2], s[i + 3], s[i + 4], s[i + 5])]
    return one


# The loop closed by (i, j) with the inner pair (i + 1 + l1, j - 1 - l2) factorises into what (i, j) sees,
# what the sizes give, and G of the inner pair. So for all j of a row the sum over the 496 sizes is a
# correlation of the ring with a fixed table; bulges of one base and 1x1 loops, which see letters, have zeros
# in the table. Its transpose, for adjoints, has the other sign of `step`. Two rows are summed at a time: a
# run of the ring, whose loading is most of the work, serves both.


@part_of_one_kernel
def _interior(i, step, begin, end, size, most, n, loop, ring, lanes, scores, out, ahead):
    """out[j] = sum over loop sizes of potential * ring[i + step * (1 + l1), j - step * (1 + l2)], for all j.

    ``ahead`` gets the same of the row i - step but for l1 = 0, which `_add_nearest` adds. Loops have less
    than `size` unpaired bases, and less than ``most - j`` on the second side.
    """
    stride, w = LEFT + n + RIGHT, width(lanes)
    zero = splat(_impossible(loop[0], scores), lanes)
    # Two vectors of sums for each row: a potential is loaded once for both, and the additions of four do not
    # wait for each other.
    for j in range(begin, end, 2 * w):
        a = b = c = d = zero
        for l1 in range(min(size, i) if step < 0 else size):
            at = (i + step * (1 + l1)) % RING * stride + LEFT + j - step
            for l2 in range(min(size - l1, most - j)):
                first, second = load(ring, at - step * l2, lanes), load(ring, at - step * l2 + w, lanes)
                potential, next_potential = loop[l1 * LOOP + l2], loop[(l1 + 1) * LOOP + l2]
                here, there = splat(potential, lanes), splat(next_potential, lanes)
                a = _either_run(a, _both(here, first, scores), scores)
                b = _either_run(b, _both(here, second, scores), scores)
                c = _either_run(c, _both(there, first, scores), scores)
                d = _either_run(d, _both(there, second, scores), scores)
        store(out, j, a)
        store(out, j + w, b)
        store(ahead, j, c)
        store(ahead, j + w, d)


@part_of_one_kernel
def _add_nearest(i, step, begin, end, most, n, loop, ring, lanes, scores, out):
    """Add the sizes with l1 = 0 to what `_interior` has left ahead for row i."""
    at, w = (i + step) % RING * (LEFT + n + RIGHT) + LEFT - step, width(lanes)
    for j in range(begin, end, 2 * w):
        a, b = load(out, j, lanes), load(out, j + w, lanes)
        for l2 in range(min(LOOP, most - j)):
            potential = splat(loop[l2], lanes)
            first, second = load(ring, at + j - step * l2, lanes), load(ring, at + j - step * l2 + w, lanes)
            a = _either_run(a, _both(potential, first, scores), scores)
            b = _either_run(b, _both(potential, second, scores), scores)
        store(out, j, a)
        store(out, j + w, b)


@bare_kernel
def inside(
    letters, tables, lengths, at, factors, min_hairpin, reach, nick, circular, lanes, pairs, multi, multi_2,
    exterior, raised, left, right, ring, scratch, partners, extent, scores,
):  # fmt: skip
    """Fill P, M, M2, E, L and R; E[0] is the partition function, but of a circle, for which E is of no use.

    Or the best scores of all these, whose ``tables``, ``lengths`` and ``factors`` are scores, and ``ring`` is
    full of -inf; ``raised`` and ``extent`` are of no use then.

    Parameters
    ----------
    tables : (N_CELLS,)
        Potentials of all cells; 1x1 and 0x1 with all of theirs, so that in ``loop`` these and stacks are 0.
    lengths : (2, n + 1)
        Potentials of spans and of hairpins.
    at : named tuple
        The first cell of each table.
    factors : potential of every pair beside its own, or empty
    raised : (n + 1,) of int64
    left, right : (n + 1,), or empty for one strand
    ring, scratch : zeros (32, LEFT + n + RIGHT), (3, n + RIGHT)
    partners : (n,) scratch
        Its last number is the row that is worked on, for who watches.
    extent : (2,)
        Gets the smallest and the largest cell of P.
    """
    n = letters.size - 2
    (
        base_pair, stack, hairpin_mismatch, mismatch, multi_dangle, external_dangle, hairpin_3, hairpin_4,
        loop, bulge, one_by_one,
    ) = by_table(tables, at)  # fmt: skip
    span, hairpin = cells(lengths[0]), cells(lengths[1])
    branch, unpaired = tables[at.multi_paired], tables[at.multi_unpaired]
    closing = _both(tables[at.multi_base], branch, scores)
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, m, m2, e, factor = cells(pairs), cells(multi), cells(multi_2), cells(exterior), cells(factors)
    g, s, sums, b = cells(ring), cells(letters), cells(scratch[0]), cells(scratch[1])
    ahead = cells(scratch[2])
    stride, weighted = LEFT + n + RIGHT, factors.size > 0
    zero, one = _impossible(closing, scores), _certain(closing, scores)
    lefts, rights, begin = cells(left), cells(right), nick + GAP
    strands = _both(tables[at.strands], outer, scores)
    if nick < n:
        lefts[nick] = rights[begin] = one
    # The partition function of an empty exterior is 1. ``level`` is how often the suffix at hand was divided
    # by exp(RAISE); n - n is a zero of the type of n, which numba would otherwise take for another.
    least, most, level, raising = np.inf, 0.0, n - n, np.exp(RAISE)
    e[n], raised[n] = one, level
    for i in range(n - 1, -1, -1):
        partners[n - 1], end = i, min(n, i + reach + 1)
        here, below, slot = row(i, n, reach), row(i + 1, n, reach), i % RING * stride
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i + 1) % RING * stride + LEFT, (i + 2) % RING * stride + LEFT
        # inner[j] becomes the part of all two-pair loops that (i, j) closes but for the smallest ones. Their
        # inner pair has min_hairpin unpaired bases within it at least.
        first, inner = i + min_hairpin + 1, sums
        if (n - i) % 2:
            room = min(LOOP, end - i - min_hairpin - 3)
            _interior(i, 1, first - 1, end, room, end + LOOP, n, loop, g, lanes, scores, sums, ahead)
        else:
            inner = ahead
            _add_nearest(i, 1, first, end, end + LOOP, n, loop, g, lanes, scores, ahead)
        for j in range(i, min(n, end + RING)):  # of row i + RING
            g[slot + LEFT + j] = zero
        for j in range(i, end):
            p[here + j] = zero
            b[j] = zero
        # E[i] = E[i + 1] free + sum over j of P[i, j] dangle outer E[j + 1]: base i is unpaired, or pairs
        # with j. The places between two strands are no bases, and cost nothing.
        total, found = _both(e[i + 1], one if nick <= i < begin else free, scores), n - n
        total_left = zero if i >= nick or nick == n else _both(lefts[i + 1], free, scores)
        for j in range(first, end):
            y, y_next, y_before = s[j + 1], s[j + 2], s[j]
            own = base_pair[x * N_LETTERS + y]
            if weighted:
                own = _both(own, factor[here + j], scores)
            if own == zero:
                continue
            word = quad(x, y, x_next, y_before)
            # Loops that see letters: 0x1 with the unpaired base j - 1, 1x0 with i + 1, and 1x1 with both.
            two = _either(inner[j], _both(bulge[y_before], g[slot1 + j - 2], scores), scores)
            two = _either(two, _both(bulge[x_next], g[slot2 + j - 1], scores), scores)
            letter_pair = one_by_one[x_next * N_LETTERS + y_before]
            two = _either(two, _both(letter_pair, g[slot2 + j - 2], scores), scores)
            special = special_hairpin(s, i, j, hairpin_3, hairpin_4, one)
            closed = _both(_both(hairpin[j - i - 1], special, scores), hairpin_mismatch[word], scores)
            # A pair of a circle spans the shorter way.
            distance = span[min(j - i, n - j + i) if circular else j - i]
            crossing = i < nick <= j
            # Where two strands end within (i, j), the loop is one of the exterior: what is left of the first
            # strand, times what is left of the second, times the constant of two strands being together.
            if crossing:
                closed = _both(_both(strands, external_dangle[word], scores), lefts[i + 1], scores)
                closed, distance = _both(closed, rights[j], scores), one
            within = _either(_both(two, mismatch[word], scores), closed, scores)
            # A multi-branch loop has two branches at least within (i + 1, j - 1), whence M2; a stack needs
            # its pair.
            if j > i + 1:
                branches = _both(_both(closing, multi_dangle[word], scores), m2[below + j - 1], scores)
                stacked = stack[context(word, x_before, y_next, circular or crossing)]
                stacked = _both(stacked, p[below + j - 1], scores)
                within = _either(_either(within, branches, scores), stacked, scores)
            value = _both(_both(own, distance, scores), within, scores)
            # The extent of P tells whether a scale was good: what is below 1e-300 has lost digits.
            size = abs(value.real)
            least, most = min(least, size), max(most, size)
            # From here on the pair is seen from outside, with its neighbours j + 1 and i - 1: as the inner
            # pair of a loop (G), as a branch (b), and in the exterior.
            word = quad(y, x, y_next, x_before)
            p[here + j] = value
            g[slot + LEFT + j] = _both(value, mismatch[word], scores)
            b[j] = _both(_both(value, multi_dangle[word], scores), branch, scores)
            # Suffixes are raised by their own numbers of steps: they are brought to the level of this row.
            branched = _both(_both(value, external_dangle[word], scores), outer, scores)
            suffix = levelled(e[j + 1], raised[j + 1] - level)
            total = _either(total, _both(branched, suffix, scores), scores)
            if j < nick < n:
                total_left = _either(total_left, _both(branched, lefts[j + 1], scores), scores)
            partners[found] = j
            found += 1
        if i < nick < n:
            lefts[i] = total_left
        if i == begin:
            _prefixes(begin, n, reach, s, p, external_dangle, outer, free, scores, rights)
        if scores is None:
            # One step up or down a row keeps E between exp(-RAISE) and exp(RAISE); logs are E + RAISE *
            # raised.
            if abs(total.real) > raising:
                level, total = level + 1, total / raising
            if abs(total.real) < 1.0 / raising:
                level, total = level - 1, total * raising
        e[i], raised[i] = total, level
        _multi(i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, m2, sums, lanes, scores)
    extent[0], extent[1] = least, most


@part_of_one_kernel
def _prefixes(begin, n, reach, s, p, external_dangle, outer, free, scores, rights):
    """R, once the pairs of the second strand are known."""
    for j in range(begin, n):
        total = _both(rights[j], free, scores)
        for k in range(begin, j):
            word = quad(s[j + 1], s[k + 1], s[j + 2], s[k])
            branched = _both(_both(p[row(k, n, reach) + j], external_dangle[word], scores), outer, scores)
            total = _either(total, _both(branched, rights[k], scores), scores)
        rights[j + 1] = total


@part_of_one_kernel
def _multi(i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, m2, sums, lanes, scores):
    """Row i of M and M2: `sums` gets the stretches whose first branch (i, k) has others to its right.

    What is unpaired there is of one strand.
    """
    w, zero = width(lanes), _impossible(unpaired, scores)
    skipped = zero if nick <= i < nick + GAP else unpaired
    for j in range(i, end + w):
        sums[j] = zero
    # M2[i, j] = sum over k of b[k] M[k + 1, j]: the first branch is (i, k), others lie to its right. Partners
    # k of i are few (bases that may pair with it), and for each the sum over all j is one vector operation.
    for f in range(found):
        k = partners[f]
        first, at = splat(b[k], lanes), row(k + 1, n, reach)
        for j in range(k + 1, end, w):
            further = _both(first, load(m, at + j, lanes), scores)
            store(sums, j, _either_run(load(sums, j, lanes), further, scores))
    # Stretches with the branch (i, k) alone: single(j) = b[j] + unpaired * single(j - 1), for bases behind k
    # are unpaired; they do not go on from one strand to the other.
    single = zero
    for j in range(i, end):
        single = b[j] if j == nick else _either(_both(single, unpaired, scores), b[j], scores)
        m[here + j], m2[here + j] = _either(single, sums[j], scores), sums[j]
    for j in range(i + 1, end):
        # Base i may be unpaired itself: then it is the stretch from i + 1 on.
        m[here + j] = _either(m[here + j], _both(skipped, m[below + j], scores), scores)
        m2[here + j] = _either(m2[here + j], _both(skipped, m2[below + j], scores), scores)


@part_of_one_kernel
def _interior_adjoint(i, begin, end, n, loop, ring, row_g, lanes, out, counts):
    """out[j] = adjoint of G[i, j], from the loops that (i, j) is the inner pair of; adds to their counts.

    ``ring`` holds the adjoints of the sums over loops of rows i - 31..i - 1; ``counts`` a run for each size.
    """
    stride = LEFT + n + RIGHT
    w = width(lanes)
    zero = splat(loop[0] * 0.0, lanes)
    # The transpose of `_interior`: the pair (i, j) is the inner one, and the outer ones are of the rows
    # above. What each size is expected to occur is the sum over all pairs of G times the adjoint of the outer
    # pair, here without the potential of the size, which `ScaledInference` multiplies at the end.
    for j in range(begin, end, 4 * w):
        a = b = c = d = zero
        g0, g1 = load(row_g, j, lanes), load(row_g, j + w, lanes)
        g2, g3 = load(row_g, j + 2 * w, lanes), load(row_g, j + 3 * w, lanes)
        for l1 in range(min(LOOP, i)):
            at = (i - 1 - l1) % RING * stride + LEFT + j + 1
            # No outer pair ends beyond the last base.
            for l2 in range(min(LOOP - l1, n - 1 - j)):
                k = l1 * LOOP + l2
                size = splat(loop[k], lanes)
                r0, r1 = load(ring, at + l2, lanes), load(ring, at + l2 + w, lanes)
                r2, r3 = load(ring, at + l2 + 2 * w, lanes), load(ring, at + l2 + 3 * w, lanes)
                a, b, c, d = a + size * r0, b + size * r1, c + size * r2, d + size * r3
                count = load(counts, k * w, lanes) + g0 * r0 + g1 * r1
                store(counts, k * w, count + g2 * r2 + g3 * r3)
        store(out, j, a)
        store(out, j + w, b)
        store(out, j + 2 * w, c)
        store(out, j + 3 * w, d)


@part_of_one_kernel
def _multi_adjoint(
    i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, d_m, d_m2, sums, d_b, lanes
):
    """Adjoints of the branches (i, k), and of the stretches to the right of them and below row i.

    On entry row i of `d_m` and `d_m2` is complete.
    """
    w = width(lanes)
    zero = unpaired * 0.0
    skipped = zero if nick <= i < nick + GAP else unpaired
    for j in range(end, end + w):
        sums[j] = zero
    single = zero
    # sums[j] is what M[i, j] and M2[i, j] hand down to "first branch and others to its right"; `single`
    # collects what M[i, j] for all j >= k hands down to the branch (i, k) alone, with the unpaired bases
    # behind it.
    for j in range(end - 1, i - 1, -1):
        sums[j] = d_m[here + j] + d_m2[j]
        single = d_m[here + j] if j == nick - 1 else single * unpaired + d_m[here + j]
        d_b[j] = single
    for j in range(i + 1, end):
        # Row i handed on to row i + 1: base i was unpaired. M2 is kept for one row only, in place.
        d_m[below + j] = d_m[below + j] + skipped * d_m[here + j]
        d_m2[j] = d_m2[j] * skipped
    for f in range(found):
        k = partners[f]
        first, at, push = splat(b[k], lanes), row(k + 1, n, reach), splat(zero, lanes)
        whole = end - w
        j = k + 1
        # Runs end where a whole one no longer fits: behind `end` lies the next row, whose adjoints are not to
        # change.
        while j <= whole:
            run = load(sums, j, lanes)
            push = push + run * load(m, at + j, lanes)
            store(d_m, at + j, load(d_m, at + j, lanes) + first * run)
            j += w
        d_b[k] = d_b[k] + total(push)
        while j < end:
            d_b[k] = d_b[k] + sums[j] * m[at + j]
            d_m[at + j] = d_m[at + j] + b[k] * sums[j]
            j += 1


@bare_kernel
def outside(
    letters, tables, lengths, at, factors, weight, reach, nick, circular, lanes, pairs, multi, multi_2,
    exterior, raised, left, right, shares, d_multi, d_strands, outer_pairs, outer_multi_2, ring, scratch,
    partners, counts, length_counts, loop_counts, with_loops,
):  # fmt: skip
    """Add the expected counts of every table cell times `weight`; P becomes that of pairs, likewise.

    The adjoints of `inside`, row by row the other way; all are derivatives of weight * log E[0]. Those of E
    are times its values: how often structures are cut there.

    Parameters
    ----------
    shares : zeros (n + 1,)
    outer_pairs, outer_multi_2 : as P, and (n,)
        Of a circle the adjoints of P, and of M2 in its last column, by the loop that no pair encloses.
    d_multi, d_strands, ring, scratch : zeros
        As M, (2, n + 1), or (2, 0) for one strand, (32, LEFT + n + RIGHT), (9, n + RIGHT).
    counts, length_counts : as `tables`, `lengths`
        Get the counts, but for the unpaired bases of multi-branch loops, which are those that all others
        leave. ``loop_counts`` (31 * 31, width(lanes)) gets those of larger loops by size, in runs to be added
        up, without the factor of their own potential.
    with_loops : bool
        Whether larger loops are counted, which takes as long as the sums do.
    """
    n = letters.size - 2
    (
        base_pair, stack, hairpin_mismatch, mismatch, multi_dangle, external_dangle, hairpin_3, hairpin_4,
        loop, bulge, one_by_one,
    ) = by_table(tables, at)  # fmt: skip
    span, hairpin = cells(lengths[0]), cells(lengths[1])
    (
        n_pair, n_stack, n_hairpin_mismatch, n_mismatch, n_multi_dangle, n_external_dangle, n_hairpin_3,
        n_hairpin_4, _, n_bulge, n_one,
    ) = by_table(counts, at)  # fmt: skip
    n_span, n_hairpin = cells(length_counts[0]), cells(length_counts[1])
    n_loop, factor = cells(loop_counts), cells(factors)
    branch, unpaired = tables[at.multi_paired], tables[at.multi_unpaired]
    closing = tables[at.multi_base] * branch
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, m, m2, e = cells(pairs), cells(multi), cells(multi_2), cells(exterior)
    d_i, d_m, s, share = cells(ring), cells(d_multi), cells(letters), cells(shares)
    g, b, d_g, d_b = cells(scratch[0]), cells(scratch[1]), cells(scratch[2]), cells(scratch[3])
    sums, d_m2 = cells(scratch[4]), cells(scratch[5])
    d_stack, d_stack_next, ahead = cells(scratch[6]), cells(scratch[7]), cells(scratch[8])
    stride, zero, weighted = LEFT + n + RIGHT, closing * 0.0, factors.size > 0
    lefts, rights, begin, strands = cells(left), cells(right), nick + GAP, tables[at.strands] * outer
    d_left, d_right = cells(d_strands[0]), cells(d_strands[1])
    seed, seed_2 = cells(outer_pairs), cells(outer_multi_2)
    # share[i] = E[i] * dlogZ/dE[i] * weight is how often structures are expected to be cut before base i: it
    # needs no raising, while E itself does.
    share[0] = zero if circular else zero + weight
    for i in range(n):
        if i == nick:
            counts[at.external_unpaired] += _prefixes_adjoint(
                begin, n, reach, s, p, external_dangle, outer, free, rights, d_right
            )
        partners[n - 1], end, level = i, min(n, i + reach + 1), raised[i]
        here, below, slot = row(i, n, reach), row(i + 1, n, reach), i % RING * stride + LEFT
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i - 1) % RING * stride + LEFT, (i - 2) % RING * stride + LEFT
        found = n - n
        for j in range(i, end):
            g[j] = b[j] = d_stack_next[j] = zero
            if p[here + j] != 0.0:
                word = quad(s[j + 1], x, s[j + 2], x_before)
                g[j] = p[here + j] * mismatch[word]
                b[j] = p[here + j] * multi_dangle[word] * branch
                partners[found] = j
                found += 1
        if circular:
            # On a circle the outermost loop is not that of E: its adjoints come from the grammar, see
            # `open_circle`.
            d_m2[n - 1] = d_m2[n - 1] + seed_2[i]
        # around[j]: adjoints of G[i, j] by the loops around (i, j), from the ring of those of the rows above.
        around = d_g
        if with_loops:
            _interior_adjoint(i, i + 1, end, n, loop, d_i, g, lanes, d_g, n_loop)
        elif i % 2 == 0:
            _interior(i, -1, i + 1, min(n, end + 1), LOOP, n - 1, n, loop, d_i, lanes, None, d_g, ahead)
        else:
            around = ahead
            _add_nearest(i, -1, i + 1, end, n - 1, n, loop, d_i, lanes, None, ahead)
        _multi_adjoint(
            i, n, reach, nick, end, here, below, unpaired, partners, found, b, m, d_m, d_m2, sums, d_b, lanes
        )
        for j in range(max(0, i - RING), end):  # of row i - RING
            d_i[slot + j] = zero
        # E[i] = E[i + 1] free + ...: each term has the part of share[i] that it has of E[i], and so the next
        # suffix.
        push = share[i] / e[i]
        between = nick <= i < begin
        part = push * (zero + 1.0 if between else free) * levelled(e[i + 1], raised[i + 1] - level)
        share[i + 1] = share[i + 1] + part
        counts[at.external_unpaired] += zero if between else part
        outer_push = push * outer
        if i < nick < n:
            d_left[i + 1] = d_left[i + 1] + d_left[i] * free
            counts[at.external_unpaired] += d_left[i] * free * lefts[i + 1]
        for f in range(found):
            j = partners[f]
            y, y_next, y_before = s[j + 1], s[j + 2], s[j]
            value = p[here + j]
            word = quad(y, x, y_next, x_before)
            # where the pair is seen from outside: a loop, a multi-branch loop, the exterior
            step = around[j]
            if i > 0:
                part = bulge[y_next] * d_i[slot1 + j + 2]
                n_bulge[y_next] = n_bulge[y_next] + g[j] * part
                step += part
                part = bulge[x_before] * d_i[slot2 + j + 1]
                n_bulge[x_before] = n_bulge[x_before] + g[j] * part
                step += part
                k = x_before * N_LETTERS + y_next
                part = one_by_one[k] * d_i[slot2 + j + 2]
                n_one[k] = n_one[k] + g[j] * part
                step += part
            n_mismatch[word] = n_mismatch[word] + g[j] * step
            # The adjoint of P[i, j] is a sum over all that may be around the pair: a stack, a loop with
            # another pair, a multi-branch loop, the exterior. Each part times P is an expected count.
            d_value = d_stack[j] + step * mismatch[word]
            part = multi_dangle[word] * branch * d_b[j]
            d_value += part
            counts[at.multi_paired] += value * part
            n_multi_dangle[word] = n_multi_dangle[word] + value * part
            push = external_dangle[word] * outer_push * levelled(e[j + 1], raised[j + 1] - level)
            share[j + 1] = share[j + 1] + value * push
            if j < nick < n:
                part = external_dangle[word] * outer * d_left[i]
                d_left[j + 1] = d_left[j + 1] + value * part
                push += part * lefts[j + 1]
            if begin <= i:
                push += external_dangle[word] * outer * d_right[j + 1] * rights[i]
            d_value += push
            counts[at.external_paired] += value * push
            n_external_dangle[word] = n_external_dangle[word] + value * push
            if circular:
                d_value += seed[here + j]
            # what the pair closes: a stack, a multi-branch loop, a hairpin or a loop
            # P times its adjoint is the probability of the pair times the weight: what every cell of it is
            # counted by.
            k, expected = x * N_LETTERS + y, value * d_value
            crossing = i < nick <= j
            n_pair[k] = n_pair[k] + expected
            length = min(j - i, n - j + i) if circular else j - i
            n_span[length] = n_span[length] + (zero if crossing else expected)
            step = d_value * base_pair[k] * (zero + 1.0 if crossing else span[length])
            if weighted:
                step *= factor[here + j]
            # `rest` is what is left for loops with one other pair, once stacks, multi-branch loops and what
            # closes the pair directly are taken away: so their mismatches are counted without adding up sizes
            # again.
            word, rest = quad(x, y, x_next, y_before), expected
            if j > i + 1:
                k = context(word, x_before, y_next, circular or crossing)
                d_stack_next[j - 1] = step * stack[k]
                part = d_stack_next[j - 1] * p[below + j - 1]
                n_stack[k] = n_stack[k] + part
                rest -= part
                push = step * closing * multi_dangle[word]
                d_m2[j - 1] = d_m2[j - 1] + push
                part = push * m2[below + j - 1]
                n_multi_dangle[word] = n_multi_dangle[word] + part
                counts[at.multi_base] += part
                rest -= part
            if crossing:
                push = step * strands * external_dangle[word]
                d_left[i + 1] = d_left[i + 1] + push * rights[j]
                d_right[j] = d_right[j] + push * lefts[i + 1]
                part = push * lefts[i + 1] * rights[j]
                n_external_dangle[word] = n_external_dangle[word] + part
                counts[at.external_paired] += part
                counts[at.strands] += part
            else:
                special = special_hairpin(s, i, j, hairpin_3, hairpin_4, zero + 1.0)
                part = step * hairpin[j - i - 1] * special * hairpin_mismatch[word]
                _count_hairpin(s, i, j, part, n_hairpin_3, n_hairpin_4)
                n_hairpin[j - i - 1] = n_hairpin[j - i - 1] + part
                n_hairpin_mismatch[word] = n_hairpin_mismatch[word] + part
            n_mismatch[word] = n_mismatch[word] + (rest - part)
            # Kept in the ring for the 31 rows below, whose pairs may be the inner ones of this loop.
            d_i[slot + j] = step * mismatch[word]
            p[here + j] = expected
        d_stack, d_stack_next = d_stack_next, d_stack


@part_of_one_kernel
def _prefixes_adjoint(begin, n, reach, s, p, external_dangle, outer, free, rights, d_right):
    """Adjoints of R, while P is that of `inside`; returns how many unpaired bases they count."""
    unpaired = free * 0.0
    # From the last base to the first, for R[j] is made of shorter prefixes.
    for j in range(n - 1, begin - 1, -1):
        push = d_right[j + 1]
        d_right[j] = d_right[j] + push * free
        unpaired += push * free * rights[j]
        for k in range(begin, j):
            word = quad(s[j + 1], s[k + 1], s[j + 2], s[k])
            part = push * p[row(k, n, reach) + j] * external_dangle[word] * outer
            d_right[k] = d_right[k] + part
    return unpaired


@part_of_one_kernel
def _count_hairpin(s, i, j, part, n_hairpin_3, n_hairpin_4):
    if j - i == 4:
        k = (s[i + 2] * N_LETTERS + s[i + 3]) * N_LETTERS + s[i + 4]
        n_hairpin_3[k] = n_hairpin_3[k] + part
    if j - i == 5:
        k = quad(s[i + 2], s[i + 3], s[i + 4], s[i + 5])
        n_hairpin_4[k] = n_hairpin_4[k] + part
