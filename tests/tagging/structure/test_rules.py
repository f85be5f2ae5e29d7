"""Allowed transitions against rules read off whole label sequences."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import draw_rules, is_allowed, labellings
from structune.errors import DataError
from structune.tagging.structure.labels import allowed_moves, as_rules, mixing_steps, possible_lengths


def follows_moves(labels, sequence, moves):
    transition, start, end = moves
    ids = [labels.index(y) for y in sequence]
    return bool(start[ids[0]] and end[ids[-1]] and transition[ids[:-1], ids[1:]].all())


def check_moves(labels, forbidden, longest=4):
    moves = allowed_moves(labels, forbidden)
    for length in range(1, longest + 1):
        for sequence in product(labels, repeat=length):
            assert follows_moves(labels, sequence, moves) == is_allowed(sequence, forbidden), sequence


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("bio", ["O", "B-x", "I-x", "B-y", "I-y"]),
        ("bio", ["B", "I", "O"]),
        ("bio", ["I-x-y", "B-x-y", "B-x"]),
        ("bioes", ["O", "B-x", "I-x", "E-x", "S-x", "E-y"]),
        ("bioes", ["B", "E"]),
        ("bioes", ["B-x", "I-x", "B-y", "I-y", "E-y"]),
    ],
)
def test_schemes(scheme, labels):
    check_moves(labels, scheme, 3 if len(labels) > 5 else 4)


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), n_labels=st.integers(1, 3))
def test_lists_of_rules(seed, n_labels):
    labels = list("ABC"[:n_labels])
    check_moves(labels, draw_rules(np.random.default_rng(seed), labels))


@pytest.mark.parametrize(
    ("labels", "forbidden", "message"),
    [
        (["A"], "BIO", "forbidden='BIO': expected 'bio', 'bioes', or a list"),
        (
            ["O", "X-a"],
            "bio",
            r"the label 'X-a' does not fit the scheme 'bio': expected one of \['B', 'I', 'O'\]",
        ),
        (["A"], [("A", "B")], r"forbidden transition \('A', 'B'\): the label 'B' is not among \['A'\]"),
        (["A"], [("A",)], r"forbidden transition \('A',\): expected a pair"),
    ],
)
def test_wrong_rules(labels, forbidden, message):
    with pytest.raises(DataError, match=message):
        allowed_moves(labels, forbidden)


def test_rules_are_kept_as_pairs():
    assert as_rules(None) is None
    assert as_rules("bio") == "bio"
    assert as_rules(iter([["A", None], (None, "B")])) == [("A", None), (None, "B")]


@pytest.mark.parametrize(
    ("allowed", "steps"),
    [
        ([[1]], 1),
        ([[0]], None),
        ([[1, 1], [1, 1]], 1),
        ([[1, 1], [1, 0]], 2),
        ([[0, 1], [1, 0]], None),  # never all at once
        ([[1, 1], [0, 1]], None),  # no way back
        ([[0, 1, 0], [0, 0, 1], [1, 1, 0]], 5),
        (np.roll(np.eye(12), 1, axis=1) + np.eye(12), None),  # 11 steps: beyond the limit
    ],
)
def test_mixing_steps(allowed, steps):
    allowed = np.array(allowed) > 0
    assert mixing_steps(allowed) == steps
    if steps is not None:
        powers = [np.linalg.matrix_power(allowed.astype(int), k) > 0 for k in range(1, steps + 4)]
        assert [power.all() for power in powers] == [k >= steps for k in range(1, steps + 4)]


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_labels=st.integers(1, 3))
def test_possible_lengths(seed, n_labels):
    rng, labels = np.random.default_rng(seed), list("ABC"[:n_labels])
    ends = [None, *labels]
    rules = [(a, b) for a in ends for b in ends if (a or b) and rng.random() < 0.6]
    found = possible_lengths(allowed_moves(labels, rules), 5)
    assert found.tolist() == [False, *(bool(labellings(labels, n, rules)) for n in range(1, 6))]


def test_possible_lengths_of_long_sequences():
    moves = allowed_moves(["A", "B"], [("A", "A"), ("B", "B"), (None, "B"), ("A", None)])  # ABAB...
    assert np.flatnonzero(possible_lengths(moves, 1001)).tolist() == list(range(2, 1001, 2))
