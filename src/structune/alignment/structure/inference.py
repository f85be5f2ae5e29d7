"""One pair of sequences, and what is asked of its alignments: sums in whatever domain holds them.

Tables are in blocks of rows that fit in memory: the first row of each block is kept, and the tables of one
block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from math import isqrt, sqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np

from structune.alignment.kernels import best as best_kernels
from structune.alignment.kernels import sums
from structune.alignment.kernels.sums import Below, Cells, Domain, Factors, Rows, Side
from structune.alignment.structure.features import FeatureSet, SequenceFeatures, Uses
from structune.errors import DataError
from structune.running.memory import held_memory, require_memory
from structune.running.progress import step
from structune.structure import Array, FloatArray, IntArray

LOST = 1e-9  # share of the partition function that may be lost to the limits of a double
MOST_SCORE = 100.0  # of a part: beyond, products of a few leave the range
_MOST_LOG_CELLS = 1 << 24  # of a pair: sums of logs take a minute, and more with complex weights
_MOST_KEPT = 1 << 25  # posteriors of a pair: a quarter of a gigabyte
_RESIDUE = 1400  # bytes for its features
_LESS = "shorter sequences, or a band (--band, band=)"  # take less memory
_BLOCKS = 2  # whose tables are in memory at once
_MATCHES = 4  # numbers of a match, those of decoding among them
FEW_TABLES = 4  # where gaps are not kept
_CELLS = 1 << 20  # of the tables of a block of rows

T = TypeVar("T")
Bonus = Callable[[slice, slice], Array]  # of the matches of some residues of x with some of y
Forced = tuple[IntArray, IntArray]  # residues of x and of y that are matched with each other


# --- a pair, and its scores -------------------------------------------------------------------------------


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

    def tables(
        self, rows: slice, last: Rows | None, begins: Array, nothing: float, turns: int | None = None
    ) -> Rows:
        """Tables of some rows, from the first cell on, behind the last row of the block before.

        Behind none, before the first block, matches may begin as `begins` tells. With `turns`, all tables but
        those of matches have so many rows, which take turns.
        """
        columns, n_rows = self.columns(rows), rows.stop - rows.start + 1
        L, row, kept = self.features.n_steps, columns.stop - columns.start + 1, turns or n_rows
        gap_x, gap_y = np.empty((2, kept, L, row), self.dtype)
        start, match = np.empty((kept, row), self.dtype), np.empty((n_rows, row), self.dtype)
        found = Rows(start, match, gap_x, gap_y, np.zeros(n_rows))
        if last is None:
            start[0] = begins[:row]
            match[0] = gap_x[0] = gap_y[0] = nothing
            return found
        for table, values in zip(found[:4], last[:4], strict=True):
            table[0, ..., : values.shape[-1]] = values
        found.logs[0] = last.logs
        return found

    def row(self, rows: Rows, block: slice, i: int) -> Rows:
        """The cells of row i from the tables of a block."""
        left, low, high = (
            int(k) for k in (self.cells.low[block.start], self.cells.low[i], self.cells.high[i])
        )
        k, cells = i - block.start, slice(low - left, high + 1 - left)
        start, match, gap_x, gap_y = (table[k % len(table), ..., cells].copy() for table in rows[:4])
        return Rows(start, match, gap_x, gap_y, rows.logs[k])


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


# --- memory -----------------------------------------------------------------------------------------------


def check_room(needed: float, n: int, m: int, name: str) -> None:
    """Refuse two sequences of n and m residues if there is not so much memory."""
    require_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def held_for(needed: float, n: int, m: int, name: str) -> AbstractContextManager[None]:
    """The same; two such pairs of sequences on two threads wait for each other where both do not fit."""
    return held_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def memory_of(n: int, m: int, band: int | None, n_steps: int, keep: bool | None = False) -> float:
    """What `Alignment.memory_of` gives."""
    if keep is None:
        return sums_memory(n, m, band, n_steps) + _RESIDUE * (n + m)
    # doubles, beside what the sums take; longer pairs look at them in blocks, and find them again each time
    posteriors = n * m if keep or n * m <= _MOST_KEPT else 0
    return sums_memory(n, m, band, n_steps, FEW_TABLES) + 8.0 * posteriors + _RESIDUE * (n + m)


def sums_memory(n: int, m: int, band: int | None, n_steps: int, few: int | None = None) -> float:
    """Bytes of tables, made in blocks of rows: all, or the `few` that are left if gaps are not kept."""
    cells, most = cells_near(n, m, band), _n_tables(n_steps)
    size, wide = block_shape(cells, few or most)
    tables = ((few or most) * min(_BLOCKS * size, n) + (0 if few else _MATCHES * size)) * wide
    first_rows = most * (max(0, n - 1) // size) * widest(cells)  # of the blocks after the first
    return 8.0 * (tables + first_rows) + n * wide  # choices are bytes


def _n_tables(n_steps: int) -> int:
    """Numbers of one cell: where a match may begin, the match, and both kinds of gaps by length."""
    return 2 + 2 * n_steps


# --- the highest score ------------------------------------------------------------------------------------


def best(pair: Pair) -> tuple[IntArray, float]:
    """The alignment of the highest score: the partner of each residue of x, -1 for none, and its score."""
    scores, cells, blocks = pair.scores, pair.cells, pair.blocks(_n_tables(pair.features.n_steps))
    first_rows, row, score, last = list[Rows](), None, pair.none, 0

    def fill(block: slice, row: Rows | None) -> tuple[Rows, FloatArray]:
        rows = pair.tables(block, row, scores.x.begins[0] + scores.y.begins, -np.inf)
        ends = np.full(block.stop - block.start + 1, -np.inf)
        sums.forward(pair.match(block), block.start, scores, cells, rows, ends, sums.LARGEST)
        return rows, ends

    with step("best scores", lambda: len(first_rows) / len(blocks)):
        for block in blocks:
            rows, ends = fill(block, row)
            first_rows.append(pair.row(rows, block, block.start))
            row = pair.row(rows, block, block.stop)
            r = int(np.argmax(ends))
            if ends[r] > score:
                score, last = ends[r], block.start + r
    # Back from the row of the best last match: all before its block is known by the first row that was kept.
    partner, state, i, j = np.full(pair.n, -1), best_kernels.BEGIN, last, 0
    for k, block in reversed(list(enumerate(blocks))):
        if i <= block.start:
            continue
        if k < len(blocks) - 1:  # the tables of the last block are still there
            rows, _ = fill(block, first_rows[k])
        if i == last:
            here, low = pair.row(rows, block, i).match, int(cells.low[i])
            here += scores.y.ends[low : low + here.size]
            if i < pair.n:  # residues of both are left, but in the last column
                here[: pair.m - low] += scores.both[1]
            state, j = best_kernels.MATCH, low + int(np.argmax(here))
        state, i, j = best_kernels.trace(state, i, j, block.start, scores, cells, rows, partner)
    return partner, float(score + pair.base)


# --- sums -------------------------------------------------------------------------------------------------


class RangeError(ArithmeticError):
    """Sums that leave the range of a double."""


class Inference:
    """Log-partition and posteriors of the alignments of a pair.

    Parameters
    ----------
    pair : Pair
    counts : bool
        Whether `posteriors` counts the uses of gaps: `used`. It takes longer, and tables of gaps.
    tilt : float
        Taken from the scores for each residue of y, wherever it is; so all alignments lose the same. Rows are
        scaled as they come: where scores grow with the columns too, this keeps those in range that matter.
    domain : Domain
        Of numbers, or of logs, for any weights. Probabilities by logs have errors of some 1e-16 times scores.

    Raises
    ------
    RangeError
        Now, or from `posteriors`; not in the domain of logs.
    """

    def __init__(
        self, pair: Pair, counts: bool = False, tilt: float = 0.0, domain: Domain = sums.NUMBERS
    ) -> None:
        self.pair, self._tilt, self._domain, self._logs = pair, tilt, domain, domain is sums.LOGS
        if self._logs and pair.n * pair.m > _MOST_LOG_CELLS:
            raise DataError(
                f"the probabilities for {pair.n:,} and {pair.m:,} residues cannot be computed, because the "
                "scores of the model are too large. Train with a higher penalty, or align shorter sequences"
            )
        counts |= self._logs  # which spares the machine code for logs without
        self.used = pair.features.no_uses(pair.n, pair.m, pair.dtype) if counts else None
        self._check_range(pair.most_of_gaps)
        # Each residue of y is before the matches, in a match, in a gap, or after them. Where it is terminal
        # it has no factor of its own, so what is lost there goes to `begins` and `ends`.
        y, before = pair.scores.y, tilt * np.arange(pair.m + 1)
        y = y._replace(residue=y.residue - tilt, begins=y.begins - before, ends=y.ends - before[::-1])
        self._factors = map_factors(self._cells, pair.scores._replace(y=y))
        none = pair.none - tilt * pair.m
        n_tables = _n_tables(pair.features.n_steps) if counts else FEW_TABLES
        self.blocks, self._first_rows = pair.blocks(n_tables), list[Rows | None]()
        ends, logs = [self._cells(none)[None]], [np.zeros(1)]
        row = None
        with step("sums forward", lambda: (len(ends) - 1) / len(self.blocks)):
            for block in self.blocks:
                self._last = self._forward(block, row)
                _, rows, values = self._last
                ends.append(values[1:])
                logs.append(rows.logs[1:])
                self._first_rows.append(row)
                row = pair.row(rows, block, block.stop) if block is not self.blocks[-1] else None
        # Z = sum_i ends[i] exp(logs[i]); with the largest scale in front, as scales alone may overflow
        values, scales = np.concatenate(ends), np.concatenate(logs)
        if self._logs:
            values, scales = np.ones(values.size), values
        values, scales = values[values != 0.0], scales[values != 0.0]
        with np.errstate(invalid="ignore"):  # the caller is told below
            top = scales.real.max(initial=-np.inf)
            total = (values * np.exp(scales - top)).sum()
        if not (self._logs or (np.isfinite(total) and total.real > 0.0)):
            raise RangeError("the partition function leaves the range of a double")
        self._log_z = np.log(total) + top
        self.log_partition = self._log_z + tilt * pair.m + pair.base
        self.no_match = np.exp(none - self._log_z)  # probability that nothing is matched

    def _cells(self, scores: Any) -> Any:
        """What stands for scores in tables."""
        return np.asarray(scores) if self._logs else np.exp(scores)

    def _check_range(self, most: float) -> None:
        # a cell takes a few factors, of exp(100) each at the most: their products stay below exp(709)
        if most > MOST_SCORE and not self._logs:
            raise RangeError("scores are too large for the domain of numbers")

    def _begins(self, columns: slice = slice(None)) -> Array:
        """Cells of row 0 where the matches may begin."""
        x, y = self._factors.x.begins[0], self._factors.y.begins[columns]
        return np.asarray(x + y if self._logs else x * y)

    def _forward(self, block: slice, row: Rows | None) -> tuple[Array, Rows, Array]:
        """Factors of matches, the tables of a block, and what ends in each row."""
        turns = 2 if self.used is None else None
        rows = self.pair.tables(block, row, self._begins(), self._nothing, turns)
        match = self.pair.match(block)
        self._check_range(max(match.real.max(initial=0.0), -match.real.min(initial=0.0)))
        if self._tilt:
            match -= self._tilt
        if not self._logs:
            np.exp(match, out=match)
        ends = np.full(rows.logs.size, self._nothing, self.pair.dtype)
        sums.forward(match, block.start, self._factors, self.pair.cells, rows, ends, self._domain)
        return match, rows, ends

    @property
    def _nothing(self) -> float:
        return -np.inf if self._logs else 0.0

    def posteriors(self) -> Iterator[tuple[slice, Array]]:
        """Probabilities of matches, the last block of residues of x first."""
        pair, size = self.pair, (self.pair.features.n_steps, self.pair.m + 1)
        below = Below(*(np.full(shape, self._nothing, pair.dtype) for shape in (size[1], size)))
        found, k = self.no_match, (n_blocks := len(self.blocks))
        with step("sums backward", lambda: 1.0 - k / n_blocks):
            for k in reversed(range(n_blocks)):
                block = self.blocks[k]
                # tables are made anew, but for the last
                match, rows, _ = (
                    self._last if k == n_blocks - 1 else self._forward(block, self._first_rows[k])
                )
                posterior = np.zeros_like(match)
                of = match, block.start, self._factors, pair.cells, rows, self._log_z
                found += sums.backward(*of, below, posterior, self.used, self._domain)
                if not (self._logs or np.isfinite(posterior.sum())):
                    raise RangeError("backward sums leave the range of a double")
                yield block, posterior
        # Probabilities of where the matches begin must add up to one, with that of no match. They have gone
        # through all of the backward pass: what underflows there or in the forward pass is missing here.
        first = slice(0, int(pair.cells.high[0]) + 1)
        begins, start = self._begins(first), below.start[first]
        in_row_0 = np.exp(begins + start).sum() if self._logs else begins @ start
        if self.used is not None:
            self.used.x.begins[0] += in_row_0
            uses = np.concatenate([*self.used.x, *self.used.y, self.used.steps, self.used.both])
            # a cell that no path reaches may have met one beyond the range
            if not (self._logs or np.isfinite(uses.sum())):
                raise RangeError("uses of gaps leave the range of a double")
        if not (self._logs or abs(1.0 - found - in_row_0) < LOST):
            raise RangeError("forward and backward sums leave the range of a double")


def _soundly(pair: Pair, collect: Callable[[Inference], T], counts: bool = False) -> T:
    """What is collected of numbers if their range allows it, as they are or tilted; or else of logs."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is lost is found out
        try:
            return collect(Inference(pair, counts))
        except RangeError:
            pass
        try:
            return collect(Inference(pair, counts, _diagonal_tilt(pair)))
        except RangeError:
            return collect(Inference(pair, counts, domain=sums.LOGS))


def _diagonal_tilt(pair: Pair) -> float:
    """A share of the best score for each residue, so that about as much is left all along the diagonal."""
    real = pair.real  # with complex weights the step must not change how much is taken away
    score = best(real)[1] - real.base
    return float(max(0.0, score) / max(1, pair.n + pair.m))


def log_partition(pair: Pair) -> Any:
    """Log of the sum of exp(score) over all alignments."""

    def collect(inference: Inference) -> Any:
        for _ in inference.posteriors():  # the backward sums tell whether the forward ones are sound
            pass
        return inference.log_partition

    return _soundly(pair, collect)


def expected(pair: Pair) -> tuple[Any, Uses]:
    """Log-partition, and how often everything is used in the mean."""

    def collect(inference: Inference) -> tuple[Any, Uses]:
        blocks, n_columns = pair.features.blocks, pair.features.n_columns
        products = np.zeros((n_columns, n_columns), pair.dtype)
        matched = np.zeros(pair.n, pair.dtype), np.zeros(pair.m, pair.dtype)
        for rows, posterior in inference.posteriors():
            columns = pair.columns(rows)
            # sum_ij p_ij x_i y_j' in two products, the first of which serves all blocks of features
            right = posterior @ pair.y.pairing[columns]
            for part in (block.columns for block in blocks):
                products[part, part] += pair.x.pairing[rows, part].T @ right[:, part]
            matched[0][rows] = posterior.sum(axis=1)
            matched[1][columns] += posterior.sum(axis=0)
        assert inference.used is not None
        return inference.log_partition, Uses(products, inference.used, matched, inference.no_match)

    return _soundly(pair, collect, counts=True)


# --- probabilities of matches, and alignments by them -----------------------------------------------------


class Posteriors:
    """Probabilities of matches in blocks of rows, the last one first: kept, or found again each time.

    Each block has the columns that `Pair.columns` tells. If `keep`, they are kept even if they are many.
    """

    def __init__(self, inference: Inference, keep: bool = False) -> None:
        self.pair, self._inference = inference.pair, inference
        self._keep = keep or self.pair.n * self.pair.m <= _MOST_KEPT

    @cached_property
    def table(self) -> Array:
        """All of them, shape (n, m)."""
        out = np.zeros((self.pair.n, self.pair.m), self.pair.dtype)
        for rows, part in self._inference.posteriors():
            out[rows, self.pair.columns(rows)] = part
        return out

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        if self._keep:
            blocks = reversed(self._inference.blocks)
            return ((rows, self.table[rows, self.pair.columns(rows)]) for rows in blocks)
        return self._inference.posteriors()

    def most_accurate(self, gamma: float) -> IntArray:
        n, m = self.pair.n, self.pair.m
        partner = np.full(n, -1)
        if not gamma:
            return partner
        # Accuracy counts gamma for a right match and one half for each residue rightly left out. A match is
        # then worth gamma p_ij - (free_x[i] + free_y[j]) / 2 more than to leave both out, where free_x[i] is
        # 1 - sum_j p_ij; it is divided by gamma, which may be infinite.
        free_x, free_y = np.ones(n), np.ones(m)
        for rows, part in self:
            free_x[rows] -= part.sum(axis=1)
            free_y[self.pair.columns(rows)] -= part.sum(axis=0)
        below, chosen = np.zeros(m + 1), []
        for rows, part in self:
            columns = self.pair.columns(rows)
            worth = part - (free_x[rows, None] + free_y[columns]) / (2 * gamma)
            left, choices = columns.start, np.empty(worth.shape, np.uint8)
            best_kernels.accuracy_rows(worth, below[left : columns.stop + 1], choices)
            # to the left of a band nothing can be matched: the rows above go on from here
            below[:left] = below[left]
            chosen.append((choices, rows.start, left))
        j = 0
        for choices, first, left in reversed(chosen):
            j = best_kernels.accuracy_trace(choices, first, left, j, partner)
        return partner

    def matched(self, partner: IntArray) -> FloatArray:
        """Those of the matches of an alignment, shape (n,); nan for residues without one."""
        found = np.full(self.pair.n, np.nan)
        for rows, part in self:
            i = np.flatnonzero(partner[rows] >= 0)
            found[rows][i] = part[i, partner[rows][i] - self.pair.columns(rows).start]
        return found


def posterior(pair: Pair) -> Array:
    return _soundly(pair, lambda inference: Posteriors(inference).table)


def likely_matches(pair: Pair, least: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Residues of x and y whose match has this probability at least, by both, and the probabilities."""

    def collect(inference: Inference) -> tuple[IntArray, IntArray, FloatArray]:
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for rows, part in inference.posteriors():
            likely = np.flatnonzero(part >= least)  # faster than of two axes
            i, j = np.divmod(likely, part.shape[1])
            found.append((i + rows.start, j + pair.columns(rows).start, part.ravel()[likely]))
        i, j, values = (np.concatenate(parts) for parts in zip(*reversed(found), strict=True))
        return i, j, values

    return _soundly(pair, collect)


def most_accurate(pair: Pair, gamma: float) -> IntArray:
    """The alignment of maximum expected accuracy, as `Alignment.best_accuracy` has it."""
    return _soundly(pair, lambda inference: Posteriors(inference).most_accurate(gamma))


class Decoded(NamedTuple):
    """An alignment and its probabilities."""

    partner: IntArray  # (n,): the residue of y that each of x is matched with, -1 for none
    confidence: FloatArray  # (n,): the probability of that match, nan for none
    posterior: Array | None  # (n, m): those of all matches, if they are wanted


def decode(pair: Pair, gamma: float | None, keep: bool) -> Decoded:
    """The alignment of `most_accurate`, or of `best` without `gamma`: in one pass if posteriors are kept."""

    def collect(inference: Inference) -> Decoded:
        posteriors = Posteriors(inference, keep)
        partner = best(pair)[0] if gamma is None else posteriors.most_accurate(gamma)
        return Decoded(partner, posteriors.matched(partner), posteriors.table if keep else None)

    return _soundly(pair, collect)
