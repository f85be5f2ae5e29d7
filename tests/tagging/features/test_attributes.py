"""Attribute tables: what tokens may be, and what is refused, with the place named."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_equal
from scipy.sparse import coo_array, csr_array

from structune.errors import DataError
from structune.tagging.features.attributes import AttributeTable, known_rows
from structune.tagging.features.strings import Names


def entries(table):
    """The table as lists of {name: value} (values of repeated names added), one a sequence."""
    values = np.ones(table.indices.size) if table.values is None else table.values
    rows = []
    for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        row = {}
        for column, value in zip(table.indices[start:end], values[start:end], strict=True):
            row[table.names[column]] = row.get(table.names[column], 0.0) + float(value)
        rows.append(row)
    ends = np.cumsum(table.lengths)
    return [rows[end - length : end] for end, length in zip(ends, table.lengths, strict=True)]


def test_lists_of_strings():
    table = AttributeTable.from_items([[["a", "b"], ["b"]], [["c", "a"]]])
    assert entries(table) == [[{"a": 1, "b": 1}, {"b": 1}], [{"c": 1, "a": 1}]]
    assert table.values is None
    assert table.names == ["a", "b", "c"]
    assert (len(table), table.n_tokens) == (2, 3)
    assert table.lengths.tolist() == [2, 1]


@pytest.mark.parametrize("token", [("a", "b"), {"a", "b"}, dict.fromkeys("ab", 1), np.array(["a", "b"])])
def test_any_iterable_of_strings_is_a_token(token):
    assert entries(AttributeTable.from_items([[token]])) == [[{"a": 1, "b": 1}]]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ({"word": "the"}, {"word=the": 1}),
        ({"length": np.float32(0.5)}, {"length": 0.5}),
        ({"is_title": True, "is_upper": False}, {"is_title": 1, "is_upper": 0}),
        ({"at": {"left": "the", "right": 2}}, {"at=left=the": 1, "at=right": 2}),
        ({"tags": ["x", "y"], "more": ("z",)}, {"tags=x": 1, "tags=y": 1, "more=z": 1}),
        ({"tags": {"x"}, "none": []}, {"tags=x": 1}),
        ({7: "seven"}, {"7=seven": 1}),
        ({"e": [0.25, -1.5]}, {"e:0": 0.25, "e:1": -1.5}),
        ({"e": np.array([0.5, 2.0], dtype=np.float32)}, {"e:0": 0.5, "e:1": 2}),
        ({"at": {"e": [3]}}, {"at=e:0": 3}),
        ({"tags": np.array(["x", "y"])}, {"tags=x": 1, "tags=y": 1}),
        ({}, {}),
    ],
)
def test_dicts(token, expected):
    assert entries(AttributeTable.from_items([[token]])) == [[expected]]


def test_only_names_that_are_known_have_numbers():
    X = [[["a", "b"], ["c"]], [{"w": "x", "n": 2.0, "m": float("nan")}]]
    rows = known_rows(X, Names.of(["b", "n", "w=x"]))
    assert rows.lengths.tolist() == [2, 1]
    assert rows.indptr.tolist() == [0, 2, 3, 6]
    assert rows.columns.tolist() == [-1, 0, -1, 2, 1, -1]
    assert_equal(rows.values, [1, 1, 1, 1, 2, np.nan])
    with pytest.raises(DataError, match="sequence 1, token 0: attribute 'm' has the value nan"):
        known_rows(X, Names.of(["m"]))


def test_empty_inputs():
    assert entries(AttributeTable.from_items([])) == []
    assert entries(AttributeTable.from_items([[]])) == [[]]
    assert entries(AttributeTable.from_items([[], [[], ["a"]], []])) == [[], [{}, {"a": 1}], []]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["the dog"], "sequence 0: must be a list of tokens, not str"),
        ([[["a"]], 3], "sequence 1: must be a list of tokens, not int"),
        ([["the", "dog"]], "sequence 0, token 0: a token must be a list of strings or a dict, not 'the'"),
        ([[["a"], None]], "sequence 0, token 1: a token must be a list of strings or a dict, not None"),
        ([[["a"]], [["a"], ["b", 3]]], "sequence 1, token 1: the attribute 3 is not a string"),
        ([[{"a": None}]], "the attribute 'a' must be a number or a string, not None"),
        ([[{"a": {"b": None}}]], "the attribute 'a=b' must be a number or a string, not None"),
        ([[["a"]], [{"b": 1}, {"a": float("nan")}]], "sequence 1, token 1: attribute 'a' has the value nan"),
        ([[{"a": 10**400}]], "sequence 0, token 0: int too large"),
        ([[{}], [{}, {"e": [1.0, "x"]}]], "sequence 1, token 1: the attribute 'e' is [1.0, 'x']. A list"),
        ([[{"e": {1, 2}}]], "sequence 0, token 0: the attribute 'e' is {1, 2}. A list must"),
        ([[["a"]] * 2000, [["a"], [3]]], "sequence 1, token 1: the attribute 3 is not"),
    ],
)
def test_what_is_wrong_is_named(X, message):
    with pytest.raises(DataError) as caught:
        AttributeTable.from_items(X)
    assert message in str(caught.value)


token_values = st.floats(-10, 10) | st.text("ab", max_size=2) | st.booleans()
tokens = st.lists(st.text("abc=", max_size=2)) | st.dictionaries(st.text("abc", max_size=2), token_values)
corpora = st.lists(st.lists(tokens, max_size=4), max_size=5)


def naive_row(token):
    if isinstance(token, list):
        token = {name: float(token.count(name)) for name in token}
    row = {}
    for key, value in token.items():
        name, value = (f"{key}={value}", 1.0) if isinstance(value, str) else (key, float(value))
        row[name] = row.get(name, 0.0) + value
    return row


@given(corpora)
def test_entries_are_those_of_the_items(X):
    assert entries(AttributeTable.from_items(X)) == [
        [naive_row(token) for token in sequence] for sequence in X
    ]


numbers = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-1e6, 1e6))
nested = st.recursive(
    st.one_of(numbers, st.text("ab=:", max_size=3)),
    lambda inner: st.dictionaries(st.text("xyz", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text("kl", max_size=2), nested, max_size=4), min_size=1, max_size=4))
def test_nested_dicts_are_read_alike_the_fast_and_the_long_way(tokens):
    tables = (AttributeTable.from_items([list(map(kind, tokens))]) for kind in (dict, OrderedDict))
    fast, long = tables
    assert list(fast.names) == list(long.names)
    assert_equal(fast.indptr, long.indptr)
    assert entries(fast) == entries(long)


@given(corpora, st.data())
def test_take_selects_as_numpy_does(X, data):
    table = AttributeTable.from_items(X)
    whole = entries(table)
    index = st.integers(-len(X), len(X) - 1) if X else st.nothing()
    chosen = data.draw(st.lists(index, max_size=6 if X else 0))
    assert entries(table.take(chosen)) == [whole[i] for i in chosen]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))), dtype=bool)
    assert entries(table.take(mask)) == [row for row, kept in zip(whole, mask, strict=True) if kept]
    assert entries(table.take(slice(1, None, 2))) == entries(table[1::2]) == whole[1::2]
    assert table.shape == (len(X),)
    assert table.take(chosen).names is table.names


@pytest.mark.parametrize("form", [coo_array, np.asarray])
def test_from_csr(form):
    dense = [[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]
    table = AttributeTable.from_csr(form(np.array(dense)), [2, 1], ["a", "b"])
    assert entries(table) == [[{"b": 2}, {"a": 1}], [{}]]
    assert AttributeTable.from_csr(form(np.eye(2)), [2]).names == ["x=0", "x=1"]


@pytest.mark.parametrize(
    ("lengths", "names", "message"),
    [
        ([1], None, "the lengths add up to 1 tokens, but the attribute table has 2 rows"),
        ([3, -1], None, "sequence 1: the length -1 is negative"),
        ([2.0], None, "must be a list of int"),
        ([2], ["a"], "there are 1 attribute names, but 2 columns"),
        ([2], ["a", "a"], "two columns have the same attribute name"),
    ],
)
def test_from_csr_refuses_what_does_not_fit(lengths, names, message):
    with pytest.raises(DataError, match=message):
        AttributeTable.from_csr(csr_array(np.eye(2)), lengths, names)


def test_arrays_are_those_of_a_matrix():
    arrays = [np.array([[0.0, 2.0], [1.0, 0.0]]), np.empty((0, 2)), [], np.array([[3, 4]])]
    table = AttributeTable.from_arrays(arrays)
    assert entries(table) == [[{"x=1": 2}, {"x=0": 1}], [], [], [{"x=0": 3, "x=1": 4}]]
    assert entries(AttributeTable.from_arrays([])) == []


@pytest.mark.parametrize(
    ("other", "found"),
    [(np.ones((2, 3)), "the shape"), ([["a"]], "list"), (np.array([["a", "b"]]), "ndarray")],
)
def test_arrays_are_alike(other, found):
    with pytest.raises(DataError, match=f"sequence 1: must be an array .* 2 columns, .*, not {found}"):
        AttributeTable.from_arrays([np.ones((1, 2)), other])


@pytest.mark.parametrize("tokens", [[["a", "b"], [], ["a"]], [{"a": 2.0}, {}, {"w": "x", "b": 1}]])
def test_columns_beside_strings(tokens):
    X, array = [tokens[:2], [], tokens[2:]], np.arange(6.0).reshape(3, 2)
    expected = entries(AttributeTable.from_items(X))
    for (s, t), row in zip([(0, 0), (0, 1), (2, 0)], array.tolist(), strict=True):
        expected[s][t] |= {"e:0": row[0], "e:1": row[1]}
    assert entries(AttributeTable.from_items(X).with_columns("e", array)) == expected


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("e", np.ones((2, 2)), r"columns 'e': the array has shape \(2, 2\), but must have 3 rows"),
        ("e", np.ones(3), r"columns 'e': the array has shape \(3,\), but"),
        ("d", np.ones((3, 1)), "columns 'd': the table has this name already"),
        ("e", [[1.0], [2.0], [np.nan]], "sequence 1, token 0: attribute 'e:0' has the value nan"),
    ],
)
def test_columns_that_do_not_fit(name, array, message):
    table = AttributeTable.from_items([[["a"], {"d": [0.5]}], [["b"]]])
    with pytest.raises(DataError, match=message):
        table.with_columns(name, array)


def test_indices_outside_the_columns_are_refused():
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(DataError, match="is out of range: there are 1 columns"):
        AttributeTable(one, np.array([0, 1]), np.array([1], dtype=np.int32), None, ["a"])
