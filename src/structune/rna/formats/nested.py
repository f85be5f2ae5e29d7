"""Pairs that cross, and the largest sets of pairs that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.running.memory import require_memory

IntArray = NDArray[np.int64]


def ends_of(partners: IntArray) -> IntArray:
    """The partner of each base; of an unpaired base, itself."""
    return np.where(partners < 0, np.arange(partners.size), partners)


def is_crossed(ends: IntArray, i: int, j: int) -> bool:
    """Whether a base between i and j has its partner outside."""
    inside = ends[i + 1 : j]
    return bool(inside.size) and bool(inside.min() < i or inside.max() > j)


def pairs_of(partners: IntArray) -> list[tuple[int, int]]:
    """The pairs (i, j) with i < j, from the left."""
    return [(i, j) for i, j in enumerate(partners.tolist()) if j > i]


def largest_nested(partners: IntArray) -> IntArray:
    """Partners within a largest set of pairs that do not cross.

    Of sets as large, the one that keeps pairs further left. Time and memory grow with the square of the
    number of pairs that cross others, 100 MB for 5000 of them; pairs that cross none cost little.

    Parameters
    ----------
    partners : ndarray of int64, shape (n,)
        Partner of each base, -1 for none.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    nested, first = partners.copy(), np.flatnonzero(partners > np.arange(partners.size))
    crossed = first[_are_crossed(partners, first)]
    bases = np.sort(np.concatenate([crossed, partners[crossed]]))
    nested[bases] = -1
    # The dynamic programme sees only the bases of crossed pairs, numbered anew.
    for pair in _largest(np.searchsorted(bases, partners[bases]).tolist()):
        i, j = bases[list(pair)]
        nested[i], nested[j] = j, i
    return nested


def _are_crossed(partners: IntArray, first: IntArray) -> NDArray[np.bool_]:
    """`is_crossed` of many pairs, by their first bases.

    Two runs of 2^k bases cover what a pair encloses; the least and greatest ends in all such runs follow from
    those in runs half as long.
    """
    last, found = partners[first], np.zeros(first.size, bool)
    sizes = last - first - 1
    least = most = ends_of(partners)
    step = 1
    while np.any(sizes >= step):
        at = np.flatnonzero((sizes >= step) & (sizes < 2 * step))
        a, b, i, j = first[at] + 1, last[at] - step, first[at], last[at]
        found[at] = (np.minimum(least[a], least[b]) < i) | (np.maximum(most[a], most[b]) > j)
        least, most = np.minimum(least[:-step], least[step:]), np.maximum(most[:-step], most[step:])
        step *= 2
    return found


def _largest(partners: list[int]) -> list[tuple[int, int]]:
    """A largest set of pairs without crossings, where all bases are paired."""
    rows = _rows(partners)
    kept, intervals = [], [(0, len(partners) - 1)]
    while intervals:
        i, j = intervals.pop()
        while i < j:
            p = partners[i]
            if i < p <= j and rows[i][j] == 1 + rows[i + 1][p - 1] + rows[p + 1][j]:
                kept.append((i, p))
                intervals.append((p + 1, j))
                j = p - 1
            i += 1
    return kept


def _rows(partners: list[int]) -> list[NDArray[Any]]:
    """Entry j of row i is the largest number of nested pairs between the bases i and j."""
    n = len(partners)
    dtype = np.int16 if n // 2 <= np.iinfo(np.int16).max else np.int32  # entries are numbers of pairs
    needed = np.dtype(dtype).itemsize * n * (n / 2)
    require_memory(needed, f"{n // 2:,} pairs that cross others", "fewer of them")
    rows: list[NDArray[Any]] = [np.zeros(n, dtype)] * (n + 1)
    for i in range(n - 1, -1, -1):
        p, below = partners[i], rows[i + 1]
        if p < i:  # the pair lies outside: the same row again, and no copy
            rows[i] = below
            continue
        rows[i] = row = below.copy()
        np.maximum(row[p:], rows[p + 1][p:] + (below[p - 1] + 1), out=row[p:])
    return rows
