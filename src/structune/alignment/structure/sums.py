"""Log-partition and posteriors of one pair, in blocks of rows that fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from structune.alignment.kernels import log_domain as log_kernels
from structune.alignment.kernels import sums as kernels
from structune.alignment.kernels.sums import Below, Factors, Rows
from structune.alignment.structure.pair import Pair, begin_with, map_factors, row_of
from structune.errors import DataError
from structune.running.steps import step
from structune.structure import Array

LOST = 1e-9  # share of the partition function that may be lost to the limits of a double
_MOST_LOG_CELLS = 1 << 24  # of a pair: three gigabytes, with complex weights six
MOST_SCORE = 100.0  # of a part: beyond, products of a few leave the range


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
        if pair.most_score > MOST_SCORE:
            raise RangeError("scores are too large for the linear domain")
        self._factors = map_factors(np.exp, _tilted(pair.scores, tilt))
        self._none = pair.none - tilt * pair.m
        self._blocks, self._first_rows = pair.blocks, []
        ends, logs = [np.exp(self._none)[None]], [np.zeros(1)]
        row = None
        with step("sums forward", lambda: (len(ends) - 1) / len(self._blocks)):
            for block in self._blocks:
                rows = self._begin(block, row)
                self._first_rows.append(row_of(pair, rows, block, block.start))
                match, values = self._forward(block, rows)
                self._last = match, rows
                ends.append(values[1:])
                logs.append(rows.logs[1:])
                row = row_of(pair, rows, block, block.stop)
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
        begin_with(rows, row, self._factors.x.begins[0] * self._factors.y.begins, 0.0)
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
        k = n_blocks = len(self._blocks)
        with step("sums backward", lambda: 1.0 - k / n_blocks):
            for k in reversed(range(n_blocks)):
                yield self._blocks[k], self._backward(k, below, used)
        first = slice(0, int(pair.cells.high[0]) + 1)
        used.x.begins[0] += (f.x.begins[0] * f.y.begins[first]) @ below.start[first]
        lost = 1.0 - used.x.begins.sum() - self.no_match
        if not abs(lost) < LOST:
            raise RangeError("forward and backward sums leave the range of a double")

    def _backward(self, k: int, below: Below, used: Factors) -> Array:
        """Those of a block, whose tables are made anew, but for the last."""
        pair, block = self.pair, self._blocks[k]
        if k == len(self._blocks) - 1:
            match, rows = self._last
        else:
            rows = self._begin(block, self._first_rows[k])
            match, _ = self._forward(block, rows)
        posterior = np.zeros_like(match)
        kernels.backward(
            match, block.start, self._factors, pair.cells, rows, self._log_z, below, posterior, used
        )
        if not np.isfinite(posterior.sum()):
            raise RangeError("backward sums leave the range of a double")
        return posterior

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


def _tilted(scores: Factors, tilt: float) -> Factors:
    """With so much less for each residue of y."""
    y, before = scores.y, tilt * np.arange(scores.y.begins.size)
    lost = {"residue": y.residue - tilt, "begins": y.begins - before, "ends": y.ends - before[::-1]}
    return scores._replace(y=y._replace(**lost))
