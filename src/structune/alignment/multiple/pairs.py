"""Probabilities of the matches of any two of some sequences, by a model of two."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.kernels.posteriors import sparse_posterior
from structune.alignment.kernels.sums import Factors, Side
from structune.alignment.multiple.compared import are_compared
from structune.alignment.multiple.matches import LEAST, Matches, symmetric
from structune.alignment.structure import inference
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.features import SequenceFeatures
from structune.alignment.structure.pair import Pair
from structune.running.blas import one_thread
from structune.running.executors import Executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray, offsets_of

if TYPE_CHECKING:
    from structune.alignment.multiple.matches import Table

_MATCH = 145  # bytes for one, and for copies of it
_HELD = 8  # bytes of one that was found, until all are: of a column and a value
_ASKED_EVERY = 20  # sequences
_FEWEST = 2.75  # of a residue with another sequence: what there is beside them counts for so many
_LOST = 1e-6  # share of a partition function that may be lost to the range of numbers

Found = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]  # rows, columns, values


def match_probabilities(
    structure: Alignment,
    weights: Sequence[FloatArray],
    sequences: Sequence[SequenceFeatures],
    compared: Sequence[IntArray],
    executor: Executor,
    tell: Callable[[int], None],
) -> Matches:
    """Probabilities of the matches of sequences that are compared, those from 0.01 on.

    Parameters
    ----------
    structure : Alignment
    weights : sequence of ndarray, each of shape (n_weights,)
        Of several the mean of their probabilities is taken.
    sequences : sequence of SequenceFeatures
    compared : sequence of ndarray of int64
        Of each sequence those that it is compared with; of two sequences, in the one or the other.
    executor : Executor
        Each sequence with those is a piece of work.
    tell : function of int
        Called with the number of sequences that are done since the last call.
    """
    lengths = np.array([len(x) for x in sequences], np.int64)
    memory = _Memory(structure, lengths, compared, executor.n_workers)
    memory.check()
    offsets, room = offsets_of(lengths), _Room(int(lengths.max(initial=0)) if structure.band is None else 0)
    models = [_Model(structure, w, sequences, room) for w in weights]

    def rows_of(x: int) -> Table:
        shape, others = (len(sequences[x]), int(offsets[-1])), compared[x].tolist()
        if not others:
            return scipy.sparse.csr_array(shape, dtype=np.float32)  # type: ignore[return-value]  # a shape
        found = [_ordered(model, x, y) for model in models for y in others]
        firsts = [offsets[y] for _ in models for y in others]
        rows = np.concatenate([i for i, _, _ in found])
        columns = np.concatenate([j + first for (_, j, _), first in zip(found, firsts, strict=True)])
        values = np.concatenate([p for _, _, p in found]) / np.float32(len(models))
        table: Table = scipy.sparse.csr_array(
            (values, (rows, columns)), shape=shape
        )  # adds up those of several models
        table.data[table.data < LEAST] = 0.0
        table.eliminate_zeros()
        return table

    parts = []
    with one_thread():
        for table in executor.map(rows_of, range(len(sequences))):
            parts.append(table)
            memory.check(table.nnz)
            tell(1)
    table = symmetric(scipy.sparse.vstack(parts, format="csr", dtype=np.float32))
    return Matches(offsets, table, are_compared(compared))


class _Memory:
    """What a family needs: known the better, the more of its matches are found."""

    def __init__(
        self, structure: Alignment, lengths: IntArray, compared: Sequence[IntArray], n_threads: int
    ) -> None:
        self._places = [float(np.sum(n + lengths[y])) / 2 for n, y in zip(lengths, compared, strict=True)]
        self._name = f"{lengths.size:,} sequences, {sum(map(len, compared)):,} pairs"
        longest, band = int(lengths.max(initial=0)), structure.band
        steps = structure.feature_set.n_steps
        table = 12.0 * longest**2 if band is None else inference.sums_memory(longest, longest, band, steps)
        self._tables = min(n_threads, lengths.size) * table
        self._n_done = self._n_found = 0
        self._all, self._looked_at = sum(self._places), 0.0

    def check(self, n_found: int | None = None) -> None:
        """Refuse a family that needs more than there is, with so many matches of one more sequence."""
        if n_found is not None:
            self._looked_at += self._places[self._n_done]
            self._n_done, self._n_found = self._n_done + 1, self._n_found + n_found
            if self._n_done % _ASKED_EVERY:
                return
        share = max(_FEWEST, self._n_found / max(1.0, self._looked_at))
        needed = _MATCH * share * self._all + self._tables - _HELD * self._n_found
        require_memory(needed, self._name, "fewer or shorter ones, or a band (--band, band=)")


def _ordered(model: _Model, x: int, y: int) -> Found:
    """Matches of two sequences, rounded the same whichever is first."""
    if x < y:
        return model.matches(x, y)
    columns, rows, values = model.matches(y, x)
    return rows.astype(np.int64), columns.astype(np.int32), values


@dataclass(frozen=True)
class _Prepared:
    """What one sequence brings in: its match scores with others are ``left @ right``."""

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    factors: Side


class _Room(threading.local):
    """Tables to work in, large enough for any two, of each thread."""

    def __init__(self, longest: int) -> None:
        most = longest * min(longest, int(1 / LEAST))
        self.match = np.empty(longest**2, np.float32)
        self.forward = np.empty((longest + 1) ** 2)
        self.columns = np.empty(most, np.int32)
        self.values = np.empty(most, np.float32)


class _Model:
    """The model of two, with what it says of each sequence found once."""

    def __init__(
        self, structure: Alignment, w: FloatArray, sequences: Sequence[SequenceFeatures], room: _Room
    ) -> None:
        self._structure, self._w, self._sequences, self._room = structure, w, sequences, room
        features = structure.feature_set
        self._matrix = features.bilinear(w)
        with np.errstate(over="ignore"):  # found out by what is lost
            self._steps, self._both = np.exp(w[features.steps]), np.exp(features.both_scores(w))
            self._prepared = [self._prepare(x) for x in sequences]

    def _prepare(self, x: SequenceFeatures) -> _Prepared:
        side, terminal = self._structure.feature_set.side(self._w, x)
        ones = np.ones(len(x))  # scores are relative to residues being terminal
        left = np.column_stack([x.pairing @ self._matrix, -terminal, ones])
        right = np.column_stack([x.pairing, ones, -terminal])
        return _Prepared(left.astype(np.float32), right.T.astype(np.float32), Side(*map(np.exp, side)))

    def matches(self, x: int, y: int) -> Found:
        """Those of two sequences from `LEAST` on."""
        a, b = self._prepared[x], self._prepared[y]
        n, m = len(a.left), b.right.shape[1]
        if self._structure.band is not None or not n * m:
            return self._slowly(x, y)
        room = self._room
        match, forward = room.match[: n * m].reshape(n, m), room.forward[: (n + 1) * (m + 1)]
        np.matmul(a.left, b.right, out=match)
        with np.errstate(over="ignore"):
            np.exp(match, out=match)
        starts, factors = np.empty(n + 1, np.int64), Factors(a.factors, b.factors, self._steps, self._both)
        found = starts, room.columns, room.values
        _, lost = sparse_posterior(match, factors, LEAST, forward.reshape(n + 1, m + 1), *found)
        if not abs(lost) < _LOST:
            return self._slowly(x, y)
        size, counts = starts[0], (starts[:-1] - starts[1:])[::-1]
        return np.repeat(np.arange(n)[::-1], counts), room.columns[:size].copy(), room.values[:size].copy()

    def _slowly(self, x: int, y: int) -> Found:
        """The same for any weights, and with a band."""
        structure = self._structure
        parts = structure.feature_set, self._w, self._matrix, self._sequences[x], self._sequences[y]
        i, j, values = inference.likely_matches(Pair(*parts, band=structure.band), LEAST)
        return i, j.astype(np.int32), values.astype(np.float32)
