"""What is asked of the alignments of one pair: sums in whatever domain holds them, and what follows.

Tables are in blocks of rows that fit in memory: the first row of each block is kept, and the tables of one
block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from structune.alignment.kernels import best as best_kernels
from structune.alignment.kernels import log_domain, short, sums
from structune.alignment.kernels.sums import Below, Factors, Rows
from structune.alignment.structure.features import FeatureSet, Uses
from structune.alignment.structure.pair import (
    Model,
    Pair,
    begin_with,
    block_shape,
    cells_near,
    map_factors,
    row_of,
    widest,
)
from structune.alignment.structure.shard import AlignmentShard
from structune.errors import DataError
from structune.running.memory import held_memory, require_memory
from structune.running.monitor import step
from structune.structure import Array, FloatArray, IntArray

_LOST = 1e-9  # share of the partition function that may be lost to the limits of a double
_MOST_SCORE = 100.0  # of a part: beyond, products of a few leave the range
_MOST_LOG_CELLS = 1 << 24  # of a pair: three gigabytes, with complex weights six
_MOST_KEPT = 1 << 25  # posteriors of a pair: a quarter of a gigabyte
_RESIDUE = 1400  # bytes for its features
_LESS = "shorter sequences, or a band (--band, band=)"  # take less memory
_BLOCKS = 2  # whose tables are in memory at once
_MATCHES = 4  # numbers of a match, those of decoding among them
FEW_TABLES = 4  # where gaps are not kept
_SHORT = 60  # residues: of longer pairs the work is most of it

T = TypeVar("T")


# --- memory -----------------------------------------------------------------------------------------------


def check_room(needed: float, n: int, m: int, name: str) -> None:
    """Refuse two sequences of n and m residues if there is not so much memory."""
    require_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def held_for(needed: float, n: int, m: int, name: str) -> AbstractContextManager[None]:
    """The same; two such pairs of sequences on two threads wait for each other where both do not fit."""
    return held_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def memory_of(n: int, m: int, band: int | None, n_steps: int, keep: bool | None = False) -> float:
    """Bytes that alignments of n and m residues take with their probabilities, or with all if `keep`.

    None for `keep` where uses of gaps are counted, or paths traced.
    """
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
        rows = pair.tables(block)
        begin_with(rows, row, scores.x.begins[0] + scores.y.begins, -np.inf)
        match, ends = pair.match(block), np.full(block.stop - block.start + 1, -np.inf)
        best_kernels.log_rows(match, block.start, scores, cells, rows, ends, None)
        return rows, ends

    with step("best scores", lambda: len(first_rows) / len(blocks)):
        for block in blocks:
            rows, ends = fill(block, row)
            first_rows.append(row_of(pair, rows, block, block.start))
            row = row_of(pair, rows, block, block.stop)
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
            j = best_kernels.last_match(scores, i, block.start, cells, rows.match[i - block.start])
            state = best_kernels.MATCH
        state, i, j = best_kernels.trace(state, i, j, block.start, scores, cells, rows, partner)
    return partner, float(score + pair.base)


# --- sums -------------------------------------------------------------------------------------------------


class RangeError(ArithmeticError):
    """Sums that leave the range of a double."""


class Inference:
    """Log-partition and posteriors in the linear domain.

    Parameters
    ----------
    pair : Pair
    counts : bool
        Whether `posteriors` counts the uses of gaps: `used`. It takes longer, and tables of gaps.
    tilt : float
        Taken from the scores for each residue of y, wherever it is; so all alignments lose the same. Rows are
        scaled as they come: where scores grow with the columns too, this keeps those in range that matter.

    Raises
    ------
    RangeError
        Now, or from `posteriors`.
    """

    def __init__(self, pair: Pair, counts: bool = False, tilt: float = 0.0) -> None:
        self.pair, self._tilt = pair, tilt
        self.used = pair.features.no_uses(pair.n, pair.m, pair.dtype) if counts else None
        _check_range(pair.most_of_gaps)
        # Each residue of y is before the matches, in a match, in a gap, or after them. Where it is terminal
        # it has no factor of its own, so what is lost there goes to `begins` and `ends`.
        y, before = pair.scores.y, tilt * np.arange(pair.m + 1)
        y = y._replace(residue=y.residue - tilt, begins=y.begins - before, ends=y.ends - before[::-1])
        self._factors = map_factors(np.exp, pair.scores._replace(y=y))
        none = pair.none - tilt * pair.m
        n_tables = _n_tables(pair.features.n_steps) if counts else FEW_TABLES
        self.blocks, self._first_rows = pair.blocks(n_tables), list[Rows | None]()
        ends, logs = [np.exp(none)[None]], [np.zeros(1)]
        row = None
        with step("sums forward", lambda: (len(ends) - 1) / len(self.blocks)):
            for block in self.blocks:
                self._last = self._forward(block, row)
                _, rows, values = self._last
                ends.append(values[1:])
                logs.append(rows.logs[1:])
                self._first_rows.append(row)
                row = row_of(pair, rows, block, block.stop) if block is not self.blocks[-1] else None
        # Z = sum_i ends[i] exp(logs[i]); with the largest scale in front, as scales alone may overflow
        values, scales = np.concatenate(ends), np.concatenate(logs)
        values, scales = values[values != 0.0], scales[values != 0.0]
        with np.errstate(invalid="ignore"):  # the caller is told below
            top = scales.max(initial=-np.inf)
            total = (values * np.exp(scales - top)).sum()
        if not (np.isfinite(total) and total.real > 0.0):
            raise RangeError("the partition function leaves the range of a double")
        self._log_z = np.log(total) + top
        self.log_partition = self._log_z + tilt * pair.m + pair.base
        self.no_match = np.exp(none - self._log_z)  # probability that nothing is matched

    def _forward(self, block: slice, row: Rows | None) -> tuple[Array, Rows, Array]:
        """Factors of matches, the tables of a block, and what ends in each row."""
        rows = self.pair.tables(block, 2 if self.used is None else None)
        begin_with(rows, row, self._factors.x.begins[0] * self._factors.y.begins, 0.0)
        match = self.pair.match(block)
        _check_range(max(match.real.max(initial=0.0), -match.real.min(initial=0.0)))
        if self._tilt:
            match -= self._tilt
        np.exp(match, out=match)
        ends = np.zeros(rows.logs.size, self.pair.dtype)
        sums.forward(match, block.start, self._factors, self.pair.cells, rows, ends)
        return match, rows, ends

    def posteriors(self) -> Iterator[tuple[slice, Array]]:
        """Probabilities of matches, the last block of residues of x first."""
        pair, f = self.pair, self._factors
        below = Below(
            np.zeros(pair.m + 1, pair.dtype), np.zeros((pair.features.n_steps, pair.m + 1), pair.dtype)
        )
        found, k = self.no_match, (n_blocks := len(self.blocks))
        with step("sums backward", lambda: 1.0 - k / n_blocks):
            for k in reversed(range(n_blocks)):
                block = self.blocks[k]
                # tables are made anew, but for the last
                match, rows, _ = (
                    self._last if k == n_blocks - 1 else self._forward(block, self._first_rows[k])
                )
                posterior = np.zeros_like(match)
                cells, at = pair.cells, block.start
                found += sums.backward(match, at, f, cells, rows, self._log_z, below, posterior, self.used)
                if not np.isfinite(posterior.sum()):
                    raise RangeError("backward sums leave the range of a double")
                yield block, posterior
        # Probabilities of where the matches begin must add up to one, with that of no match. They have gone
        # through all of the backward pass: what underflows there or in the forward pass is missing here.
        first = slice(0, int(pair.cells.high[0]) + 1)
        begins = (f.x.begins[0] * f.y.begins[first]) @ below.start[first]
        if self.used is not None:
            self.used.x.begins[0] += begins
        if not abs(1.0 - found - begins) < _LOST:
            raise RangeError("forward and backward sums leave the range of a double")


def _check_range(most: float) -> None:
    # a cell takes a few factors, of exp(100) each at the most: their products stay below exp(709)
    if most > _MOST_SCORE:
        raise RangeError("scores are too large for the linear domain")


class LogInference:
    """The same in the log domain, for any weights."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.blocks = pair, [slice(0, pair.n)]
        if pair.n * pair.m > _MOST_LOG_CELLS:
            raise DataError(
                f"found sequences of {pair.n} and {pair.m} residues whose sums leave the range of a double, "
                "too long for the log domain: expected smaller weights or shorter sequences"
            )
        self.used = pair.features.no_uses(pair.n, pair.m, pair.dtype)
        self._rows, scores = pair.tables(self.blocks[0]), pair.scores
        for table in self._rows[:4]:
            table[:] = -np.inf
        begin_with(self._rows, None, scores.x.begins[0] + scores.y.begins, -np.inf)
        ends = np.full(pair.n + 1, -np.inf, pair.dtype)
        ends[0] = pair.none
        best_kernels.log_rows(pair.match(self.blocks[0]), 0, scores, pair.cells, self._rows, ends, True)
        top = ends[np.argmax(ends.real)]
        self._log_z = top + np.log(np.exp(ends - top).sum())
        self.log_partition = self._log_z + pair.base
        self.no_match = np.exp(pair.none - self._log_z)

    def posteriors(self) -> Iterator[tuple[slice, Array]]:
        """As those of `Inference`, in one block."""
        pair, posterior = self.pair, np.zeros((self.pair.n, self.pair.m), self.pair.dtype)
        shares = log_domain.Shares(*(np.zeros_like(self._rows[k]) for k in (0, 1, 2, 3, 0)))
        log_domain.log_backward(
            pair.scores, pair.cells, self._rows, self._log_z, shares, posterior, self.used
        )
        yield self.blocks[0], posterior


def _soundly(pair: Pair, collect: Callable[[Inference | LogInference], T], counts: bool = False) -> T:
    """What is collected in the linear domain if its range allows it, as it is or tilted."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is lost is found out
        try:
            return collect(Inference(pair, counts))
        except RangeError:
            pass
        try:
            return collect(Inference(pair, counts, _diagonal_tilt(pair)))
        except RangeError:
            return collect(LogInference(pair))


def _diagonal_tilt(pair: Pair) -> float:
    """A share of the best score for each residue, so that about as much is left all along the diagonal."""
    real = pair.real  # with complex weights the step must not change how much is taken away
    score = best(real)[1] - real.base
    return float(max(0.0, score) / max(1, pair.n + pair.m))


def log_partition(pair: Pair) -> Any:
    """Log of the sum of exp(score) over all alignments."""

    def collect(inference: Inference | LogInference) -> Any:
        for _ in inference.posteriors():  # the backward sums tell whether the forward ones are sound
            pass
        return inference.log_partition

    return _soundly(pair, collect)


def expected(pair: Pair) -> tuple[Any, Uses]:
    """Log-partition, and how often everything is used in the mean."""

    def collect(inference: Inference | LogInference) -> tuple[Any, Uses]:
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

    def __init__(self, inference: Inference | LogInference, keep: bool = False) -> None:
        self.pair, self._inference, self._keep = inference.pair, inference, keep

    @cached_property
    def table(self) -> Array | None:
        """All of them, shape (n, m), if they are kept."""
        fits = self._keep or self.pair.n * self.pair.m <= _MOST_KEPT
        return _table(self._inference) if fits else None

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        if self.table is None:
            yield from self._inference.posteriors()
        else:
            for rows in reversed(self._inference.blocks):
                yield rows, self.table[rows, self.pair.columns(rows)]

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


def _table(inference: Inference | LogInference) -> Array:
    pair = inference.pair
    out = np.zeros((pair.n, pair.m), pair.dtype)
    for rows, part in inference.posteriors():
        out[rows, pair.columns(rows)] = part
    return out


def posterior(pair: Pair) -> Array:
    return _soundly(pair, _table)


def likely_matches(pair: Pair, least: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Residues of x and y whose match has this probability at least, by both, and the probabilities."""

    def collect(inference: Inference | LogInference) -> tuple[IntArray, IntArray, FloatArray]:
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for rows, part in inference.posteriors():
            likely = np.flatnonzero(part >= least)  # faster than of two axes
            i, j = np.divmod(likely, part.shape[1])
            found.append((i + rows.start, j + pair.columns(rows).start, part.ravel()[likely]))
        i, j, values = (np.concatenate(parts) for parts in zip(*reversed(found), strict=True))
        return i, j, values

    return _soundly(pair, collect)


def most_accurate(pair: Pair, gamma: float) -> IntArray:
    """The alignment of maximum expected accuracy: the partner of each residue of x, -1 for none.

    A right match counts `gamma` beside two residues rightly left out; inf to count nothing else.
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
    """The alignment of `most_accurate`, or of `best` without `gamma`, with all probabilities if `keep`.

    It takes one pass over the tables where posteriors can be kept.
    """

    def collect(inference: Inference | LogInference) -> Decoded:
        posteriors = Posteriors(inference, keep)
        partner = best(pair)[0] if gamma is None else posteriors.most_accurate(gamma)
        return Decoded(partner, posteriors.matched(partner), posteriors.table if keep else None)

    return _soundly(pair, collect)


def most_accurate_short(
    features: FeatureSet, w: FloatArray, shard: AlignmentShard, gamma: float, band: int | None
) -> tuple[IntArray, IntArray]:
    """Partners of all residues of x, as `Alignment.best_accuracy` has them, and the pairs that are left.

    Calls for each of many short pairs would cost more than the work. Those that are left are long, have a
    band, or sums that leave the range of a double unless they are tilted.
    """
    partners, left = np.full(shard.n_parts, -1, np.int64), np.arange(len(shard))
    is_short = np.all(shard.lengths <= _SHORT, axis=1)
    if band is not None or not is_short.any():
        return partners, left
    some = shard.take(np.flatnonzero(is_short))
    # sequences are described once, however many pairs they are in; then one call does all pairs
    described = features.describe_joined(some.letters, some.annotation, some.offsets)
    model = Model(features, w)
    scored = model.scored(described, some.offsets)
    if scored.most > _MOST_SCORE:
        return partners, left
    found, is_known = np.empty(some.n_parts, np.int64), np.empty(len(some), bool)
    factors = map_factors(np.exp, Factors(scored.side, scored.side, model.steps, model.both))
    sequences = some.sequences, some.offsets, scored.left, scored.right.T, factors
    short.align(*sequences, (float(gamma), _MOST_SCORE, _LOST), some.starts, found, is_known)
    partners[np.repeat(is_short, shard.lengths[:, 0])] = found
    is_left = ~is_short
    is_left[is_short] = ~is_known
    return partners, np.flatnonzero(is_left)
