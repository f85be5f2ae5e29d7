"""One pair of sequences: its scores, the cells that paths may have, and tables of some of their rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import isqrt, sqrt
from typing import Any, NamedTuple

import numpy as np

from structune.alignment.kernels.sums import Cells, Factors, Rows, Side
from structune.alignment.structure.features import FeatureSet, SequenceFeatures
from structune.structure import Array, IntArray

_CELLS = 1 << 20  # of the tables of a block of rows

Bonus = Callable[[slice, slice], Array]  # of the matches of some residues of x with some of y
Forced = tuple[IntArray, IntArray]  # residues of x and of y that are matched with each other


class Scored(NamedTuple):
    """What the weights of a model make of one sequence, or of several one after the other."""

    features: SequenceFeatures
    left: Array  # (n, n_columns + 2): the scores of matches are its products with
    right: Array  # (n_columns + 2, m) of another sequence
    side: Side
    base: Any  # the score of all residues if they are terminal
    most: float  # that a gap scores, of either sign


class Model:
    """A set of features and its weights."""

    def __init__(self, features: FeatureSet, w: Array) -> None:
        # kernels are compiled for weights that lie side by side, which the real part of complex ones does not
        self.features, self.w = features, np.ascontiguousarray(w)
        self.steps, self.both = self.w[features.steps], features.both_scores(w)
        self._matrix = features.bilinear(w)

    def scored(self, sequence: SequenceFeatures, offsets: IntArray | None = None) -> Scored:
        side, terminal = self.features.sides(self.w, sequence, offsets)
        # match(i, j) = x_i' B y_j - terminal(i) - terminal(j), as one product of rows: scores are relative to
        # residues being terminal, so that what lies outside the matches costs no work
        pairing, ones = sequence.pairing, np.ones(len(sequence))
        left = np.column_stack([pairing @ self._matrix, -terminal, ones])
        right = np.column_stack([pairing, ones, -terminal]).T
        most = np.abs(np.concatenate((*side, self.steps, self.both)))
        return Scored(sequence, left, right, side, terminal.sum(), float(most[np.isfinite(most)].max()))


class Pair:
    """Two sequences and the scores of all that an alignment of them may have.

    Alignments must have the matches `forced`, and keep to the `band` of `Alignment`. `bonus` is added to the
    scores of the matches of some residues of x with some of y.
    """

    def __init__(
        self,
        model: Model,
        x: Scored,
        y: Scored,
        forced: Forced | None = None,
        band: int | None = None,
        bonus: Bonus | None = None,
    ) -> None:
        self.model, self.features, self.x, self.y = model, model.features, x.features, y.features
        self.n, self.m, self.dtype = len(self.x), len(self.y), model.w.dtype
        self._left, self._right, self._forced, self._band, self._bonus = x.left, y.right, forced, band, bonus
        self.cells, side_x, side_y = cells_near(self.n, self.m, band), x.side, y.side
        if forced is not None and forced[0].size:
            side_x, side_y = _through(side_x, forced[0]), _through(side_y, forced[1])
            self.cells = _cells_through(self.cells, *forced)
        self.scores = Factors(side_x, side_y, model.steps, model.both)
        # An alignment scores `base`, and what its matches and gaps have beyond that.
        self.base = x.base + y.base
        self.none = side_x.begins[self.n] + side_y.begins[self.m]  # that of no match, beside the base
        self.most_of_gaps = max(x.most, y.most)

    @cached_property
    def real(self) -> Pair:
        """Without the imaginary parts of the scores."""
        model = Model(self.features, self.model.w.real)
        return Pair(model, model.scored(self.x), model.scored(self.y), self._forced, self._band, self._bonus)

    def columns(self, rows: slice) -> slice:
        """The residues of y that some of these of x may be matched with."""
        return slice(int(self.cells.low[rows.start]), int(self.cells.high[rows.stop]))

    def match(self, rows: slice) -> Array:
        """Scores of matches of some residues of x with `columns`, relative to both being terminal."""
        columns = self.columns(rows)
        scores = self._left[rows] @ self._right[:, columns]
        if self._bonus is not None:
            scores += self._bonus(rows, columns)
        return np.asarray(scores)

    def blocks(self, n_tables: int) -> list[slice]:
        """Runs of residues of x whose tables fit in memory; none where nothing can be matched."""
        size = block_shape(self.cells, n_tables)[0]
        return [slice(a, min(a + size, self.n)) for a in range(0, self.n if self.m else 0, size)]

    def tables(self, rows: slice, turns: int | None = None) -> Rows:
        """Tables of some rows and the one before, from the first cell of that on.

        With `turns`, all but those of matches have so many rows, which take turns.
        """
        columns, n_rows = self.columns(rows), rows.stop - rows.start + 1
        L, row, kept = self.features.n_steps, columns.stop - columns.start + 1, turns or n_rows
        gap_x, gap_y = np.empty((2, kept, L, row), self.dtype)
        start, match = np.empty((kept, row), self.dtype), np.empty((n_rows, row), self.dtype)
        return Rows(start, match, gap_x, gap_y, np.zeros(n_rows))


def block_shape(cells: Cells, n_tables: int) -> tuple[int, int]:
    """How many residues of x there are tables of at a time, and how many cells a row of these has.

    Those of a band begin further right with each row, and so are wider than it.
    """
    # A block of s rows of a band that rises by r columns a row has s (width + r s) cells. The largest s with
    # at most F of them is the positive root of r s^2 + width s - F, written so that r may be 0.
    n, width, fitting = cells.low.size - 1, widest(cells), _CELLS // n_tables
    rise = int(cells.low[n]) / max(1, n)
    fitting = int(2 * fitting / (width + sqrt(width**2 + 4 * rise * fitting)))  # size (width + rise size)
    # The first row of each block is kept, too: sqrt(n) blocks of sqrt(n) rows are the least of both together.
    size = min(max(fitting, isqrt(n) + 1), max(1, n))
    return size, min(int(width + rise * size), int(cells.high[n]) + 1)


def widest(cells: Cells) -> int:
    return int((cells.high - cells.low).max()) + 1


def cells_near(n: int, m: int, band: int | None) -> Cells:
    """Cells at most `band` residues of the longer sequence off the line from first to last; or all."""
    if band is None:
        return Cells(np.zeros(n + 1, np.int64), np.full(n + 1, m))
    # cell (i, j) with |j n - i m| <= band max(n, m): in whole numbers, so that both ends are exact
    line, reach, n_rows = m * np.arange(n + 1), band * max(n, m), max(1, n)
    low, high = -((reach - line) // n_rows), (line + reach) // n_rows
    high[n] = m
    return Cells(np.clip(low, 0, m), np.clip(high, 0, m))


def _cells_through(cells: Cells, i: IntArray, j: IntArray) -> Cells:
    """Those of the cells that a path through the matches may have."""
    # After a match (i, j) a path is to the right of column j, and before it not beyond it.
    rows = np.arange(cells.low.size)
    low = np.concatenate(([0], j + 1))[np.searchsorted(i, rows - 1, side="right")]
    high = np.concatenate((j, [cells.high[-1]]))[np.searchsorted(i, rows)]
    return Cells(np.maximum(cells.low, low), np.minimum(cells.high, high))


def _through(side: Side, forced: IntArray) -> Side:
    """Without beginning after the first of these residues, or ending before the last."""
    begins, ends = side.begins.copy(), side.ends.copy()
    begins[forced[0] + 1 :] = ends[: forced[-1] + 1] = -np.inf
    return side._replace(begins=begins, ends=ends)


def map_factors(function: Any, scores: Factors) -> Factors:
    x, y = (Side(*map(function, side)) for side in (scores.x, scores.y))
    return Factors(x, y, function(scores.steps), function(scores.both))


# --- rows that blocks hand on -----------------------------------------------------------------------------


def begin_with(rows: Rows, row: Rows | None, begins: Array, nothing: float) -> None:
    """Put the last row of the block before in front; before the first block, where a match may begin."""
    if row is None:
        rows.start[0] = begins[: rows.start.shape[1]]
        rows.match[0] = rows.gap_x[0] = rows.gap_y[0] = nothing
    else:
        for table, last in zip(rows[:4], row[:4], strict=True):
            table[0, ..., : last.shape[-1]] = last
        rows.logs[0] = row.logs


def row_of(pair: Pair, rows: Rows, block: slice, i: int) -> Rows:
    """The cells of row i from the tables of a block."""
    left, low, high = (int(k) for k in (pair.cells.low[block.start], pair.cells.low[i], pair.cells.high[i]))
    k, cells = i - block.start, slice(low - left, high + 1 - left)
    start, match, gap_x, gap_y = (table[k % len(table), ..., cells].copy() for table in rows[:4])
    return Rows(start, match, gap_x, gap_y, rows.logs[k])
