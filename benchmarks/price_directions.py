"""Directions of stock prices as labelled sequences (Chen et al. 2009, section 5.2).

The features of a day are its direction and the one before, and the ranges of the three relative changes
before it. A label is a pair of directions, yesterday's and today's, so that the attribute-label weights of a
chain are those of the paper's features: (ranges of three changes) x (y_t-1, y_t).
``benchmarks/stock_direction.py`` fits them, with and without validation constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structune.files.data_sets import find
from structune.tagging.features.attributes import AttributeTable

PRICES = "stocks/us_adjclose_2002_2007.csv.gz"
PAIRS = ["fall fall", "fall raise", "raise fall", "raise raise"]
FORBIDDEN_PAIRS = [(a, b) for a in PAIRS for b in PAIRS if a.split()[1] != b.split()[0]]
_ORDER = 3  # changes that a feature looks at


def load_prices(
    path: Path | None = None, largest_move: float = 0.7
) -> tuple[NDArray[np.datetime64], list[str], NDArray[np.float64]]:
    """Days, tickers, and adjusted closing prices of shape (n_days, n_tickers).

    By default those of 353 US tickers on 1510 days, 2002-01-02 to 2007-12-31, all survivors: large companies
    that were still listed years later. Tickers of which a price is missing are left out, and those whose log
    price moves by more than `largest_move` in a day: most such moves are errors of adjustment.
    """
    cells = np.loadtxt(path or find(PRICES), str, delimiter=",")  # a line a day, a column a ticker
    prices = np.where(cells[1:, 1:] == "", "nan", cells[1:, 1:]).astype(float)
    moves = np.abs(np.diff(np.log(prices), axis=0))
    kept = np.flatnonzero((moves <= largest_move).all(axis=0))
    return cells[1:, 0].astype("datetime64[D]"), cells[0, 1:][kept].tolist(), prices[:, kept]


def smooth(prices: NDArray[np.float64], window: int = 5) -> NDArray[np.float64]:
    """Mean of the last `window` days, nan where there are fewer.

    It is causal. The same mean centred on its day is the same series, read ``window // 2`` days early: it
    tells of days that follow.
    """
    means = np.convolve(prices, np.full(window, 1.0 / window), "valid")
    return np.concatenate((np.full(window - 1, np.nan), means))


@dataclass(frozen=True)
class DirectionSequence:
    """The days of a series whose direction can be predicted from the changes before, one a token.

    Attributes
    ----------
    day : ndarray of int64, shape (n_tokens,)
        Index into the series.
    ranges : ndarray of int64, shape (n_tokens,)
        The ranges of the changes of the three days before, as one number.
    before, direction : ndarray of int64, shape (n_tokens,)
        Directions of the day before and of the day: 1 for a raise, 0 otherwise.
    n_ranges : int
    """

    day: NDArray[np.int64]
    ranges: NDArray[np.int64]
    before: NDArray[np.int64]
    direction: NDArray[np.int64]
    n_ranges: int

    @property
    def names(self) -> list[str]:
        """Those of the attributes: the ranges of three changes, the oldest first, counted from 0."""
        digits = np.stack(np.unravel_index(np.arange(self.n_ranges**_ORDER), (self.n_ranges,) * _ORDER), 1)
        return ["ranges=" + ",".join(map(str, row)) for row in digits.tolist()]

    def attributes(self, first: int, last: int) -> AttributeTable:
        """Tokens ``first:last`` as one sequence of an attribute each."""
        n = last - first
        columns = self.ranges[first:last].astype(np.int32)
        return AttributeTable(np.array([n]), np.arange(n + 1), columns, None, self.names)

    def labels(self, first: int, last: int) -> list[list[str]]:
        """Their pairs of directions, of the day before and of the day."""
        return [[PAIRS[k] for k in (2 * self.before + self.direction)[first:last].tolist()]]


def direction_sequence(
    smoothed: NDArray[np.float64], n_training: int, n_ranges: int = 8
) -> DirectionSequence:
    """Directions and ranges of relative changes of a smoothed series.

    Parameters
    ----------
    smoothed : ndarray, shape (n_days,)
    n_training : int
        The bounds of the ranges are quantiles of the changes of this many first days: later days, which are
        to be predicted, have no part in them.
    n_ranges : int
        The third power counts the attributes; four weights each.
    """
    change = np.concatenate(([np.nan], np.diff(smoothed) / smoothed[:-1]))
    known = np.flatnonzero(np.isfinite(change))
    bounds = np.quantile(change[known[known < n_training]], np.arange(1, n_ranges) / n_ranges)
    code, raised = np.searchsorted(bounds, change), (change > 0).astype(np.int64)
    day = known[_ORDER:]
    ranges = np.ravel_multi_index([code[day - k] for k in (3, 2, 1)], (n_ranges,) * _ORDER)
    return DirectionSequence(day, np.asarray(ranges), raised[day - 1], raised[day], n_ranges)
