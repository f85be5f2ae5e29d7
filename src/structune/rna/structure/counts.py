"""The table cells that structures use, and what their pairs cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy

from structune.rna.kernels.loops import loop_cells
from structune.rna.structure.decoding import add_to_pairs
from structune.rna.structure.features import N_CELLS, STARTS
from structune.rna.structure.potentials import with_ends
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.strands import nick_of
from structune.structure import FloatArray, IntArray, offsets_of


def count_cells(shard: RNAShard, partners: IntArray, circular: bool = False) -> scipy.sparse.csr_array:
    """Number of times that each structure uses each table cell, shape (n_sequences, N_CELLS)."""
    found = []
    for a, b in pairwise(shard.offsets.tolist()):
        letters, out = shard.letters[a:b], np.empty(6 * (b - a) + 1, np.int64)
        known = with_ends(letters, circular)
        n = loop_cells(known, partners[a:b], nick_of(letters), circular, STARTS, out)
        found.append(out[:n])
    sizes = np.array([cells.size for cells in found], dtype=np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *found])
    counts = scipy.sparse.csr_array(
        (np.ones(columns.size), columns, offsets_of(sizes)), shape=(len(shard), N_CELLS)
    )
    counts.sum_duplicates()
    return counts


def with_costs(extra: FloatArray, truth: IntArray, reach: int, cost: float) -> tuple[FloatArray, float]:
    """Scores of pairs with their costs, and what all structures cost beside.

    A structure costs 1 - recall, times `cost`: the one without pairs has the whole of it, and each true pair
    saves its share.
    """
    n_paired = np.count_nonzero(truth >= 0)
    if not n_paired:
        return extra, 0.0
    return add_to_pairs(extra, truth, reach, -2 * cost / n_paired), cost
