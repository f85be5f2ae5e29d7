"""Products of tiles: the sums over first branches of multi-branch loops, which cost the cube of the length.

M2[i, j] = sum over k of B[i, k] M[k + 1, j], where B[i, k] is the branch (i, k), is a product of matrices.
For the rows of one block of bases and the columns of another, all that lies between the two blocks is
known when their tile begins, and is added here at once. What lies within the blocks is left to the recursion
(Zakov, Tsur & Ziv-Ukelson, Algorithms for Molecular Biology 6:20, 2011).

Tables are those of all pairs, without a limit of spans. All blocks have the same size, a multiple of four
runs; the last one ends with the last base, and the first one may begin before the first base.

The functions share these parameters:

own, last : int
    Numbers of the block of rows and the block of columns.
blocks : `Blocks`
branches, n_rows : B of the rows at hand
    Row ``i % n_rows`` of so many is that of base i, in the order of `Blocks`.
"""

from typing import Any, NamedTuple

from structune.kernels.jit import part_of_bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells, load, splat, store, total, width
from structune.rna.kernels.loops import row
from structune.rna.kernels.semiring import both, either_run

PAD = 32  # cells behind a row of a tile: so the rows of a tile do not share a few sets of the cache


class Blocks(NamedTuple):
    """Blocks of bases, each sorted by letter.

    Four neighbors mostly have the same letter: B is zero for all 16 pairs of two such groups, or for few.
    """

    size: int  # bases of each
    order: Any  # (n_blocks * size,): the bases; below 0 in the first block, where there are none
    places: Any  # (n,): where each base is in this order
    letters: Any  # for four of these places each: the letters that they have, a bit each
    partners: Any  # likewise: the letters that may pair with one of them


@part_of_bare_kernel
def _four(cells, at, lanes):
    """Four runs in a row."""
    w = width(lanes)
    return (
        load(cells, at, lanes), load(cells, at + w, lanes), load(cells, at + 2 * w, lanes),
        load(cells, at + 3 * w, lanes),
    )  # fmt: skip


@part_of_bare_kernel
def _keep(cells, at, runs, lanes):
    w = width(lanes)
    store(cells, at, runs[0])
    store(cells, at + w, runs[1])
    store(cells, at + 2 * w, runs[2])
    store(cells, at + 3 * w, runs[3])


@part_of_bare_kernel
def _fused(sums, number, runs, lanes, scores):
    """Four runs of sums with a number times four runs."""
    f = splat(number, lanes)
    return (
        either_run(sums[0], both(f, runs[0], scores), scores),
        either_run(sums[1], both(f, runs[1], scores), scores),
        either_run(sums[2], both(f, runs[2], scores), scores),
        either_run(sums[3], both(f, runs[3], scores), scores),
    )


@part_of_bare_kernel
def _cells_of(blocks):
    return blocks.size, cells(blocks.order), cells(blocks.letters), cells(blocks.partners)


@part_of_bare_kernel
def begin_of(number, blocks, n):
    """Where a block begins."""
    return n - blocks.order.size + number * blocks.size


@part_of_bare_kernel
def wrapped(slot, n_rows):
    """The row of a ring; a division would take long."""
    if slot < 0:
        return slot + n_rows
    return slot - n_rows if slot >= n_rows else slot


@part_of_bare_kernel
def _members(order, group):
    return order[4 * group], order[4 * group + 1], order[4 * group + 2], order[4 * group + 3]


@part_of_bare_kernel
def _fused_run(sums, run, runs):
    """Four runs of sums with a run times four runs, lane by lane."""
    return sums[0] + run * runs[0], sums[1] + run * runs[1], sums[2] + run * runs[2], sums[3] + run * runs[3]


@part_of_bare_kernel
def _add_totals(out, at, sums):
    for c in range(4):
        out[at + c] = out[at + c] + total(sums[c])


# In each of these loops a run is loaded once for four rows, and a number once for four runs: 16 multiply-adds
# for 8 loads, which is as many as a core can load in that time. What the groups have in common, some 30
# kilobytes, stays in the first cache meanwhile; a table is read from memory once for a block of rows.
IN_CACHE = 32  # groups of four bases


@part_of_one_kernel
def add_products(own, last, blocks, n, branches, n_rows, m, lanes, panel, sums, scores):
    """Add to ``sums``, (size, size + PAD), the stretches M2 whose first branch ends between the two blocks.

    ``panel`` is scratch for four runs of the bases of `IN_CACHE` groups.
    """
    size, order, letters, partners = _cells_of(blocks)
    w, quarter, length, stride = width(lanes), size // 4, size + PAD, blocks.order.size
    top, begin = begin_of(own, blocks, n), begin_of(last, blocks, n)
    slot = top % n_rows
    for first in range((own + 1) * quarter, last * quarter, IN_CACHE):
        end = min(first + IN_CACHE, last * quarter)
        for j in range(0, size, 4 * w):
            for at in range(4 * first, 4 * end):
                runs = _four(m, row(order[at] + 1, n, n - 1) + begin + j, lanes)
                _keep(panel, (at - 4 * first) * 4 * w, runs, lanes)
            for group in range(own * quarter, (own + 1) * quarter):
                i0, i1, i2, i3 = _members(order, group)
                at0, at1 = (i0 - top) * length + j, (i1 - top) * length + j
                at2, at3 = (i2 - top) * length + j, (i3 - top) * length + j
                b0, b1 = wrapped(slot + i0 - top, n_rows) * stride, wrapped(slot + i1 - top, n_rows) * stride
                b2, b3 = wrapped(slot + i2 - top, n_rows) * stride, wrapped(slot + i3 - top, n_rows) * stride
                sums0, sums1 = _four(sums, at0, lanes), _four(sums, at1, lanes)
                sums2, sums3 = _four(sums, at2, lanes), _four(sums, at3, lanes)
                for other in range(first, end):
                    if partners[group] & letters[other] == 0:
                        continue
                    for at in range(4 * other, 4 * other + 4):
                        runs = _four(panel, (at - 4 * first) * 4 * w, lanes)
                        sums0 = _fused(sums0, branches[b0 + at], runs, lanes, scores)
                        sums1 = _fused(sums1, branches[b1 + at], runs, lanes, scores)
                        sums2 = _fused(sums2, branches[b2 + at], runs, lanes, scores)
                        sums3 = _fused(sums3, branches[b3 + at], runs, lanes, scores)
                _keep(sums, at0, sums0, lanes)
                _keep(sums, at1, sums1, lanes)
                _keep(sums, at2, sums2, lanes)
                _keep(sums, at3, sums3, lanes)


@part_of_one_kernel
def add_adjoints(own, last, blocks, n, branches, n_rows, m, sums, lanes, d_branches, d_m):
    """Hand the adjoints ``sums`` of these stretches down to B, in ``d_branches``, and to M."""
    size, order, letters, partners = _cells_of(blocks)
    w, quarter, length, stride = width(lanes), size // 4, size + PAD, blocks.order.size
    top, begin = begin_of(own, blocks, n), begin_of(last, blocks, n)
    slot = top % n_rows
    for between in range(own + 1, last):
        for j in range(0, size, 4 * w):
            for first in range(own * quarter, (own + 1) * quarter, IN_CACHE):
                end = min(first + IN_CACHE, (own + 1) * quarter)
                for other in range(between * quarter, (between + 1) * quarter):
                    k0, k1, k2, k3 = _members(order, other)
                    to0, to1 = row(k0 + 1, n, n - 1) + begin + j, row(k1 + 1, n, n - 1) + begin + j
                    to2, to3 = row(k2 + 1, n, n - 1) + begin + j, row(k3 + 1, n, n - 1) + begin + j
                    d0, d1 = _four(d_m, to0, lanes), _four(d_m, to1, lanes)
                    d2, d3 = _four(d_m, to2, lanes), _four(d_m, to3, lanes)
                    for group in range(first, end):
                        if partners[group] & letters[other] == 0:
                            continue
                        for c in range(4 * group, 4 * group + 4):
                            i = order[c] - top
                            b, runs = (
                                wrapped(slot + i, n_rows) * stride + 4 * other,
                                _four(sums, i * length + j, lanes),
                            )
                            d0 = _fused(d0, branches[b], runs, lanes, None)
                            d1 = _fused(d1, branches[b + 1], runs, lanes, None)
                            d2 = _fused(d2, branches[b + 2], runs, lanes, None)
                            d3 = _fused(d3, branches[b + 3], runs, lanes, None)
                    _keep(d_m, to0, d0, lanes)
                    _keep(d_m, to1, d1, lanes)
                    _keep(d_m, to2, d2, lanes)
                    _keep(d_m, to3, d3, lanes)
        for first in range(own * quarter, (own + 1) * quarter, 3):
            for other in range(between * quarter, (between + 1) * quarter):
                k0, k1, k2, k3 = _members(order, other)
                m0, m1 = row(k0 + 1, n, n - 1) + begin, row(k1 + 1, n, n - 1) + begin
                m2, m3 = row(k2 + 1, n, n - 1) + begin, row(k3 + 1, n, n - 1) + begin
                zero = splat(m[m0] * 0.0, lanes)
                for group in range(first, min(first + 3, (own + 1) * quarter)):
                    if partners[group] & letters[other] == 0:
                        continue
                    i0, i1, i2, i3 = _members(order, group)
                    at0, at1, at2, at3 = (
                        (i0 - top) * length,
                        (i1 - top) * length,
                        (i2 - top) * length,
                        (i3 - top) * length,
                    )
                    d0 = d1 = d2 = d3 = zero, zero, zero, zero
                    for j in range(0, size, w):
                        a, b = load(m, m0 + j, lanes), load(m, m1 + j, lanes)
                        runs = a, b, load(m, m2 + j, lanes), load(m, m3 + j, lanes)
                        d0 = _fused_run(d0, load(sums, at0 + j, lanes), runs)
                        d1 = _fused_run(d1, load(sums, at1 + j, lanes), runs)
                        d2 = _fused_run(d2, load(sums, at2 + j, lanes), runs)
                        d3 = _fused_run(d3, load(sums, at3 + j, lanes), runs)
                    _add_totals(d_branches, wrapped(slot + i0 - top, n_rows) * stride + 4 * other, d0)
                    _add_totals(d_branches, wrapped(slot + i1 - top, n_rows) * stride + 4 * other, d1)
                    _add_totals(d_branches, wrapped(slot + i2 - top, n_rows) * stride + 4 * other, d2)
                    _add_totals(d_branches, wrapped(slot + i3 - top, n_rows) * stride + 4 * other, d3)
