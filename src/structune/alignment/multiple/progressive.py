"""Alignments of groups of sequences along a guide tree, and their refinement."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.kernels import merging as kernels
from structune.alignment.multiple.matches import Matches
from structune.structure import FloatArray, IntArray

Tree = FloatArray


def guide_tree(accuracies: FloatArray) -> Tree:
    """UPGMA by 1 - expected accuracies, as SciPy's linkage: (n_sequences - 1, 4)."""
    if len(accuracies) < 2:
        return np.empty((0, 4))
    # an expected share of right matches is at most 1 but for roundings
    distances = np.clip(1.0 - accuracies, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    found: Tree = scipy.cluster.hierarchy.linkage(
        scipy.spatial.distance.squareform(distances, checks=False), "average"
    )
    return found


class Progressive:
    """Sequences that are aligned, group by group, for the highest sum of the values of their matches.

    Gaps cost nothing: with probabilities for values the sum is the expected number of right matches of any
    two sequences. Each step finds the best alignment of two groups whose own alignments stay as they are.

    In the end ``column`` (n_residues,) has the place of each residue, of ``width`` columns.
    """

    def __init__(self, matches: Matches, tree: Tree) -> None:
        self._matches, n = matches, len(matches)
        lengths = matches.lengths.tolist()
        self.column: NDArray[np.int32] = np.concatenate(
            [np.empty(0, np.int32), *(np.arange(k, dtype=np.int32) for k in lengths)]
        )
        self._groups: list[IntArray] = [np.array([s]) for s in range(n)]
        for a, b in tree[:, :2].astype(np.int64).tolist():
            lengths.append(self._merge(self._groups[a], self._groups[b], (lengths[a], lengths[b])))
            self._groups.append(np.concatenate((self._groups[a], self._groups[b])))
        self.width: int = lengths[-1] if lengths else 0

    def refine(self, rounds: int) -> int:
        """Take the alignment apart at each edge of the tree and put both parts together again.

        The sum never falls. Ends after so many rounds, or one that has changed nothing; returns their number.
        """
        everything = np.ones(len(self._matches), bool)
        for k in range(rounds):
            before = self.column.copy()
            for group in self._groups[:-2]:  # the last two edges are the same
                # Cutting an edge of the tree leaves two groups, whose columns of gaps alone are closed.
                # Aligned again the sum of values can only grow, for the old alignment is one of those looked
                # at.
                rest = everything.copy()
                rest[group] = False
                other = np.flatnonzero(rest)
                widths = [
                    kernels.close_up(part, self.column, self._matches.offsets, np.zeros(self.width, np.int32))
                    for part in (group, other)
                ]
                self.width = self._merge(group, other, (widths[0], widths[1]))
            if np.array_equal(before, self.column):
                return k + 1
        return rounds

    def value(self) -> float:
        table = self._matches.table
        # the table is symmetric, so each match is there twice
        inside = self._matches.of_rows(self.column) == self.column[table.indices]
        return float(table.data[inside].sum(dtype=np.float64)) / 2.0

    def _merge(self, a: IntArray, b: IntArray, widths: tuple[int, int]) -> int:
        # the kernel goes through the matches of the first group: the smaller one has fewer
        if a.size > b.size:
            a, b, widths = b, a, widths[::-1]
        matches = self._matches
        group = np.zeros(len(matches), bool)
        group[b] = True
        where = group, self.column, widths, matches.sequence, matches.offsets
        found: int = kernels.merge(a, b, *where, matches.sparse)
        return found


def rows_of(sequences: list[str], column: NDArray[np.int32], width: int) -> list[str]:
    ends = np.cumsum([0, *map(len, sequences)]).tolist()
    out = []
    for sequence, (a, b) in zip(sequences, pairwise(ends), strict=True):
        row = np.full(width, "-")
        row[column[a:b]] = list(sequence)
        out.append("".join(row))
    return out
