"""Structures of short sequences, of which a call of the kernels would cost more than the work."""

from __future__ import annotations

import numpy as np

from structune.kernels.vectors import all_lanes
from structune.rna.kernels import short as kernel
from structune.rna.kernels.loops import ABSENT, LOOP
from structune.rna.kernels.sums import LEFT, RIGHT, RING
from structune.rna.structure.decoding import Gain
from structune.rna.structure.inference import LEAST, MOST_SCORE, SPAN, Counts
from structune.rna.structure.potentials import Potentials
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import Space, n_cells
from structune.structure import Array, IntArray

_SHORT = 100  # bases: of longer sequences the work is most of it


def is_short(shard: RNAShard, space: Space) -> Array:
    """Of each sequence, whether it is short, and one strand about which nothing is known."""
    sizes = shard.sizes()
    if space.circular:
        return np.zeros(sizes.size, bool)
    known = np.diff(shard.base_offsets) + np.diff(shard.pair_offsets) > 0
    of = np.repeat(np.arange(sizes.size), sizes)
    cut = np.bincount(of[shard.letters == ABSENT], minlength=sizes.size) > 0
    return np.asarray((sizes <= _SHORT) & ~known & ~cut)


def fold_short(
    potentials: Potentials, shard: RNAShard, space: Space, gains: list[Gain], lonely: bool
) -> tuple[IntArray, Array]:
    """Partners of all bases for each way to gain, and of which sequences they are known.

    Of the others, sums over structures leave the range of a double unless they are scaled.
    """
    sizes, partners = shard.sizes(), np.full((len(gains), shard.n_parts), -1, np.int64)
    is_known = np.zeros(sizes.size, bool)
    if np.max(potentials.cells) > MOST_SCORE:
        return partners, is_known
    longest = int(sizes.max())
    reach, lanes = space.reach(longest), all_lanes(float)
    letters = np.full(shard.n_parts + 2 * sizes.size, ABSENT, np.int64)
    letters[np.arange(shard.n_parts) + np.repeat(2 * np.arange(sizes.size) + 1, sizes)] = shard.letters
    tables, scalars = potentials.factors(longest, 0.0)
    kernel.fold(
        letters, shard.offsets, tables, scalars, space.min_hairpin, reach, space.circular, lonely, lanes,
        np.array(gains, float).reshape(-1, 3), LEAST, SPAN, _room(longest, reach, lanes.width),
        Counts(longest, float).tables, partners, is_known,
    )  # fmt: skip
    return partners, is_known


def _room(n: int, reach: int, width: int) -> kernel.Room:
    return kernel.Room(
        tables=np.empty((6, n_cells(n, reach) + 16)),
        suffixes=np.empty((4, n + 1)),
        raised=np.empty(n + 1, np.int64),
        ring=np.empty((RING, LEFT + n + RIGHT)),
        rows=np.empty((8, n + RIGHT)),
        partners=np.empty(n, np.int64),
        todo=np.empty((n + 1, 2), np.int64),
        nothing=np.empty(0),
        no_strands=np.empty((2, 0)),
        extent=np.empty(2),
        loops=np.zeros((LOOP * LOOP, width)),
        scalars=np.zeros(6),
    )
