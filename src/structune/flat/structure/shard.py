"""Shards of examples that are one row of features each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.flat.structure.design import Design
from structune.structure import Array, IntArray, Shard

_CELLS_PER_PART = 256  # multiply-adds that cost as much as a part of a chain


@dataclass(frozen=True)
class FlatShard(Shard):
    """Encoded examples.

    Attributes
    ----------
    design : Design
    outputs : ndarray, shape (n_examples,) or (0,)
        Class indices or values; empty if they are not known.
    n_scores : int
        Scores of an example.
    """

    design: Design
    outputs: Array
    n_scores: int

    def check_stored(self, n_features: int, bias: bool, n_scores: int) -> None:
        """Raise `DataError` if features from a file are not sound, or are those of another structure."""
        self.design.check_stored(len(self), n_features, bias)
        if self.n_scores != n_scores:
            raise DataError(f"found {self.n_scores} scores of an example, expected {n_scores}")

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + self.design.nbytes + self.outputs.nbytes

    @property
    def n_parts(self) -> int:
        return len(self)

    def sizes(self) -> IntArray:
        return np.ones(len(self), dtype=np.int64)

    def work(self) -> IntArray:
        cells = self.design.n_cells * self.n_scores / max(1, len(self))
        return np.full(len(self), 1 + int(cells / _CELLS_PER_PART), np.int64)

    def take(self, indices: Any) -> FlatShard:
        rows = indices if isinstance(indices, slice) else self._chosen(indices)
        outputs = self.outputs[rows] if self.outputs.size else self.outputs
        return replace(self, weights=self.weights[rows], design=self.design.take(rows), outputs=outputs)

    @property
    def gradient_flops(self) -> float:
        """Of scores and their adjoint."""
        # a multiplication and an addition for each cell, there and back
        return 4.0 * self.design.n_cells * self.n_scores

    @property
    def hessian_flops(self) -> float:
        """Of the products of all two columns, for all two scores."""
        if self.n_scores == 1:
            return self.design.gram_flops
        # half, as the product is symmetric
        return 0.5 * len(self) * (self.design.n_columns * self.n_scores) ** 2
