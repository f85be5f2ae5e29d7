"""Multiple alignments, from the match probabilities of pairs of sequences.

In this order: choice of the pairs, and their match probabilities; the sparse table of all matches, and its
consistency with third sequences; the guide tree, progressive alignment along it, and refinement; confidence
of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.kernels import consistency, merging
from structune.alignment.kernels.consistency import Sparse
from structune.alignment.kernels.sums import Factors, Side, whole_posterior
from structune.alignment.structure import inference
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.features import SequenceFeatures
from structune.alignment.structure.inference import Model, Pair
from structune.running.blas import one_thread
from structune.running.executors import Executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray, offsets_of

LEAST = 0.01  # probabilities below are left out
_LEAST_HANDED_ON = 0.05  # what is less hardly counts among third sequences
_LIKELY = 0.5
_PIECES = 16  # of work for each thread
_WORD = 6  # letters, as in MUSCLE
_MATCH = 145  # bytes for one, and for copies of it
_HELD = 8  # bytes of one that was found, until all are: of a column and a value
_ASKED_EVERY = 20  # sequences
_FEWEST = 2.75  # of a residue with another sequence: what there is beside them counts for so many
_LOST = 1e-6  # share of a partition function that may be lost to the range of numbers
# training/family_confidence.py: of 1, of log odds of both values of a match, of the share of third sequences
_WEIGHTS = (0.25, 0.24, 0.65, 1.53)

Tree = FloatArray
Found = tuple[IntArray, IntArray, FloatArray]  # rows, columns, values
if TYPE_CHECKING:  # pairs are aligned without SciPy's sparse tables, which take long to import
    Table = scipy.sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True)
class MultipleAlignment:
    """A multiple alignment, the result of `SequenceAligner.align`.

    Attributes
    ----------
    rows : list of str
        One row per sequence, in the order of the input, with ``-`` for gaps.
    confidence : ndarray, shape (n_columns,)
        Expected share of correct matches among the matches of two residues of each column. It is a logistic
        function of the pairwise match probabilities, of those made consistent with third sequences, and of
        the number of sequences. It was fitted to structural alignments, with the defaults of
        `SequenceAligner.align`. nan for columns with one residue, or whose sequences were not compared.
    accuracies : ndarray, shape (n_sequences, n_sequences)
        Expected number of correct matches in the best alignment of each pair of sequences, divided by the
        length of the shorter one; 0 for two that were not compared.
    tree : ndarray, shape (n_sequences - 1, 4)
        Guide tree in the format of SciPy's `linkage`: UPGMA by 1 - `accuracies`, or, for many sequences, by
        shared 6-mers.
    matches : Matches
        Pairwise match probabilities from which the alignment was made.
    order : ndarray of int64, shape (n_sequences,)
        Index of each sequence in `matches`.
    value : float
        The maximized objective: the sum of the values of all matches in the alignment. These values are
        match probabilities made consistent with third sequences.
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
        """Match probabilities of sequences a and b (0-based), shape (n, m); those below 0.01 are 0."""
        x, y = (self.matches.residues(int(self.order[k])) for k in (a, b))
        return np.asarray(self.matches.table[x, y].toarray(), np.float64)

    def reordered(self, order: IntArray) -> MultipleAlignment:
        """Return the alignment with its sequences in the order of the indices `order`."""
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
    """Align sequences by their match probabilities, along `tree` or a tree of expected accuracies.

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


# --- which two sequences are compared, and the probabilities of their matches ----------------------------


def every_pair(n: int) -> list[IntArray]:
    """The sequences that each of n is compared with, about as many each: every pair occurs once."""
    # Sequence x with the n / 2 after it, around a circle: so all have as much work. With an even number the
    # one opposite would come twice, and is left to the first half.
    after = np.arange(1, n // 2 + 1)
    found = [(x + after) % n for x in range(n)]
    return [y[:-1] if n % 2 == 0 and x >= n // 2 else y for x, y in enumerate(found)]


def pairs_along(tree: Tree, most: int) -> list[IntArray]:
    """The sequences that each is compared with: pairs from the two sides of each merge of a tree.

    At most `most` sequences represent a side. They are taken by turns from the representatives of its own two
    sides, so any two of them are compared. The number of pairs is linear in the number of sequences.
    """
    n = len(tree) + 1
    found: list[list[int]] = [[] for _ in range(n)]
    standing = [[x] for x in range(n)]
    for a, b in tree[:, :2].astype(np.int64).tolist():
        for x in standing[a]:
            found[x] += standing[b]
        turns = zip_longest(standing[a], standing[b])
        standing.append([x for two in turns for x in two if x is not None][:most])
    return [np.array(others, np.int64) for others in found]


def word_tree(sequences: Sequence[str], classes: Sequence[str]) -> Tree:
    """A guide tree by shared words of residue classes (Edgar 2004)."""
    # a share is that of the words of the sequence that has fewer; those with an unknown letter do not count
    class_of = {letter: k for k, letters in enumerate(classes) for letter in letters}
    words = []
    for text in sequences:
        letters = np.array([class_of.get(letter, -1) for letter in text.upper()], np.int64)
        windows = np.empty((0, _WORD), np.int64)
        if letters.size >= _WORD:
            windows = np.lib.stride_tricks.sliding_window_view(letters, _WORD)
        windows = windows[(windows >= 0).all(axis=1)]
        words.append(np.unique(windows @ len(classes) ** np.arange(_WORD)))
    sizes = np.array([part.size for part in words])
    table = scipy.sparse.csr_array(
        (np.ones(sizes.sum(), np.float32), np.concatenate(words), offsets_of(sizes)),
        shape=(len(sequences), len(classes) ** _WORD),
    )
    shared = (table @ table.T).toarray()
    return guide_tree(np.asarray(shared / np.maximum(1, np.minimum.outer(sizes, sizes)), np.float64))


def match_probabilities(
    structure: Alignment,
    weights: Sequence[FloatArray],
    sequences: Sequence[SequenceFeatures],
    compared: Sequence[IntArray],
    executor: Executor,
    tell: Callable[[int], None],
) -> Matches:
    """Probabilities of the matches of sequences that are compared, those from 0.01 on.

    Of several `weights` the mean of their probabilities is taken. `compared` has, of each sequence, those
    that it is compared with: of two sequences, in the one or the other. `tell` is called with the number of
    sequences done since the last call.
    """
    lengths = np.array([len(x) for x in sequences], np.int64)
    longest, band = int(lengths.max(initial=0)), structure.band
    steps = structure.feature_set.n_steps
    table = 28.0 * longest**2  # a table of single precision, and three of double
    if band is not None:
        table = inference.sums_memory(longest, longest, band, steps, inference.FEW_TABLES)
    tables = min(executor.n_workers, lengths.size) * table
    places = [float(np.sum(n + lengths[y])) / 2 for n, y in zip(lengths, compared, strict=True)]
    name = f"{lengths.size:,} sequences, {sum(map(len, compared)):,} pairs"

    def check_memory(n_found: int, looked_at: float) -> None:
        """Refuse a family that needs too much, which is known the better the more matches are found."""
        share = max(_FEWEST, n_found / max(1.0, looked_at))  # matches of a residue with another sequence
        needed = _MATCH * share * sum(places) + tables - _HELD * n_found
        require_memory(needed, name, "fewer or shorter ones, or a band (--band, band=)")

    check_memory(0, 0.0)
    offsets = offsets_of(lengths)
    models = [_Model(Model(structure.feature_set, w), sequences, band) for w in weights]

    def matches_of(x: int) -> Table:
        shape, others = (len(sequences[x]), int(offsets[-1])), compared[x].tolist()
        if not others:
            return scipy.sparse.csr_array(shape, dtype=np.float32)  # type: ignore[return-value]  # a shape
        found = [model.matches(x, y) for model in models for y in others]
        firsts = [offsets[y] for _ in models for y in others]
        rows = np.concatenate([i for i, _, _ in found])
        columns = np.concatenate([j + first for (_, j, _), first in zip(found, firsts, strict=True)])
        values = np.concatenate([p for _, _, p in found], dtype=np.float32) / np.float32(len(models))
        # adds up those of several models
        table: Table = scipy.sparse.csr_array((values, (rows, columns)), shape=shape)
        table.data[table.data < LEAST] = 0.0
        table.eliminate_zeros()
        return table

    parts: list[Table] = []
    n_found, looked_at = 0, 0.0
    with one_thread():
        for part in executor.map(matches_of, range(len(sequences))):
            looked_at += places[len(parts)]
            parts.append(part)
            n_found += part.nnz
            if len(parts) % _ASKED_EVERY == 0:
                check_memory(n_found, looked_at)
            tell(1)
    both = symmetric(scipy.sparse.vstack(parts, format="csr", dtype=np.float32))
    are_compared = np.zeros((lengths.size, lengths.size), bool)
    for x, others in enumerate(compared):
        are_compared[x, others] = are_compared[others, x] = True
    return Matches(offsets, both, are_compared)


class _Model:
    """The model of two, with what it says of each sequence found once."""

    def __init__(self, model: Model, sequences: Sequence[SequenceFeatures], band: int | None) -> None:
        self._model, self._band, self._sequences = model, band, sequences
        scored = [] if band is not None else [model.scored(x) for x in sequences]
        # single precision is faster, and what it loses is less than what is left out
        self._left = [each.left.astype(np.float32) for each in scored]
        self._right = [each.right.astype(np.float32) for each in scored]
        with np.errstate(over="ignore"):  # found out by what is lost
            self._steps, self._both = np.exp(model.steps), np.exp(model.both)
            self._factors = [Side(*map(np.exp, each.side)) for each in scored]

    def matches(self, x: int, y: int) -> Found:
        """Those of two sequences from `LEAST` on, rounded the same whichever is first."""
        if x > y:
            columns, rows, values = self.matches(y, x)
            return rows, columns, values
        if self._band is None and len(self._left[x]) and len(self._left[y]):
            with np.errstate(over="ignore"):
                match = np.exp(self._left[x] @ self._right[y]).astype(np.float64)
            factors = Factors(self._factors[x], self._factors[y], self._steps, self._both)
            posterior = np.zeros_like(match)
            if abs(whole_posterior(match, factors, posterior)) < _LOST:
                likely = np.flatnonzero(posterior >= LEAST)  # faster than of two axes
                return *np.divmod(likely, match.shape[1]), posterior.ravel()[likely]
        of_x, of_y = (self._model.scored(self._sequences[k]) for k in (x, y))
        # for any weights, and with a band
        return inference.likely_matches(Pair(self._model, of_x, of_y, band=self._band), LEAST)


# --- tables of matches -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matches:
    """A symmetric table of the matches of all residues of all sequences; none are of one sequence."""

    offsets: IntArray  # (n_sequences + 1,): residues of sequence s are ``offsets[s]:offsets[s + 1]``
    table: Table  # float32, (n_residues, n_residues); columns of a row rise
    compared: NDArray[np.bool_]  # (n_sequences, n_sequences), symmetric; others have no matches

    def __len__(self) -> int:
        return self.offsets.size - 1

    @cached_property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def residues(self, sequence: int) -> slice:
        return slice(int(self.offsets[sequence]), int(self.offsets[sequence + 1]))

    @cached_property
    def sequence(self) -> NDArray[np.int32]:
        """That of each residue."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths)

    def of_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of each entry of the table, that of some values of residues that its row has."""
        return np.repeat(values, np.diff(self.table.indptr))

    @cached_property
    def sparse(self) -> Sparse:
        return sparse(self.table)

    @cached_property
    def accuracies(self) -> FloatArray:
        """Of any two sequences the most that matches of an alignment add up to, by the length of the shorter.

        Of probabilities it is the expected share of right matches; 0 of two that were not compared.
        """
        n, n_residues = len(self), int(self.offsets[-1])
        out, best = np.zeros((n, n)), np.empty(n_residues + n)
        for x in range(n):
            consistency.chains(self.sparse, x, self.offsets, self.sequence, best, out[x])
        # `chains` has found the sums of the sequences after each
        lengths = np.maximum(1, np.minimum.outer(self.lengths, self.lengths))
        return np.asarray((out + out.T) / lengths + np.eye(n))

    def may_need_more_than(self, band: int) -> bool:
        """Whether some likely match is within a residue of the edge of a band, or two sequences have few."""
        likely = self.table.data >= _LIKELY
        rows, columns = self.of_rows(np.arange(self.sequence.size))[likely], self.table.indices[likely]
        x, y = self.sequence[rows], self.sequence[columns]
        n, m = self.lengths[x], self.lengths[y]
        off = np.abs((columns - self.offsets[y]) * n - (rows - self.offsets[x]) * m) / np.maximum(n, m)
        shorter = np.minimum.outer(self.lengths, self.lengths)
        is_poor = self.compared & (shorter > band) & (self.accuracies < _LIKELY)
        return bool(is_poor.any() or np.any((off > band - 1) & (np.minimum(n, m) > band)))

    def consistent(self, weight: FloatArray, executor: Executor) -> Matches:
        """Values that agree with those of third sequences: the step of Do et al. (2005), with weights.

        The value of a match of x with y becomes the mean over sequences z, which count ``weight[x, z]
        weight[z, y]``, and x and y themselves 1: of two sequences alone nothing changes. `weight` is
        symmetric; 1 throughout for the original.
        """
        weight = np.where(np.eye(len(self), dtype=bool), 1.0, weight)
        # P'_xy = sum_z w_xz w_zy P_xz P_zy / sum_z w_xz w_zy, where P_xx is the identity and w_xx is 1; only
        # where P_xy has a value. Small values are left out of the products.
        scale = (1.0 / (weight @ weight + np.finfo(np.float32).tiny)).astype(np.float32)
        # values times weights, and 1 for each residue with itself
        handed_on = self.table.copy()
        counts = weight[self.of_rows(self.sequence), self.sequence[handed_on.indices]]
        handed_on.data = np.where(handed_on.data >= _LEAST_HANDED_ON, handed_on.data * counts, 0.0)
        handed_on.eliminate_zeros()
        own: Table = scipy.sparse.csr_array(
            handed_on + scipy.sparse.eye_array(self.sequence.size, format="csr")
        )
        own.sort_indices()
        table, out = sparse(own), np.zeros(self.table.nnz, np.float32)

        def relax(first: int, last: int) -> None:
            consistency.relax((first, last), self.offsets[1:], table, scale, self.sequence, self.sparse, out)

        rows = np.linspace(0, self.sequence.size, _PIECES * executor.n_workers + 1).astype(np.int64).tolist()
        for _ in executor.map(relax, rows[:-1], rows[1:]):
            pass
        upper = scipy.sparse.csr_array((out, self.table.indices, self.table.indptr), shape=self.table.shape)
        return Matches(self.offsets, symmetric(upper), self.compared)


def sparse(table: Table) -> Sparse:
    return Sparse(table.indptr, table.indices, table.data.astype(np.float32, copy=False))


def symmetric(once: Table) -> Table:
    """A table from one that has each match in one place of both."""
    both: Table = scipy.sparse.csr_array(once + once.T)
    both.eliminate_zeros()
    both.sort_indices()
    return both


# --- alignments of groups along a guide tree ----------------------------------------------------------------


def guide_tree(accuracies: FloatArray) -> Tree:
    """UPGMA by 1 - expected accuracies, as SciPy's linkage: (n_sequences - 1, 4)."""
    if len(accuracies) < 2:
        return np.empty((0, 4))
    # an expected share of right matches is at most 1 but for roundings
    distances = np.clip(1.0 - accuracies, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    found: Tree = scipy.cluster.hierarchy.linkage(
        scipy.spatial.distance.squareform(distances, checks=False), "average"
    )
    return found


class Progressive:
    """Sequences that are aligned, group by group, for the highest sum of the values of their matches.

    Gaps cost nothing: of probabilities the sum is the expected number of right matches of any two sequences.
    Each step finds the best alignment of two groups whose own alignments stay as they are. In the end
    ``column`` (n_residues,) has the place of each residue, of ``width`` columns.
    """

    def __init__(self, matches: Matches, tree: Tree) -> None:
        self._matches, n = matches, len(matches)
        lengths = matches.lengths.tolist()
        self.column: NDArray[np.int32] = np.concatenate(
            [np.empty(0, np.int32), *(np.arange(k, dtype=np.int32) for k in lengths)]
        )
        self._groups: list[IntArray] = [np.array([s]) for s in range(n)]
        for a, b in tree[:, :2].astype(np.int64).tolist():
            lengths.append(self._merge(self._groups[a], self._groups[b], (lengths[a], lengths[b])))
            self._groups.append(np.concatenate((self._groups[a], self._groups[b])))
        self.width: int = lengths[-1] if lengths else 0

    def refine(self, rounds: int) -> int:
        """Take the alignment apart at each edge of the tree and put both parts together again.

        The sum never falls. Ends after so many rounds, or one that has changed nothing; returns their number.
        """
        everything = np.ones(len(self._matches), bool)
        for k in range(rounds):
            before = self.column.copy()
            for group in self._groups[:-2]:  # the last two edges are the same
                # Cutting an edge of the tree leaves two groups, whose columns of gaps alone are closed.
                # Aligned again the sum of values can only grow, for the old alignment is one of those looked
                # at.
                rest = everything.copy()
                rest[group] = False
                other = np.flatnonzero(rest)
                widths = [
                    merging.close_up(part, self.column, self._matches.offsets, np.zeros(self.width, np.int32))
                    for part in (group, other)
                ]
                self.width = self._merge(group, other, (widths[0], widths[1]))
            if np.array_equal(before, self.column):
                return k + 1
        return rounds

    def value(self) -> float:
        table = self._matches.table
        # the table is symmetric, so each match is there twice
        inside = self._matches.of_rows(self.column) == self.column[table.indices]
        return float(table.data[inside].sum(dtype=np.float64)) / 2.0

    def _merge(self, a: IntArray, b: IntArray, widths: tuple[int, int]) -> int:
        # the kernel goes through the matches of the first group: the smaller one has fewer
        if a.size > b.size:
            a, b, widths = b, a, widths[::-1]
        matches = self._matches
        group = np.zeros(len(matches), bool)
        group[b] = True
        where = group, self.column, widths, matches.sequence, matches.offsets
        found: int = merging.merge(a, b, *where, matches.sparse)
        return found


def rows_of(sequences: list[str], column: NDArray[np.int32], width: int) -> list[str]:
    ends = np.cumsum([0, *map(len, sequences)]).tolist()
    out = []
    for sequence, (a, b) in zip(sequences, pairwise(ends), strict=True):
        row = np.full(width, "-")
        row[column[a:b]] = list(sequence)
        out.append("".join(row))
    return out


# --- how sure columns are ---------------------------------------------------------------------------------


def column_confidence(matches: Matches, values: Matches, column: NDArray[np.int32], width: int) -> FloatArray:
    """The mean confidence of the matches of each column, of sequences that were compared; nan without any.

    `values` are `matches` made consistent; `column` has the place of each residue.
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
    """What the confidence of matches is a logistic function of, a row for each match."""
    # the more third sequences there are, the more often is right what they agree with
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
