"""Probabilities of matches of any two of some sequences, as one sparse table of all residues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.kernels import consistency as kernels
from structune.alignment.kernels.consistency import Sparse
from structune.running.executors import Executor
from structune.structure import FloatArray, IntArray

LEAST = 0.01  # probabilities below are left out
_LEAST_HANDED_ON = 0.05  # what is less hardly counts among third sequences
_LIKELY = 0.5
_PIECES = 16  # of work for each thread

if TYPE_CHECKING:  # pairs are aligned without SciPy's sparse tables, which take long to import
    Table = scipy.sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True)
class Matches:
    """A symmetric table of the matches of all residues of all sequences; none are of one sequence."""

    offsets: IntArray  # (n_sequences + 1,): residues of sequence s are ``offsets[s]:offsets[s + 1]``
    table: Table  # float32, (n_residues, n_residues); columns of a row rise
    compared: NDArray[np.bool_]  # (n_sequences, n_sequences), symmetric; others have no matches

    def __len__(self) -> int:
        return self.offsets.size - 1

    @cached_property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def residues(self, sequence: int) -> slice:
        return slice(int(self.offsets[sequence]), int(self.offsets[sequence + 1]))

    @cached_property
    def sequence(self) -> NDArray[np.int32]:
        """That of each residue."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths)

    def of_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of each entry of the table, that of some values of residues that its row has."""
        return np.repeat(values, np.diff(self.table.indptr))

    @cached_property
    def sparse(self) -> Sparse:
        return sparse(self.table)

    @cached_property
    def accuracies(self) -> FloatArray:
        """Of any two sequences the most that matches of an alignment add up to, by the length of the shorter.

        Of probabilities, this is the expected share of right matches: what guide trees are made from. 0 of
        two that were not compared.
        """
        n, n_residues = len(self), int(self.offsets[-1])
        out, best = np.zeros((n, n)), np.empty(n_residues + n)
        for x in range(n):
            kernels.chains(self.sparse, x, self.offsets, self.sequence, best, out[x])
        # `chains` has found the sums of the sequences after each
        lengths = np.maximum(1, np.minimum.outer(self.lengths, self.lengths))
        return np.asarray((out + out.T) / lengths + np.eye(n))

    def may_need_more_than(self, band: int) -> bool:
        """Whether some likely match is within a residue of the edge of a band, or two sequences have few."""
        likely = self.table.data >= _LIKELY
        rows, columns = self.of_rows(np.arange(self.sequence.size))[likely], self.table.indices[likely]
        x, y = self.sequence[rows], self.sequence[columns]
        n, m = self.lengths[x], self.lengths[y]
        off = np.abs((columns - self.offsets[y]) * n - (rows - self.offsets[x]) * m) / np.maximum(n, m)
        shorter = np.minimum.outer(self.lengths, self.lengths)
        is_poor = self.compared & (shorter > band) & (self.accuracies < _LIKELY)
        return bool(is_poor.any() or np.any((off > band - 1) & (np.minimum(n, m) > band)))

    def consistent(self, weight: FloatArray, executor: Executor) -> Matches:
        """Values that agree with those of third sequences: the step of Do et al. (2005), with weights.

        The value of a match of x with y becomes the mean, over sequences z, of the sums over residues of z of
        the products of its values with both; z counts ``weight[x, z] weight[z, y]``, x and y themselves 1. Of
        two sequences alone nothing changes. `weight` is symmetric, from 0 to 1; 1 throughout
        for the original.
        """
        weight = np.where(np.eye(len(self), dtype=bool), 1.0, weight)
        # P'_xy = sum_z w_xz w_zy P_xz P_zy / sum_z w_xz w_zy, where P_xx is the identity and w_xx is 1; only
        # where P_xy has a value. Small values are left out of the products.
        scale = (1.0 / (weight @ weight + np.finfo(np.float32).tiny)).astype(np.float32)
        # values times weights, and 1 for each residue with itself
        handed_on = self.table.copy()
        counts = weight[self.of_rows(self.sequence), self.sequence[handed_on.indices]]
        handed_on.data = np.where(handed_on.data >= _LEAST_HANDED_ON, handed_on.data * counts, 0.0)
        handed_on.eliminate_zeros()
        own: Table = scipy.sparse.csr_array(
            handed_on + scipy.sparse.eye_array(self.sequence.size, format="csr")
        )
        own.sort_indices()
        table, out = sparse(own), np.zeros(self.table.nnz, np.float32)

        def relax(first: int, last: int) -> None:
            kernels.relax((first, last), self.offsets[1:], table, scale, self.sequence, self.sparse, out)

        rows = np.linspace(0, self.sequence.size, _PIECES * executor.n_workers + 1).astype(np.int64).tolist()
        for _ in executor.map(relax, rows[:-1], rows[1:]):
            pass
        upper = scipy.sparse.csr_array((out, self.table.indices, self.table.indptr), shape=self.table.shape)
        return Matches(self.offsets, symmetric(upper), self.compared)


def sparse(table: Table) -> Sparse:
    return Sparse(table.indptr, table.indices, table.data.astype(np.float32, copy=False))


def symmetric(once: Table) -> Table:
    """A table from one that has each match in one place of both."""
    both: Table = scipy.sparse.csr_array(once + once.T)
    both.eliminate_zeros()
    both.sort_indices()
    return both
