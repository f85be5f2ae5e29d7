"""How often one alignment uses each part of its score."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from structune.alignment.kernels.sums import Side
from structune.alignment.structure.features import FeatureSet, SequenceFeatures, Uses
from structune.structure import Array, IntArray


def uses_of(features: FeatureSet, x: SequenceFeatures, y: SequenceFeatures, partner: IntArray) -> Uses:
    """How often one alignment uses everything: the residue of y that each of x is matched with, or -1."""
    i = np.flatnonzero(partner >= 0)
    j = partner[i]
    products = [x.pairing[i, b.columns].T @ y.pairing[j, b.columns] for b in features.blocks]
    matched = np.zeros(len(x)), np.zeros(len(y))
    matched[0][i] = matched[1][j] = 1.0
    used = features.no_uses(len(x), len(y), np.float64)
    for (a, b), (c, d) in pairwise(zip(i.tolist(), j.tolist(), strict=True)):
        _count_gap(used.x, used.y, used.steps, slice(a + 1, c), b + 1)
        _count_gap(used.y, used.x, used.steps, slice(b + 1, d), c)
        used.both[0] += c > a + 1 and d > b + 1
    if i.size:
        used.both[1] += i[0] > 0 and j[0] > 0
        used.both[1] += i[-1] < len(x) - 1 and j[-1] < len(y) - 1
    return Uses(products, used, matched, float(not i.size))


def _count_gap(side: Side, other: Side, steps: Array, residues: slice, place: int) -> None:
    """A gap of these residues at a place of the other sequence."""
    length, n_steps = residues.stop - residues.start, steps.size - 1
    if not length:
        return
    side.residue[residues] += 1
    side.opens[residues.start] += 1
    side.closes[residues.stop - 1] += 1
    other.site[place] += length
    other.site_open[place] += 1
    steps[: min(length, n_steps)] += 1
    steps[n_steps] += max(0, length - n_steps)
