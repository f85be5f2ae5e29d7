"""Encoded sequences of a linear chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structune.running.memory import require_memory
from structune.structure import IntArray, SequenceShard, take_segments
from structune.tagging.structure.attribute_weights import AttributeRows
from structune.tagging.structure.rules import BoolArray


@dataclass(frozen=True)
class ChainShard(SequenceShard):
    """Encoded sequences.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Tokens of sequence s are ``offsets[s]:offsets[s + 1]``.
    rows : AttributeRows
        The attributes of each token.
    labels : ndarray of int64, shape (n_tokens,) or (0,)
        Label of each token, -1 where it is not known to one label; empty without outputs.
    allowed : ndarray of bool, shape (n_tokens, n_labels) or (0, n_labels)
        Labels that each token may have; empty where all labels are known.
    """

    offsets: IntArray
    rows: AttributeRows
    labels: IntArray
    allowed: BoolArray

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    @property
    def is_partly_known(self) -> bool:
        return bool(self.allowed.shape[0])

    def take(self, indices: Any) -> ChainShard:
        chosen = self._chosen(indices)
        offsets, tokens = take_segments(self.offsets, chosen)
        return ChainShard(
            self.weights[chosen],
            offsets,
            self.rows.take(tokens),
            self.labels[tokens] if self.labels.size else self.labels,
            self.allowed[tokens] if self.is_partly_known else self.allowed,
        )

    def with_allowed(self, allowed: BoolArray) -> ChainShard:
        """The same sequences, each token restricted to the labels in `allowed`."""
        return replace(self, allowed=np.asarray(allowed, bool))


def runs_of_sequences(offsets: IntArray, n_tokens: int) -> Iterator[slice]:
    """Runs of about `n_tokens` tokens, one sequence in each at least."""
    n_sequences, start = offsets.size - 1, 0
    if 0 < offsets[-1] <= n_tokens:  # at once: searching takes as long as tagging a few words
        yield slice(0, n_sequences)
        return
    while start < n_sequences:
        stop = int(np.searchsorted(offsets, offsets[start] + n_tokens, side="right")) - 1
        yield slice(start, max(stop, start + 1))
        start = max(stop, start + 1)


def check_room(needed: float, n: int, n_labels: int) -> None:
    """Refuse a sequence of n tokens if there is not so much memory."""
    what = f"a sequence of {n:,} tokens and its tables of {n_labels:,} labels"
    require_memory(needed, what, "it cut into shorter ones, or fewer labels")
