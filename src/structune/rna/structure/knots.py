"""Pseudoknots: helices that cross those of a nested structure.

An integer program decides which crossing pairs to add, and which nested ones to drop for them, in the manner
of IPknot (Sato et al., Bioinformatics 27:i85, 2011). The probabilities of the second layer are those of
structures in which the bases of the first layer's helices are unpaired, because a nested structure cannot
have both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structune.errors import warn
from structune.rna.formats.brackets import STRANDS, cut_as, pairs_of, partners
from structune.structure import Array, FloatArray, IntArray

# The two probabilities of 0.5 were not chosen on data, the others on families of ArchiveII.
THRESHOLD = 0.5  # smallest probability of a crossing pair
LEAST = 0.05  # that may be asked for
_SHARE = 0.7  # in it, of the probability beside the first layer; the rest is the one in all nested structures
_HELIX, _PROBABLE = 3, 0.5  # pairs, and their mean probability, of a helix that others may cross
_LEAST_GAIN = 0.01  # of a pair of the first layer
_SECONDS = 60.0  # for a sequence, which by default takes less than one


def crossable(structure: str, probabilities: Any) -> Array:
    """Whether each base is in a helix of the structure that others may cross, shape (n,)."""
    pairs, n = pairs_of(partner := partners(structure)), partner.size
    found, helix = np.zeros(n, bool), list[tuple[int, int]]()
    for i, j in [*pairs, (n, n)]:  # the last is no pair, and ends the last helix
        if helix and (i, j) != (helix[-1][0] + 1, helix[-1][1] - 1):
            if len(helix) >= _HELIX and np.mean([probabilities[pair] for pair in helix]) > _PROBABLE:
                found[np.array(helix)] = True
            helix = []
        helix.append((i, j))
    return found


def with_knots(
    structure: str, first: Any, second: Any, thresholds: tuple[float, float], required: Array
) -> str:
    """The structure with crossing helices in square brackets; its own pairs may give way to them.

    Parameters
    ----------
    structure : str
        The nested structure.
    first, second : sparse arrays, shape (n, n)
        Probabilities of pairs (i, j), i < j: in all structures, and beside the helices that may be crossed.
    thresholds : (float, float)
        Probabilities from which on a pair gains, in the nested and in the crossing layer.
    required : ndarray of bool, shape (n,)
        Bases whose pairs do not give way.
    """
    partner, nick = partners(structure), structure.find(STRANDS)
    table = (_SHARE * second + (1.0 - _SHARE) * first).tocoo()
    kept = table.data > thresholds[1]
    crossing = np.column_stack([axis[kept] for axis in table.coords]).astype(np.int64)
    own = np.array(pairs_of(partner), np.int64).reshape(-1, 2)
    if not (own.size and crossing.size):
        return structure
    # A pair of the structure may gain nothing, by another rule of prediction; it stays if nothing conflicts.
    probable = np.array([float(first[i, j]) for i, j in own.tolist()])
    gains = np.maximum(probable - thresholds[0], _LEAST_GAIN), table.data[kept] - thresholds[1]
    marks = ["."] * partner.size
    for (i, j), brackets in _chosen(own, crossing, gains, nick, np.asarray(required[own].any(axis=1))):
        marks[i], marks[j] = brackets[0], brackets[1]
    return cut_as(structure, "".join(marks))


def _chosen(
    own: IntArray, crossing: IntArray, gains: Sequence[FloatArray], nick: int, is_fixed: Array
) -> list[tuple[tuple[int, int], str]]:
    """The pairs of both layers, with their brackets, that gain most together."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # which take longer to import than a fold
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    pairs, n_own, n = np.concatenate([own, crossing]), len(own), len(own) + len(crossing)
    numbers = np.arange(n)
    # Each base has one pair at most.
    of_bases = coo_array((np.ones(2 * n), (pairs.T.ravel(), np.tile(numbers, 2))))
    # Crossing pairs are nested among themselves,
    a, b = np.nonzero(np.triu(_cross(crossing, crossing)))
    of_two = coo_array(
        (np.ones(2 * a.size), (np.tile(np.arange(a.size), 2), n_own + np.append(a, b))), (a.size, n)
    )
    # each crosses a pair of the first layer,
    below = hstack([csr_array(-1.0 * _cross(crossing, own)), csr_array(np.eye(n - n_own))])
    # and is stacked on another; no pairs are stacked across the end of a strand.
    left, right = (side + (side >= nick) * (nick >= 0) for side in crossing.T)
    stacked = (np.abs(left - left[:, None]) == 1) & (left + right == (left + right)[:, None])
    beside = hstack([csr_array((n - n_own, n_own)), csr_array(np.eye(n - n_own) - stacked)])
    rows: Any = vstack([of_bases, of_two, below, beside], format="csr")
    most = np.repeat([1.0, 0.0], [of_bases.shape[0] + a.size, 2 * (n - n_own)])
    least = np.append(is_fixed, np.zeros(n - n_own))
    found = milp(
        -np.concatenate(gains),
        integrality=np.ones(n, np.uint8),
        bounds=Bounds(least, 1.0),
        constraints=LinearConstraint(rows, -np.inf, most),
        options={"time_limit": _SECONDS},
    )
    if not found.success:
        told = f"pseudoknots of {len(crossing):,} candidate pairs may not be the best"
        warn(f"{told}: the search ended after {_SECONDS:.0f} s. A higher threshold makes it faster")
    if found.x is None:
        return [((int(i), int(j)), "()") for i, j in own]
    kept = np.flatnonzero(np.asarray(found.x) > 0.5).tolist()
    return [((int(pairs[k, 0]), int(pairs[k, 1])), "()" if k < n_own else "[]") for k in kept]


def _cross(some: IntArray, others: IntArray) -> Array:
    """Whether each pair of bases crosses each of others."""
    (i, j), (k, m) = some.T[:, :, None], others.T[:, None, :]
    return np.asarray(((i < k) & (k < j) & (j < m)) | ((k < i) & (i < m) & (m < j)))
