"""Structures of many short sequences in one call, which costs as much as that of one.

For each sequence `structune.rna.kernels.sums` and `structune.rna.kernels.mea`, in rooms that all share.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.loops import ABSENT
from structune.rna.kernels.mea import accuracies, trace
from structune.rna.kernels.sums import LEFT, RAISE, RIGHT, RING, inside, outside, row


class Room(NamedTuple):
    """What the kernels of one sequence work on, for the longest; n_cells is that of a table of its pairs."""

    letters: Any  # (n + 2,) of int64, the first absent
    tables: Any  # (6, n_cells): P, M, M2, adjoints of M, values of pairs, best values of stretches
    suffixes: Any  # (4, n + 1): E, shares, best values, values of unpaired bases
    raised: Any  # (n + 1,) of int64
    ring: Any  # (32, LEFT + n + RIGHT)
    rows: Any  # (9, n + RIGHT)
    partners: Any  # (n,) of int64
    todo: Any  # (n + 1, 2) of int64
    nothing: Any  # (0,)
    no_strands: Any  # (2, 0)
    extent: Any  # (2,)
    counts: Any  # (N_CELLS,), which only grow, as the others behind it, and nobody reads
    length_counts: Any  # (2, n + 1)


@bare_kernel
def fold(
    letters, offsets, tables, lengths, at, min_hairpin, max_span, off, lonely, lanes, gains, least, span,
    room, partners, is_known,
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
    for s in range(offsets.size - 1):
        a, b = offsets[s], offsets[s + 1]
        n = b - a
        ends = room.letters[: n + 2]
        for k in range(n):
            ends[k + 1] = letters[a + k]
        ends[n + 1] = ABSENT
        # The cells of a table of pairs of this sequence, as `structune.rna.structure.space.n_cells` counts
        # them.
        reach = max(0, min(n - 1, max_span))
        n_cells = n * (reach + 1) - reach * (reach + 1) // 2
        is_known[s] = _pairs(
            n, reach, n_cells, ends, tables, lengths, at, min_hairpin, off, lanes, least, span, room
        )
        if is_known[s]:
            for way in range(len(gains)):
                _values(n, reach, n_cells, gains[way], room)
                accuracies(
                    room.tables[4], room.suffixes[3, :n], reach, lonely, 0.0, lanes, room.rows,
                    room.tables[5], room.suffixes[2],
                )  # fmt: skip
                trace(
                    room.tables[4], room.suffixes[3, :n], reach, lonely, 0.0, room.tables[5],
                    room.suffixes[2], room.todo, partners[way, a:b],
                )  # fmt: skip


@part_of_one_kernel
def _pairs(n, reach, n_cells, ends, tables, lengths, at, min_hairpin, off, lanes, least, span, room):
    """Probabilities of pairs in the first table; whether they are known."""
    nothing, p, e, shares = room.nothing, room.tables[0], room.suffixes[0], room.suffixes[1]
    _clear(n, n_cells, room)
    inside(
        ends, tables, lengths, at, nothing, min_hairpin, reach, n, off, lanes, p, room.tables[1],
        room.tables[2], e, room.raised, nothing, nothing, room.ring, room.rows, room.partners, room.extent,
    )  # fmt: skip
    # No pair's sum may be so small that digits are lost, and none so large: then others scale the sums.
    known = room.extent[0] > least and room.extent[1] < np.exp(span)
    for i in range(n + 1):
        known &= abs(np.log(e[i]) + RAISE * room.raised[i]) < span
    _clear_rows(n, room)
    outside(
        ends, tables, lengths, at, nothing, 1.0, reach, n, off, lanes, p, room.tables[1], room.tables[2], e,
        room.raised, nothing, nothing, shares, room.tables[3], room.no_strands, nothing, nothing, room.ring,
        room.rows, room.partners, room.counts, room.length_counts, room.no_strands, off,
    )  # fmt: skip
    # Outside, sums may leave the range though they were in it inside.
    for k in range(n_cells):
        known &= np.isfinite(p[k])
    return known


@part_of_one_kernel
def _clear(n, n_cells, room):
    """As the kernels expect their arguments."""
    room.tables[:, : n_cells + 16] = 0.0
    room.suffixes[:, : n + 1] = 0.0
    room.raised[: n + 1] = 0
    _clear_rows(n, room)


@part_of_bare_kernel
def _clear_rows(n, room):
    room.rows[:, : n + RIGHT] = 0.0
    ring = cells(room.ring)  # of which the kernels take as much as they need, whatever its shape
    for k in range(RING * (LEFT + n + RIGHT)):
        ring[k] = 0.0


@part_of_one_kernel
def _values(n, reach, n_cells, gain, room):
    """What each pair and unpaired base gains."""
    p, values, unpaired = room.tables[0], room.tables[4], room.suffixes[3]
    for i in range(n):
        unpaired[i] = 0.0
    for i in range(n):
        here = row(i, n, reach)
        for j in range(i, min(n, i + reach + 1)):
            # See `Gain`: scale * p - cost for a pair, and gain[2] times the probability to be unpaired for a
            # base.
            values[here + j] = gain[0] * p[here + j] - gain[1]
            unpaired[i] += p[here + j]
            unpaired[j] += p[here + j]
    for i in range(n):
        unpaired[i] = gain[2] * max(1.0 - unpaired[i], 0.0)
    room.tables[5, : n_cells + 16] = 0.0
