"""Encoded queries of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.flat.structure.design import Design
from structune.structure import FloatArray, IntArray, SequenceShard, offsets_of, segment_indices


@dataclass(frozen=True)
class RankingShard(SequenceShard):
    """Encoded queries; each is an example.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        Documents of query q are ``offsets[q]:offsets[q + 1]``.
    design : Design
        The features of each document.
    gains : ndarray, shape (n_documents,) or (0,)
        Gain of each document's relevance; empty if relevances are not known, as are the next two.
    ideal : ndarray, shape (n_queries,) or (0,)
        DCG of documents sorted by relevance.
    outputs : ndarray of int64, shape (n_documents,) or (0,)
        Position of each document, from 0, when they are sorted by relevance.
    """

    offsets: IntArray
    design: Design
    gains: FloatArray
    ideal: FloatArray
    outputs: IntArray

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    def take(self, indices: Any) -> RankingShard:
        chosen = self._chosen(indices)
        documents = self._documents(chosen)
        known = self.outputs.size > 0
        return RankingShard(
            self.weights[chosen],
            offsets_of(self.sizes()[chosen]),
            self.design.take(documents),
            self.gains[documents] if known else self.gains,
            self.ideal[chosen] if known else self.ideal,
            self.outputs[documents] if known else self.outputs,
        )

    def _documents(self, chosen: IntArray) -> IntArray | slice:
        """Those of the chosen queries; as a slice, which shares memory, where these follow one another."""
        if chosen.size and np.all(np.diff(chosen) == 1):
            return slice(int(self.offsets[chosen[0]]), int(self.offsets[chosen[-1] + 1]))
        return segment_indices(self.offsets, chosen)
