"""Pseudoknots: a second layer of pairs that cross the first, from the probabilities of nested pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.rna.formats.brackets import partners
from structune.rna.formats.strands import STRANDS, bases_of, cut_as
from structune.rna.structure.decoding import accuracy
from structune.rna.structure.space import n_cells, row_of
from structune.structure import IntArray


def knotted(structure: str, pairs: Any, gamma: float) -> str:
    """A nested structure, and in square brackets helices of bases that it leaves, which cross it.

    Parameters
    ----------
    structure : str
        As it was predicted.
    pairs : ndarray or sparse array, shape (n, n), symmetric
        Probabilities.
    gamma : float
        Of the second layer: how much a right pair counts beside two right unpaired bases.

    Notes
    -----
    As IPknot (Sato et al. 2011) has it, but that layers are found one after the other, without an integer
    programme. Pairs of the second are stacked, each on another.
    """
    first = partners(structure)
    second = _second(first, pairs, gamma, structure.find(STRANDS))
    marks = list(bases_of(structure))
    for i, j in enumerate(second.tolist()):
        if j > i and _crosses(first, i, j):
            marks[i], marks[j] = "[", "]"
    return cut_as(structure, "".join(marks))


def _second(first: IntArray, pairs: Any, gamma: float, nick: int) -> IntArray:
    """The best structure of the bases that the first leaves; strands end before base `nick`, or -1."""
    from scipy.sparse import coo_array  # which takes longer to import than a fold

    n, free = first.size, np.flatnonzero(first < 0)
    table = coo_array(pairs[free][:, free])
    row, column = table.coords
    kept = row < column
    left, right = free[row[kept]], free[column[kept]]
    if nick >= 0:  # a place between the strands: no pairs are stacked across it
        n, left, right = n + 1, left + (left >= nick), right + (right >= nick)
    reach = int(np.max(right - left, initial=0))
    flat = np.zeros(n_cells(n, reach))
    flat[row_of(left, n, reach) + right] = table.data[kept]
    del table, row, column, kept, left, right  # as large as the rest
    found = accuracy(gamma).best(flat, n, reach, lonely=False)
    return found if nick < 0 else np.delete(found - (found > nick), nick)


def _crosses(partner: IntArray, i: int, j: int) -> bool:
    """Whether a pair crosses another: whether one has a base within, and one outside."""
    inner = partner[i + 1 : j]
    return bool(np.any((inner >= 0) & ((inner < i) | (inner > j))))
