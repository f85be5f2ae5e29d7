"""How often the features of a state machine occur, as kernels count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.genes.eukaryotes.kernels.sums import Counts
from structune.genes.eukaryotes.machine.weights import MachineWeights
from structune.structure import Array


@dataclass
class Tally:
    """Counts of what kernels call factors, and, by the name of its weights, of what is at positions."""

    counts: Counts
    parts: dict[str, Array]

    @classmethod
    def empty(cls, weights: MachineWeights, dtype: Any) -> Tally:
        machine, (shortest, longest) = weights.machine, weights.machine.lengths
        counts = Counts(
            np.zeros((len(machine.labels), 4**weights.word_length + 1), dtype),
            np.zeros(len(machine.edge_weights) + 1, dtype),
            np.zeros(longest - shortest + 2, dtype),
            np.zeros((len(machine.gates), 0), dtype),
            np.zeros((0, len(machine.columns)), dtype),
        )
        names = [*weights.windows, "tracks"]
        return cls(counts, {name: np.zeros(weights.shapes[name], dtype) for name in names})

    def _arrays(self) -> list[Array]:
        return [self.counts.table, self.counts.edges, self.counts.lengths, *self.parts.values()]

    def clear(self) -> None:
        for array in self._arrays():
            array[:] = 0.0

    def add(self, other: Tally, factor: float = 1.0) -> bool:
        """Add ``factor`` times another's counts if all are finite; whether they are."""
        if not all(np.isfinite(array).all() for array in other._arrays()):
            return False
        for array, more in zip(self._arrays(), other._arrays(), strict=True):
            array += factor * more
        return True

    def at_positions(self, n: int, n_columns: int) -> Counts:
        """Counts that also take what is used at each of n positions, and columns at `n_columns` of them."""
        counts, dtype = self.counts, self.counts.table.dtype
        return counts._replace(
            sites=np.zeros((counts.sites.shape[0], n), dtype),
            columns=np.zeros((n_columns, counts.columns.shape[1]), dtype),
        )

    def add_to(self, weights: MachineWeights, out: Array) -> None:
        """Add the counts of weights to `out`."""
        counts = self.counts
        for k in weights.orders:
            words = counts.table[:, :-1].reshape(len(counts.table), -1, 4 ** (k + 1))
            weights.part(out, f"order {k}")[:] += words.sum(axis=1)
        weights.part(out, "edges")[:] += counts.edges[:-1]
        if weights.length_bins:
            np.add.at(weights.part(out, "lengths"), weights.bins, counts.lengths)
        for name, values in self.parts.items():
            weights.part(out, name)[:] += values
