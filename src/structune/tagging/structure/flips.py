"""The smallest changes of transition weights that flip a back pointer of Viterbi (Chen et al. 2009, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.structure import FloatArray, IntArray
from structune.tagging.structure.posterior import MoveScores


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
