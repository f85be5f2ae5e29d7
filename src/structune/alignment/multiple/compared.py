"""Which two sequences of a family are compared: all, or some along a tree of shared words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.multiple.progressive import Tree, guide_tree
from structune.structure import FloatArray, IntArray

_WORD = 6  # letters, as in MUSCLE


def every_pair(n: int) -> list[IntArray]:
    """Of each of n sequences those that it is compared with, as many each: every pair is there once."""
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
        standing.append(_by_turns(standing[a], standing[b])[:most])
    return [np.array(others, np.int64) for others in found]


def are_compared(compared: Sequence[IntArray]) -> NDArray[np.bool_]:
    """Whether any two are, shape (n, n)."""
    out = np.zeros((len(compared), len(compared)), bool)
    for x, others in enumerate(compared):
        out[x, others] = out[others, x] = True
    return out


def _by_turns(first: list[int], second: list[int]) -> list[int]:
    k = min(len(first), len(second))
    both = [x for pair in zip(first[:k], second[:k], strict=True) for x in pair]
    return both + first[k:] + second[k:]


def word_tree(sequences: Sequence[str], classes: Sequence[str]) -> Tree:
    """A tree of the shares of words that sequences have in common, of classes of residues (Edgar 2004)."""
    return guide_tree(_shared_words(sequences, classes))


def _shared_words(sequences: Sequence[str], classes: Sequence[str]) -> FloatArray:
    """Of any two sequences the words in both, by those of the one that has fewer."""
    class_of = {letter: k for k, letters in enumerate(classes) for letter in letters}
    letters = [
        np.array([class_of.get(letter, -1) for letter in text.upper()], np.int64) for text in sequences
    ]
    words = [np.unique(_words(part, len(classes))) for part in letters]
    sizes = np.array([part.size for part in words])
    table = scipy.sparse.csr_array(
        (np.ones(sizes.sum(), np.float32), np.concatenate(words), np.concatenate(([0], np.cumsum(sizes)))),
        shape=(len(sequences), len(classes) ** _WORD),
    )
    shared = (table @ table.T).toarray()
    return np.asarray(shared / np.maximum(1, np.minimum.outer(sizes, sizes)), np.float64)


def _words(letters: IntArray, n_classes: int) -> IntArray:
    """The number of each word without an unknown letter."""
    if letters.size < _WORD:
        return np.empty(0, np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(letters, _WORD)
    windows = windows[(windows >= 0).all(axis=1)]
    return np.asarray(windows @ n_classes ** np.arange(_WORD))
