"""Paired bootstrap: whether a difference between two predictors could be due to the choice of examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.errors import DataError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """Difference `value` of a statistic (b minus a), with its 95 % bootstrap interval `low` to `high`."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        verdict = " (no difference)" if self.low <= 0 <= self.high else ""
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]{verdict}"


def paired_difference(
    counts_a: ArrayLike,
    counts_b: ArrayLike,
    statistic: Callable[[FloatArray], FloatArray],
    n: int = 2000,
    random_state: int | None = 0,
) -> Difference:
    """Compare two predictors by a paired bootstrap over examples.

    Parameters
    ----------
    counts_a, counts_b : array-like, shape (n_examples, n_counts)
        Counts of each predictor on each example, such as numbers of right and wrong labels. The rows of both
        arrays are the same examples.
    statistic : callable
        Function from sums of counts over examples, shape (..., n_counts), to values of shape (...), such as
        an accuracy.
    n : int
        Number of resamples.
    random_state : int, optional
        Random seed.

    Returns
    -------
    Difference
        Statistic of b minus statistic of a, with a 95 % percentile interval.

    Raises
    ------
    DataError
        The two arrays differ in shape, or there are no examples.
    """
    a, b = np.asarray(counts_a, dtype=np.float64), np.asarray(counts_b, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or not len(a):
        raise DataError(
            "counts_a and counts_b must have the same shape (n_examples, n_counts), with at least one "
            f"example, not {a.shape} and {b.shape}"
        )
    rng = np.random.default_rng(random_state)
    counts = np.hstack([a, b])

    def gain(sums: FloatArray) -> FloatArray:
        return np.asarray(statistic(sums[..., a.shape[1] :]) - statistic(sums[..., : a.shape[1]]))

    # a resample is a vector of how often each example is in it; both predictors get the same, so that what is
    # hard about an example cancels (a paired bootstrap, and its percentile interval)
    drawn = (np.bincount(rng.integers(len(a), size=len(a)), minlength=len(a)) for _ in range(n))
    sums = np.array([times.astype(np.float64) @ counts for times in drawn])
    low, high = np.percentile(gain(sums), [2.5, 97.5])
    return Difference(float(gain(counts.sum(axis=0))), float(low), float(high))
