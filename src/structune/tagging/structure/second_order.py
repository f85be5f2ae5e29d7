"""Second-order linear-chain CRFs: trigrams of labels have weights, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.kernels.vectors import lanes_for
from structune.structure import Array, FloatArray, Groups, IntArray, Structure, offsets_of
from structune.tagging.kernels import linear_domain as linear
from structune.tagging.kernels import second_order as kernels
from structune.tagging.structure.chain import Chain, LogPosterior, MoveScores, Posterior, Weighted
from structune.tagging.structure.labels import BoolArray, Labelling, Rules, allowed_moves, trigram_keys
from structune.tagging.structure.shard import find_keys, with_weight

Neighbours = tuple[IntArray, IntArray, IntArray, IntArray]


def neighbours_of(allowed: BoolArray) -> Neighbours:
    """By allowed transitions, (L, L): where the lists start of labels that may come before each label, the
    lists, and both of those that may come after it."""
    before, after = (
        (offsets_of(table.sum(axis=1)), np.nonzero(table)[1].copy()) for table in (allowed.T, allowed)
    )
    return *before, *after


@dataclass(frozen=True)
class TrigramScores(MoveScores):
    """Scores of three labels in a row, -inf where forbidden.

    ``transition`` (L, L + 1, L) is by the label in the middle, the first, and the last; ``end`` (L + 1, L) by
    the last two labels.
    """

    neighbours: Neighbours

    @property
    def of_states(self) -> tuple[Array, Array, Array]:
        """Starts, moves and ends; the context of a label is the one before, or the start."""
        return self.start, self.transition, self.end

    def counts(self, moves: Array, ends: Array) -> Array:
        """Counts by the keys of trigrams: moves come by the middle label first, and ends by last states."""
        return np.concatenate((moves.swapaxes(0, 1), ends[:, :, None]), axis=2)


class SecondOrderChain(Chain):
    """A second-order linear chain: the score of a label depends on the two labels before it.

    It has the weights of `Chain`, and weights of trigrams (three labels in a row). The trigrams are one group
    of weights, so that tuning can shrink all of them. Build a chain with `build`. Time grows as
    tokens x labels^3. Products with the Hessian use the complex step, and keep no arrays in memory.

    Parameters
    ----------
    labels, attributes, pair_keys, transitions, boundary, forbidden
        As for `Chain`.
    trigrams : ndarray of int64
        Sorted ``(first * n_labels + middle) * (n_labels + 1) + last`` of the trigrams that have a weight;
        others score 0. The index n_labels is the start if it comes first, and the end if it comes last.
    """

    name = "second-order chain"
    capabilities = Chain.capabilities - {"rescaled"}
    order, _tables = 2, (1, 2)
    _most_labels, _growth = 256, "cube"
    # what chains of labels offer beside is not there for chains of pairs
    linearize, best_rescaled = Structure.linearize, Structure.best_rescaled

    def __init__(
        self,
        labels: Sequence[str],
        attributes: Sequence[str],
        pair_keys: IntArray,
        transitions: IntArray,
        boundary: bool = True,
        forbidden: Rules = None,
        *,
        trigrams: IntArray,
    ) -> None:
        super().__init__(labels, attributes, pair_keys, transitions, boundary, forbidden)
        self.trigrams = trigrams
        self._trigrams = slice(self._transitions.stop, self._transitions.stop + trigrams.size)

    def _forbid(self, forbidden: Rules) -> None:
        super()._forbid(forbidden)
        self._neighbours = neighbours_of(self.moves[0])

    # --- vocabulary ---------------------------------------------------------------------------------------

    @classmethod
    def _all_moves(cls, labels: list[str], boundary: bool, forbidden: Rules) -> dict[str, IntArray]:
        transition, start, end = allowed_moves(labels, forbidden)
        # Row n stands for the start and column n for the end, where these have weights.
        before = np.vstack((transition, start & boundary))
        after = np.column_stack((transition, end & boundary))
        trigrams = np.flatnonzero(before[:, :, None] & after)
        return {**super()._all_moves(labels, boundary, forbidden), "trigrams": trigrams}

    @classmethod
    def _seen_moves(cls, labelling: Labelling, lengths: IntArray) -> dict[str, IntArray]:
        return {**super()._seen_moves(labelling, lengths), "trigrams": labelling.seen_trigrams(lengths)}

    def split_trigrams(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return first, middle and last labels of the trigrams with weights; n_labels is the start or end."""
        n = self.n_labels
        a, b, c = np.unravel_index(self.trigrams, (n + 1, n, n + 1))
        return a, b, c

    def _moved(self, ids: IntArray, n_labels: int) -> dict[str, IntArray]:
        ends = np.append(ids, n_labels)
        a, b, c = self.split_trigrams()
        trigrams = (ends[a] * n_labels + ids[b]) * (n_labels + 1) + ends[c]
        return {**super()._moved(ids, n_labels), "trigrams": trigrams}

    @property
    def move_keys(self) -> dict[str, IntArray]:
        return {**super().move_keys, "trigrams": self.trigrams}

    @property
    def n_weights(self) -> int:
        return self._trigrams.stop

    def weight_names(self) -> list[str]:
        first, last = [*self.labels, "(start)"], [*self.labels, "(end)"]
        trigrams = zip(*self.split_trigrams(), strict=True)
        names = (f"{first[a]} -> {self.labels[b]} -> {last[c]}" for a, b, c in trigrams)
        return [*super().weight_names(), *names]

    def groups(self, n_heldout: int | None = None) -> Groups:
        """Return the groups: one per template, one of transitions, starts and ends, and one of trigrams."""
        first = super().groups(n_heldout)
        index = first.index.copy()
        index[self._trigrams] = len(first)
        return Groups(index, (*first.names, "trigrams"))

    # --- scores and features ------------------------------------------------------------------------------

    @property
    def _n_states(self) -> int:
        return (self.n_labels + 1) * self.n_labels

    def _move_scores(self, w: Array, fill: float = -np.inf) -> TrigramScores:
        """Scores of three labels in a row, the transition between the last two among them."""
        first, n = super()._move_scores(w, fill), self.n_labels
        # Scores by (first, middle, last): the trigram, the transition middle -> last or the end; the first
        # may be the start, and the last the end.
        scores = np.zeros((n + 1, n, n + 1), first.transition.dtype)
        scores.reshape(-1)[self.trigrams] = w[self._trigrams]
        scores[:, :, :n] += first.transition
        scores[:, :, n] += first.end
        # Forbidden pairs at the front; those at the back have come with the first order's scores.
        scores[:n][~self.moves[0]] = fill
        # Kernels read by the label in the middle: sums over the first and runs over the last are then rows.
        moves = np.ascontiguousarray(scores[:, :, :n].swapaxes(0, 1))
        return TrigramScores(moves, first.start, scores[:, :, n].copy(), self._neighbours)

    def _moves_of(self, labels: IntArray, offsets: IntArray) -> list[tuple[IntArray, IntArray]]:
        trigrams = find_keys(self.trigrams, trigram_keys(labels, offsets, self.n_labels))
        found = with_weight(np.arange(labels.size), trigrams, self._trigrams)
        return [*super()._moves_of(labels, offsets), found]

    def _add_moves(self, out: Array, starts: Array, ends: Array, transitions: Array) -> None:
        # A transition is in the trigram that ends with it, whatever its first label, the start among them.
        super()._add_moves(out, starts, ends, transitions[:, :, : self.n_labels].sum(axis=0))
        out[self._trigrams] += transitions.reshape(-1)[self.trigrams]

    def _at_once(self, under: Weighted, *_: Any) -> tuple[Array, list[slice]]:
        """Nothing: all blocks are left."""
        blocks = list(self._blocks(under.shard, self._block_cells))
        return np.empty(len(under.shard), under.opened.w.dtype), blocks

    def _posterior(self, under: Weighted, block: slice) -> Posterior:
        moves, weights = under.moves, under.weights[block]
        offsets, scores = self._scores_of(under, block)
        lengths, dtype, n = np.diff(offsets), scores.dtype, self.n_labels
        longest, peaks = int(lengths.max(initial=0)), np.empty(lengths.size)
        reach = self._reach(under.within)
        if n == 1 or not linear.shift_rows(offsets, scores, peaks, moves.spread, reach, self._safe_range):
            return LogPosterior(moves, *self._scores_of(under, block), weights)
        transition, _, _, end = moves.potentials
        log_z, rows = np.empty(lengths.size, dtype), np.empty_like(scores)
        relative, ends = np.zeros_like(transition), np.zeros_like(end)
        kernels.expectations(
            offsets, np.exp(scores, out=scores), moves.potentials, self._neighbours, weights,
            # The kernel takes no exponentials, so that complex numbers come in runs, too.
            lanes_for(np.float64, n if dtype == np.float64 else min(n, 4)),
            np.empty((longest, n + 1, n), dtype), np.empty((longest, n, n), dtype),
            np.empty((n, n + 1), dtype), log_z, rows, relative, ends,
        )  # fmt: skip
        # The kernel counts moves relative to their potential, as that of the first order does.
        relative *= transition
        return Posterior(log_z + peaks + moves.shift(lengths), rows, moves.counts(relative, ends))

    # --- inference ----------------------------------------------------------------------------------------

    def _viterbi(
        self, moves: MoveScores, offsets: IntArray, scores: FloatArray, labels: IntArray, best: FloatArray
    ) -> None:
        n, longest = self.n_labels, int(np.diff(offsets).max(initial=0))
        kernels.viterbi(
            offsets, scores, moves.start, moves.transition, moves.end, *self._neighbours[:2],
            lanes_for(np.float64, n), np.empty((longest, n + 1, n)), labels, best,
        )  # fmt: skip
