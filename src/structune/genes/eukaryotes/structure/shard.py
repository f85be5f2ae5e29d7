"""Encoded sequences of a graph of exons, with or without their genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.eukaryotes.kernels.nodes import Nodes
from structune.structure import Array, FloatArray, IntArray, SequenceShard, offsets_of, take_segments

_GROUPS = {
    "left": ("left_position", "left_column", "left_closing", "left_mask", "left_site", "left_order"),
    "right": (
        "right_position",
        "right_column",
        "right_opening",
        "right_mask",
        "right_site",
        "right_edge",
        "right_first",
        "right_last",
    ),
    "opening": ("opening_position", "opening_mask"),
    "closing": ("closing_position", "closing_mask"),
    "strand": ("opening_first", "closing_first"),
    "site": ("site_position", "site_reverse", "site_signal"),
}
_TYPES = {
    "left_column": np.int8,
    "left_mask": np.uint8,
    "right_column": np.int8,
    "right_mask": np.uint8,
    "right_edge": np.int8,
    "opening_mask": np.uint8,
    "closing_mask": np.uint8,
    "site_reverse": np.bool_,
    "site_signal": np.int8,
}


@dataclass(frozen=True)
class ExonShard(SequenceShard):
    """Encoded sequences, one after the other.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_sequences + 1,)
        Positions of sequence s are ``starts[s]:starts[s + 1]``.
    letters : ndarray of int8, shape (n_positions,)
        Places in `nucleotides.LETTERS`.
    words, reverse_words : ndarray of int16, shape (n_positions,)
        As `kernels.words.words` numbers them.
    tracks : ndarray, shape (n_positions, n_tracks)
    paths : ndarray of int8, shape (n_positions,) or (0,)
        The column that emits each position. Empty without outputs.
    nodes : dict of str to ndarray
        Of all sequences, one after the other; numbers of nodes count within their sequence.
    offsets : dict of str to ndarray of int64, shape (n_sequences + 1,)
        Where the nodes of each sequence begin, by what they are.
    """

    starts: IntArray
    letters: NDArray[np.int8]
    words: NDArray[np.int16]
    reverse_words: NDArray[np.int16]
    tracks: FloatArray
    paths: NDArray[np.int8]
    nodes: dict[str, Array]
    offsets: dict[str, IntArray]

    @property
    def bounds(self) -> IntArray:
        return self.starts

    @property
    def nbytes(self) -> int:
        own = (self.weights, self.starts, self.letters, self.words, self.reverse_words, self.tracks, self.paths)
        return sum(array.nbytes for array in (*own, *self.nodes.values(), *self.offsets.values()))

    def take(self, indices: Any) -> ExonShard:
        chosen = self._chosen(indices)
        starts, parts = take_segments(self.starts, chosen)
        nodes, offsets = dict[str, Array](), dict[str, IntArray]()
        for group, names in _GROUPS.items():
            offsets[group], places = take_segments(self.offsets[group], chosen)
            nodes |= {name: self.nodes[name][places] for name in names}
        return ExonShard(
            self.weights[chosen],
            starts,
            self.letters[parts],
            self.words[parts],
            self.reverse_words[parts],
            self.tracks[parts],
            self.paths[parts] if self.paths.size else self.paths,
            nodes,
            offsets,
        )

    def nodes_of(self, s: int) -> Nodes:
        """Those of a sequence, as kernels read them."""
        found = self._part(s, ("left", "right", "opening", "closing", "strand"))
        return Nodes(**found)

    def sites_of(self, s: int) -> dict[str, Array]:
        """Its sites: ``site_position``, ``site_reverse``, ``site_signal``."""
        return self._part(s, ("site",))

    def _part(self, s: int, groups: Sequence[str]) -> dict[str, Array]:
        return {
            name: self.nodes[name][self.offsets[group][s] : self.offsets[group][s + 1]]
            for group in groups
            for name in _GROUPS[group]
        }


def joined_nodes(found: Sequence[dict[str, Array]]) -> tuple[dict[str, Array], dict[str, IntArray]]:
    """Those of all sequences, and where those of each begin."""
    nodes, offsets = dict[str, Array](), dict[str, IntArray]()
    for group, names in _GROUPS.items():
        offsets[group] = offsets_of(np.array([each[names[0]].size for each in found], np.int64))
        for name in names:
            dtype = _TYPES.get(name, np.int32)
            nodes[name] = np.concatenate(
                [*(each[name] for each in found), np.empty(0)], dtype=dtype, casting="unsafe"
            )
    return nodes, offsets
