"""Labels as arrays: known, unknown, and sets; and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import agrees, blur, draw_rules, labellings
from structune.errors import DataError
from structune.tagging.structure.labels import allowed_moves, encode_labels


def encode(outputs, names=None):
    return encode_labels(outputs, np.array([len(y) for y in outputs], dtype=np.int64), names)


def test_known_labels():
    labelling = encode([["b", "a"], ["b"]])
    assert labelling.names == ["a", "b"]
    assert labelling.labels.tolist() == [1, 0, 1]
    assert not labelling.is_partly_known
    assert labelling.allowed.shape == (0, 2)


@pytest.mark.parametrize("choice", [{"a", "c"}, frozenset("ac"), ["a", "a", "c"]])
def test_sets_of_labels(choice):
    labelling = encode([[choice, "b"], [None]])
    assert labelling.names == ["a", "b", "c"]
    assert labelling.is_partly_known
    assert labelling.labels.tolist() == [-1, 1, -1]
    assert labelling.allowed.tolist() == [[True, False, True], [False, True, False], [True, True, True]]


def test_arrays_of_numbers():
    labelling = encode([np.array([2, 10, 1])])
    assert labelling.names == [1, 10, 2]  # sorted as text
    assert all(type(name) is int for name in labelling.names)
    assert labelling.labels.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("outputs", "lengths", "names", "message"),
    [
        ([["a"]], [1, 1], None, "found labels for 1 sequences, expected 2"),
        (["ab"], [2], None, "sequence 0: found the string 'ab', expected a list"),
        (
            [["a"], ["a", "z"]],
            [1, 2],
            ["a"],
            r"sequence 1, token 1: found the label 'z', expected one of \['a'\]",
        ),
        ([[None], [None, ()]], [1, 2], ["a"], "sequence 1, token 1: found an empty set"),
        ([[None], [None, set()]], [1, 2], None, "no token has a label"),
        ([["a"]], [1], ["a", "b", "a"], "no two alike"),
    ],
)
def test_wrong_labels(outputs, lengths, names, message):
    with pytest.raises(DataError, match=message):
        encode_labels(outputs, np.array(lengths), names)


def draw(seed, n_labels=3):
    rng = np.random.default_rng(seed)
    names = list("ABC"[:n_labels])
    outputs = [rng.choice(names, size=rng.integers(1, 5)).tolist() for _ in range(3)]
    return rng, names, blur(rng, outputs, names) if rng.random() < 0.5 else outputs


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_seen_transitions(seed):
    _, names, outputs = draw(seed)
    found = encode(outputs, names).seen_transitions(np.array([len(y) for y in outputs]))
    pairs = {
        pair
        for partial in outputs
        for full in labellings(names, len(partial), None)
        if agrees(full, partial)
        for pair in pairwise(full)
    }
    assert {(names[a], names[b]) for a, b in np.argwhere(found)} == pairs


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32 - 1))
def test_sequences_without_an_allowed_labelling(seed):
    rng, names, outputs = draw(seed)
    rules = draw_rules(rng, names)
    offsets = np.concatenate(([0], np.cumsum([len(y) for y in outputs])))
    impossible = [
        s
        for s, partial in enumerate(outputs)
        if not any(agrees(full, partial) for full in labellings(names, len(partial), rules))
    ]
    labelling, moves = encode(outputs, names), allowed_moves(names, rules)
    if impossible:
        with pytest.raises(
            DataError, match=f"sequence {impossible[0]}, token .* forbidden transitions rule out"
        ):
            labelling.check_moves(offsets, moves)
    else:
        labelling.check_moves(offsets, moves)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (
            [["A"], ["A", "B", "A"]],
            "sequence 1, token 2: found the label 'A' after 'B' and before the end of the sequence",
        ),
        (
            [["C"]],
            "sequence 0, token 0: found the label 'C' after the start and before the end of the sequence",
        ),
        ([["A", "B", "A", "A"]], "sequence 0, token 2: found the label 'A' after 'B', which"),
        (
            [["B", {"A", "C"}]],
            r"token 1: found the label one of \['A', 'C'\] after 'B' and before the end of the sequence",
        ),
    ],
)
def test_what_is_said_of_them(outputs, message):
    labelling = encode(outputs, list("ABC"))
    offsets = np.concatenate(([0], np.cumsum([len(y) for y in outputs])))
    moves = allowed_moves(list("ABC"), [("B", "A"), (None, "C"), ("B", "C")])
    with pytest.raises(DataError, match=message):
        labelling.check_moves(offsets, moves)


@pytest.mark.parametrize("label", [1.5, {"A": 1}])
def test_labels_of_another_type_are_refused_by_place(label):
    with pytest.raises(DataError, match="sequence 1, token 0: found the label"):
        encode_labels([["A"], [label, "A"]], np.array([1, 2]))
