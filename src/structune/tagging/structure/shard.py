"""Encoded sequences of chains and of semi-Markov chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.running.memory import require_memory
from structune.structure import Array, FloatArray, IntArray, SequenceShard, take_segments
from structune.tagging.structure.attribute_weights import AttributeRows
from structune.tagging.structure.labels import BoolArray

_SMALL = 1 << 20  # bytes that there are


@dataclass(frozen=True)
class ChainShard(SequenceShard):
    """Encoded sequences of a chain."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    rows: AttributeRows  # the attributes of each token
    labels: IntArray  # (n_tokens,), -1 where not known to one label; empty without outputs
    allowed: BoolArray  # (n_tokens, n_labels): labels that each token may have; empty where all are known

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


def check_room(shard: SequenceShard, bytes_of: Callable[[int], float], n_labels: int) -> None:
    """Refuse a sequence for which there is not enough memory, by its length: none is worked on in parts."""
    if bytes_of(shard.n_parts) < _SMALL:  # even in one sequence
        return
    n = int(shard.sizes().max())
    what = f"a sequence of {n:,} tokens and its tables of {n_labels:,} labels"
    require_memory(bytes_of(n), what, "it cut into shorter ones, or fewer labels")


@dataclass(frozen=True)
class SegmentShard(SequenceShard):
    """Encoded sequences of a semi-Markov chain."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    tokens: AttributeRows  # the attributes of each token
    lasts: AttributeRows  # attributes that each token has as the last one of a segment
    spans: AttributeRows  # attributes of the segments that have any
    span_offsets: IntArray  # those that end with token t are span_offsets[t]:span_offsets[t + 1]
    span_lengths: IntArray  # tokens of each, rising for each last token
    tags: IntArray  # of the segmentation, (n_tokens,); empty without outputs

    @property
    def bounds(self) -> IntArray:
        return self.offsets

    def take(self, indices: Any) -> SegmentShard:
        chosen = self._chosen(indices)
        offsets, tokens = take_segments(self.offsets, chosen)
        span_offsets, spans = take_segments(self.span_offsets, tokens)
        return SegmentShard(
            self.weights[chosen],
            offsets,
            self.tokens.take(tokens),
            self.lasts.take(tokens),
            self.spans.take(spans),
            span_offsets,
            self.span_lengths[spans],
            self.tags[tokens] if self.tags.size else self.tags,
        )


def token_costs(cost: FloatArray, lengths: IntArray, own: IntArray, n_labels: int) -> Array:
    """The cost of every label, shape (n_tokens, n_labels), if a wrong one costs `cost` of its sequence."""
    return np.asarray(np.repeat(cost, lengths)[:, None] * (own[:, None] != np.arange(n_labels)))


def wrong_tokens(own: IntArray, found: IntArray, starts: IntArray) -> FloatArray:
    """The number of tokens of each sequence that are labelled differently."""
    return np.add.reduceat((own != found).astype(np.float64), starts)
