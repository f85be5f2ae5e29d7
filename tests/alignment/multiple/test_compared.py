"""Which sequences are compared: each pair once, and what stands for large groups."""

from itertools import combinations

import numpy as np
import pytest

from structune.alignment.multiple.pairs import every_pair, pairs_along, word_tree
from structune.alignment.multiple.progressive import guide_tree
from structune.alignment.structure.alphabets import PROTEIN

FAMILIES = ["MKVLAAGIVWWRDEKLMN", "HHHPPQQSTNNDEYFWCC"]


def random_tree(rng, n):
    likeness = rng.random((n, n))
    return guide_tree((likeness + likeness.T) / 2.0)


def pairs_of(compared):
    return sorted(tuple(sorted((x, y))) for x, others in enumerate(compared) for y in others.tolist())


@pytest.mark.parametrize("n", [*range(8), 33])
def test_every_pair_is_there_once_and_work_is_even(n):
    compared = every_pair(n)
    assert pairs_of(compared) == list(combinations(range(n), 2))
    assert np.ptp([len(others) for others in compared] or [0]) <= 1


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_a_tree_of_few_sequences_compares_all(n):
    tree = random_tree(np.random.default_rng(n), n)
    assert pairs_of(pairs_along(tree, most=n)) == list(combinations(range(n), 2))


@pytest.mark.parametrize("most", [1, 3])
def test_some_stand_for_each_side_of_a_merge(most):
    n, rng = 40, np.random.default_rng(0)
    tree = random_tree(rng, n)
    compared = pairs_along(tree, most)
    pairs = pairs_of(compared)
    assert len(set(pairs)) == len(pairs) <= most**2 * (n - 1)
    table, members = np.zeros((n, n), bool), [{x} for x in range(n)]
    for x, y in pairs:
        table[x, y] = table[y, x] = True
    for a, b in tree[:, :2].astype(int).tolist():
        between = table[np.ix_(list(members[a]), list(members[b]))]
        assert between.sum() == min(most, len(members[a])) * min(most, len(members[b]))
        assert between.any(axis=1).sum() == min(most, len(members[a]))
        members.append(members[a] | members[b])


def test_words_find_families():
    rng = np.random.default_rng(0)
    sequences = []
    for k in range(12):
        letters = list(FAMILIES[k % 2])
        letters[rng.integers(len(letters))] = "A"
        sequences.append("".join(letters).lower() if k % 3 else "".join(letters))
    tree, members = word_tree([*sequences, "", "XXXXXXX", "MK"], PROTEIN.words), [{x} for x in range(15)]
    for a, b in tree[:, :2].astype(int).tolist():
        members.append(members[a] | members[b])
    assert {0, 2, 4, 6, 8, 10} in members
    assert {1, 3, 5, 7, 9, 11} in members
