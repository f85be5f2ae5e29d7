"""Inside and outside recursions of the CONTRAfold model in the linear domain, one sequence a call.

`inside` is also the recursion of the best structure, with scores in place of potentials: see
`structune.rna.kernels.semiring`. What cannot be is then -inf.

The bases of long sequences are divided into blocks, and tables into tiles: the rows of one block and the
columns of another. A call works on one tile, so that several threads can work on one sequence. With two
strands, or a limit of spans, there is one block.

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
from structune.kernels.vectors import cells, load, splat, store, total, width
from structune.rna.kernels.loops import ABSENT, GAP, LOOP, N_LETTERS, quad, row
from structune.rna.kernels.products import add_adjoints, add_products, begin_of, wrapped
from structune.rna.kernels.semiring import both, certain, either, either_run, impossible

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
def _interior(i, step, begin, end, size, most, n, loop, ring, n_rows, lanes, scores, out, ahead):
    """out[j] = sum over loop sizes of potential * ring[i + step * (1 + l1), j - step * (1 + l2)], for all j.

    ``ahead`` gets the same of the row i - step but for l1 = 0, which `_add_nearest` adds. Loops have less
    than `size` unpaired bases, and less than ``most - j`` on the second side.
    """
    stride, w, slot = LEFT + n + RIGHT, width(lanes), i % n_rows
    zero = splat(impossible(loop[0], scores), lanes)
    # Two vectors of sums for each row: a potential is loaded once for both, and the additions of four do not
    # wait for each other.
    for j in range(begin, end, 2 * w):
        a = b = c = d = zero
        for l1 in range(min(size, i) if step < 0 else size):
            at = wrapped(slot + step * (1 + l1), n_rows) * stride + LEFT + j - step
            for l2 in range(min(size - l1, most - j)):
                first, second = load(ring, at - step * l2, lanes), load(ring, at - step * l2 + w, lanes)
                potential, next_potential = loop[l1 * LOOP + l2], loop[(l1 + 1) * LOOP + l2]
                here, there = splat(potential, lanes), splat(next_potential, lanes)
                a = either_run(a, both(here, first, scores), scores)
                b = either_run(b, both(here, second, scores), scores)
                c = either_run(c, both(there, first, scores), scores)
                d = either_run(d, both(there, second, scores), scores)
        store(out, j, a)
        store(out, j + w, b)
        store(ahead, j, c)
        store(ahead, j + w, d)


@part_of_one_kernel
def _add_nearest(i, step, begin, end, most, n, loop, ring, n_rows, lanes, scores, out):
    """Add the sizes with l1 = 0 to what `_interior` has left ahead for row i."""
    at, w = (i + step) % n_rows * (LEFT + n + RIGHT) + LEFT - step, width(lanes)
    for j in range(begin, end, 2 * w):
        a, b = load(out, j, lanes), load(out, j + w, lanes)
        for l2 in range(min(LOOP, most - j)):
            potential = splat(loop[l2], lanes)
            first, second = load(ring, at + j - step * l2, lanes), load(ring, at + j - step * l2 + w, lanes)
            a = either_run(a, both(potential, first, scores), scores)
            b = either_run(b, both(potential, second, scores), scores)
        store(out, j, a)
        store(out, j + w, b)


@bare_kernel
def inside(
    letters, tables, lengths, at, factors, min_hairpin, reach, nick, circular, blocks, own, last, lanes,
    pairs, multi, multi_2, left, right, ring, branches, singles, tile, panel, scratch, partners, extent,
    scores,
):  # fmt: skip
    """Fill P, M, M2, L and R of one tile: the rows of block `own` and the columns of block `last`.

    Or the best scores of all these, whose ``tables``, ``lengths`` and ``factors`` are scores; ``ring`` and
    ``branches`` are full of -inf, and ``extent`` is of no use then. Tiles below and to the left come first.

    Parameters
    ----------
    tables : (N_CELLS,)
        Potentials of all cells; 1x1 and 0x1 with all of theirs, so that in ``loop`` these and stacks are 0.
    lengths : (2, n + 1)
        Potentials of spans and of hairpins.
    at : named tuple
        The first cell of each table.
    factors : potential of every pair beside its own, or empty
    left, right : (n + 1,), or empty for one strand
    ring : zeros (n_rows, LEFT + n + RIGHT)
        G of the rows at hand: 32 of them for one block, else those of all blocks at hand and 31 more.
    branches, singles : (n_rows, n_blocks * size), (n_rows,)
        Branches of the rows at hand, in the order of ``blocks``, or empty for one block; and stretches with
        one branch, up to the last column that is known.
    tile, scratch : (size, size + PAD), or (1, n + PAD) for one block; (3, n + RIGHT)
    partners : (n,) scratch
        Its last number is the row that is worked on, for who watches.
    extent : (2,)
        Gets the smallest and the largest cell of P, if they exceed what it holds.
    """
    n = letters.size - 2
    (
        base_pair, stack, hairpin_mismatch, mismatch, multi_dangle, external_dangle, hairpin_3, hairpin_4,
        loop, bulge, one_by_one,
    ) = by_table(tables, at)  # fmt: skip
    span, hairpin = cells(lengths[0]), cells(lengths[1])
    branch, unpaired = tables[at.multi_paired], tables[at.multi_unpaired]
    closing = both(tables[at.multi_base], branch, scores)
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, m, m2, factor = cells(pairs), cells(multi), cells(multi_2), cells(factors)
    g, s, interior, b, ahead = (
        cells(ring), cells(letters), cells(scratch[0]), cells(scratch[1]), cells(scratch[2]),
    )  # fmt: skip
    row_branches, single, sums, places = cells(branches), cells(singles), cells(tile), cells(blocks.places)
    stride, weighted, n_rows = LEFT + n + RIGHT, factors.size > 0, ring.shape[0]
    zero, one = impossible(closing, scores), certain(closing, scores)
    lefts, rights, begin = cells(left), cells(right), nick + GAP
    strands = both(tables[at.strands], outer, scores)
    several, size, width_of_tile = blocks.order.size > blocks.size, blocks.size, tile.shape[1]
    top, column = begin_of(own, blocks, n), begin_of(last, blocks, n)
    if nick < n:
        lefts[nick] = rights[begin] = one
    if own < last:
        for k in range(tile.size):
            sums[k] = zero
        add_products(own, last, blocks, n, row_branches, n_rows, m, lanes, cells(panel), sums, scores)
    least, most = extent[0], extent[1]
    for i in range(top + size - 1, max(top, 0) - 1, -1):
        slot = i % n_rows
        partners[n - 1], start, end = i, max(i, column), min(column + size, i + reach + 1)
        here, below, at_ring, at_branches = (
            row(i, n, reach),
            row(i + 1, n, reach),
            slot * stride,
            slot * blocks.order.size,
        )
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i + 1) % n_rows * stride + LEFT, (i + 2) % n_rows * stride + LEFT
        # inner[j] becomes the part of all two-pair loops that (i, j) closes but for the smallest ones. Their
        # inner pair has min_hairpin unpaired bases within it at least.
        first, inner = max(i + min_hairpin + 1, column), interior
        if (n - i) % 2:
            room = min(LOOP, end - i - min_hairpin - 3)
            # the row above begins one column before
            _interior(
                i, 1, max(first - 1, column), end, room, end + LOOP, n, loop, g, n_rows, lanes, scores,
                interior, ahead,
            )  # fmt: skip
        else:
            inner = ahead
            _add_nearest(i, 1, first, end, end + LOOP, n, loop, g, n_rows, lanes, scores, ahead)
        for j in range(start, min(n, end + RING)):  # of an earlier row
            g[at_ring + LEFT + j] = zero
        for j in range(start, end):
            p[here + j] = zero
            b[j] = zero
        if several:
            for k in range(last * size, (last + 1) * size):
                row_branches[at_branches + k] = zero
        found = n - n
        total_left = zero if i >= nick or nick == n else both(lefts[i + 1], free, scores)
        for j in range(first, end):
            y, y_next, y_before = s[j + 1], s[j + 2], s[j]
            potential = base_pair[x * N_LETTERS + y]
            if weighted:
                potential = both(potential, factor[here + j], scores)
            if potential == zero:
                continue
            word = quad(x, y, x_next, y_before)
            # Loops that see letters: 0x1 with the unpaired base j - 1, 1x0 with i + 1, and 1x1 with both.
            two = either(inner[j], both(bulge[y_before], g[slot1 + j - 2], scores), scores)
            two = either(two, both(bulge[x_next], g[slot2 + j - 1], scores), scores)
            letter_pair = one_by_one[x_next * N_LETTERS + y_before]
            two = either(two, both(letter_pair, g[slot2 + j - 2], scores), scores)
            special = special_hairpin(s, i, j, hairpin_3, hairpin_4, one)
            closed = both(both(hairpin[j - i - 1], special, scores), hairpin_mismatch[word], scores)
            # A pair of a circle spans the shorter way.
            distance = span[min(j - i, n - j + i) if circular else j - i]
            crossing = i < nick <= j
            # Where two strands end within (i, j), the loop is one of the exterior: what is left of the first
            # strand, times what is left of the second, times the constant of two strands being together.
            if crossing:
                closed = both(both(strands, external_dangle[word], scores), lefts[i + 1], scores)
                closed, distance = both(closed, rights[j], scores), one
            within = either(both(two, mismatch[word], scores), closed, scores)
            # A multi-branch loop has two branches at least within (i + 1, j - 1), whence M2; a stack needs
            # its pair.
            if j > i + 1:
                branches = both(both(closing, multi_dangle[word], scores), m2[below + j - 1], scores)
                stacked = stack[context(word, x_before, y_next, circular or crossing)]
                stacked = both(stacked, p[below + j - 1], scores)
                within = either(either(within, branches, scores), stacked, scores)
            value = both(both(potential, distance, scores), within, scores)
            # The extent of P tells whether a scale was good: what is below 1e-300 has lost digits.
            absolute = abs(value.real)
            least, most = min(least, absolute), max(most, absolute)
            # From here on the pair is seen from outside, with its neighbours j + 1 and i - 1: as the inner
            # pair of a loop (G), as a branch (b), and in the exterior.
            word = quad(y, x, y_next, x_before)
            p[here + j] = value
            g[at_ring + LEFT + j] = both(value, mismatch[word], scores)
            b[j] = both(both(value, multi_dangle[word], scores), branch, scores)
            if several:
                row_branches[at_branches + places[j]] = b[j]
            if j < nick < n:
                branched = both(both(value, external_dangle[word], scores), outer, scores)
                total_left = either(total_left, both(branched, lefts[j + 1], scores), scores)
            partners[found] = j
            found += 1
        if i < nick < n:
            lefts[i] = total_left
        if i == begin:
            _prefixes(begin, n, reach, s, p, external_dangle, outer, free, scores, rights)
        row_sums = (i - top) * width_of_tile - column if several else column
        if own == last:
            single[slot] = zero
            for j in range(i, end + width(lanes)):
                sums[row_sums + j] = zero
        else:
            _add_within(
                i, own, blocks, n, row_branches, at_branches, m, column, end, row_sums, lanes, scores, sums
            )
        single[slot] = _multi(
            i, n, reach, nick, start, end, here, below, unpaired, partners, found, b, m, m2, row_sums,
            single[slot], lanes, scores, sums,
        )  # fmt: skip
    extent[0], extent[1] = least, most


@bare_kernel
def suffixes(letters, tables, at, reach, nick, pairs, exterior, raised, scores):
    """Fill E, from P; E[0] is the partition function, but of a circle, for which E is of no use.

    ``raised``, (n + 1,) of int64, is of no use for scores.
    """
    n = letters.size - 2
    _, _, _, _, _, external_dangle, _, _, _, _, _ = by_table(tables, at)
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, e, s = cells(pairs), cells(exterior), cells(letters)
    zero, one = impossible(outer, scores), certain(outer, scores)
    # The partition function of an empty exterior is 1. ``level`` is how often the suffix at hand was divided
    # by exp(RAISE); n - n is a zero of the type of n, which numba would otherwise take for another.
    level, raising = n - n, np.exp(RAISE)
    e[n], raised[n] = one, level
    for i in range(n - 1, -1, -1):
        here, end = row(i, n, reach), min(n, i + reach + 1)
        x, x_before = s[i + 1], s[i]
        # E[i] = E[i + 1] free + sum over j of P[i, j] dangle outer E[j + 1]: base i is unpaired, or pairs
        # with j. The places between two strands are no bases, and cost nothing.
        total = both(e[i + 1], one if nick <= i < nick + GAP else free, scores)
        for j in range(i + 1, end):
            if p[here + j] == zero:
                continue
            word = quad(s[j + 1], x, s[j + 2], x_before)
            # Suffixes are raised by their own numbers of steps: they are brought to the level of this row.
            branched = both(both(p[here + j], external_dangle[word], scores), outer, scores)
            suffix = levelled(e[j + 1], raised[j + 1] - level)
            total = either(total, both(branched, suffix, scores), scores)
        if scores is None:
            # One step up or down a row keeps E between exp(-RAISE) and exp(RAISE); logs are E + RAISE *
            # raised.
            if abs(total.real) > raising:
                level, total = level + 1, total / raising
            if abs(total.real) < 1.0 / raising:
                level, total = level - 1, total * raising
        e[i], raised[i] = total, level


@part_of_one_kernel
def _prefixes(begin, n, reach, s, p, external_dangle, outer, free, scores, rights):
    """R, once the pairs of the second strand are known."""
    for j in range(begin, n):
        total = both(rights[j], free, scores)
        for k in range(begin, j):
            word = quad(s[j + 1], s[k + 1], s[j + 2], s[k])
            branched = both(both(p[row(k, n, reach) + j], external_dangle[word], scores), outer, scores)
            total = either(total, both(branched, rights[k], scores), scores)
        rights[j + 1] = total


@part_of_one_kernel
def _add_within(i, own, blocks, n, branches, at, m, column, end, row_sums, lanes, scores, sums):
    """Add to row i of a tile the stretches whose first branch ends in the same block of rows."""
    w, zero, order = width(lanes), impossible(branches[at], scores), cells(blocks.order)
    for place in range(own * blocks.size, (own + 1) * blocks.size):
        k = order[place]
        if k <= i or branches[at + place] == zero:
            continue
        first, further = splat(branches[at + place], lanes), row(k + 1, n, n - 1)
        for j in range(column, end, w):
            run = either_run(
                load(sums, row_sums + j, lanes), both(first, load(m, further + j, lanes), scores), scores
            )
            store(sums, row_sums + j, run)


@part_of_one_kernel
def _multi(
    i,
    n,
    reach,
    nick,
    start,
    end,
    here,
    below,
    unpaired,
    partners,
    found,
    b,
    m,
    m2,
    row_sums,
    single,
    lanes,
    scores,
    sums,
):
    """Row i of M and M2: `sums` gets the stretches whose first branch (i, k) has others to its right.

    What is unpaired there is of one strand. Returns the stretch with one branch up to the last column.
    """
    w, zero = width(lanes), impossible(unpaired, scores)
    skipped = zero if nick <= i < nick + GAP else unpaired
    # M2[i, j] = sum over k of b[k] M[k + 1, j]: the first branch is (i, k), others lie to its right. Partners
    # k of i are few (bases that may pair with it), and for each the sum over all j is one vector operation.
    for f in range(found):
        k = partners[f]
        first, at = splat(b[k], lanes), row(k + 1, n, reach)
        for j in range(k + 1, end, w):
            further = both(first, load(m, at + j, lanes), scores)
            store(sums, row_sums + j, either_run(load(sums, row_sums + j, lanes), further, scores))
    # Stretches with the branch (i, k) alone: single(j) = b[j] + unpaired * single(j - 1), for bases behind k
    # are unpaired; they do not go on from one strand to the other.
    for j in range(start, end):
        single = b[j] if j == nick else either(both(single, unpaired, scores), b[j], scores)
        m[here + j], m2[here + j] = either(single, sums[row_sums + j], scores), sums[row_sums + j]
    for j in range(max(i + 1, start), end):
        # Base i may be unpaired itself: then it is the stretch from i + 1 on.
        m[here + j] = either(m[here + j], both(skipped, m[below + j], scores), scores)
        m2[here + j] = either(m2[here + j], both(skipped, m2[below + j], scores), scores)
    return single


@part_of_one_kernel
def _interior_adjoint(i, begin, end, n, loop, ring, n_rows, row_g, lanes, out, counts):
    """out[j] = adjoint of G[i, j], from the loops that (i, j) is the inner pair of; adds to their counts.

    ``ring`` holds the adjoints of the sums over loops of rows i - 31..i - 1; ``counts`` a run for each size.
    """
    stride, slot = LEFT + n + RIGHT, i % n_rows
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
            at = wrapped(slot - 1 - l1, n_rows) * stride + LEFT + j + 1
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


@part_of_bare_kernel
def _push(k, number, begin, end, row_sums, m, sums, d_m, n, reach, lanes):
    """Hand `sums` of row i down to M[k + 1, j], j >= begin; returns the adjoint of the branch (i, k)."""
    w, zero = width(lanes), number * 0.0
    first, at, push, single = splat(number, lanes), row(k + 1, n, reach), splat(zero, lanes), zero
    j = begin
    # Runs end where a whole one no longer fits: behind `end` lie cells that are not to change.
    while j <= end - w:
        run = load(sums, row_sums + j, lanes)
        push = push + run * load(m, at + j, lanes)
        store(d_m, at + j, load(d_m, at + j, lanes) + first * run)
        j += w
    while j < end:
        single += sums[row_sums + j] * m[at + j]
        d_m[at + j] = d_m[at + j] + number * sums[row_sums + j]
        j += 1
    return total(push) + single


@part_of_one_kernel
def _multi_adjoint(
    i, n, reach, nick, start, end, here, below, unpaired, partners, found, b, m, d_m, d_m2, row_sums, single,
    sums, d_b, lanes,
):  # fmt: skip
    """Adjoints of the branches (i, k), and of the stretches to the right of them and below row i.

    On entry row i of `d_m` and `d_m2` is complete. Returns what columns from `start` on hand down to a branch
    before them.
    """
    w = width(lanes)
    zero = unpaired * 0.0
    skipped = zero if nick <= i < nick + GAP else unpaired
    for j in range(end, end + w):
        sums[row_sums + j] = zero
    # sums[j] is what M[i, j] and M2[i, j] hand down to "first branch and others to its right"; `single`
    # collects what M[i, j] for all j >= k hands down to the branch (i, k) alone, with the unpaired bases
    # behind it.
    for j in range(end - 1, start - 1, -1):
        sums[row_sums + j] = d_m[here + j] + d_m2[j]
        single = d_m[here + j] if j == nick - 1 else single * unpaired + d_m[here + j]
        d_b[j] = single
    for j in range(max(i + 1, start), end):
        # Row i handed on to row i + 1: base i was unpaired. M2 is kept for one row only, in place.
        d_m[below + j] = d_m[below + j] + skipped * d_m[here + j]
        d_m2[j] = d_m2[j] * skipped
    for f in range(found):
        k = partners[f]
        d_b[k] = d_b[k] + _push(k, b[k], k + 1, end, row_sums, m, sums, d_m, n, reach, lanes)
    return single


@bare_kernel
def shares(letters, tables, at, weight, reach, nick, circular, pairs, exterior, raised, share, counts):
    """Fill ``share``, zeros (n + 1,), with E times its adjoint: how often structures are cut at each base.

    It needs no raising, while E itself does. Adds the unpaired bases of the exterior to ``counts``.
    """
    n = letters.size - 2
    _, _, _, _, _, external_dangle, _, _, _, _, _ = by_table(tables, at)
    outer, free = tables[at.external_paired], tables[at.external_unpaired]
    p, e, s, out = cells(pairs), cells(exterior), cells(letters), cells(share)
    zero = outer * 0.0
    out[0] = zero if circular else zero + weight
    for i in range(n):
        here, end, level = row(i, n, reach), min(n, i + reach + 1), raised[i]
        x, x_before = s[i + 1], s[i]
        # E[i] = E[i + 1] free + ...: each term has the part of share[i] that it has of E[i], and so the next
        # suffix.
        push, between = out[i] / e[i], nick <= i < nick + GAP
        part = push * (zero + 1.0 if between else free) * levelled(e[i + 1], raised[i + 1] - level)
        out[i + 1] = out[i + 1] + part
        counts[at.external_unpaired] += zero if between else part
        push *= outer
        for j in range(i + 1, end):
            if p[here + j] != 0.0:
                part = external_dangle[quad(s[j + 1], x, s[j + 2], x_before)] * push
                part *= levelled(e[j + 1], raised[j + 1] - level)
                out[j + 1] = out[j + 1] + p[here + j] * part


@bare_kernel
def outside(
    letters, tables, lengths, at, factors, reach, nick, circular, blocks, own, last, lanes, pairs, multi,
    multi_2, exterior, raised, left, right, share, d_multi, d_multi_2, d_stacks, d_strands, outer_pairs,
    outer_multi_2, ring, branches, d_branches, singles, edges, tile, scratch, partners, counts,
    length_counts, loop_counts, with_loops,
):  # fmt: skip
    """Of one tile, P becomes the expected count of pairs; adds those of every table cell.

    The adjoints of `inside`, row by row the other way, and tiles above and to the right first; all are
    derivatives of weight * log E[0]. Those of E are times its values, see `shares`.

    Parameters
    ----------
    share : (n + 1,)
        As `shares` leaves it, with its weight.
    outer_pairs, outer_multi_2 : as P, and (n,)
        Of a circle the adjoints of P, and of M2 in its last column, by the loop that no pair encloses.
    d_multi, d_strands, ring, scratch : zeros
        As M, (2, n + 1), or (2, 0) for one strand, (n_rows, LEFT + n + RIGHT), (6, n + RIGHT).
    d_multi_2, d_stacks : zeros (n,)
        Adjoints of M2, and of P by stacks, of the row that each column has come to.
    branches, d_branches : (n_rows, n_blocks * size), or empty for one block
        Branches of the rows at hand, and their adjoints.
    singles, edges : (n_rows,), (2, n_rows)
        What columns that are done hand down to branches before them; and to M2 and stacks of the next row.
    tile : (size, size + PAD), or (1, n + PAD) for one block
    counts, length_counts : as `tables`, `lengths`
        Get the counts, but for the unpaired bases of multi-branch loops, which are those that all others
        leave. ``loop_counts`` (31 * 31, width(lanes)) gets those of larger loops by size, in runs to be added
        up, without the factor of their own potential.
    with_loops : bool
        Whether larger loops are counted, which takes as long as the sums do. Otherwise the counts are of no
        use, and ``multi_2`` is not needed.
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
    d_i, d_m, d_m2, s, shared = cells(ring), cells(d_multi), cells(d_multi_2), cells(letters), cells(share)
    g, b, d_g, d_b = cells(scratch[0]), cells(scratch[1]), cells(scratch[2]), cells(scratch[3])
    d_stack, ahead, d_stack_next = cells(scratch[4]), cells(scratch[5]), cells(d_stacks)
    stride, zero, weighted, n_rows = LEFT + n + RIGHT, closing * 0.0, factors.size > 0, ring.shape[0]
    row_branches, d_row_branches, single, sums = (
        cells(branches),
        cells(d_branches),
        cells(singles),
        cells(tile),
    )
    edge_2, edge_stack, places, order = (
        cells(edges[0]),
        cells(edges[1]),
        cells(blocks.places),
        cells(blocks.order),
    )
    several, size, width_of_tile = blocks.order.size > blocks.size, blocks.size, tile.shape[1]
    top, column = begin_of(own, blocks, n), begin_of(last, blocks, n)
    is_last = column + size == n
    lefts, rights, begin, strands = cells(left), cells(right), nick + GAP, tables[at.strands] * outer
    d_left, d_right = cells(d_strands[0]), cells(d_strands[1])
    seed, seed_2 = cells(outer_pairs), cells(outer_multi_2)
    if several and is_last:
        for i in range(top, top + size):
            _branches_of(
                i, own, blocks, n, s, p, multi_dangle, branch, i % n_rows * blocks.order.size, row_branches,
                d_row_branches,
            )  # fmt: skip
    for i in range(max(top, 0), top + size):
        if i == nick:
            counts[at.external_unpaired] += _prefixes_adjoint(
                begin, n, reach, s, p, external_dangle, outer, free, rights, d_right
            )
        slot, level = i % n_rows, raised[i]
        partners[n - 1], start, end = i, max(i, column), min(column + size, i + reach + 1)
        here, below, at_ring, at_branches = (
            row(i, n, reach),
            row(i + 1, n, reach),
            slot * stride + LEFT,
            slot * blocks.order.size,
        )
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        slot1, slot2 = (i - 1) % n_rows * stride + LEFT, (i - 2) % n_rows * stride + LEFT
        found = n - n
        for j in range(start, end):
            g[j] = b[j] = zero
            d_stack[j], d_stack_next[j] = d_stack_next[j], zero
            if p[here + j] != 0.0:
                word = quad(s[j + 1], x, s[j + 2], x_before)
                g[j] = p[here + j] * mismatch[word]
                b[j] = p[here + j] * multi_dangle[word] * branch
                partners[found] = j
                found += 1
        for j in range(end, end + RING * 2):
            g[j] = zero
        if circular and is_last:
            # On a circle the outermost loop is not that of E: its adjoints come from the grammar, see
            # `open_circle`.
            d_m2[n - 1] = d_m2[n - 1] + seed_2[i]
        # around[j]: adjoints of G[i, j] by the loops around (i, j), from the ring of those of the rows above.
        around, first = d_g, max(i + 1, column)
        if with_loops:
            _interior_adjoint(i, first, end, n, loop, d_i, n_rows, g, lanes, d_g, n_loop)
        elif (i - max(top, 0)) % 2 == 0:
            _interior(
                i, -1, first, min(column + size, end + 1), LOOP, n - 1, n, loop, d_i, n_rows, lanes, None,
                d_g, ahead,
            )  # fmt: skip
        else:
            around = ahead
            _add_nearest(i, -1, first, end, n - 1, n, loop, d_i, n_rows, lanes, None, ahead)
        row_sums = (i - top) * width_of_tile - column if several else column
        single[slot] = _multi_adjoint(
            i, n, reach, nick, start, end, here, below, unpaired, partners, found, b, m, d_m, d_m2, row_sums,
            zero if is_last else single[slot], sums, d_b, lanes,
        )  # fmt: skip
        if several:
            # What the next column has pushed down to the last one of these, and what they push in turn.
            if not is_last:
                d_m2[end - 1] = d_m2[end - 1] + edge_2[slot]
                d_stack_next[end - 1] = edge_stack[slot]
            edge_2[slot] = edge_stack[slot] = zero
            for f in range(found):
                j = partners[f]
                d_b[j] = d_b[j] + d_row_branches[at_branches + places[j]]
            if own < last:
                for k in range(own * size, (own + 1) * size):
                    if order[k] > i and row_branches[at_branches + k] != 0.0:
                        d_row_branches[at_branches + k] = d_row_branches[at_branches + k] + _push(
                            order[k], row_branches[at_branches + k], column, end, row_sums, m, sums, d_m, n,
                            reach, lanes,
                        )  # fmt: skip
        for j in range(max(0, i - RING) if own == last else column, end):  # of an earlier row
            d_i[at_ring + j] = zero
        outer_push = shared[i] / e[i] * outer
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
                stacked, push = step * stack[k], step * closing * multi_dangle[word]
                if j > column:
                    d_stack_next[j - 1], d_m2[j - 1] = stacked, d_m2[j - 1] + push
                else:
                    edge_stack[slot], edge_2[slot] = stacked, push
                part = stacked * p[below + j - 1]
                n_stack[k] = n_stack[k] + part
                rest -= part
                if with_loops:
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
            d_i[at_ring + j] = step * mismatch[word]
            p[here + j] = expected
    if own < last:
        add_adjoints(own, last, blocks, n, row_branches, n_rows, m, sums, lanes, d_row_branches, d_m)


@part_of_one_kernel
def _branches_of(i, own, blocks, n, s, p, multi_dangle, branch, at, branches, d_branches):
    """Row i of the branches, as it is for `add_products`; none for a row before the first base."""
    order, here, zero = cells(blocks.order), row(i, n, n - 1), branch * 0.0
    for place in range(own * blocks.size, blocks.order.size):
        j = order[place]
        branches[at + place] = d_branches[at + place] = zero
        if 0 <= i < j and p[here + j] != 0.0:
            word = quad(s[j + 1], s[i + 1], s[j + 2], s[i])
            branches[at + place] = p[here + j] * multi_dangle[word] * branch


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
