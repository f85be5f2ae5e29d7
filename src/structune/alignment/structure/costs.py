"""The scored matches of an alignment, and what they cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from structune.alignment.structure.shard import AlignmentShard
from structune.structure import Array, IntArray

Bonus = Callable[[slice, slice], Array]  # of the matches of some residues of x with some of y


def known_matches(shard: AlignmentShard, p: int) -> tuple[IntArray, IntArray]:
    """The scored matches of a pair."""
    a, b = shard.starts[p : p + 2]
    i = np.flatnonzero(shard.scored[a:b])
    return i, shard.partners[a:b][i]


def match_costs(shard: AlignmentShard, p: int, cost: float) -> Bonus | None:
    """What right matches save if `cost` times the share of missed matches is added to scores of alignments.

    An alignment without matches has the whole of it, and each right match saves its share. None where none is
    scored: all alignments cost nothing.
    """
    known, (n, m) = known_matches(shard, p), shard.lengths[p].tolist()
    size = known[0].size
    if not size:
        return None
    table = scipy.sparse.csr_array((np.full(size, -cost / size), known), shape=(n, m))
    return lambda rows, columns: table[rows][:, columns].toarray()
