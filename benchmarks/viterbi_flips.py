"""The approximate gradient of constraints of Chen et al. 2009, section 4.2.

`constraint_gradients.py` compares it with the exact subgradient. It asks for the smallest change of each
transition weight that flips a back pointer of Viterbi. The maximum is continuous, so the term that the
approximation stands for is zero: the difference of features is the whole subgradient. With the factor w_k'
that the print leaves out, the sum is minus the change of the weight that flips the pointer; divided by this
it is -1 for every weight that has a position where it could rise, and +1 where it would fall. As printed it
counts features, of which all labellings have the same number where all pairs of attributes and labels have
weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from structune.learning import Risk
from structune.learning.margin_losses import PerceptronLoss
from structune.structure import FloatArray, IntArray
from structune.tagging import Chain
from structune.tagging.structure.chain import MoveScores
from structune.tagging.structure.shard import ChainShard


class FlipConstraint(Risk):
    """A validation constraint with the approximate derivative of equations 12 to 14; its values are exact.

    To the exact subgradient, the second term of equation 12, comes for each weight of a transition (y', y)
    what stands for the first one: the change in the counts of all features, divided by the change of the
    weight. That is the smallest rise, over tokens labelled y after another label than y', that would make
    y' the label before, or the smallest fall, over tokens labelled y after y', that would make another the
    label before, under the other weights and the forward scores as they are. Where a weight can do both,
    the smaller of the two changes counts alone. Ties, which take no change, do not count. Other weights get
    no term: only the paper's features of observation, y' and y could have one besides.

    Terms are clipped to [-clip, clip]. The paper prints min(clip, .), which leaves near-ties to pull down
    without bound.

    Parameters
    ----------
    chain : Chain
    shard : ChainShard
        A validation set.
    weighted : bool
        Multiply counts by their weights, as equation 13 does. All terms are then -1 where the smallest change
        is a rise and +1 where it is a fall, times the weight of the example. Equation 14 prints no weights.
    clip : float
        Positive.
    """

    def __init__(self, chain: Chain, shard: ChainShard, weighted: bool, clip: float = 1.0) -> None:
        super().__init__(chain, PerceptronLoss(), [shard])
        self.weighted, self.clip = weighted, clip
        self._token_weights = np.repeat(shard.weights, shard.sizes())

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = super().value_and_gradient(w)
        found = smallest_flips(self.structure, w, self.shards[0], w if self.weighted else np.ones_like(w))
        slopes = self._token_weights[found.tokens] * found.gains / found.changes
        gradient[found.weights] += np.clip(slopes, -self.clip, self.clip)
        return value, gradient


def smallest_flips(chain: Chain, w: FloatArray, shard: ChainShard, counted: FloatArray) -> Flips:
    """The smallest change of each transition weight that flips a back pointer of a best labelling.

    Forward scores are those at `w`. The labels that a flip leads to are the best ones from its token on, and
    before it those that the back pointers give. `counted` is what a feature counts in the gains: ones for the
    number of features, `w` for the score.
    """
    (scores, moves), (counts, counted_moves) = (
        (chain.pairs.scores(chain.pairs.open(v), shard.rows, 0, shard.n_parts), chain._move_scores(v, fill))
        for v, fill in ((w, -np.inf), (counted, 0.0))
    )
    back = BackPointers(shard.offsets, scores, moves)
    found = back.flips(chain.transitions, back.tally(counts, counted_moves), counted_moves)
    return replace(found, weights=found.weights + chain._transitions.start)


@dataclass(frozen=True)
class Flips:
    """For each transition weight that can flip a back pointer of a best labelling, the nearest flip.

    Attributes
    ----------
    weights : ndarray of int64, shape (n_flips,)
        Numbers of the transitions, each at most once.
    changes : ndarray, shape (n_flips,)
        By how much the weight has to rise, or (negative) to fall.
    tokens, before : ndarray of int64, shape (n_flips,)
        The token whose back pointer flips, and the label that it then points to.
    gains : ndarray, shape (n_flips,)
        Tally of the labels that the flip leads to, minus that of the best ones.
    """

    weights: IntArray
    changes: FloatArray
    tokens: IntArray
    before: IntArray
    gains: FloatArray


class BackPointers:
    """Viterbi's forward scores tau(t, y), its back pointers, and the best labels of each sequence.

    Ties go to the lower label, as in the kernel.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
    scores : ndarray, shape (n_tokens, n_labels)
        Of the tokens' attributes.
    moves : MoveScores
        -inf where forbidden.
    """

    def __init__(self, offsets: IntArray, scores: FloatArray, moves: MoveScores) -> None:
        self._firsts, self._moves, sizes = offsets[:-1], moves, np.diff(offsets)
        # the second tokens of all sequences, the third ones, and so on
        self._steps = [self._firsts[sizes > t] + t for t in range(1, int(sizes.max(initial=0)))]
        self.later = np.setdiff1d(np.arange(offsets[-1]), self._firsts)
        self.tau, self.pointers = scores.copy(), np.zeros(scores.shape, np.int64)
        self.tau[self._firsts] += moves.start
        for now in self._steps:
            candidates = self.tau[now - 1][:, :, None] + moves.transition
            self.pointers[now] = candidates.argmax(axis=1)
            self.tau[now] += candidates.max(axis=1)
        self.labels = self._best(offsets[1:] - 1)

    def _best(self, lasts: IntArray) -> IntArray:
        labels = np.zeros(len(self.tau), np.int64)
        labels[lasts] = (self.tau[lasts] + self._moves.end).argmax(axis=1)
        for now in reversed(self._steps):
            labels[now - 1] = self.pointers[now, labels[now]]
        return labels

    def tally(self, scores: FloatArray, moves: MoveScores) -> FloatArray:
        """Scores under other weights of the labels that the pointers lead back through from each (t, y).

        That backtracks from all tokens and labels at once. No maximum is taken again: the pointers stay.
        """
        out = scores.copy()
        out[self._firsts] += moves.start
        every = np.arange(out.shape[1])
        for now in self._steps:
            back = self.pointers[now]
            out[now] += out[now[:, None] - 1, back] + moves.transition[back, every]
        return out

    def flips(self, transitions: IntArray, tally: FloatArray, tallied: MoveScores) -> Flips:
        """The nearest flip of each transition weight.

        Parameters
        ----------
        transitions : ndarray of int64
            Sorted ``from * n_labels + to`` of the transitions that have a weight.
        tally : ndarray, shape (n_tokens, n_labels)
            Of `tally`; `tallied` are the scores of its moves.
        """
        now, n_labels = self.later, self.tau.shape[1]
        each, after, old = np.arange(now.size), self.labels[now], self.labels[now - 1]
        loss = _below(self.tau[now - 1] + self._moves.transition[:, after].T, old)
        gain = -_below(tally[now - 1] + tallied.transition[:, after].T, old)
        before = np.tile(np.arange(n_labels), (now.size, 1))
        # where the weight of the move that was taken falls, the label that scores next wins
        loss[each, old] = np.inf
        second = loss.argmin(axis=1)
        for values in (loss, gain, before):
            values[each, old] = values[each, second]
        loss[loss <= 0] = np.inf  # a tie takes no change at all, and there is nothing to divide by
        smallest, at = _smallest(loss, after)
        x, y = np.divmod(transitions, n_labels)
        found = np.flatnonzero(np.isfinite(smallest[x, y]))
        x, y = x[found], y[found]
        row = at[x, y]
        changes = np.where(old[row] == x, -1.0, 1.0) * smallest[x, y]
        return Flips(found, changes, now[row], before[row, x], gain[row, x])


def _smallest(loss: FloatArray, after: IntArray) -> tuple[FloatArray, IntArray]:
    """For labels x, y: the smallest ``loss[i, x]`` over tokens i labelled y, inf if there are none; and i."""
    n_labels = loss.shape[1]
    smallest, at = np.full((n_labels, n_labels), np.inf), np.zeros((n_labels, n_labels), np.int64)
    for y in np.unique(after):
        rows = np.flatnonzero(after == y)
        smallest[:, y], at[:, y] = loss[rows].min(axis=0), rows[loss[rows].argmin(axis=0)]
    return smallest, at


def _below(values: FloatArray, column: IntArray) -> FloatArray:
    """How far each value is below that of its row's given column."""
    return values[np.arange(column.size), column][:, None] - values
