"""Groups of weights that share a hyperparameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError

_MOST_NAMED = 20  # groups in a message: there may be one a weight

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Which hyperparameter each weight answers to.

    Attributes
    ----------
    index : ndarray of int64, shape (n_weights,)
        Group of each weight; -1 for one without a penalty.
    names : tuple of str, length n_groups
    """

    index: IntArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> IntArray:
        """Weights in each group."""
        return np.bincount(self.index + 1, minlength=len(self) + 1)[1:]  # without those of no group

    def sum(self, per_weight: FloatArray) -> FloatArray:
        """Sum of a per-weight quantity over each group, shape (n_groups,)."""
        sums = np.bincount(self.index + 1, weights=per_weight, minlength=len(self) + 1)
        return sums[1:].astype(np.float64, copy=False)

    def spread(self, per_group: FloatArray) -> FloatArray:
        """The quantity of each weight's group, shape (n_weights,); 0 for weights without a penalty."""
        return np.append(per_group, 0.0)[self.index]  # -1 takes the last, 0

    def numbers(self, what: str, given: Any, default: float) -> FloatArray:
        """A number for each group: the same one, or by name; `default`, or that of None, for the others.

        Those that are no numbers are nan.
        """
        found = [given] * len(self)
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - {*self.names, None}, key=str)
            if unknown:
                known = f"{list(self.names[:_MOST_NAMED])}{' and others' * (len(self) > _MOST_NAMED)}"
                raise DataError(f"{what} names the groups {unknown}, expected some of {known}")
            found = [given.get(name, given.get(None, default)) for name in self.names]
        try:
            return np.array([float(number) for number in found])
        except (TypeError, ValueError):
            return np.full(len(self), np.nan)

    @classmethod
    def single(cls, n_weights: int) -> Groups:
        """One hyperparameter for all weights."""
        return cls(np.zeros(n_weights, dtype=np.int64), ("all",))

    @classmethod
    def separate(cls, names: list[str]) -> Groups:
        """One hyperparameter a weight (automatic relevance determination)."""
        return cls(np.arange(len(names)), tuple(names))

    @classmethod
    def by_name(cls, names: list[str]) -> Groups:
        """One hyperparameter for each distinct name, in order of first appearance."""
        order = {name: j for j, name in enumerate(dict.fromkeys(names))}
        return cls(np.fromiter((order[name] for name in names), np.int64, len(names)), tuple(order))
