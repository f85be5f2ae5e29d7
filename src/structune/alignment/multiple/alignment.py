"""A multiple alignment, and how it is made from the matches of any two sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structune.alignment.multiple.matches import LEAST, Matches
from structune.alignment.multiple.progressive import Progressive, Tree, guide_tree, rows_of
from structune.running.executors import Executor
from structune.structure import FloatArray, IntArray

# training/family_confidence.py: of 1, of log odds of both values of a match, of the share of third sequences
_WEIGHTS = (0.25, 0.24, 0.65, 1.53)


@dataclass(frozen=True)
class MultipleAlignment:
    """An alignment of any number of sequences, as `SequenceAligner.align` gives it.

    Attributes
    ----------
    rows : list of str
        A row for each sequence, in the order of the sequences, with ``-`` for gaps.
    confidence : ndarray, shape (n_columns,)
        How many of the matches of two residues of the column are right, in the mean: a logistic function of
        their probabilities by the model of two, of those that agree with third sequences, and of how many
        these are, fitted to alignments of structures, with the defaults of `SequenceAligner.align`. nan
        where there is one residue only, or none of the sequences were compared.
    accuracies : ndarray, shape (n_sequences, n_sequences)
        Of any two sequences alone, the share of right matches that is expected of their best alignment, by
        the length of the shorter; 0 of two that were not compared.
    tree : ndarray, shape (n_sequences - 1, 4)
        The guide tree, as SciPy's `linkage` gives it: UPGMA by 1 - `accuracies`, or, of many sequences, by
        the words that they share.
    matches : Matches
        The probabilities of matches that it was made of, of the sequences in `order`.
    order : ndarray of int64, shape (n_sequences,)
        Where each sequence is in `matches`.
    value : float
        What was made large: the sum over any two sequences of the values of their matches, which are
        probabilities made consistent with those of third sequences.
    """

    rows: list[str]
    confidence: FloatArray
    accuracies: FloatArray
    tree: Tree
    matches: Matches
    order: IntArray
    value: float

    def __len__(self) -> int:
        return len(self.rows)

    def probabilities(self, a: int, b: int) -> FloatArray:
        """Probabilities of the matches of two sequences, by number; those below 0.01 are 0.

        Returns
        -------
        ndarray, shape (n_residues of a, n_residues of b)
        """
        x, y = (self.matches.residues(int(self.order[k])) for k in (a, b))
        return np.asarray(self.matches.table[x, y].toarray(), np.float64)

    def reordered(self, order: IntArray) -> MultipleAlignment:
        """With the sequences in another order: the places that they have here."""
        # the tree's leaves are numbers of sequences: sequence s goes to the place of s in `order`
        leaves, tree = np.argsort(order), self.tree.copy()
        is_leaf = tree[:, :2] < len(self)
        tree[:, :2][is_leaf] = leaves[tree[:, :2][is_leaf].astype(np.int64)]
        rows = [self.rows[k] for k in order]
        accuracies = self.accuracies[np.ix_(order, order)]
        return replace(self, rows=rows, accuracies=accuracies, tree=tree, order=self.order[order])


def align(
    sequences: list[str],
    matches: Matches,
    tree: Tree | None,
    consistency: int,
    refinements: int,
    executor: Executor,
) -> MultipleAlignment:
    """Align sequences by the probabilities of their matches, along a tree, or that of expected accuracies.

    `consistency` and `refinements` are those of `SequenceAligner.align`.
    """
    accuracies, values = matches.accuracies, matches
    for _ in range(consistency):
        values = values.consistent(accuracies, executor)
    tree = guide_tree(accuracies) if tree is None else tree
    found = Progressive(values, tree)
    found.refine(refinements)
    column, width = found.column, found.width
    return MultipleAlignment(
        rows_of(sequences, column, width),
        column_confidence(matches, values, column, width),
        accuracies,
        tree,
        matches,
        np.arange(len(sequences)),
        found.value(),
    )


# --- how sure columns are ---------------------------------------------------------------------------------


def column_confidence(matches: Matches, values: Matches, column: NDArray[np.int32], width: int) -> FloatArray:
    """The mean confidence of the matches of each column, of sequences that were compared; nan without any.

    `matches` are probabilities by the model of two, `values` those that agree with third sequences, which no
    other matches have. `column` has the place of each residue.
    """
    there = np.zeros((len(matches), width), np.float32)
    there[matches.sequence, column] = 1.0
    # How many compared pairs a column has, of any values; most matches of the table are in no column. What
    # has no value counts as the least, so each column's sum is that of all its pairs at the least, and for
    # those in the table the difference.
    pairs = (there * (matches.compared.astype(np.float32) @ there)).sum(axis=0, dtype=np.float64)
    i, key, p = _in_columns(matches, column)
    v = np.zeros_like(p)
    _, those, left = _in_columns(values, column)
    v[np.searchsorted(key, those)] = left
    found = confidence(features(p, v, len(matches)))
    least = confidence(features(np.zeros(1), np.zeros(1), len(matches)))[0]
    sums = least * pairs + np.bincount(column[i], found - least, minlength=width)
    out = np.full(width, np.nan)
    np.divide(sums, pairs, out=out, where=pairs > 0)
    return out


def features(probability: NDArray[np.floating], value: NDArray[np.floating], n_sequences: int) -> FloatArray:
    """What the confidence of matches is a logistic function of, a row for each match.

    Those of two sequences alone have the probabilities of their model; the more third sequences there are,
    the more often is right what they agree with.
    """
    # logistic regression on log odds; bounded, for probabilities of 0 and 1 have none
    both = np.clip([probability, value], LEAST, 1.0 - LEAST, dtype=np.float64)
    ones = np.ones(probability.size)
    return np.column_stack([ones, *np.log(both / (1.0 - both)), (1.0 - 2.0 / max(2, n_sequences)) * ones])


def confidence(matches: FloatArray) -> FloatArray:
    """How many of the matches with these features are right."""
    out: FloatArray = 1.0 / (1.0 + np.exp(-(matches @ np.array(_WEIGHTS))))
    return out


def _in_columns(
    matches: Matches, column: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Matches of one column: their first residues, numbers that rise with both residues, and values."""
    table, rows = matches.table, matches.of_rows(np.arange(column.size))
    inside = column[rows] == column[table.indices]
    i, j = rows[inside], table.indices[inside]
    return i, i * column.size + j, table.data[inside]
