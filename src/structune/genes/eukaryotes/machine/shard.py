"""Encoded sequences of a state machine, with or without their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.structure import FloatArray, IntArray, SequenceShard, take_segments


@dataclass(frozen=True)
class MachineShard(SequenceShard):
    """Encoded sequences, one after the other.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_sequences + 1,)
        Positions of sequence s are ``starts[s]:starts[s + 1]``.
    letters : ndarray of int8, shape (n_positions,)
        Places in `nucleotides.LETTERS`.
    words, reverse_words : ndarray of int16, shape (n_positions,)
        As `kernels.nucleotide_words.words` numbers them.
    gates : ndarray of uint16, shape (n_positions,)
        Bit g: gate g is open.
    tracks : ndarray, shape (n_positions, n_tracks)
    paths : ndarray of int8, shape (n_positions,) or (0,)
        The state of each position. Empty without outputs.
    """

    starts: IntArray
    letters: NDArray[np.int8]
    words: NDArray[np.int16]
    reverse_words: NDArray[np.int16]
    gates: NDArray[np.uint16]
    tracks: FloatArray
    paths: NDArray[np.int8]

    @property
    def bounds(self) -> IntArray:
        return self.starts

    def take(self, indices: Any) -> MachineShard:
        chosen = self._chosen(indices)
        starts, parts = take_segments(self.starts, chosen)
        return MachineShard(
            self.weights[chosen],
            starts,
            self.letters[parts],
            self.words[parts],
            self.reverse_words[parts],
            self.gates[parts],
            self.tracks[parts],
            self.paths[parts] if self.paths.size else self.paths,
        )
