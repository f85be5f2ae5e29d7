"""Which label sequences there are, how they are laid out for kernels, and what they have of each feature."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray, check_offsets, check_weights, offsets_of
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.names import Names
from structune.tagging.features.strings import Strings
from structune.tagging.structure.attribute_weights import AttributeRows, OpenWeights, find_keys
from structune.tagging.structure.labels import Labelling, encode_labels
from structune.tagging.structure.posterior import MoveScores
from structune.tagging.structure.rules import possible_lengths
from structune.tagging.structure.shard import ChainShard
from structune.tagging.structure.vocabulary import ChainVocabulary


class ChainSpace(ChainVocabulary):
    """Label sequences over a vocabulary, their scores and their features."""

    # --- encoding -----------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> Names:
        """The attributes, to be looked up."""
        return Names.of(self.attributes)

    def encode(self, inputs: AttributeTable, outputs: Any = None, weights: Any = None) -> ChainShard:
        """Lay out sequences as a shard; attributes outside the vocabulary are dropped.

        Raises
        ------
        DataError
            An empty sequence, ragged lengths, a label outside the set, a label sequence that only forbidden
            transitions allow, or weights that are negative, not finite or too few. Names the sequence.
        """
        empty = np.flatnonzero(inputs.lengths <= 0)
        if empty.size:
            raise DataError(f"sequence {empty[0]} is empty: expected at least one token")
        offsets = offsets_of(inputs.lengths)
        if outputs is None:
            labelling = Labelling.unknown(self.labels)
            self.check_lengths(inputs.lengths)
        else:
            labelling = encode_labels(outputs, inputs.lengths, self.labels)
            labelling.check_moves(offsets, self.moves)
        example_weights = check_weights(weights, len(inputs))
        rows = self._rows(inputs, only_read=outputs is None)
        return ChainShard(example_weights, offsets, rows, labelling.labels, labelling.allowed)

    def check_shard(self, shard: ChainShard) -> None:
        n, n_tokens = shard.weights.size, len(shard.rows)
        check_offsets(shard.offsets, n, n_tokens)
        if not np.all(shard.offsets[1:] > shard.offsets[:-1]):
            raise DataError("found an empty sequence, expected at least one token")
        self.pairs.check(shard.rows, n_tokens)
        labelling = Labelling(self.labels, shard.labels, shard.allowed)
        labelling.check(n_tokens)
        labelling.check_moves(shard.offsets, self.moves)

    def check_lengths(self, lengths: IntArray) -> None:
        """Raise `DataError` for the first sequence with tokens that has no allowed labelling."""
        if self.forbidden is None:
            return
        possible = possible_lengths(self.moves, int(lengths.max(initial=0)))
        bad = np.flatnonzero((lengths > 0) & ~possible[lengths])
        if bad.size:
            raise DataError(
                f"sequence {bad[0]}: the forbidden transitions rule out every labelling of its "
                f"{lengths[bad[0]]} tokens"
            )

    def _rows(self, inputs: AttributeTable, only_read: bool) -> AttributeRows:
        columns = inputs.indices
        if inputs.names is not self.attributes:
            columns = self.names.find(Strings.of(inputs.names))[columns]
        values = np.empty(0) if inputs.values is None else inputs.values
        return self.pairs.layout(inputs.indptr, columns, values, only_read)

    # --- scores and features ------------------------------------------------------------------------------

    def _move_scores(self, w: Array, fill: float = -np.inf) -> MoveScores:
        """Transition, start and end scores under `w`; `fill` where forbidden."""
        dtype = np.result_type(w, np.float64)
        transition = np.zeros((self.n_labels, self.n_labels), dtype)
        transition.reshape(-1)[self.transitions] = w[self._transitions]
        start, end = np.zeros((2, self.n_labels), dtype)
        if self.boundary:
            start[:], end[:] = w[self._starts], w[self._ends]
        if self.forbidden is not None:
            for scores, allowed in zip((transition, start, end), self.moves, strict=True):
                scores[~allowed] = fill
        return MoveScores(transition, start, end)

    def _no_moves(self, dtype: Any) -> Array:
        """Counts of 0, of all that neighbouring labels can have weights for."""
        return np.zeros((self.n_labels, self.n_labels), dtype)

    def _count_moves(self, labels: IntArray, offsets: IntArray, weights: FloatArray) -> Array:
        """Counts in given labels, (n_tokens,), by the weight of each token."""
        counts = self._no_moves(np.float64)
        later = np.setdiff1d(np.arange(labels.size), offsets[:-1])
        np.add.at(counts, (labels[later - 1], labels[later]), weights[later])
        return counts

    def _add_moves(self, out: Array, starts: Array, ends: Array, transitions: Array) -> None:
        """Add counts of starts, ends and transitions to a weight vector."""
        out[self._transitions] += transitions.reshape(-1)[self.transitions]
        if self.boundary:
            out[self._starts] += starts
            out[self._ends] += ends

    def _add_block(
        self,
        out: Array,
        tokens: OpenWeights,
        shard: ChainShard,
        block: slice,
        rows: Array,
        transitions: Array,
        power: int = 1,
    ) -> None:
        """Add the counts of a block, given by its token rows and its transitions."""
        first, offsets = int(shard.offsets[block.start]), shard.offsets[block.start : block.stop + 1]
        self.pairs.add_counts(tokens, shard.rows, first, rows, power)
        starts, ends = rows[offsets[:-1] - first].sum(axis=0), rows[offsets[1:] - first - 1].sum(axis=0)
        self._add_moves(out, starts, ends, transitions)

    def features(
        self,
        shard: ChainShard,
        out: FloatArray,
        weights: FloatArray | None = None,
        outputs: IntArray | None = None,
    ) -> None:
        labels = self._labels_of(shard, outputs)
        rows = np.zeros((shard.n_parts, self.n_labels))
        per_token = np.repeat(shard.weights if weights is None else weights, shard.sizes())
        rows[np.arange(labels.size), labels] = per_token
        counts = self._count_moves(labels, shard.offsets, per_token)
        tokens = self.pairs.open_counts(out)
        self._add_block(out, tokens, shard, slice(0, len(shard)), rows, counts)
        self.pairs.close_counts(tokens)

    def feature_rows(self, shard: ChainShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        labels = self._labels_of(shard, outputs)
        sequence = np.repeat(np.arange(len(shard)), shard.sizes())
        token, pairs, values = self.pairs.observed(shard.rows, labels)
        later = np.setdiff1d(np.arange(labels.size), shard.offsets[:-1])
        moves = find_keys(self.transitions, labels[later - 1] * self.n_labels + labels[later])
        later, moves = later[moves >= 0], moves[moves >= 0]
        n = np.arange(len(shard)) if self.boundary else np.empty(0, int)
        rows = np.concatenate((sequence[token], sequence[later], n, n))
        columns = np.concatenate((
            pairs,
            moves + self._transitions.start,
            self._starts.start + labels[shard.offsets[n]],
            self._ends.start + labels[shard.offsets[n + 1] - 1],
        ))  # fmt: skip
        values = np.concatenate((values, np.ones(rows.size - values.size)))
        table = scipy.sparse.coo_array((values, (rows, columns)), shape=(len(shard), self.n_weights))
        return table.tocsr()

    def _labels_of(self, shard: ChainShard, outputs: IntArray | None) -> IntArray:
        labels = shard.labels if outputs is None else np.asarray(outputs)
        if labels.size != shard.n_parts or (labels.size and labels.min() < 0):
            raise DataError("the shard has no complete labels")
        return labels
