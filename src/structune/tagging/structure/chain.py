"""Linear chains: what those of both orders have, and the first-order chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import scipy

from structune.errors import DataError
from structune.kernels.vectors import all_lanes, lanes_for
from structune.structure import (
    COMPLEX_STEP,
    Array,
    FloatArray,
    Groups,
    HessianProduct,
    IntArray,
    Structure,
    check_offsets,
    check_weights,
    offsets_of,
)
from structune.tagging.features.attributes import AttributeTable, KnownRows, known_rows
from structune.tagging.features.groups import templates_of
from structune.tagging.features.strings import Names
from structune.tagging.kernels import costs as chain_costs
from structune.tagging.kernels import linear_domain as kernels
from structune.tagging.kernels import log_domain
from structune.tagging.structure.labels import (
    BoolArray,
    Labelling,
    Rules,
    allowed_moves,
    as_rules,
    encode_labels,
    mixing_steps,
    possible_lengths,
)
from structune.tagging.structure.shard import (
    AttributeWeights,
    ChainShard,
    OpenWeights,
    boundary_names,
    check_n_labels,
    check_room,
    feature_table,
    find_keys,
    keep_pairs,
    order_attributes,
    refuse_empty,
    runs_of_sequences,
    token_costs,
    with_weight,
    written_names,
    wrong_tokens,
)
from structune.tagging.structure.unique_spans import SpanTypes, best_unique

_FEW = 1 << 10  # attributes of tokens that take less time to score one by one than to lay out as a shard
_NOTHING = np.empty(0)


@dataclass(frozen=True)
class MoveScores:
    """Scores of transitions (L, L), of starts (L,) and of ends (L,); -inf where forbidden."""

    transition: Array
    start: Array
    end: Array

    @cached_property
    def peaks(self) -> tuple[float, float, float]:
        """Largest transition, start and end score: what the potentials are scaled by."""
        highs = (float(scores.real.max()) for scores in (self.transition, self.start, self.end))
        # Exponentials of (score - peak) are at most 1 and one of them is 1, unless all are forbidden.
        transition, start, end = (high if high > -np.inf else 0.0 for high in highs)
        return transition, start, end

    @cached_property
    def spread(self) -> float:
        """Widest range of the allowed scores of a kind."""
        finite = (a.real[np.isfinite(a.real)] for a in (self.transition, self.start, self.end))
        return float(max((a.max() - a.min() for a in finite if a.size), default=0.0))

    @cached_property
    def potentials(self) -> tuple[Array, Array, Array, Array]:
        """exp(score - peak) of transitions, their transpose, starts and ends."""
        scores = self.transition, self.start, self.end
        transition, start, end = (np.exp(a - peak) for a, peak in zip(scores, self.peaks, strict=True))
        return transition, np.ascontiguousarray(transition.swapaxes(-1, -2)), start, end

    @property
    def of_states(self) -> tuple[Array, Array, Array]:
        """Starts, moves and ends as kernels of the log domain take them, by contexts; here there is one."""
        return self.start, self.transition[:, None], self.end[None]

    def counts(self, moves: Array, ends: Array) -> Array:
        """Counts of such moves by the keys of weights; ends are counted by marginals of last tokens."""
        return moves.reshape(self.transition.shape)

    def shift(self, lengths: IntArray) -> FloatArray:
        """What the potentials leave out of each sequence's log-partition."""
        # Every labelling has one start, one end and length - 1 transitions, so peaks factor out of all of Z.
        transition, start, end = self.peaks
        return start + end + transition * (lengths.astype(np.float64) - 1.0)


@dataclass
class Posterior:
    """What is expected of the sequences of a block, each times its weight; without weights, `log_z` alone."""

    log_z: Array
    rows: Array  # label marginals of each token
    counts: Array  # of moves


@dataclass
class LinearPosterior(Posterior):
    """Scaled forward-backward on potentials; exact where no potential leaves the range of a double."""

    moves: MoveScores
    offsets: IntArray
    weights: FloatArray
    tables: Array  # (3, n_tokens, L): token potentials / scales, forward and backward vectors

    def tangent(self, direction: MoveScores, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of `rows` and `counts`; `scores` are the direction's, of tokens."""
        transition, transposed, _, _ = self.moves.potentials
        slope, n = transition * direction.transition, transition.shape[0]
        longest = int(np.diff(self.offsets).max(initial=0))
        forth, back = np.vstack((transition, slope)), np.vstack((slope.T, transposed))
        lefts, rights = np.empty((2, longest, 2, n))
        rows, relative = np.empty_like(scores), np.zeros_like(transition)
        kernels.tangent(
            self.offsets, self.tables, forth, back, direction.start, direction.end, self.weights,
            lanes_for(scores.dtype, n), lefts, rights, scores, rows, relative,
        )  # fmt: skip
        return rows, transition * relative + direction.transition * self.counts


class LogPosterior(Posterior):
    """Forward-backward in the log domain; exact for scores of any size.

    It serves chains of both orders, and complex scores.
    """

    def __init__(self, moves: MoveScores, offsets: IntArray, scores: Array, weights: FloatArray) -> None:
        self.moves, self.offsets, self.scores, self.weights = moves, offsets, scores, weights
        start, transition, end = moves.of_states
        longest, dtype = int(np.diff(offsets).max(initial=0)), scores.dtype
        log_z, rows = np.empty(offsets.size - 1, dtype), np.empty_like(scores)
        counts, ends = np.zeros_like(transition), np.zeros_like(end)
        alpha, beta = np.empty((2, longest, *end.shape), dtype)
        terms, peaks = np.empty(end.size, dtype), np.empty(longest)
        log_domain.expectations(
            offsets, scores, start, transition, end, weights, alpha, beta, terms, peaks,
            log_z, rows, counts, ends,
        )  # fmt: skip
        super().__init__(log_z, rows, moves.counts(counts, ends))

    def tangent(self, direction: MoveScores, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of `rows` and `counts`; `scores` are the direction's, of tokens."""
        # By the complex step, as expectations are analytic: f(a + i r b) = f(a) + i r f'(a) b + O(r^2),
        # and r is so small that r^2 vanishes beside 1. No difference is taken, so no digits cancel,
        # whatever the size of the scores. Forward sums are made anew for each direction: blocks of the
        # log domain are few.
        moves = self.moves
        pairs = (
            (moves.transition, direction.transition), (moves.start, direction.start),
            (moves.end, direction.end), (self.scores, scores),
        )  # fmt: skip
        step = COMPLEX_STEP / (max(float(np.abs(b).max(initial=0.0)) for _, b in pairs) or 1.0)
        *stepped, tokens = (a + 1j * step * b for a, b in pairs)
        at = LogPosterior(MoveScores(*stepped), self.offsets, tokens, self.weights)
        return at.rows.imag / step, at.counts.imag / step


@dataclass(frozen=True)
class Weighted:
    """A shard under some weights."""

    opened: OpenWeights
    moves: MoveScores
    shard: ChainShard
    weights: FloatArray  # of sequences, in expected counts; without cells where nothing is counted
    within: bool  # whether sums are over the labellings that partial labels allow


class Chain(Structure):
    """A first-order linear chain: label sequences scored by token attributes and label transitions.

    The weights are, in this order: attribute-label pairs, starts, ends, transitions. Build one with `build`.

    Parameters
    ----------
    labels : sequence of str
        All labels.
    attributes : sequence of str
        Names of attributes; the text before the first ``=`` is the group of their weights.
    pair_keys : ndarray of int64
        Sorted ``attribute * n_labels + label`` of the pairs that have a weight, all indices from 0.
    transitions : ndarray of int64
        Sorted ``from * n_labels + to`` of the transitions that have a weight; the others score 0.
    boundary : bool
        Whether starts and ends of sequences have weights.
    forbidden : None, "bio", "bioes", or list of (from, to)
        Transitions that are not allowed, in training and prediction, as for `SequenceTagger`.

    Attributes
    ----------
    order : int
        Number of preceding labels that the score of a label depends on.
    """

    name = "chain"
    capabilities = frozenset(
        ("log_partition", "hessian", "best", "cost", "rescaled", "within", "complex", "n_best", "marginals")
    )
    order = 1
    _most_labels, _growth = 4096, "square"
    _tables = (0, 3)  # of states, of a sequence: to find its best labels, and for sums
    _block_cells = 1 << 17  # tokens x states that a call of a kernel works on
    _cache_cells = 1 << 15  # tokens x labels that a kernel works on at a time: what the caches hold
    _safe_range = 600.0  # a double spans exp(-708) to exp(709); the rest is room for derivatives
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
        check_n_labels(n_labels, self._most_labels, self._growth)
        self.pairs = AttributeWeights(pair_keys, len(attributes), n_labels)
        self._forbid(as_rules(forbidden))
        sizes = (self.pairs.size, n_labels * boundary, n_labels * boundary, transitions.size)
        # The weight vector: pairs of attributes and labels, starts, ends, transitions, each part a slice.
        ends = np.concatenate(([0], np.cumsum(sizes)))
        self._pairs, self._starts, self._ends, self._transitions = (
            slice(int(a), int(b)) for a, b in pairwise(ends)
        )
        self.n_pairs = self.pairs.size

    def _forbid(self, forbidden: Rules) -> None:
        self.forbidden, self.moves = forbidden, allowed_moves(self.labels, forbidden)
        self._mixing = mixing_steps(self.moves[0])

    def like(self, forbidden: Rules) -> Self:
        """Return a chain with the same weights and other forbidden transitions."""
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
        """Build the chain with the attributes and labels of a training set.

        Parameters
        ----------
        inputs : AttributeTable
            Attributes of the tokens.
        outputs : sequence of sequences of labels
            A label is a str. None marks an unknown label; a set or list of str gives the possible labels.
        states, transitions : {"seen", "all"}
            Attribute-label pairs, and transitions, that have weights: those that occur in the training set
            (or may occur, if labels are partly known), or all.
        boundary, forbidden
            As for `Chain`.
        labels : sequence of str, optional
            All labels; by default the sorted labels of `outputs`.

        Raises
        ------
        DataError
            The training set is empty or has no labels, a parameter is invalid, or numbers of labels and
            tokens differ.
        """
        for name, value in (("states", states), ("transitions", transitions)):
            if value not in ("seen", "all"):
                raise DataError(f"{name}={value!r}: expected 'seen' or 'all'")
        if not len(inputs):
            raise DataError("the training set is empty: at least one sequence is needed")
        # An attribute that no token has would get weights that nothing can determine.
        inputs = inputs.used()
        labelling, forbidden = encode_labels(outputs, inputs.lengths, labels), as_rules(forbidden)
        n_labels = len(labelling.names)
        # A key is attribute * n_labels + label: sorted keys are in the order of attributes.
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
        """Keys of all that neighboring labels can have weights for, by the parameter that takes them."""
        return {"transitions": np.flatnonzero(allowed_moves(labels, forbidden)[0])}

    @classmethod
    def _seen_moves(cls, labelling: Labelling, lengths: IntArray) -> dict[str, IntArray]:
        """Keys of those that occur, or may under partial labels."""
        return {"transitions": labelling.seen_transitions(lengths)}

    def _moved(self, ids: IntArray, n_labels: int) -> dict[str, IntArray]:
        """Keys of its own among `n_labels` labels, of which its labels are those numbered `ids`."""
        before, after = np.divmod(self.transitions, self.n_labels)
        return {"transitions": ids[before] * n_labels + ids[after]}

    @property
    def move_keys(self) -> dict[str, IntArray]:
        """Keys of the transitions with weights, as keyword arguments of the class; their weights are last."""
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
        """Merge the labels and attributes of several chains (of shards, tasks or workers) into one chain.

        Parameters
        ----------
        states, transitions : {"seen", "all"}
            Attribute-label pairs, and transitions, that have weights: those of at least one chain, or all.
        """
        first = chains[0]
        if any((c.boundary, c.forbidden) != (first.boundary, first.forbidden) for c in chains):
            told = "chains with different boundary weights or forbidden transitions cannot be merged"
            raise DataError(told)
        labels = sorted({label for c in chains for label in c.labels}, key=str)
        names = dict.fromkeys(name for c in chains for name in c.attributes)
        attributes = {name: a for a, name in enumerate(names)}
        label_id = {label: y for y, label in enumerate(labels)}
        pairs, moves = [], []
        for c in chains:
            y = np.array([label_id[label] for label in c.labels])
            a = np.fromiter((attributes[name] for name in c.attributes), np.int64, len(c.attributes))
            # Keys over the labels and attributes of one chain become keys over those of all.
            attribute, label = np.divmod(c.pairs.keys, c.n_labels)
            pairs.append(a[attribute] * len(labels) + y[label])
            moves.append(c._moved(y, len(labels)))
        pair_keys = np.unique(np.concatenate(pairs))
        if states == "all":
            pair_keys = np.arange(len(attributes) * len(labels))
        union = {name: np.unique(np.concatenate([keys[name] for keys in moves])) for name in moves[0]}
        if transitions == "all":
            union = cls._all_moves(labels, first.boundary, first.forbidden)
        return cls._ordered(labels, list(attributes), pair_keys, union, first.boundary, first.forbidden)

    def keep(self, which: BoolArray) -> tuple[Self, IntArray]:
        """Return a chain with a part of the weights, and without attributes that have no weight left.

        Parameters
        ----------
        which : ndarray of bool, shape (n_weights,)
            Whether to keep each weight. Weights of starts and ends are always kept.

        Returns
        -------
        chain : Chain
        before : ndarray of int64, shape (chain.n_weights,)
            Index in `self` of each weight of the returned chain.
        """
        # Attributes are put in the order that is fast, and their keys with them: weights change places.
        names, keys, kept = keep_pairs(self.attributes, self.pairs.keys, self.n_labels, which[self._pairs])
        moves, end = {}, self._ends.stop
        numbers = [kept, np.arange(self._starts.start, end)]
        for name, all_keys in self.move_keys.items():
            chosen = np.flatnonzero(which[end : end + all_keys.size])
            moves[name] = all_keys[chosen]
            numbers.append(end + chosen)
            end += all_keys.size
        chain = type(self)(
            self.labels, names, keys, boundary=self.boundary, forbidden=self.forbidden, **moves
        )
        return chain, np.concatenate(numbers)

    # --- vocabulary ---------------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @property
    def n_weights(self) -> int:
        return self._transitions.stop

    def weight_names(self) -> list[str]:
        return written_names(self.state_names(), self.move_names())

    def state_names(self) -> list[tuple[str, str]]:
        """Attribute and label of each of the first weights."""
        pairs = zip(*np.divmod(self.pairs.keys, self.n_labels), strict=True)
        return [(self.attributes[a], self.labels[y]) for a, y in pairs]

    def move_names(self) -> list[tuple[str | None, str | None]]:
        """Labels of each of the next weights (from, to); None stands for the start or end."""
        edges = zip(*np.divmod(self.transitions, self.n_labels), strict=True)
        moves = [(self.labels[x], self.labels[y]) for x, y in edges]
        return [*(boundary_names(self.labels) if self.boundary else ()), *moves]

    def groups(self, n_heldout: int | None = None) -> Groups:
        """Return the groups of weights: one per template, and the transitions with starts and ends.

        With `n_heldout`, the number of sequences that tuning holds out, attributes without a value and small
        templates share one group.
        """
        templates = templates_of(self.attributes, self.pairs.keys // self.n_labels, n_heldout)
        groups = Groups.by_name([*templates, "transitions"])
        index = np.full(self.n_weights, groups.index[-1])
        index[self._pairs] = groups.index[self.pairs.keys // self.n_labels]
        return Groups(index, groups.names)

    # --- encoding -----------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> Names:
        """The attributes, to be looked up."""
        return Names.of(self.attributes)

    def encode(
        self, inputs: AttributeTable | KnownRows, outputs: Any = None, weights: Any = None
    ) -> ChainShard:
        """Encode sequences as a shard; attributes that the chain does not have are dropped.

        Raises
        ------
        DataError
            A sequence is empty, or has a wrong number of labels, an unknown label, or labels that need a
            forbidden transition; or weights are invalid. The message names the sequence.
        """
        lengths, indptr, columns, values = known_rows(inputs, self.names)
        refuse_empty(lengths)
        offsets = offsets_of(lengths)
        if outputs is None:
            labels, allowed = np.empty(0, np.int64), np.empty((0, self.n_labels), bool)
            self.check_lengths(lengths)
        else:
            labelling = encode_labels(outputs, lengths, self.labels)
            labelling.check_moves(offsets, self.moves)
            labels, allowed = labelling.labels, labelling.allowed
        example_weights = check_weights(weights, lengths.size)
        rows = self.pairs.layout(indptr, columns, values, only_read=outputs is None)
        return ChainShard(example_weights, offsets, rows, labels, allowed)

    def check_shard(self, shard: ChainShard) -> None:
        n, n_tokens = shard.weights.size, len(shard.rows)
        check_offsets(shard.offsets, n, n_tokens)
        if not np.all(shard.offsets[1:] > shard.offsets[:-1]):
            raise DataError("a sequence is empty: at least one token is needed")
        self.pairs.check(shard.rows, n_tokens)
        labelling = Labelling(self.labels, shard.labels, shard.allowed)
        labelling.check(n_tokens)
        labelling.check_moves(shard.offsets, self.moves)

    def check_lengths(self, lengths: IntArray) -> None:
        """Raise `DataError` if a sequence of one of these lengths has no allowed labels; 0 is accepted."""
        if self.forbidden is None:
            return
        # Rules such as "bioes" allow no labelling at all of some lengths.
        possible = possible_lengths(self.moves, int(lengths.max(initial=0)))
        bad = np.flatnonzero((lengths > 0) & ~possible[lengths])
        if bad.size:
            raise DataError(
                f"sequence {bad[0]}: the forbidden transitions allow no labels for a sequence of length "
                f"{lengths[bad[0]]:,}"
            )

    # --- scores and features ------------------------------------------------------------------------------

    def _move_scores(self, w: Array, fill: float = -np.inf) -> MoveScores:
        """Transition, start and end scores under `w`; `fill` where forbidden."""
        dtype = np.complex128 if np.iscomplexobj(w) else np.float64
        transition = np.zeros((self.n_labels, self.n_labels), dtype)
        transition.reshape(-1)[self.transitions] = w[self._transitions]
        start, end = np.zeros(self.n_labels, dtype), np.zeros(self.n_labels, dtype)
        if self.boundary:
            start[:], end[:] = w[self._starts], w[self._ends]
        # What is forbidden scores -inf; in the direction of a derivative it moves nothing, so `fill` is 0
        # there.
        if self.forbidden is not None:
            for scores, allowed in zip((transition, start, end), self.moves, strict=True):
                scores[~allowed] = fill
        return MoveScores(transition, start, end)

    def _moves_of(self, labels: IntArray, offsets: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Tokens, and the weight of each one's start, end, or move to it; moves without a weight score 0."""
        # All tokens but the first of each sequence, none of which is empty, have one before them.
        later = np.delete(np.arange(labels.size), offsets[:-1])
        keys = labels[later - 1] * self.n_labels + labels[later]
        found = [with_weight(later, find_keys(self.transitions, keys), self._transitions)]
        if self.boundary:
            firsts, lasts = offsets[:-1], offsets[1:] - 1
            found.append((firsts, self._starts.start + labels[firsts]))
            found.append((lasts, self._ends.start + labels[lasts]))
        return found

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
        # Marginals of first and last tokens are the counts of starts and ends.
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
        # A labelling is a distribution with all mass on one label a token: the same code adds its counts.
        rows[np.arange(labels.size), labels] = per_token
        tokens = self.pairs.open_counts(out)
        self.pairs.add_counts(tokens, shard.rows, 0, rows)
        self.pairs.close_counts(tokens)
        for of, columns in self._moves_of(labels, shard.offsets):
            np.add.at(out, columns, per_token[of])

    def feature_rows(self, shard: ChainShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        labels = self._labels_of(shard, outputs)
        sequence = np.repeat(np.arange(len(shard)), shard.sizes())
        token, pairs, values = self.pairs.observed(shard.rows, labels)
        moves = [(sequence[of], columns) for of, columns in self._moves_of(labels, shard.offsets)]
        return feature_table([(sequence[token], pairs, values), *moves], (len(shard), self.n_weights))

    def _labels_of(self, shard: ChainShard, outputs: IntArray | None = None) -> IntArray:
        labels = shard.labels if outputs is None else np.asarray(outputs)
        if labels.size != shard.n_parts or (labels.size and labels.min() < 0):
            raise DataError("the shard has no complete labels: the label of each token is needed")
        return labels

    # --- blocks of sequences ------------------------------------------------------------------------------

    @property
    def _n_states(self) -> int:
        """Of a token."""
        return self.n_labels

    def _blocks(self, shard: ChainShard, n_cells: int) -> Iterator[slice]:
        """Runs of sequences with about `n_cells` cells in each."""
        return runs_of_sequences(shard.offsets, max(1, n_cells // self._n_states))

    def _check_room(self, shard: ChainShard, n_tables: int, n_marginals: int = 0) -> None:
        """Refuse sequences without memory for so many tables of states, and of labels, beside the scores."""
        cells = (1 + n_marginals) * self.n_labels + n_tables * self._n_states
        check_room(shard, 8.0 * cells, self.n_labels)

    def _under(
        self, w: Array, shard: ChainShard, weights: FloatArray = _NOTHING, within: bool = False
    ) -> Weighted:
        opened, moves = self.pairs.open(w, shard.rows), self._move_scores(w)
        return Weighted(opened, moves, shard, weights, within and shard.is_partly_known)

    def _scores_of(
        self, under: Weighted, block: slice, cost: FloatArray | None = None
    ) -> tuple[IntArray, Array]:
        """Offsets within a block, and the scores of its tokens; -inf for labels that are ruled out."""
        shard = under.shard
        first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
        offsets = shard.offsets[block.start : block.stop + 1] - first
        scores = self.pairs.scores(under.opened, shard.rows, first, last)
        if under.within:
            scores[~shard.allowed[first:last]] = -np.inf
        # A wrong label is worth its cost more: the best labels are then those of cost-augmented search.
        if cost is not None:
            own = self._labels_of(shard)[first:last]
            scores += token_costs(cost[block], np.diff(offsets), own, self.n_labels)
        return offsets, scores

    # --- sums ---------------------------------------------------------------------------------------------

    def _reach(self, within: bool) -> int:
        """Steps after which every state has been reached from any other; see `kernels.shift_rows`."""
        # Masks of partial labels may close the way between labels, unless every label follows every other.
        if self._mixing is None or (within and self._mixing > 1):
            return int(np.iinfo(np.int64).max)
        return self._mixing + self.order - 1

    def _linear_sums(
        self, under: Weighted, blocks: list[slice], tables: Any, tokens: OpenWeights | None = None
    ) -> tuple[Array, BoolArray, Array, Array]:
        """Logs of sums of neighboring blocks in the linear domain, and which blocks do not leave its range.

        Also the counts of starts and ends and of transitions, unless there are no weights. `tables` get what
        `kernels.expectations` says, and `tokens`, if given, the counts of attributes.
        """
        opened, moves, shard = under.opened, under.moves, under.shard
        start, stop = blocks[0].start, blocks[-1].stop
        n, dtype, lengths = self.n_labels, opened.w.dtype, shard.sizes()[start:stop]
        bounds = np.array([start, *(block.stop for block in blocks)]) - start
        log_z, fits = np.zeros(stop - start, dtype), np.empty(len(blocks), bool)
        # Without weights nothing is counted, of which an array without cells tells the kernel.
        edges, transitions = np.zeros((2, n), dtype), np.zeros((n if under.weights.size else 0, n), dtype)
        nothing = np.empty((0, n), dtype)
        counts = (nothing, nothing[:, 0]) if tokens is None else (tokens.dense, tokens.w)
        allowed = shard.allowed if under.within else np.empty((0, n), bool)
        scratch, peaks = np.empty((int(lengths.max()), n), dtype), np.empty(stop - start)
        kernels.expectations(
            bounds, shard.offsets[start : stop + 1], self.pairs.arrays(shard.rows), allowed,
            under.weights[start:stop], (opened.dense, opened.w),
            moves.potentials, moves.spread, self._reach(under.within), self._safe_range,
            lanes_for(dtype, n), *tables, scratch, peaks, log_z, fits, counts, 1, edges, transitions,
        )  # fmt: skip
        # The kernel counts transitions relative to their potential, exp(score - peak).
        transitions *= moves.potentials[0][: len(transitions)]
        return log_z + moves.shift(lengths), fits, edges, transitions

    def _posterior(self, under: Weighted, block: slice) -> Posterior:
        """Sums over the labelings of a block: in the linear domain, unless its scores leave the range."""
        offsets = under.shard.offsets[block.start : block.stop + 1] - under.shard.offsets[block.start]
        shape, dtype, weights = (int(offsets[-1]), self.n_labels), under.opened.w.dtype, under.weights[block]
        if self.n_labels > 1:  # kernels are not compiled for rows of one cell, of which the sums are no work
            tables, rows = np.empty((3, *shape), dtype), np.empty(shape, dtype)
            log_z, fits, _, counts = self._linear_sums(under, [block], (tables, rows))
            if fits[0]:
                return LinearPosterior(log_z, rows, counts, under.moves, offsets, weights, tables)
            del tables, rows  # before the log domain takes as much memory
        return LogPosterior(under.moves, *self._scores_of(under, block), weights)

    def _posteriors(
        self, w: Array, shard: ChainShard, weights: FloatArray, within: bool = False
    ) -> Iterator[tuple[slice, Any]]:
        """Each block and its posterior."""
        under = self._under(w, shard, weights, within)
        return ((block, self._posterior(under, block)) for block in self._blocks(shard, self._block_cells))

    def _log_partition(
        self, w: Array, shard: ChainShard, expected: Any, weights: FloatArray, within: bool
    ) -> Array:
        self._check_room(shard, self._tables[1])
        under = self._under(w, shard, _NOTHING if expected is None else weights, within)
        tokens = None if expected is None else self.pairs.open_counts(expected)
        log_z, left = self._at_once(under, tokens, expected)
        for block in left:
            posterior = self._posterior(under, block)
            log_z[block] = posterior.log_z
            if expected is not None and tokens is not None:
                self._add_block(expected, tokens, shard, block, posterior.rows, posterior.counts)
        if tokens is not None:
            self.pairs.close_counts(tokens)
        return log_z

    def _at_once(
        self, under: Weighted, tokens: OpenWeights | None, expected: Array | None
    ) -> tuple[Array, list[slice]]:
        """Log-partitions in the linear domain, by one call of a kernel; and the blocks that it is not for."""
        blocks, bounds = list(self._blocks(under.shard, self._cache_cells)), under.shard.offsets
        if not blocks or self.n_labels == 1:
            return np.empty(len(under.shard), under.opened.w.dtype), blocks
        longest = max(int(bounds[block.stop] - bounds[block.start]) for block in blocks)
        tables = np.empty((3, longest, self.n_labels), under.opened.w.dtype)
        log_z, fits, edges, transitions = self._linear_sums(under, blocks, (tables, tables[0]), tokens)
        if expected is not None:
            self._add_moves(expected, edges[0], edges[1], transitions)
        return log_z, [block for block, fit in zip(blocks, fits.tolist(), strict=True) if not fit]

    def linearize(self, w: FloatArray, shard: ChainShard, within: bool = False) -> HessianProduct:
        """Return the function v -> C v, where C is the weighted sum of the covariances of F at `w`.

        The function keeps three arrays of shape (n_tokens, n_labels).
        """
        # Forward and backward vectors stay for all products: each then costs about as much as a gradient.
        posteriors = []
        for block, posterior in self._posteriors(w, shard, shard.weights, within):
            posterior.rows = None
            posteriors.append((block, posterior))

        def product(v: FloatArray) -> FloatArray:
            out = np.zeros(self.n_weights)
            direction = self._move_scores(v, fill=0.0)
            under = Weighted(self.pairs.open(v), direction, shard, shard.weights, within=False)
            tokens = self.pairs.open_counts(out)
            for block, posterior in posteriors:
                _, scores = self._scores_of(under, block)
                self._add_block(out, tokens, shard, block, *posterior.tangent(direction, scores))
            self.pairs.close_counts(tokens)
            return out

        return product

    def variance(self, w: FloatArray, shard: ChainShard) -> FloatArray:
        out = np.zeros(self.n_weights)
        tokens = self.pairs.open_counts(out)
        for block, posterior in self._posteriors(w, shard, shard.weights):
            weights = np.repeat(shard.weights[block], shard.sizes()[block])[:, None]
            rows, counts = posterior.rows, posterior.counts
            # A label is there or not: p (1 - p), and the weight of the example once, not squared. Transitions
            # are pooled over the block, as if they were one draw of many.
            rows *= np.maximum(1.0 - rows / np.where(weights > 0.0, weights, 1.0), 0.0)
            counts *= 1.0 - counts / (counts.sum() or 1.0)
            self._add_block(out, tokens, shard, block, rows, counts, power=2)
        self.pairs.close_counts(tokens)
        return out

    def marginals(self, w: FloatArray, shard: ChainShard, within: bool = False) -> FloatArray:
        """Return the probability of each label at each token, shape (n_tokens, n_labels).

        With `within`, labels agree with the shard's partial labels.
        """
        self._check_room(shard, self._tables[1], 1)
        out = np.empty((shard.n_parts, self.n_labels))
        for block, posterior in self._posteriors(w, shard, np.ones(len(shard)), within):
            out[int(shard.offsets[block.start]) : int(shard.offsets[block.stop])] = posterior.rows
        return out

    def segment_probability(
        self, w: FloatArray, shard: ChainShard, sequence: int, start: int, labels: Sequence[str]
    ) -> float:
        """Return the probability that tokens ``start, start + 1, ...`` of a sequence have exactly `labels`.

        `sequence` and `start` are counted from 0. `DataError`: a label is unknown, or there are no such
        tokens.
        """
        one = shard.take([sequence])
        if not labels or start < 0 or start + len(labels) > one.n_parts:
            raise DataError(
                f"the sequence has {one.n_parts:,} tokens: {len(labels):,} labels from token {start} on do "
                "not fit. Tokens are counted from 0, and at least one label is needed"
            )
        if wrong := [label for label in labels if label not in self.labels]:
            raise DataError(f"unknown label {wrong[0]!r}. Allowed: {self.labels}")
        allowed = np.ones((one.n_parts, self.n_labels), dtype=bool)
        allowed[start : start + len(labels)] = np.eye(self.n_labels)[[*map(self.labels.index, labels)]]
        # P(labels) = Z of the labellings that have them / Z of all.
        restricted = self.log_partition(w, replace(one, allowed=allowed), within=True)
        return float(np.exp(restricted - self.log_partition(w, one))[0])

    # --- decoding -----------------------------------------------------------------------------------------

    def _viterbi(
        self, moves: MoveScores, offsets: IntArray, scores: FloatArray, labels: IntArray, best: FloatArray
    ) -> None:
        """Write the best labels of a block, and their scores; may overwrite those of tokens."""
        lanes = lanes_for(np.float64, self.n_labels)
        kernels.viterbi(offsets, scores, moves.transition, moves.start, moves.end, lanes, labels, best)

    def best(
        self, w: FloatArray, shard: ChainShard, cost: FloatArray | None = None, within: bool = False
    ) -> tuple[IntArray, FloatArray]:
        """Return the best labels, shape (n_tokens,), and their scores, shape (n_sequences,) (Viterbi).

        `cost` is as for `Structure.best`. With `within`, labels agree with the shard's partial labels.
        """
        self._check_room(shard, self._tables[0])
        under = self._under(w, shard, within=within)
        labels, best = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for block in self._blocks(shard, self._block_cells):
            first, last = int(shard.offsets[block.start]), int(shard.offsets[block.stop])
            offsets, scores = self._scores_of(under, block, cost)
            self._viterbi(under.moves, offsets, scores, labels[first:last], best[block])
        return labels, best

    def _label(self, w: FloatArray, rows: KnownRows) -> IntArray:
        """The labels that `best` finds for all tokens; of a few, without a shard of them."""
        self.check_lengths(rows.lengths)  # before empty ones go: errors name a sequence by its number
        rows = rows.with_tokens()
        _, indptr, columns, values = rows
        are_many = columns.size >= max(self.pairs.n_dense, _FEW)
        if are_many or indptr.size * self._n_states > self._block_cells:
            return self.best(w, self.encode(rows))[0]
        # A shard takes longer to lay out than a few tokens take to label, and full rows of all dense
        # attributes would be made to read some.
        labels, best = np.empty(indptr.size - 1, np.int64), np.empty(rows.lengths.size)
        scores = self.pairs.few_scores(w, indptr, columns, values)
        offsets = np.fromiter(accumulate(rows.lengths.tolist(), initial=0), np.int64, best.size + 1)
        self._viterbi(self._move_scores(w), offsets, scores, labels, best)
        return labels

    def cost(self, shard: ChainShard, outputs: IntArray) -> FloatArray:
        """Return the Hamming cost: the number of wrong labels in each sequence, shape (n_sequences,)."""
        return wrong_tokens(self._labels_of(shard), outputs, shard.offsets[:-1])

    def best_unique(self, w: FloatArray, shard: ChainShard, spans: SpanTypes, numbers: IntArray) -> IntArray:
        """Return the best labels with at most one span of each type, shape (n_tokens,).

        Labels agree with the shard's partial labels. `DataError` names a sequence by `numbers`: it has no
        such labels, or the best ones take too long to find.
        """
        labels = self.best(w, shard, within=True)[0]
        under = self._under(w, shard, within=True)
        for s in spans.repeating(labels, shard.offsets):
            _, scores = self._scores_of(under, slice(s, s + 1))
            found = best_unique(scores, *under.moves.of_states, spans, int(numbers[s]))
            labels[shard.offsets[s] : shard.offsets[s + 1]] = found
        return labels

    def n_best(
        self, w: FloatArray, shard: ChainShard, n: int, within: bool = False
    ) -> list[tuple[IntArray, FloatArray]]:
        """Return up to `n` best labelings of each sequence, (n_found, length), and scores, best first.

        With `within`, labels agree with the shard's partial labels.
        """
        self._check_room(shard, 2 * n)
        under, results = self._under(w, shard, within=within), []
        # One sequence at a time: tables grow with n.
        for s in range(len(shard)):
            _, scores = self._scores_of(under, slice(s, s + 1))
            labels, best = np.empty((n, scores.shape[0]), np.int64), np.empty(n)
            log_domain.n_best(scores, *under.moves.of_states, labels, best)
            results.append((labels[best > -np.inf], best[best > -np.inf]))
        return results

    def best_rescaled(
        self, w: FloatArray, shard: ChainShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the labels with the largest rescaled violation, shape (n_tokens,), and these values.

        `Structure.best_rescaled` defines the violation. The time for a sequence grows as (tokens x labels)^2.

        Raises
        ------
        DataError
            Some labels of the shard are unknown.
        """
        under, own = self._under(w, shard), self._labels_of(shard)
        moves = under.moves
        transition_t, lanes = np.ascontiguousarray(moves.transition.T), all_lanes(np.float64)
        # The kernel maximises c (score - own score + rate) over the number c of wrong tokens.
        rates = np.zeros(len(shard)) if cost is None else cost
        labels, values = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for block in self._blocks(shard, self._block_cells):
            rows = slice(int(shard.offsets[block.start]), int(shard.offsets[block.stop]))
            offsets, scores = self._scores_of(under, block)
            firsts, of_token, true = offsets[:-1], np.arange(len(scores)), own[rows]
            scores[firsts] += moves.start
            scores[offsets[1:] - 1] += moves.end
            of_own = scores[of_token, true]  # which is taken off: the true labels score 0 together
            later = np.delete(of_token, firsts)
            of_own[later] += moves.transition[true[later - 1], true[later]]
            scores -= of_own[:, None]
            chain_costs.best_rescaled(
                offsets, scores, transition_t, true, rates[block], lanes, labels[rows], values[block]
            )
        return labels, values
