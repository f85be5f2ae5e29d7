"""Which two sequences of a family are compared, and the probabilities of their matches, by a model of two.

All are compared, or some along a tree of shared words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import scipy

from structune.alignment.kernels.sums import Factors, Side, whole_posterior
from structune.alignment.multiple.matches import LEAST, Matches, symmetric
from structune.alignment.multiple.progressive import Tree, guide_tree
from structune.alignment.structure import inference
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.features import SequenceFeatures
from structune.alignment.structure.pair import Model, Pair
from structune.running.blas import one_thread
from structune.running.executors import Executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray, offsets_of

if TYPE_CHECKING:
    from structune.alignment.multiple.matches import Table

_WORD = 6  # letters, as in MUSCLE
_MATCH = 145  # bytes for one, and for copies of it
_HELD = 8  # bytes of one that was found, until all are: of a column and a value
_ASKED_EVERY = 20  # sequences
_FEWEST = 2.75  # of a residue with another sequence: what there is beside them counts for so many
_LOST = 1e-6  # share of a partition function that may be lost to the range of numbers

Found = tuple[IntArray, IntArray, FloatArray]  # rows, columns, values


def every_pair(n: int) -> list[IntArray]:
    """Of each of n sequences those that it is compared with, as many each: every pair is there once."""
    # Sequence x with the n / 2 after it, around a circle: so all have as much work. With an even number the
    # one opposite would come twice, and is left to the first half.
    after = np.arange(1, n // 2 + 1)
    found = [(x + after) % n for x in range(n)]
    return [y[:-1] if n % 2 == 0 and x >= n // 2 else y for x, y in enumerate(found)]


def pairs_along(tree: Tree, most: int) -> list[IntArray]:
    """Of each sequence those that it is compared with, of pairs on both sides of each merge of a tree.

    At most so many of each side, which stand for it: taken by turns from those that stand for its own two
    sides, so that any two of them were compared before. Pairs grow in proportion to the sequences.
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
    """A tree of the shares of words that sequences have in common, of classes of residues (Edgar 2004).

    A share is that of the words of the sequence that has fewer. Words with an unknown letter do not count.
    """
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
    that it is compared with: of two sequences, in the one or the other. Each sequence with those is a piece
    of work; `tell` is called with the number of sequences that are done since the last call.
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

    def rows_of(x: int) -> Table:
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
        for part in executor.map(rows_of, range(len(sequences))):
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
