"""One pair of sequences: its scores, the cells that paths may have, and tables of some of their rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from math import isqrt, sqrt
from typing import Any

import numpy as np

from structune.alignment.kernels.sums import Cells, Factors, Rows, Side
from structune.alignment.structure.features import FeatureSet, SequenceFeatures
from structune.structure import Array, IntArray

_CELLS = 1 << 20  # of the tables of a block of rows

Bonus = Callable[[slice, slice], Array]  # of the matches of some residues of x with some of y
Forced = tuple[IntArray, IntArray]  # residues of x and of y that are matched with each other


class Pair:
    """Two sequences and the scores of all that an alignment of them may have.

    `matrix` is what `FeatureSet.bilinear` makes of the weights `w`. Alignments must have the matches
    `forced`, and keep to the `band` of `Alignment`. `bonus` is added to the scores of the matches of some
    residues of x with some of y; `most_bonus` is a bound of it, of either sign.
    """

    def __init__(
        self,
        features: FeatureSet,
        w: Array,
        matrix: Array,
        x: SequenceFeatures,
        y: SequenceFeatures,
        forced: Forced | None = None,
        band: int | None = None,
        bonus: Bonus | None = None,
        most_bonus: float = 0.0,
    ) -> None:
        self.features, self.x, self.y = features, x, y
        self.n, self.m, self.dtype = len(x), len(y), w.dtype
        self._left, self._right = x.pairing @ matrix, y.pairing.T
        self._most_match, self._bonus = features.most_match(w, x, y) + most_bonus, bonus
        (side_x, self._terminal_x), (side_y, self._terminal_y) = features.sides(w, x), features.sides(w, y)
        self.cells = cells_near(self.n, self.m, band)
        if forced is not None and forced[0].size:
            side_x, side_y = _through(side_x, forced[0]), _through(side_y, forced[1])
            self.cells = _cells_through(self.cells, *forced)
        self.scores = Factors(side_x, side_y, w[features.steps], features.both_scores(w))
        # Scores are relative to all residues being terminal, so that what lies outside the matches costs no
        # work: an alignment scores `base`, and what its matches and gaps have beyond that.
        self.base = self._terminal_x.sum() + self._terminal_y.sum()  # the score if all residues were terminal
        self.none = side_x.begins[self.n] + side_y.begins[self.m]  # that of no match, beside the base

    @property
    def most_score(self) -> float:
        """A bound of what any part of a score is, of either sign."""
        scores = self.scores
        gaps = np.abs(np.concatenate((*scores.x, *scores.y, scores.steps, scores.both)))
        terminal = sum(np.abs(part).max(initial=0.0) for part in (self._terminal_x, self._terminal_y))
        return float(max(gaps[np.isfinite(gaps)].max(initial=0.0), self._most_match + terminal))

    @cached_property
    def real(self) -> Pair:
        """Without the imaginary parts of the scores."""
        pair = copy(self)
        pair.dtype, pair.scores = np.dtype(np.float64), map_factors(np.real, self.scores)
        pair._left, pair._terminal_x, pair._terminal_y = (
            part.real for part in (self._left, self._terminal_x, self._terminal_y)
        )
        pair.base, pair.none = self.base.real, self.none.real
        if (bonus := self._bonus) is not None:
            pair._bonus = lambda rows, columns: bonus(rows, columns).real
        return pair

    def columns(self, rows: slice) -> slice:
        """The residues of y that some of these of x may be matched with."""
        return slice(int(self.cells.low[rows.start]), int(self.cells.high[rows.stop]))

    def match(self, rows: slice) -> Array:
        """Scores of matches of some residues of x with `columns`, relative to both being terminal."""
        columns = self.columns(rows)
        scores = self._left[rows] @ self._right[:, columns]
        scores -= self._terminal_x[rows, None]
        scores -= self._terminal_y[columns]
        if self._bonus is not None:
            scores += self._bonus(rows, columns)
        return np.asarray(scores)

    @cached_property
    def blocks(self) -> list[slice]:
        """Runs of residues of x whose tables fit in memory; none where nothing can be matched."""
        if not self.m:
            return []
        size, _ = block_shape(self.cells, self.features.n_steps)
        return [slice(a, min(a + size, self.n)) for a in range(0, self.n, size)]

    def tables(self, rows: slice, fill: float | None = None) -> Rows:
        """Tables of some rows and the one before, from the first cell of that on."""
        columns, n_rows = self.columns(rows), rows.stop - rows.start
        L, row = self.features.n_steps, columns.stop - columns.start + 1
        start, match = np.empty((2, n_rows + 1, row), self.dtype)
        gap_x, gap_y = np.empty((2, n_rows + 1, L, row), self.dtype)
        for table in (start, match, gap_x, gap_y) if fill is not None else ():
            table[:] = fill
        return Rows(start, match, gap_x, gap_y, np.zeros(n_rows + 1))


def block_shape(cells: Cells, n_steps: int) -> tuple[int, int]:
    """How many residues of x there are tables of at a time, and how many cells a row of these has.

    Those of a band begin further right with each row, and so are wider than it.
    """
    # A block of s rows of a band that rises by r columns a row has s (width + r s) cells. The largest s with
    # at most F of them is the positive root of r s^2 + width s - F, written so that r may be 0.
    n, width, fitting = cells.low.size - 1, widest(cells), _CELLS // n_tables(n_steps)
    rise = int(cells.low[n]) / max(1, n)
    fitting = int(2 * fitting / (width + sqrt(width**2 + 4 * rise * fitting)))  # size (width + rise size)
    # The first row of each block is kept, too: sqrt(n) blocks of sqrt(n) rows are the least of both together.
    size = min(max(fitting, isqrt(n) + 1), max(1, n))
    return size, min(int(width + rise * size), int(cells.high[n]) + 1)


def n_tables(n_steps: int) -> int:
    """Numbers of one cell: where a match may begin, the match, and both kinds of gaps by length."""
    return 2 + 2 * n_steps


def widest(cells: Cells) -> int:
    """Cells of the longest row."""
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
    start, match, gap_x, gap_y = (table[k, ..., cells].copy() for table in rows[:4])
    return Rows(start, match, gap_x, gap_y, rows.logs[k])
