"""Labels as arrays, and the rules of which may follow which, read off whole label sequences."""

from collections import Counter
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from chains import agrees, blur, draw_rules, is_allowed, labellings
from structune.errors import DataError
from structune.tagging.structure.labels import (
    allowed_moves,
    encode_labels,
    possible_lengths,
    read_segments,
    told_scheme,
    write_labels,
)


def encode(outputs, names=None):
    return encode_labels(outputs, np.array([len(y) for y in outputs], dtype=np.int64), names)


@pytest.mark.parametrize("choice", [{"a", "c"}, frozenset("ac"), ["a", "a", "c"]])
def test_sets_of_labels(choice):
    labelling = encode([[choice, "b"], [None]])
    assert labelling.names == ["a", "b", "c"]
    assert labelling.is_partly_known
    assert labelling.labels.tolist() == [-1, 1, -1]
    assert labelling.allowed.tolist() == [[True, False, True], [False, True, False], [True, True, True]]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("B-x I-x O 0 0", r"the label '0' \(2 tokens\) is not BIO or BIOES"),
        ("B-x 0", "the label '0'"),
        ("B I O o", "the label 'o'"),
        ("B-x I-x L-x U-x O 0", "'L-x' .*, 'U-x' .*, '0' .* are not"),
        ("B-x I-x E-mail", "the label 'E-mail'"),
        *(("DET NOUN I O", ""), ("B E G H I S T", ""), ("B E X", ""), ("B-cell T-cell NK-cell PLT", "")),
        ("B I O S P", ""),  # of proteins: strands, inside, outside, signal, periplasm
    ],
)
def test_labels_among_those_of_segments_are_told(labels, told):
    with pytest.warns(match=told) if told else nullcontext():
        assert told_scheme(Counter(labels.split())) is None


def test_arrays_of_numbers():
    labelling = encode([np.array([2, 10, 1])])
    assert labelling.names == [1, 10, 2]  # sorted as text
    assert all(type(name) is int for name in labelling.names)
    assert labelling.labels.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("outputs", "lengths", "names", "message"),
    [
        ([["a"]], [1, 1], None, "y has labels for 1 sequences, but X has 2"),
        (["ab"], [2], None, "sequence 0: the labels must be a list, not the string 'ab'"),
        (
            [["a"], ["a", "z"]],
            [1, 2],
            ["a"],
            r"sequence 1, token 1: unknown label 'z'. Allowed: \['a'\]",
        ),
        ([[None], [None, ()]], [1, 2], ["a"], "sequence 1, token 1: the set of labels is empty"),
        ([[None], [None, set()]], [1, 2], None, "no token has a known label"),
        ([["a"]], [1], ["a", "b", "a"], "contain duplicates"),
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
            DataError, match=f"sequence {impossible[0]}, token .* needs a forbidden transition"
        ):
            labelling.check_moves(offsets, moves)
    else:
        labelling.check_moves(offsets, moves)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (
            [["A"], ["A", "B", "A"]],
            "sequence 1, token 2: the label 'A' after 'B' and before the end of the sequence needs",
        ),
        (
            [["C"]],
            "sequence 0, token 0: the label 'C' after the start and before the end of the sequence",
        ),
        ([["A", "B", "A", "A"]], "sequence 0, token 2: the label 'A' after 'B' needs a"),
        (
            [["B", {"A", "C"}]],
            r"token 1: the label one of \['A', 'C'\] after 'B' and before the end of the sequence",
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
    with pytest.raises(DataError, match=r"sequence 1, token 0: the label .* is not a string"):
        encode_labels([["A"], [label, "A"]], np.array([1, 2]))


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
            r"the label 'X-a' does not fit the scheme 'bio': it must begin with one of \['B', 'I', 'O'\]",
        ),
        (["A"], [("A", "B")], r"forbidden transition \('A', 'B'\): there is no label 'B'. Allowed: \['A'\]"),
        (["A"], [("A",)], r"forbidden transition \('A',\): expected a pair"),
    ],
)
def test_wrong_rules(labels, forbidden, message):
    with pytest.raises(DataError, match=message):
        allowed_moves(labels, forbidden)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_labels=st.integers(1, 3))
def test_possible_lengths(seed, n_labels):
    rng, labels = np.random.default_rng(seed), list("ABC"[:n_labels])
    ends = [None, *labels]
    rules = [(a, b) for a in ends for b in ends if (a or b) and rng.random() < 0.6]
    found = possible_lengths(allowed_moves(labels, rules), 5)
    assert found.tolist() == [False, *(bool(labellings(labels, n, rules)) for n in range(1, 6))]


LABELS = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("x", "y-z"))]


def read(*sequences):
    return read_segments(sequences, np.array([len(labels) for labels in sequences]))


def listed(found):
    return list(zip(found.types, found.starts.tolist(), found.stops.tolist(), strict=True))


@given(sequences=st.lists(st.lists(st.sampled_from(LABELS), max_size=6), min_size=1, max_size=3))
def test_segments_are_those_of_seqeval(sequences):
    found, shift = read(*sequences), 0
    expected = []
    for labels in sequences:
        expected += [(kind, shift + a, shift + b + 1) for kind, a, b in get_entities(labels)]
        shift += len(labels)
    assert [one for one in listed(found) if one[0] != "O"] == expected
    assert np.array_equal(np.append(found.starts, shift)[1:], found.stops)  # all tokens are in one
    assert found.starts.size == 0 or found.starts[0] == 0


@given(
    segments=st.lists(st.tuples(st.sampled_from(["O", "x", "", "y"]), st.integers(1, 3)), max_size=5),
    scheme=st.sampled_from(["bio", "bioes"]),
)
def test_labels_come_back(segments, scheme):
    segments = [(kind, 1 if kind == "O" else n) for kind, n in segments]
    types, lengths = [kind for kind, _ in segments], [n for _, n in segments]
    labels = write_labels(types, lengths, scheme)
    found = read(labels)
    assert (found.types, (found.stops - found.starts).tolist()) == (types, lengths)
    assert found.scheme == (scheme if set(types) - {"O"} else "bio")


def test_places_are_told_by_sequence():
    found = read(["O", "O"], [], ["O", "B-x", "I-x"])
    assert [found.place(j) for j in range(len(found.types))] == [(0, 0, 1), (0, 1, 2), (2, 0, 1), (2, 1, 3)]


@pytest.mark.parametrize("label", ["x", "", "B-", "BX", None, {"B-x", "O"}, 3, "B-O", "o"])
def test_labels_of_no_scheme(label):
    with pytest.raises(DataError, match=r"sequence 1, token 1: the label .* is not BIO or BIOES"):
        read(["O"], ["B-x", label])
