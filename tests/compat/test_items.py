"""Names are those that python-crfsuite makes."""

import numpy as np
import pandas as pd
import pytest

from structune.compat.tagger import JOIN, as_labels, as_plain, as_tokens, tokens_of
from structune.errors import DataError
from structune.tagging.features.attributes import table_of_items

ITEMS = [
    {"word": "the", "length": 3, "share": 0.5, "title": True, "off": False},
    {"prefix": {"1": "t", "2": "th", "n": 2.0, "deep": {"x": "y"}}, "tags": ["a", "b"], "set": {"c"}},
    {"word": "né".encode(), b"key": 1.0, "列": "字"},
    {},
    ["bias", "w=the", "列"],
    [b"bias"],
]


def read(items):
    """The attributes of each token of a sequence, by their names."""
    table = table_of_items([tokens_of(items)], JOIN, as_plain)
    values = np.ones(table.indices.size) if table.values is None else table.values
    rows = [{} for _ in range(table.n_tokens)]
    for t, row in enumerate(rows):
        for e in range(table.indptr[t], table.indptr[t + 1]):
            name = table.names[table.indices[e]]
            row[name] = row.get(name, 0.0) + values[e]
    return rows


def test_those_of_python_crfsuite():
    theirs = pytest.importorskip("pycrfsuite").ItemSequence(ITEMS)
    assert read(ITEMS) == theirs.items()
    assert as_tokens([theirs])[0] == tokens_of(theirs.items())


VECTORS = [
    ((1, 2), {"v:0": 1.0, "v:1": 2.0}),
    ({"k": [0.5, 1.0]}, {"v:k:0": 0.5, "v:k:1": 1.0}),
    ([True, False], {"v:0": 1.0, "v:1": 0.0}),
    ([b"a", "b"], {"v:a": 1.0, "v:b": 1.0}),
    (np.array([]), {}),
]


def test_vectors_are_columns_as_in_tables():
    assert read([{"v": value} for value, _ in VECTORS]) == [expected for _, expected in VECTORS]
    assert read([{"k": ["a", "a"], "n": 2.0}]) == [{"k:a": 2.0, "n": 2.0}]  # a name twice counts twice


@pytest.mark.parametrize(
    "value", [[1.0, "a"], {1, 2}, np.ones((2, 2)), [[1, 2]], [None], None, pd.Series([1.0, 2.0]), 10**400]
)
def test_values_that_are_neither_are_refused_with_their_place(value):
    with pytest.raises(DataError, match="sequence 0, token 1: "):
        table_of_items(as_tokens([[["w"], {"v": value}]]), JOIN, as_plain)


def test_sequences_and_labels_of_other_types():
    assert tokens_of(pd.Series(ITEMS)) == tokens_of(tuple(ITEMS)) == tokens_of(ITEMS)
    assert as_labels([["a", b"b"], np.array(["c"])]) == [["a", "b"], ["c"]]
    for wrong in (None, "abc"):
        with pytest.raises(DataError, match="a list of tokens"):
            as_tokens([wrong])
