"""How probably stretches of a given size are unpaired, from the sums of `structune.rna.kernels.sums`.

All bases of such a window lie in one loop: every loop counts for the windows within each of its unpaired
stretches, as often as it is expected.
"""

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.loops import LOOP, N_LETTERS, quad, row
from structune.rna.kernels.sums import RAISE, by_table, special_hairpin


@part_of_bare_kernel
def _add(steps, first, last, size, value):
    """Count a loop for the windows within first..last; `steps` are the differences of neighbours."""
    if last - first + 1 >= size:
        steps[first] = steps[first] + value
        steps[last - size + 2] = steps[last - size + 2] - value


@bare_kernel
def windows(
    letters, tables, lengths, at, factors, reach, size, inside_pairs, pairs, multi, multi_2, exterior, raised,
    shares, d_multi, scratch, out,
):  # fmt: skip
    """Fill ``out`` (n + 2,) with the probability that the bases i..i + size - 1 are unpaired, for each i.

    Parameters
    ----------
    tables, lengths, at, factors, reach
        As `inside` has them.
    inside_pairs, multi, multi_2, exterior, raised
        As `inside` leaves them.
    pairs, shares, d_multi
        As `outside` leaves them, of weight 1.
    scratch : zeros (3, n + 1)
    """
    n = letters.size - 2
    (
        base_pair, _, hairpin_mismatch, mismatch, multi_dangle, _, hairpin_3, hairpin_4, loop, bulge,
        one_by_one,
    ) = by_table(tables, at)  # fmt: skip
    span, hairpin = cells(lengths[0]), cells(lengths[1])
    branch, unpaired = tables[at.multi_paired], tables[at.multi_unpaired]
    closing, free = tables[at.multi_base] * branch, tables[at.external_unpaired]
    p, expected, m, m2, e = cells(inside_pairs), cells(pairs), cells(multi), cells(multi_2), cells(exterior)
    share, d_m, s, factor = cells(shares), cells(d_multi), cells(letters), cells(factors)
    d_m2, tails, steps, found = cells(scratch[0]), cells(scratch[1]), cells(scratch[2]), cells(out)
    # A window of unpaired bases in the exterior or in a multi-branch loop costs the same wherever it lies.
    in_exterior, in_multi = size * np.log(free), unpaired**size
    weighted = factors.size > 0
    # Four places where the window may lie, each counted by its own rule: in the exterior, in a multi-branch
    # loop before a branch or behind the last one, in a hairpin, and in a bulge or an internal loop.
    for i in range(n):
        end, here = min(n, i + reach + 1), row(i, n, reach)
        x, x_next, x_before = s[i + 1], s[i + 2], s[i]
        if i + size <= n:
            # share[i] E[i + size] free^size / E[i]: structures that are cut at i and go on after the window.
            steps_up = RAISE * (raised[i + size] - raised[i])
            found[i] = found[i] + share[i] * np.exp(in_exterior + np.log(e[i + size] / e[i]) + steps_up)
            beyond = row(i + size, n, reach)
            # To the left of a branch: M[i, j] began with `size` unpaired bases.
            for j in range(i + size, end):  # to the left of a branch
                found[i] = found[i] + in_multi * (d_m[here + j] * m[beyond + j] + d_m2[j] * m2[beyond + j])
        # tails[j] = sum over k >= j of the adjoint of M[i, k] times unpaired^(k - j): stretches that go on
        # behind j with unpaired bases.
        tail = 0.0
        for j in range(end - 1, i, -1):
            tail = tail * unpaired + d_m[here + j]
            tails[j] = tail
        before = 0.0
        for a in range(i + 1, end - size + 1):  # to the right of the last branch, (i, a - 1) or one before
            word = quad(s[a], x, s[a + 1], x_before)
            before = before * unpaired + p[here + a - 1] * multi_dangle[word] * branch
            found[a] = found[a] + before * in_multi * tails[a + size - 1]
        for j in range(i + 1, end):
            d_m2[j] = d_m2[j] * unpaired
        for j in range(i + 1, end):
            if p[here + j] == 0.0:
                continue
            y, y_before = s[j + 1], s[j]
            word = quad(x, y, x_next, y_before)
            step = expected[here + j] / p[here + j] * base_pair[x * N_LETTERS + y] * span[j - i]
            if weighted:
                step *= factor[here + j]
            if j > i + 1:
                d_m2[j - 1] = d_m2[j - 1] + step * closing * multi_dangle[word]
            special = special_hairpin(s, i, j, hairpin_3, hairpin_4, 1.0)
            # The windows within a loop's stretch first..last are those that begin at first..last - size + 1:
            # their counts are kept as differences and added up at the end, so that a loop costs two
            # additions.
            value = step * hairpin[j - i - 1] * special * hairpin_mismatch[word]
            _add(steps, i + 1, j - 1, size, value)
            _add_loops(
                s, loop, bulge, one_by_one, mismatch, step * mismatch[word], p, n, reach, i, j, size, steps
            )
    total = 0.0
    for i in range(n):
        total += steps[i]
        found[i] = found[i] + total


@part_of_bare_kernel
def _add_loops(s, loop, bulge, one_by_one, mismatch, step, p, n, reach, i, j, size, steps):
    """Count the bulges and internal loops that (i, j) closes."""
    for l1 in range(min(LOOP, j - i - 1)):
        a = i + 1 + l1
        here = row(a, n, reach)
        # One of the two sides must have room for the window: others are not visited.
        for l2 in range(0 if l1 >= size else size, min(LOOP - l1, j - a - 1)):
            b = j - 1 - l2
            if p[here + b] == 0.0:
                continue
            potential = loop[l1 * LOOP + l2]
            if l1 == 0 and l2 == 1:
                potential = bulge[s[j]]
            elif l1 == 1 and l2 == 0:
                potential = bulge[s[i + 2]]
            elif l1 == 1 and l2 == 1:
                potential = one_by_one[s[i + 2] * N_LETTERS + s[j]]
            value = step * potential * p[here + b] * mismatch[quad(s[b + 1], s[a + 1], s[b + 2], s[a])]
            _add(steps, i + 1, a - 1, size, value)
            _add(steps, b + 1, j - 1, size, value)
