"""Progressive alignments: the best of two groups by enumeration, and refinement."""

from itertools import combinations

import numpy as np
import pytest

from alignments import most_of_matches, random_matches
from structune.alignment.multiple import Progressive, guide_tree, rows_of


def value_of(matches, column):
    table = matches.table.toarray()
    return table[column[:, None] == column].sum() / 2.0


@pytest.mark.parametrize("seed", range(3))
def test_two_sequences_have_the_best_alignment(seed):
    matches = random_matches(np.random.default_rng(seed), [4, 5])
    found = Progressive(matches, guide_tree(matches.accuracies))
    assert found.value() == pytest.approx(4 * matches.accuracies[0, 1], abs=1e-5)
    assert found.value() == pytest.approx(value_of(matches, found.column), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_groups_have_the_best_alignment_of_their_columns(seed):
    matches = random_matches(np.random.default_rng(seed), [2, 3, 3])
    tree = guide_tree(matches.accuracies)
    first, second = (int(k) for k in tree[0, :2])
    (third,) = {0, 1, 2} - {first, second}
    found = Progressive(matches, tree)
    ends = matches.offsets
    table, residues = matches.table.toarray(), [range(ends[s], ends[s + 1]) for s in range(3)]
    columns = sorted({found.column[r] for s in (first, second) for r in residues[s]})
    group = [[r for s in (first, second) for r in residues[s] if found.column[r] == c] for c in columns]
    worth = np.array([[sum(table[r, c] for r in column) for c in residues[third]] for column in group])
    best = most_of_matches(worth)
    inside = sum(table[a, b] for column in group for a, b in combinations(column, 2))
    assert found.value() == pytest.approx(best + inside, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_refinement_never_lowers_the_value_and_ends(seed):
    matches = random_matches(np.random.default_rng(seed), [6, 5, 7, 6, 5, 4])
    found = Progressive(matches, guide_tree(matches.accuracies))
    before = found.value()
    assert found.refine(100) < 100
    assert found.value() >= before - 1e-5
    assert set(found.column.tolist()) == set(range(found.width))
    assert found.refine(3) == 1
    for a, b in zip(matches.offsets, matches.offsets[1:], strict=False):
        assert np.all(np.diff(found.column[a:b]) > 0)


def test_rows():
    assert rows_of(["AC", "D", ""], np.array([0, 2, 1], np.int32), 3) == ["A-C", "-D-", "---"]
