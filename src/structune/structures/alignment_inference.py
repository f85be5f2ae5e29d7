"""Sums and maxima over the alignments of one pair of sequences, in blocks of rows that fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from structune.errors import DataError
from structune.kernels import alignment as kernels
from structune.kernels import alignment_best as best_kernels
from structune.kernels import alignment_log as log_kernels
from structune.kernels.alignment import Below, Cells, Factors, Rows, Side
from structune.structures.alignment_features import FeatureSet, SequenceFeatures, Uses
from structune.structures.base import Array, FloatArray, IntArray

_CELLS = 1 << 20  # of the tables of a block of rows
_LEAST_ROWS = 16
_LOST = 1e-9  # share of the partition function that may be lost to the limits of a double
_MOST_KEPT = 1 << 25  # posteriors of a pair: a quarter of a gigabyte
_MOST_LOG_CELLS = 1 << 25  # of a pair: five gigabytes
_MOST_SCORE = 100.0  # of a part: beyond, products of a few leave the range

T = TypeVar("T")
Forced = tuple[IntArray, IntArray]  # residues of x and of y that are matched with each other


class Pair:
    """Two sequences and the scores of all that an alignment of them may have.

    Parameters
    ----------
    features : FeatureSet
    w, matrix : ndarray
        Weights, and what `FeatureSet.bilinear` makes of them.
    x, y : SequenceFeatures
    forced : pair of ndarray of int, optional
        Matches that an alignment must have.
    band : int, optional
        How many cells paths may be off the line from the first cell to the last.
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
    ) -> None:
        self.features, self.x, self.y = features, x, y
        self.n, self.m, self.dtype = len(x), len(y), w.dtype
        self._left, self._right = x.pairing @ matrix, y.pairing.T
        self._most_match = features.most_match(w, x, y)
        (side_x, self._terminal_x), (side_y, self._terminal_y) = features.side(w, x), features.side(w, y)
        self.cells = cells_near(self.n, self.m, band)
        if forced is not None and forced[0].size:
            side_x, side_y = _through(side_x, forced[0]), _through(side_y, forced[1])
            self.cells = _cells_through(self.cells, *forced)
        self.scores = features.factors(w, side_x, side_y)
        self.base = self._terminal_x.sum() + self._terminal_y.sum()  # the score if all residues were terminal
        self.none = side_x.begins[self.n] + side_y.begins[self.m]  # that of no match, beside the base

    @property
    def most_score(self) -> float:
        """A bound of what any part of a score is, of either sign."""
        gaps = max(np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in _parts(self.scores))
        terminal = sum(np.abs(part).max(initial=0.0) for part in (self._terminal_x, self._terminal_y))
        return float(max(gaps, self._most_match + terminal))

    @cached_property
    def real(self) -> Pair:
        """Without the imaginary parts of the scores."""
        pair = copy(self)
        pair.dtype, pair.scores = np.dtype(np.float64), _map(np.real, self.scores)
        pair._left, pair._terminal_x, pair._terminal_y = (
            part.real for part in (self._left, self._terminal_x, self._terminal_y)
        )
        pair.base, pair.none = self.base.real, self.none.real
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
        return np.asarray(scores)

    def blocks(self) -> list[slice]:
        """Runs of residues of x whose tables fit in memory; none where nothing can be matched."""
        if not self.m:
            return []
        widest = int((self.cells.high - self.cells.low).max()) + 1
        size = max(_LEAST_ROWS, _CELLS // ((2 + 2 * self.features.n_steps) * widest))
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


def cells_near(n: int, m: int, band: int | None) -> Cells:
    """Cells that are at most `band` columns off the line from the first cell to the last; all without it."""
    if band is None:
        return Cells(np.zeros(n + 1, np.int64), np.full(n + 1, m))
    middle = np.arange(n + 1) * m / max(1, n)
    low, high = np.ceil(middle - band), np.floor(middle + band)
    high[n] = m
    return Cells(*(np.clip(ends, 0, m).astype(np.int64) for ends in (low, high)))


def _cells_through(cells: Cells, i: IntArray, j: IntArray) -> Cells:
    """Those of the cells that a path through the matches may have."""
    rows = np.arange(cells.low.size)
    low = np.concatenate(([0], j + 1))[np.searchsorted(i, rows - 1, side="right")]
    high = np.concatenate((j, [cells.high[-1]]))[np.searchsorted(i, rows)]
    return Cells(np.maximum(cells.low, low), np.minimum(cells.high, high))


def _through(side: Side, forced: IntArray) -> Side:
    """Without beginning after the first of these residues, or ending before the last."""
    begins, ends = side.begins.copy(), side.ends.copy()
    begins[forced[0] + 1 :] = ends[: forced[-1] + 1] = -np.inf
    return side._replace(begins=begins, ends=ends)


class RangeError(ArithmeticError):
    """Sums that leave the range of a double."""


class Inference:
    """Log-partition and posteriors in the linear domain.

    Parameters
    ----------
    pair : Pair
    tilt : float
        Taken from the scores for each residue of y, wherever it is; so all alignments lose the same. Rows are
        scaled as they come: where scores grow with the columns too, this keeps those in range that matter.

    Raises
    ------
    RangeError
        Now, or from `posteriors`.
    """

    def __init__(self, pair: Pair, tilt: float = 0.0) -> None:
        self.pair, self._tilt = pair, tilt
        if pair.most_score > _MOST_SCORE:
            raise RangeError("scores are too large for the linear domain")
        self._factors = _map(np.exp, _tilted(pair.scores, tilt))
        self._none = pair.none - tilt * pair.m
        self._blocks, self._first_rows = pair.blocks(), []
        ends, logs = [np.exp(self._none)[None]], [np.zeros(1)]
        row = None
        for block in self._blocks:
            rows = self._begin(block, row)
            self._first_rows.append(_row(pair, rows, block, block.start))
            match, values = self._forward(block, rows)
            self._last = match, rows
            ends.append(values[1:])
            logs.append(rows.logs[1:])
            row = _row(pair, rows, block, block.stop)
        values, scales = np.concatenate(ends), np.concatenate(logs)
        values, scales = values[values != 0.0], scales[values != 0.0]
        with np.errstate(invalid="ignore"):  # the caller is told below
            top = scales.max(initial=-np.inf)
            total = (values * np.exp(scales - top)).sum()
        if not (np.isfinite(total) and total.real > 0.0):
            raise RangeError("the partition function leaves the range of a double")
        self._log_z = np.log(total) + top
        self.log_partition = self._log_z + tilt * pair.m + pair.base

    def _begin(self, block: slice, row: Rows | None) -> Rows:
        rows = self.pair.tables(block)
        _continue(rows, row, self._factors.x.begins[0] * self._factors.y.begins, 0.0)
        return rows

    def _forward(self, block: slice, rows: Rows) -> tuple[Array, Array]:
        match = np.exp(self.pair.match(block) - self._tilt)
        ends = np.zeros(rows.logs.size, self.pair.dtype)
        kernels.forward(match, block.start, self._factors, self.pair.cells, rows, ends)
        return match, ends

    def posteriors(self, used: Factors) -> Iterator[tuple[slice, Array]]:
        """Probabilities of matches, the last block of residues of x first; adds the uses of gaps."""
        pair, f = self.pair, self._factors
        below = Below(
            np.zeros(pair.m + 1, pair.dtype), np.zeros((pair.features.n_steps, pair.m + 1), pair.dtype)
        )
        for k, block in reversed(list(enumerate(self._blocks))):
            if k == len(self._blocks) - 1:
                match, rows = self._last
            else:
                rows = self._begin(block, self._first_rows[k])
                match, _ = self._forward(block, rows)
            posterior = np.zeros_like(match)
            kernels.backward(match, block.start, f, pair.cells, rows, self._log_z, below, posterior, used)
            if not np.isfinite(posterior.sum()):
                raise RangeError("backward sums leave the range of a double")
            yield block, posterior
        first = slice(0, int(pair.cells.high[0]) + 1)
        used.x.begins[0] += (f.x.begins[0] * f.y.begins[first]) @ below.start[first]
        lost = 1.0 - used.x.begins.sum() - self.no_match
        if not abs(lost) < _LOST:
            raise RangeError("forward and backward sums leave the range of a double")

    @property
    def no_match(self) -> Any:
        """Probability that nothing is matched."""
        return np.exp(self._none - self._log_z)


class LogInference:
    """The same in the log domain, for any weights."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        if pair.n * pair.m > _MOST_LOG_CELLS:
            raise DataError(
                f"found sequences of {pair.n} and {pair.m} residues whose sums leave the range of a double, "
                "too long for the log domain: expected smaller weights or shorter sequences"
            )
        self._rows = pair.tables(slice(0, pair.n), -np.inf)
        ends = np.full(pair.n + 1, -np.inf, pair.dtype)
        ends[0] = pair.none
        log_kernels.log_forward(pair.match(slice(0, pair.n)), pair.scores, pair.cells, self._rows, ends)
        top = ends[np.argmax(ends.real)]
        self._log_z = top + np.log(np.exp(ends - top).sum())
        self.log_partition = self._log_z + pair.base

    def posteriors(self, used: Factors) -> Iterator[tuple[slice, Array]]:
        """As those of `Inference`, in one block."""
        pair = self.pair
        posterior = np.zeros((pair.n, pair.m), pair.dtype)
        zeros = pair.tables(slice(0, pair.n), 0.0)
        shares = log_kernels.Shares(*zeros[:4], np.zeros_like(zeros.start))
        log_kernels.log_backward(pair.scores, pair.cells, self._rows, self._log_z, shares, posterior, used)
        yield slice(0, pair.n), posterior

    @property
    def no_match(self) -> Any:
        """Probability that nothing is matched."""
        return np.exp(self.pair.none - self._log_z)


def _soundly(pair: Pair, collect: Callable[[Inference | LogInference], T]) -> T:
    """What is collected in the linear domain if its range allows it, as it is or tilted."""
    try:
        return collect(Inference(pair))
    except RangeError:
        pass
    try:
        return collect(Inference(pair, _diagonal_tilt(pair)))
    except RangeError:
        return collect(LogInference(pair))


def _diagonal_tilt(pair: Pair) -> float:
    """A share of the best score for each residue, so that about as much is left all along the diagonal."""
    real = pair.real
    score = best(real)[1] - real.base
    return float(max(0.0, score) / max(1, pair.n + pair.m))


def _blocks(inference: Inference | LogInference) -> Iterator[tuple[slice, Array]]:
    """Posteriors of the blocks, whatever gaps are used."""
    pair = inference.pair
    return inference.posteriors(pair.features.no_uses(pair.n, pair.m, pair.dtype))


def log_partition(pair: Pair) -> Any:
    """Log of the sum of exp(score) over all alignments."""

    def collect(inference: Inference | LogInference) -> Any:
        for _ in _blocks(inference):  # the backward sums tell whether the forward ones are sound
            pass
        return inference.log_partition

    return _soundly(pair, collect)


def expected(pair: Pair) -> tuple[Any, Uses]:
    """Log-partition, and how often everything is used in the mean."""

    def collect(inference: Inference | LogInference) -> tuple[Any, Uses]:
        used, blocks = pair.features.no_uses(pair.n, pair.m, pair.dtype), pair.features.blocks
        sizes = [len(block.labels) for block in blocks]
        products = [np.zeros((size, size), pair.dtype) for size in sizes]
        matched = np.zeros(pair.n, pair.dtype), np.zeros(pair.m, pair.dtype)
        for rows, posterior in inference.posteriors(used):
            columns = pair.columns(rows)
            right = posterior @ pair.y.pairing[columns]
            for block, sums in zip(blocks, products, strict=True):
                sums += pair.x.pairing[rows, block.columns].T @ right[:, block.columns]
            matched[0][rows] = posterior.sum(axis=1)
            matched[1][columns] += posterior.sum(axis=0)
        return inference.log_partition, Uses(products, used, matched, inference.no_match)

    return _soundly(pair, collect)


class Posteriors:
    """Probabilities of matches in blocks of rows, the last one first: kept, or found again each time.

    Each block has the columns that `Pair.columns` tells.

    Parameters
    ----------
    inference : Inference or LogInference
    keep : bool
        Keep them even if they are many.
    """

    def __init__(self, inference: Inference | LogInference, keep: bool = False) -> None:
        self.pair, self._inference = inference.pair, inference
        fits = keep or self.pair.n * self.pair.m <= _MOST_KEPT
        self.table = _table(inference) if fits else None

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        if self.table is None:
            yield from _blocks(self._inference)
        else:
            for rows in reversed(self.pair.blocks()):
                yield rows, self.table[rows, self.pair.columns(rows)]

    def most_accurate(self, gamma: float) -> IntArray:
        """The alignment of maximum expected accuracy."""
        n, m = self.pair.n, self.pair.m
        partner = np.full(n, -1)
        if not gamma:
            return partner
        free_x, free_y = np.ones(n), np.ones(m)
        for rows, part in self:
            free_x[rows] -= part.sum(axis=1)
            free_y[self.pair.columns(rows)] -= part.sum(axis=0)
        below, choices = np.zeros(m + 1), np.zeros((n, m), np.uint8)
        for rows, part in self:
            columns = self.pair.columns(rows)
            worth = part - (free_x[rows, None] + free_y[columns]) / (2 * gamma)
            left, cells = columns.start, slice(columns.start, columns.stop + 1)
            best_kernels.accuracy_rows(worth, below[cells], choices[rows, columns])
            below[:left], choices[rows, :left] = below[left], best_kernels.SKIP_Y
        best_kernels.accuracy_trace(choices, partner)
        return partner

    def of(self, partner: IntArray) -> FloatArray:
        """Those of the matches of an alignment, shape (n,); nan for residues without one."""
        found = np.full(self.pair.n, np.nan)
        for rows, part in self:
            i = np.flatnonzero(partner[rows] >= 0)
            found[rows][i] = part[i, partner[rows][i] - self.pair.columns(rows).start]
        return found


def _table(inference: Inference | LogInference) -> Array:
    pair = inference.pair
    out = np.zeros((pair.n, pair.m), pair.dtype)
    for rows, part in _blocks(inference):
        out[rows, pair.columns(rows)] = part
    return out


def posterior(pair: Pair) -> Array:
    """Probabilities of all matches, shape (n, m)."""
    return _soundly(pair, _table)


def most_accurate(pair: Pair, gamma: float) -> IntArray:
    """The alignment of maximum expected accuracy: the partner of each residue of x, -1 for none.

    Parameters
    ----------
    gamma : float
        How much a right match counts beside two residues rightly left out; inf to count nothing else.
    """
    return _soundly(pair, lambda inference: Posteriors(inference).most_accurate(gamma))


class Decoded(NamedTuple):
    """An alignment and its probabilities.

    ``partner`` (n,): the residue of y that each of x is matched with, -1 for none; ``confidence`` (n,): the
    probability of that match, nan for none; ``posterior`` (n, m): those of all matches, or None.
    """

    partner: IntArray
    confidence: FloatArray
    posterior: Array | None


def decode(pair: Pair, gamma: float | None, keep: bool) -> Decoded:
    """An alignment with its probabilities, from one pass over the tables where its posteriors can be kept.

    Parameters
    ----------
    gamma : float or None
        Of `most_accurate`; None for the alignment of the highest score.
    keep : bool
        Whether the probabilities of all matches are wanted.
    """

    def collect(inference: Inference | LogInference) -> Decoded:
        posteriors = Posteriors(inference, keep)
        partner = best(pair)[0] if gamma is None else posteriors.most_accurate(gamma)
        return Decoded(partner, posteriors.of(partner), posteriors.table if keep else None)

    return _soundly(pair, collect)


# --- one alignment ----------------------------------------------------------------------------------------


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


def best(pair: Pair, bonus: sp.csr_array | None = None) -> tuple[IntArray, float]:
    """The alignment of the highest score: the partner of each residue of x, -1 for none, and its score.

    Parameters
    ----------
    bonus : csr_array, shape (n, m), optional
        Added to the scores of matches.
    """
    return _Best(pair, bonus).found()


class _Best:
    """Viterbi: the first row of each block is kept, and the tables of one block at a time."""

    def __init__(self, pair: Pair, bonus: Any) -> None:
        self.pair, self._bonus = pair, bonus

    def found(self) -> tuple[IntArray, float]:
        pair, scores, blocks = self.pair, self.pair.scores, self.pair.blocks()
        first_rows, row, score, last = [], None, pair.none, 0
        for block in blocks:
            rows, ends = self._fill(block, row)
            first_rows.append(_row(pair, rows, block, block.start))
            row = _row(pair, rows, block, block.stop)
            r = int(np.argmax(ends))
            if ends[r] > score:
                score, last = ends[r], block.start + r
        partner, state, i, j = np.full(pair.n, -1), best_kernels.BEGIN, last, 0
        for k, block in reversed(list(enumerate(blocks))):
            if i <= block.start:
                continue
            if k < len(blocks) - 1:
                rows, _ = self._fill(block, first_rows[k])
            if i == last:
                j = best_kernels.last_match(scores, i, block.start, pair.cells, rows.match[i - block.start])
                state = best_kernels.MATCH
            state, i, j = best_kernels.trace(state, i, j, block.start, scores, pair.cells, rows, partner)
        return partner, float(score + pair.base)

    def _fill(self, block: slice, row: Rows | None) -> tuple[Rows, FloatArray]:
        pair = self.pair
        rows, scores = pair.tables(block), pair.scores
        _continue(rows, row, scores.x.begins[0] + scores.y.begins, -np.inf)
        match = pair.match(block)
        if self._bonus is not None:
            match += self._bonus[block][:, pair.columns(block)].toarray()
        ends = np.full(len(match) + 1, -np.inf)
        best_kernels.best_rows(match, block.start, scores, pair.cells, rows, ends)
        return rows, ends


def _parts(scores: Factors) -> Iterator[Array]:
    yield from (*scores.x, *scores.y, scores.steps, scores.both)


def _tilted(scores: Factors, tilt: float) -> Factors:
    """With so much less for each residue of y."""
    y, before = scores.y, tilt * np.arange(scores.y.begins.size)
    lost = {"residue": y.residue - tilt, "begins": y.begins - before, "ends": y.ends - before[::-1]}
    return scores._replace(y=y._replace(**lost))


def _map(function: Any, scores: Factors) -> Factors:
    x, y = (Side(*map(function, side)) for side in (scores.x, scores.y))
    return Factors(x, y, function(scores.steps), function(scores.both))


def _continue(rows: Rows, row: Rows | None, begins: Array, nothing: float) -> None:
    """Put the last row of the block before in front; before the first block, where a match may begin."""
    if row is None:
        rows.start[0] = begins[: rows.start.shape[1]]
        rows.match[0] = rows.gap_x[0] = rows.gap_y[0] = nothing
    else:
        for table, last in zip(rows[:4], row[:4], strict=True):
            table[0, ..., : last.shape[-1]] = last
        rows.logs[0] = row.logs


def _row(pair: Pair, rows: Rows, block: slice, i: int) -> Rows:
    """The cells of row i from the tables of a block."""
    left, low, high = (int(k) for k in (pair.cells.low[block.start], pair.cells.low[i], pair.cells.high[i]))
    k, cells = i - block.start, slice(low - left, high + 1 - left)
    start, match, gap_x, gap_y = (table[k, ..., cells].copy() for table in rows[:4])
    return Rows(start, match, gap_x, gap_y, rows.logs[k])
