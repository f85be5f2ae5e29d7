"""Counts of the matches of an alignment that add up: those that are right, or predicted, and their cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.structure.shard import AlignmentShard
from structune.structure import Array, IntArray

Bonus = Callable[[slice, slice], Array]  # of the matches of some residues of x with some of y


def known_matches(shard: AlignmentShard, p: int) -> tuple[IntArray, IntArray]:
    """The scored matches of a pair."""
    a, b = shard.starts[p : p + 2]
    i = np.flatnonzero(shard.scored[a:b])
    return i, shard.partners[a:b][i]


def _looked_at(shard: AlignmentShard, p: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Residues of x and y whose matches count: all, or where only a part is known, those of scored ones."""
    found = tuple(np.full(n, bool(shard.whole[p])) for n in shard.lengths[p].tolist())
    for side, residues in zip(found, known_matches(shard, p), strict=True):
        side[residues] = True
    return found[0], found[1]


def bonus(shard: AlignmentShard, p: int, count: str, rate: Any) -> tuple[Bonus | None, Any]:
    """What is added to the scores of matches if `rate` times a count is added to that of an alignment.

    Also what that adds to all alignments: their cost is what their right matches save of that of having none.
    """
    if count == "predicted":
        x, y = _looked_at(shard, p)
        return lambda rows, columns: rate * (x[rows, None] | y[columns]), 0.0
    known, (n, m) = known_matches(shard, p), shard.lengths[p].tolist()
    size = known[0].size
    if not size:
        return None, 0.0
    each, base = (rate, 0.0) if count == "right" else (-rate / size, rate)
    table = scipy.sparse.csr_array((np.full(size, each), known), shape=(n, m))
    return lambda rows, columns: table[rows][:, columns].toarray(), base


def count_matches(shard: AlignmentShard, p: int, own: IntArray, found: IntArray) -> tuple[int, int]:
    """Right and predicted matches of a pair."""
    x, y = _looked_at(shard, p)
    i = known_matches(shard, p)[0]
    matched = np.flatnonzero(found >= 0)
    return int(np.sum(own[i] == found[i])), int(np.sum(x[matched] | y[found[matched]]))
