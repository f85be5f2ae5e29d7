"""Flips of back pointers, against all labellings written out."""

import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose

from chains import chain_problems
from structune.learning import LogLoss, Risk, fit_l2, validation_constraints
from structune.learning.solvers.saddle_point import fit_constrained
from tiny import small
from viterbi_flips import FlipConstraint, smallest_flips

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
    found = smallest_flips(chain, problem.w, problem.shard, problem.w)
    names = chain.weight_names()
    assert {names[k] for k in found.weights} == set(expected)
    for k, change in zip(found.weights, found.changes, strict=True):
        assert_allclose(change, expected[names[k]], atol=1e-8)
    assert_allclose(found.gains, -np.abs(found.changes), atol=1e-8)  # scores: the sum of equation 13


@pytest.mark.parametrize("weighted", [False, True])
def test_constraints_are_met_with_the_approximation(weighted):
    structure, shard = small("chain")
    risk = Risk(structure, LogLoss(), [shard])
    precision = np.ones(structure.n_weights)
    exact = validation_constraints(structure, shard)
    constraints = [FlipConstraint(structure, h.shards[0], weighted) for h in exact]
    w = np.cos(np.arange(structure.n_weights))
    for h, other in zip(exact, constraints, strict=True):
        value, slope = h.value_and_gradient(w)
        same, approximate = other.value_and_gradient(w)
        assert same == value
        # printed terms count features, of which all labellings have the same number here
        assert (approximate != slope).any() == weighted
    fit = fit_constrained(risk, precision, constraints, fit_l2(risk, precision).w, gamma=0.1)
    assert fit.n_rounds > 1
    assert fit.constraint_values.max() <= 1.01 * 0.1
