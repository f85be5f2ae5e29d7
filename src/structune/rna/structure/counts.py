"""Counts that add up to what structures have: table cells, and pairs that are right or predicted."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from structune.rna.kernels.loops import loop_cells
from structune.rna.structure.decoding import add_to_pairs
from structune.rna.structure.features import N_CELLS, STARTS
from structune.rna.structure.potentials import with_ends
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import n_cells
from structune.rna.structure.strands import nick_of
from structune.structure import Array, FloatArray, IntArray, offsets_of


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


def augmented(extra: Array, truth: IntArray, reach: int, count: str, rate: Any) -> tuple[Array, Any]:
    """Scores of pairs beside their own if `rate` times a count is added to that of a structure.

    Also what that adds to all structures: their cost is what their true pairs save of that of having none.
    """
    if count == "predicted":
        return (extra if extra.size else np.zeros(n_cells(truth.size, reach))) + rate, 0.0
    n_paired = np.count_nonzero(truth >= 0)
    if not n_paired:
        return extra, 0.0
    if count == "right":
        return add_to_pairs(extra, truth, reach, rate), 0.0
    return add_to_pairs(extra, truth, reach, -2 * rate / n_paired), rate


def count_pairs(shard: RNAShard, truth: IntArray, found: IntArray) -> tuple[FloatArray, FloatArray]:
    """Right and predicted pairs of each sequence."""
    sequence = np.repeat(np.arange(len(shard)), shard.sizes())
    right, predicted = (
        np.bincount(sequence[marked], minlength=len(shard)) / 2
        for marked in ((found >= 0) & (found == truth), found >= 0)
    )
    return right, predicted
