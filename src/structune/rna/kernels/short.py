"""Structures of many short sequences in one call, which costs as much as that of one.

For each sequence `structune.rna.kernels.sums` and `structune.rna.kernels.mea`, in arrays that all share.
"""

import numpy as np

from structune.kernels.jit import kernel, part_of_one_kernel
from structune.rna.kernels.loops import ABSENT, row
from structune.rna.kernels.mea import accuracies, trace
from structune.rna.kernels.products import PAD, Blocks
from structune.rna.kernels.sums import LEFT, RAISE, RIGHT, RING, inside, outside
from structune.rna.kernels.sums import shares as shares_of
from structune.rna.kernels.sums import suffixes as suffixes_of


@kernel
def fold(
    letters, offsets, tables, lengths, at, min_hairpin, max_span, off, lonely, lanes, gains, least, span,
    partners, is_known,
):  # fmt: skip
    """The structures that gain most, for each of several ways to gain, where sums stay in range.

    Parameters
    ----------
    letters : (n_bases,)
    offsets : (n_sequences + 1,)
        Of the bases of each sequence, among those of all.
    tables, lengths, at : as of `inside`, for the longest
    off : bool
        False, of circles and of counts: not known when this is compiled, so that the kernels of one sequence
        are those for all.
    gains : (n_ways, 3)
        What times the probability of a pair, less what, it gains; and what times its probability to be
        unpaired a base gains.
    least, span : float
        The least sum over structures within a pair that has all its digits, and the greatest log of any sum.
    partners : (n_ways, n_bases)
    is_known : (n_sequences,) of bool
        Gets where sums stayed in range.
    """
    longest = lengths.shape[1] - 1
    room = longest * (longest + 1) // 2 + 16  # runs of cells may end up to 16 beyond the last row
    p, multi, multi_2, d_multi = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    values, best, suffixes, unpaired = (
        np.empty(room),
        np.empty(room),
        np.empty(longest + 1),
        np.empty(longest),
    )
    exterior, shares, raised = np.empty(longest + 1), np.empty(longest + 1), np.empty(longest + 1, np.int64)
    all_ends, ring, rows = (
        np.empty(longest + 2, np.int64),
        np.empty((RING, LEFT + longest + RIGHT)),
        np.empty((6, longest + RIGHT)),
    )
    partner, todo = np.empty(longest, np.int64), np.empty((longest + 1, 2), np.int64)
    nothing, no_strands, extent = np.empty(0), np.empty((2, 0)), np.empty(2)
    order, no_groups = np.arange(longest), np.empty(0, np.int64)
    d_multi_2, d_stacks, tile = np.empty(longest), np.empty(longest), np.empty((1, longest + PAD))
    singles, edges = np.empty(RING), np.empty((2, RING))
    counts, length_counts = np.empty(tables.size), np.empty((2, longest + 1))  # which nobody reads
    ring_cells = ring.reshape(-1)  # of which kernels take as many as they need, whatever its shape
    for s in range(offsets.size - 1):
        a, b = offsets[s], offsets[s + 1]
        n = b - a
        ends = all_ends[: n + 2]
        ends[0] = ends[n + 1] = ABSENT
        for k in range(n):
            ends[k + 1] = letters[a + k]
        # The cells of a table of pairs of this sequence, as `structune.rna.structure.space.n_cells` counts
        # them.
        reach = max(0, min(n - 1, max_span))
        n_cells = n * (reach + 1) - reach * (reach + 1) // 2
        for table in (p, multi, multi_2, d_multi, best):
            table[: n_cells + 16] = 0.0
        shares[: n + 1] = 0.0
        ring_cells[: RING * (LEFT + n + RIGHT)] = 0.0
        rows[:, : n + RIGHT] = 0.0
        whole = Blocks(n, order[:n], order[:n], no_groups, no_groups)
        extent[0], extent[1] = np.inf, 0.0
        inside(
            ends, tables, lengths, at, nothing, min_hairpin, reach, n, off, whole, 0, 0, lanes, p, multi,
            multi_2, nothing, nothing, ring, no_strands, singles, tile, nothing, rows, partner,
            extent, None,
        )  # fmt: skip
        suffixes_of(ends, tables, at, reach, n, p, exterior, raised, None)
        # No pair's sum may be so small that digits are lost, and none so large: then others scale the sums.
        known = extent[0] > least and extent[1] < np.exp(span)
        for i in range(n + 1):
            known &= abs(np.log(exterior[i]) + RAISE * raised[i]) < span
        ring_cells[: RING * (LEFT + n + RIGHT)] = 0.0
        rows[:, : n + RIGHT] = 0.0
        d_multi_2[:n], d_stacks[:n] = 0.0, 0.0
        shares_of(ends, tables, at, 1.0, reach, n, off, p, exterior, raised, shares, counts)
        outside(
            ends, tables, lengths, at, nothing, reach, n, off, whole, 0, 0, lanes, p, multi, multi_2,
            exterior, raised, nothing, nothing, shares, d_multi, d_multi_2, d_stacks, no_strands, nothing,
            nothing, ring, no_strands, no_strands, singles, edges, tile, rows, partner, counts,
            length_counts, no_strands, off,
        )  # fmt: skip
        # Outside, sums may leave the range though they were in it inside.
        for k in range(n_cells):
            known &= np.isfinite(p[k])
        is_known[s] = known
        for way in range(len(gains) if known else 0):
            _values(n, reach, gains[way], p, values, unpaired)
            accuracies(values, unpaired[:n], reach, lonely, 0.0, lanes, rows, best, suffixes)
            trace(values, unpaired[:n], reach, lonely, 0.0, best, suffixes, todo, partners[way, a:b])


@part_of_one_kernel
def _values(n, reach, gain, p, values, unpaired):
    """What each pair and unpaired base gains, as `Gain` has it."""
    unpaired[:n] = 0.0
    for i in range(n):
        here = row(i, n, reach)
        for j in range(i, min(n, i + reach + 1)):
            # scale * p - cost of a pair, and gain[2] times the probability to be unpaired of a base
            values[here + j] = gain[0] * p[here + j] - gain[1]
            unpaired[i] += p[here + j]
            unpaired[j] += p[here + j]
    for i in range(n):
        unpaired[i] = gain[2] * max(1.0 - unpaired[i], 0.0)
