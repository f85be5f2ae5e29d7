"""Features of prices: smoothed directions, and ranges of the changes before (Chen et al. 2009, section 5.2).

A label is a pair of directions, yesterday's and today's, so that the attribute-label weights of a chain are
those of the paper's features: (ranges of three changes) x (y_t-1, y_t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.tagging.features.attributes import AttributeTable

PAIRS = ["fall fall", "fall raise", "raise fall", "raise raise"]
FORBIDDEN_PAIRS = [(a, b) for a in PAIRS for b in PAIRS if a.split()[1] != b.split()[0]]
_ORDER = 3  # changes that a feature looks at


def smooth(prices: NDArray[np.float64], window: int = 5, causal: bool = True) -> NDArray[np.float64]:
    """Moving mean over `window` days, shape (n_days,); nan where the window leaves the series.

    Parameters
    ----------
    prices : ndarray, shape (n_days,)
    window : int
        Odd.
    causal : bool
        The window ends on the day itself. Otherwise it is centred on it, and the value of a day tells of
        the ``window // 2`` days that follow: the same series, read that many days early.
    """
    if window < 1 or window % 2 == 0 or window > prices.size:
        raise DataError(f"window={window}: expected an odd number up to the {prices.size} days")
    means = np.convolve(prices, np.full(window, 1.0 / window), "valid")
    before = window - 1 if causal else window // 2
    return np.concatenate((np.full(before, np.nan), means, np.full(window - 1 - before, np.nan)))


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
        nan at its ends, maybe, but not between.
    n_training : int
        The bounds of the ranges are quantiles of the changes of this many first days: later days, which are
        to be predicted, have no part in them.
    n_ranges : int
        The third power counts the attributes; four weights each.
    """
    change = np.concatenate(([np.nan], np.diff(smoothed) / smoothed[:-1]))
    known = np.flatnonzero(np.isfinite(change))
    if known.size and known[-1] - known[0] >= known.size:
        raise DataError("found a series with gaps, expected values on all days between its first and last")
    training = change[known[known < n_training]]
    if training.size < n_ranges:
        raise DataError(f"found {training.size} changes in {n_training} training days, expected {n_ranges}")
    bounds = np.quantile(training, np.arange(1, n_ranges) / n_ranges)
    code, raised = np.searchsorted(bounds, change), (change > 0).astype(np.int64)
    day = known[_ORDER:]
    ranges = np.ravel_multi_index([code[day - k] for k in (3, 2, 1)], (n_ranges,) * _ORDER)
    return DirectionSequence(day, np.asarray(ranges), raised[day - 1], raised[day], n_ranges)
