"""Which weights genes of contigs have: few, of what is known from other organisms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.structure.weights import LENGTHS, OrfWeights
from structune.structure import Array, FloatArray

WORD_COLUMNS = ("in genes", "amino acids", "number")
_ENDS = ("before", "behind", "both")  # where a gene goes on beyond its contig


@dataclass(frozen=True)
class ContigWeights(OrfWeights):
    """The weights, in this order: of sums over words; of how much is seen of genes that go on beyond an end;
    of signals and of gaps, as `OrfWeights` has them.
    """

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        own = {"words": (len(WORD_COLUMNS),), "ends": (len(_ENDS), len(LENGTHS))}
        known = super().shapes
        return own | {name: shape for name, shape in known.items() if name not in ("codons", "hexamers")}

    def ends(self, before: NDArray[np.bool_], behind: NDArray[np.bool_], seen: Array) -> NDArray[np.int16]:
        """Places among the weights of ends of candidates that go on; one of none for others.

        Parameters
        ----------
        before, behind : ndarray of bool, shape (n,)
            Whether they go on there.
        seen : ndarray of int64, shape (n,)
            Bases of each.
        """
        bins = np.searchsorted(LENGTHS, seen, side="right") - 1
        kind = before.astype(np.int16) + 2 * behind
        places = (kind - 1) * len(LENGTHS) + bins
        return np.where(kind > 0, places, len(_ENDS) * len(LENGTHS)).astype(np.int16)

    def end_table(self, w: Array) -> Array:
        """Scores by place, with one of 0 for none."""
        return np.append(self.part(w, "ends").ravel(), 0.0)

    def add_ends(self, ends: NDArray[np.int16], used: FloatArray, out: Array) -> None:
        """Add the places of candidates, as often as they are used, to the weights."""
        counts = self.end_table(np.zeros_like(out))
        np.add.at(counts, ends, used)
        self.part(out, "ends")[:] += counts[:-1].reshape(self.shapes["ends"])

    def names(self) -> list[str]:
        words = [f"words: {name}" for name in WORD_COLUMNS]
        ends = [f"ends: {kind} {length}" for kind in _ENDS for length in LENGTHS]
        return words + ends + self.signal_and_gap_names()
