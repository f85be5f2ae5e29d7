"""Flips of back pointers, against all labellings written out."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from chains import chain_problem, chain_problems, table
from structune.tagging.structure.chain import Chain

TIE = 1e-9


def best_of(problem, s):
    """The best labelling of a sequence and all scores; a draw where another is as good is left out."""
    scores = problem.features[s] @ problem.w
    order = np.sort(scores)
    assume(order.size < 2 or order[-1] - order[-2] > TIE)
    return int(scores.argmax()), scores


def keeps_suffix(labellings, best, t):
    """Which labellings are those of the best from token t on."""
    return np.array([np.array_equal(ys[t:], labellings[best][t:]) for ys in labellings])


def nearest_changes(problem):
    """The smallest change of each transition weight by definition; name -> (change, signed)."""
    labels, names = problem.structure.labels, set(problem.structure.weight_names())
    found = {}
    for s, labellings in enumerate(problem.outputs):
        best, scores = best_of(problem, s)
        for t in range(1, len(labellings[best])):
            kept = keeps_suffix(labellings, best, t)
            before = np.array([ys[t - 1] for ys in labellings])
            old, y = labellings[best][t - 1], labels[labellings[best][t]]
            for x, label in enumerate(labels):
                flipped = kept & (before != x if x == old else before == x)
                name = f"{label} -> {y}"
                if name in names and flipped.any():
                    change = scores[best] - scores[flipped].max()
                    if change < abs(found.get(name, np.inf)):
                        found[name] = -change if x == old else change
    return found


@given(problem=chain_problems())
def test_smallest_changes(problem):
    """delta of each weight: the best score minus that of the best labelling with the pointer flipped."""
    chain = problem.structure
    expected = nearest_changes(problem)
    assume(all(abs(change) > TIE for change in expected.values()))
    found = chain.flips(problem.w, problem.shard, problem.w)
    names = chain.weight_names()
    assert {names[k] for k in found.weights} == set(expected)
    for k, change in zip(found.weights, found.changes, strict=True):
        assert_allclose(change, expected[names[k]], atol=1e-8)
    assert_allclose(found.gains, -np.abs(found.changes), atol=1e-8)  # scores: the sum of equation 13


@given(problem=chain_problems(), seed=st.integers(0, 99))
def test_changes_in_counts(problem, seed):
    """Delta A of the labelling that the flip leads to, for one feature at a time and for all."""
    chain, shard = problem.structure, problem.shard
    one = np.eye(chain.n_weights)[seed % chain.n_weights] if chain.n_weights else np.empty(0)
    for counted in (np.ones(chain.n_weights), one):
        found = chain.flips(problem.w, shard, counted)
        for weight, change, token, before, gain in zip(*vars(found).values(), strict=True):
            s = int(np.searchsorted(shard.offsets, token, side="right")) - 1
            t, labellings = token - shard.offsets[s], problem.outputs[s]
            best, scores = best_of(problem, s)
            flipped = keeps_suffix(labellings, best, t) & [ys[t - 1] == before for ys in labellings]
            order = np.sort(scores[flipped])
            assume(order.size < 2 or order[-1] - order[-2] > TIE)
            new = np.flatnonzero(flipped)[scores[flipped].argmax()]
            difference = problem.features[s][new] - problem.features[s][best]
            assert_allclose(gain, counted @ difference, atol=1e-8)
            sign = np.sign(change)
            if sign * difference[weight] == 1:  # no other place of the weight changes
                for step, wins in ((-1e-3, False), (1e-3, True)):
                    w = problem.w.copy()
                    w[weight] += change + sign * step
                    assert (difference @ w > 0) == wins


@pytest.mark.parametrize("seed", range(20))
def test_best_labels_flip_at_the_change(seed):
    """Two tokens, one label to end with: Viterbi anew changes its mind where the forward scores said."""
    rng, rules = np.random.default_rng(seed), [("A", None), ("B", None)]
    sequences = rng.normal(size=(3, 2, 2))  # no two alike, so that no two flip at the same change
    sequences = [[[("a", a), ("b", b)] for a, b in tokens] for tokens in sequences.tolist()]
    outputs = [["A", "C"], ["B", "C"], ["C", "C"]]
    chain = Chain.build(table(sequences), outputs, states="all", forbidden=rules)
    w = rng.normal(size=chain.n_weights)
    problem = chain_problem(chain, sequences, outputs, w)
    found, labels = chain.flips(w, problem.shard, w), chain.best(w, problem.shard)[0]
    assert found.weights.size == 3
    for weight, change, token, before in zip(
        found.weights, found.changes, found.tokens, found.before, strict=True
    ):
        for share, wins in ((1 - 1e-6, False), (1 + 1e-6, True)):
            changed = w.copy()
            changed[weight] += share * change
            expected = labels.copy()
            if wins:
                expected[token - 1] = before
            assert_array_equal(chain.best(changed, problem.shard)[0], expected)
