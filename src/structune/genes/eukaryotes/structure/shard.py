"""Encoded sequences of a graph of exons, with or without their genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.eukaryotes.kernels.nodes import Nodes
from structune.structure import FloatArray, IntArray, SequenceShard, offsets_of, take_segments


@dataclass(frozen=True)
class NodeArrays:
    """The nodes of sequences, one after the other; numbers of nodes count within their sequence.

    ``offsets`` (groups, n_sequences + 1) says where those of each sequence begin; `Nodes` tells what the
    others are.
    """

    left_position: IntArray
    left_column: IntArray
    left_closing: IntArray
    left_mask: IntArray
    left_site: IntArray
    left_order: IntArray
    right_position: IntArray
    right_column: IntArray
    right_opening: IntArray
    right_mask: IntArray
    right_site: IntArray
    right_edge: IntArray
    right_first: IntArray
    right_last: IntArray
    opening_position: IntArray
    opening_mask: IntArray
    closing_position: IntArray
    closing_mask: IntArray
    strand_opening: IntArray
    site_position: IntArray
    site_reverse: NDArray[np.bool_]
    site_signal: IntArray
    offsets: IntArray

    @classmethod
    def joined(cls, found: Sequence[Nodes]) -> NodeArrays:
        """Those of some sequences, as one."""
        sizes = [[getattr(each, name).size for each in found] for name in _GROUPS.values()]
        offsets = np.array([offsets_of(np.array(some, np.int64)) for some in sizes])
        # positions and numbers of nodes fit into 32 bits: half of the memory of encoded sequences
        arrays: dict[str, Any] = {
            name: np.concatenate(
                [*(getattr(each, name) for each in found), np.empty(0)],
                dtype=np.bool_ if name == "site_reverse" else np.int32,
                casting="unsafe",
            )
            for name in Nodes._fields
        }
        return cls(**arrays, offsets=offsets)

    def take(self, chosen: IntArray) -> NodeArrays:
        # numbers of nodes count within their sequence, so they need no change
        taken = [take_segments(offsets, chosen) for offsets in self.offsets]
        arrays = {name: getattr(self, name)[taken[k][1]] for name, k in _GROUP_OF.items()}
        return NodeArrays(**arrays, offsets=np.stack([offsets for offsets, _ in taken]))

    def of(self, s: int) -> Nodes:
        """Those of a sequence, as kernels read them."""
        spans = [slice(*offsets[s : s + 2]) for offsets in self.offsets]
        return Nodes(**{name: getattr(self, name)[spans[k]] for name, k in _GROUP_OF.items()})

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values())


_GROUPS = {name.partition("_")[0]: name for name in Nodes._fields}  # rows of offsets, and an array of each
_GROUP_OF = {name: list(_GROUPS).index(name.partition("_")[0]) for name in Nodes._fields}


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
    tables : ndarray of int8, shape (n_sequences,)
        Which of the tables of a `Scaling` each is scored by.
    nodes : NodeArrays
    """

    starts: IntArray
    letters: NDArray[np.int8]
    words: NDArray[np.int16]
    reverse_words: NDArray[np.int16]
    tracks: FloatArray
    paths: NDArray[np.int8]
    tables: NDArray[np.int8]
    nodes: NodeArrays

    @property
    def bounds(self) -> IntArray:
        return self.starts

    def take(self, indices: Any) -> ExonShard:
        chosen = self._chosen(indices)
        starts, parts = take_segments(self.starts, chosen)
        return ExonShard(
            self.weights[chosen],
            starts,
            self.letters[parts],
            self.words[parts],
            self.reverse_words[parts],
            self.tracks[parts],
            self.paths[parts] if self.paths.size else self.paths,
            self.tables[chosen],
            self.nodes.take(chosen),
        )
