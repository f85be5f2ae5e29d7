"""Encoded sequences of a semi-Markov chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structune.structure import IntArray, SequenceShard, take_segments
from structune.tagging.structure.attribute_weights import AttributeRows


@dataclass(frozen=True)
class SegmentShard(SequenceShard):
    """Encoded sequences.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Tokens of sequence s are ``offsets[s]:offsets[s + 1]``.
    tokens : AttributeRows
        The attributes of each token.
    lasts : AttributeRows
        Attributes that each token has as the last one of a segment.
    spans : AttributeRows
        Attributes of the segments that have any.
    span_offsets : ndarray of int64, shape (n_tokens + 1,)
        The rows of `spans` that end with token t are ``span_offsets[t]:span_offsets[t + 1]``.
    span_lengths : ndarray of int64, shape (n_spans,)
        Tokens of each, rising for each last token.
    tags : ndarray of int64, shape (n_tokens,) or (0,)
        Of the segmentation; empty without outputs.
    """

    offsets: IntArray
    tokens: AttributeRows
    lasts: AttributeRows
    spans: AttributeRows
    span_offsets: IntArray
    span_lengths: IntArray
    tags: IntArray

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
