"""Which label sequences there are, which weights they have, and how sequences are laid out for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy

from structune.errors import DataError
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    Structure,
    check_offsets,
    check_weights,
    offsets_of,
    template_of,
)
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.names import Names
from structune.tagging.features.strings import Strings
from structune.tagging.structure.attribute_weights import (
    AttributeRows,
    AttributeWeights,
    OpenWeights,
    find_keys,
    order_attributes,
)
from structune.tagging.structure.labels import BoolArray, Labelling, encode_labels
from structune.tagging.structure.posterior import MoveScores
from structune.tagging.structure.rules import Rules, allowed_moves, as_rules, mixing_steps, possible_lengths
from structune.tagging.structure.shard import ChainShard


class ChainSpace(Structure):
    """Label sequences over a fixed vocabulary of attributes and labels, their weights and their features.

    The weights are, in this order: attribute-label pairs, starts, ends, transitions. `Chain`, which answers
    questions about them, tells of the parameters; `SecondOrderChain` has trigrams besides.
    """

    name = "chain"
    _most_labels, _growth = 4096, "square"

    def __init__(
        self,
        labels: Sequence[str],
        attributes: Sequence[str],
        pair_keys: IntArray,
        transitions: IntArray,
        boundary: bool = True,
        forbidden: Rules = None,
    ) -> None:
        self.labels, self.attributes = list(labels), attributes
        self.transitions, self.boundary = transitions, boundary
        self.forbidden = as_rules(forbidden)
        n_labels = len(self.labels)
        if n_labels > self._most_labels:
            raise DataError(
                f"found {n_labels} labels, expected at most {self._most_labels}: tables grow as their "
                f"{self._growth}"
            )
        self.pairs = AttributeWeights(pair_keys, len(attributes), n_labels)
        self.moves = allowed_moves(self.labels, self.forbidden)
        self._mixing = mixing_steps(self.moves[0])
        sizes = (self.pairs.size, n_labels * boundary, n_labels * boundary, transitions.size)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        self._pairs, self._starts, self._ends, self._transitions = (
            slice(int(a), int(b)) for a, b in pairwise(ends)
        )

    @classmethod
    def build(
        cls,
        inputs: AttributeTable,
        outputs: Any,
        *,
        states: str = "seen",
        transitions: str = "all",
        boundary: bool = True,
        forbidden: Rules = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """The chain over the attributes and labels of a training set.

        Parameters
        ----------
        inputs : AttributeTable
        outputs : sequence of sequences of labels
            A label is a str; None where it is unknown; a set or list of str where it is one of these.
        states, transitions : {"seen", "all"}
            Which attribute-label pairs, and which transitions, have weights: those that occur in the
            training set (or may, under partial labels), or all.
        labels : sequence of str, optional
            The label set; by default the sorted labels of `outputs`.

        Raises
        ------
        DataError
            Empty training set, no labels, a wrong option, or anything `encode` refuses.
        """
        for name, value in (("states", states), ("transitions", transitions)):
            if value not in ("seen", "all"):
                raise DataError(f"{name}={value!r}: expected 'seen' or 'all'")
        if not len(inputs):
            raise DataError("the training set is empty: expected at least one sequence")
        inputs = inputs.used()
        labelling, forbidden = encode_labels(outputs, inputs.lengths, labels), as_rules(forbidden)
        n_labels = len(labelling.names)
        if states == "all":
            pair_keys = np.arange(len(inputs.names) * n_labels)
        else:
            pair_keys = labelling.seen_pairs(inputs.indptr, inputs.indices, len(inputs.names))
        moves = cls._all_moves(labelling.names, boundary, forbidden)
        if transitions == "seen":
            seen = cls._seen_moves(labelling, inputs.lengths)
            moves = {name: np.intersect1d(keys, seen[name]) for name, keys in moves.items()}
        return cls._ordered(labelling.names, inputs.names, pair_keys, moves, boundary, forbidden)

    @classmethod
    def _all_moves(cls, labels: list[str], boundary: bool, forbidden: Rules) -> dict[str, IntArray]:
        """Keys of all that neighbouring labels can have weights for, by the parameter that takes them."""
        return {"transitions": np.flatnonzero(allowed_moves(labels, forbidden)[0])}

    @classmethod
    def _seen_moves(cls, labelling: Labelling, lengths: IntArray) -> dict[str, IntArray]:
        """Keys of those that occur, or may under partial labels."""
        return {"transitions": np.flatnonzero(labelling.seen_transitions(lengths))}

    def _moved(self, ids: IntArray, n_labels: int) -> dict[str, IntArray]:
        """Keys of its own among `n_labels` labels, of which its labels are those numbered `ids`."""
        before, after = np.divmod(self.transitions, self.n_labels)
        return {"transitions": ids[before] * n_labels + ids[after]}

    def _kept(self, which: BoolArray) -> tuple[dict[str, IntArray], IntArray]:
        """Keys of those of its weights that `which` names, and the numbers of these."""
        edges = np.flatnonzero(which[self._transitions])
        return {"transitions": self.transitions[edges]}, self._transitions.start + edges

    @classmethod
    def _ordered(
        cls,
        labels: list[str],
        attributes: Sequence[str],
        pair_keys: IntArray,
        moves: dict[str, IntArray],
        boundary: bool,
        forbidden: Rules,
    ) -> Self:
        """A chain whose attributes come in the order that is fast."""
        order, pair_keys = order_attributes(pair_keys, len(attributes), len(labels))
        names = [attributes[a] for a in order.tolist()]
        return cls(labels, names, pair_keys, boundary=boundary, forbidden=forbidden, **moves)

    @classmethod
    def merge(cls, chains: Sequence[Self], *, states: str = "seen", transitions: str = "seen") -> Self:
        """The chain over the union of several vocabularies (of shards, tasks or workers).

        Parameters
        ----------
        states, transitions : {"seen", "all"}
            "seen": weights that one of the chains has; "all" as in `build`.
        """
        first = chains[0]
        if any((c.boundary, c.forbidden) != (first.boundary, first.forbidden) for c in chains):
            raise DataError(
                "chains with different boundary weights or forbidden transitions cannot be merged"
            )
        labels = sorted({label for c in chains for label in c.labels})
        attributes = {
            name: a for a, name in enumerate(dict.fromkeys(n for c in chains for n in c.attributes))
        }
        label_id = {label: y for y, label in enumerate(labels)}
        pairs, moves = [], []
        for c in chains:
            y = np.array([label_id[label] for label in c.labels])
            a = np.fromiter((attributes[name] for name in c.attributes), np.int64, len(c.attributes))
            old = len(c.labels)
            pairs.append(a[c.pairs.keys // old] * len(labels) + y[c.pairs.keys % old])
            moves.append(c._moved(y, len(labels)))
        pair_keys = np.unique(np.concatenate(pairs))
        if states == "all":
            pair_keys = np.arange(len(attributes) * len(labels))
        union = {name: np.unique(np.concatenate([keys[name] for keys in moves])) for name in moves[0]}
        if transitions == "all":
            union = cls._all_moves(labels, first.boundary, first.forbidden)
        return cls._ordered(labels, list(attributes), pair_keys, union, first.boundary, first.forbidden)

    def keep(self, which: BoolArray) -> tuple[Self, IntArray]:
        """The chain with some of its weights, and attributes that are in one.

        Parameters
        ----------
        which : ndarray of bool, shape (n_weights,)
            Of attribute-label pairs, transitions and trigrams; starts and ends stay.

        Returns
        -------
        chain : Chain
        before : ndarray of int64, shape (n_weights,)
            Numbers that its weights have here.
        """
        kept = np.flatnonzero(which[self._pairs])
        n, keys = self.n_labels, self.pairs.keys[kept]
        used, attribute = np.unique(keys // n, return_inverse=True)
        order, _ = order_attributes(attribute * n + keys % n, used.size, n)
        names = [self.attributes[a] for a in used[order].tolist()]
        keys = np.argsort(order)[attribute] * n + keys % n
        rising = np.argsort(keys)
        moves, numbers = self._kept(which)
        chain = type(self)(
            self.labels, names, keys[rising], boundary=self.boundary, forbidden=self.forbidden, **moves
        )
        ends = np.arange(self._starts.start, self._ends.stop)
        return chain, np.concatenate((kept[rising], ends, numbers))

    # --- vocabulary ---------------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    @property
    def n_weights(self) -> int:
        return self._transitions.stop

    def weight_names(self) -> list[str]:
        edges = zip(*np.divmod(self.transitions, self.n_labels), strict=True)
        pairs = zip(*np.divmod(self.pairs.keys, self.n_labels), strict=True)
        starts = [f"(start) -> {y}" for y in self.labels] if self.boundary else []
        ends = [f"{y} -> (end)" for y in self.labels] if self.boundary else []
        return [
            *(f"{self.attributes[a]} : {self.labels[y]}" for a, y in pairs),
            *starts,
            *ends,
            *(f"{self.labels[x]} -> {self.labels[y]}" for x, y in edges),
        ]

    def groups(self) -> Groups:
        """One group per template (see `template_of`), and the transitions.

        Starts and ends go with the transitions: all are weights between neighbours.
        """
        templates = [template_of(name) for name in self.attributes]
        groups = Groups.by_name([*templates, "transitions"])
        index = np.full(self.n_weights, groups.index[-1])
        index[self._pairs] = groups.index[self.pairs.keys // self.n_labels]
        return Groups(index, groups.names)

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
