"""Which attributes and labels a chain knows, and which weights they have."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np

from structune.errors import DataError
from structune.structure import Groups, IntArray, Structure, template_of
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.attribute_weights import AttributeWeights, order_attributes
from structune.tagging.structure.labels import Labelling, encode_labels
from structune.tagging.structure.rules import BoolArray, Rules, allowed_moves, as_rules, mixing_steps


class ChainVocabulary(Structure):
    """A vocabulary of attributes and labels, and the weights that label sequences over it have.

    The weights are, in this order: attribute-label pairs, starts, ends, transitions. `Chain`, which answers
    questions about them, tells of the parameters; `SecondOrderChain` has trigrams besides.
    """

    name = "chain"
    _most_labels, _growth = 4096, "square"
    _other: Self | None = None  # the last of `like`: schemes take a while for many labels

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
        n_labels = len(self.labels)
        if n_labels > self._most_labels:
            raise DataError(
                f"found {n_labels} labels, expected at most {self._most_labels}: tables grow as their "
                f"{self._growth}"
            )
        self.pairs = AttributeWeights(pair_keys, len(attributes), n_labels)
        self._forbid(as_rules(forbidden))
        sizes = (self.pairs.size, n_labels * boundary, n_labels * boundary, transitions.size)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        self._pairs, self._starts, self._ends, self._transitions = (
            slice(int(a), int(b)) for a, b in pairwise(ends)
        )

    def _forbid(self, forbidden: Rules) -> None:
        self.forbidden, self.moves = forbidden, allowed_moves(self.labels, forbidden)
        self._mixing = mixing_steps(self.moves[0])

    def like(self, forbidden: Rules) -> Self:
        """The chain with other forbidden transitions, and the same weights."""
        rules = as_rules(forbidden)
        if rules == self.forbidden:
            return self
        if self._other is None or self._other.forbidden != rules:
            self._other = None  # of the copy, too
            other = copy(self)
            other._forbid(rules)
            self._other = other
        return self._other

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

    @property
    def move_keys(self) -> dict[str, IntArray]:
        """Keys of its own, in the order of their weights, which are the last ones."""
        return {"transitions": self.transitions}

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
        moves, numbers, end = (
            {},
            [kept[rising], np.arange(self._starts.start, self._ends.stop)],
            self._ends.stop,
        )
        for name, all_keys in self.move_keys.items():
            chosen = np.flatnonzero(which[end : end + all_keys.size])
            moves[name] = all_keys[chosen]
            numbers.append(end + chosen)
            end += all_keys.size
        chain = type(self)(
            self.labels, names, keys[rising], boundary=self.boundary, forbidden=self.forbidden, **moves
        )
        return chain, np.concatenate(numbers)

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
