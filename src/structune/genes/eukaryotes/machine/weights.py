"""Which weights a state machine has, and how they become the tables that kernels read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from structune.genes.eukaryotes.kernels.sums import Factors
from structune.genes.eukaryotes.machine.machine import Machine
from structune.structure import Array, Groups, IntArray

_BASES = "ACGT"


@dataclass(frozen=True)
class MachineWeights:
    """The weights, in this order: words of each order, windows, edges, lengths, tracks.

    Parameters
    ----------
    machine : Machine
    orders : tuple of int
        A label emits a base by the words of `order` + 1 bases that end there, of each order.
    windows : mapping of str to (int, int)
        The places around a signal that it looks at: from the first up to before the second.
    window_order : int
    length_bins : tuple of int
        The shortest length of each bin of jumps, rising; longer than the longest is the last.
    n_tracks : int
        Numbers that each position comes with.
    """

    machine: Machine
    orders: tuple[int, ...]
    windows: Mapping[str, tuple[int, int]]
    window_order: int = 1
    length_bins: tuple[int, ...] = ()
    n_tracks: int = 0

    @property
    def word_length(self) -> int:
        """Of the longest words."""
        return max(*self.orders, self.window_order if self.windows else 0) + 1

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the weights of each name, in order."""
        machine, n_labels = self.machine, len(self.machine.labels)
        return {
            **{f"order {k}": (n_labels, 4 ** (k + 1)) for k in self.orders},
            **{name: (b - a, 4 ** (self.window_order + 1)) for name, (a, b) in self.windows.items()},
            "edges": (len(machine.edge_weights),),
            "lengths": (len(self.length_bins) + 1 if self.length_bins else 0,),
            "tracks": (n_labels, self.n_tracks),
        }

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = np.concatenate(([0], np.cumsum([np.prod(shape) for shape in self.shapes.values()])))
        return {name: slice(int(a), int(b)) for name, (a, b) in zip(self.shapes, pairwise(ends), strict=True)}

    def __len__(self) -> int:
        return int(self._slices["tracks"].stop)

    def part(self, w: Array, name: str) -> Array:
        """A view of some weights."""
        return w[self._slices[name]].reshape(self.shapes[name])

    @cached_property
    def bins(self) -> IntArray:
        """Of each length from the shortest on, and of longer ones."""
        shortest, longest = self.machine.lengths
        inside = np.searchsorted(self.length_bins, np.arange(shortest, longest + 1), side="right") - 1
        return np.append(inside, len(self.length_bins))

    def logs(self, w: Array) -> Factors:
        """The factors that kernels read, as logs."""
        length = self.word_length
        table = np.zeros((len(self.machine.labels), 4**length + 1), w.dtype)
        for k in self.orders:
            words = table[:, :-1].reshape(len(table), -1, 4 ** (k + 1))
            words += self.part(w, f"order {k}")[:, None]
        edges = np.append(self.part(w, "edges"), 0.0)
        bins = self.part(w, "lengths")[self.bins] if self.length_bins else np.zeros_like(self.bins, w.dtype)
        return Factors(table, table, edges, bins)

    # --- names --------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """A name for every weight; the text before the first ``:`` is its group's."""
        labels, found = self.machine.labels, []
        for k in self.orders:
            words = _words(k + 1)
            found += [f"{_family(label)} {k + 1}-mer: {label} {word}" for label in labels for word in words]
        for name, (a, b) in self.windows.items():
            words = _words(self.window_order + 1)
            found += [f"{name}: {place:+d} {word}" for place in range(a, b) for word in words]
        found += [f"edges: {name}" for name in self.machine.edge_weights]
        if self.length_bins:
            found += [f"lengths: {start}" for start in self.length_bins] + ["lengths: longer"]
        return found + [f"tracks: {label} {r}" for label in labels for r in range(self.n_tracks)]

    def groups(self) -> Groups:
        return Groups.by_name([name.partition(":")[0] for name in self.names()])


def _words(length: int) -> list[str]:
    return ["".join(letters) for letters in product(_BASES, repeat=length)]


def _family(label: str) -> str:
    """Labels that differ in a number alone share their groups."""
    return label.rstrip("0123456789")
