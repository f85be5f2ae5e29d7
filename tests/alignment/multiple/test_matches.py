"""Tables of matches: consistency and expected accuracies, by enumeration."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from alignments import most_of_matches, random_matches
from structune.running.executors import ThreadExecutor

ONE = ThreadExecutor(1)


@pytest.mark.parametrize(("seed", "n_workers"), [(0, 1), (1, 3)])
def test_consistency_is_a_mean_over_third_sequences(seed, n_workers):
    rng = np.random.default_rng(seed)
    matches = random_matches(rng, [4, 1, 6, 0, 5])
    n, before = len(matches), matches.table.toarray().astype(float)
    weight = rng.random((n, n))
    weight = weight + weight.T
    found = matches.consistent(weight, ThreadExecutor(n_workers)).table.toarray()
    np.fill_diagonal(weight, 1.0)
    ends = matches.offsets
    parts = {(x, y): before[ends[x] : ends[x + 1], ends[y] : ends[y + 1]] for x in range(n) for y in range(n)}
    for x, y in combinations(range(n), 2):
        parts[x, x], parts[y, y] = np.eye(ends[x + 1] - ends[x]), np.eye(ends[y + 1] - ends[y])
        terms = [weight[x, z] * weight[z, y] * parts[x, z] @ parts[z, y] for z in range(n)]
        expected = sum(terms) / (weight @ weight)[x, y]
        expected[parts[x, y] == 0.0] = 0.0  # what had no match gets none
        assert_allclose(found[ends[x] : ends[x + 1], ends[y] : ends[y + 1]], expected, atol=1e-5)
    assert_allclose(found, found.T)


@pytest.mark.parametrize("seed", range(3))
def test_accuracies_are_those_of_the_best_alignment(seed):
    matches = random_matches(np.random.default_rng(seed), [3, 4, 2])
    table, ends = matches.table.toarray(), matches.offsets
    for x, y in combinations(range(3), 2):
        part = table[ends[x] : ends[x + 1], ends[y] : ends[y + 1]]
        most = most_of_matches(part)
        assert matches.accuracies[x, y] == pytest.approx(most / min(part.shape), abs=1e-6)


def test_sequences_without_residues():
    matches = random_matches(np.random.default_rng(0), [0, 3, 0])
    assert_allclose(matches.accuracies, np.eye(3))
    assert matches.consistent(np.ones((3, 3)), ONE).table.nnz == 0
