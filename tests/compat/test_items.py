"""Names are those that python-crfsuite makes."""

import numpy as np
import pandas as pd
import pytest

from structune.compat.items import as_labels, as_tokens, tokens_of
from structune.errors import DataError

ITEMS = [
    {"word": "the", "length": 3, "share": 0.5, "title": True, "off": False},
    {"prefix": {"1": "t", "2": "th", "n": 2.0, "deep": {"x": "y"}}, "tags": ["a", "b"], "set": {"c"}},
    {"word": "né".encode(), b"key": 1.0, "列": "字"},
    {},
    ["bias", "w=the", "列"],
    [b"bias"],
]


def values(token):
    """Of a token's names; of a list of them all are 1."""
    return dict.fromkeys(token, 1.0) if isinstance(token, list) else token


def test_names():
    assert values(tokens_of(ITEMS)[1]) == {
        "prefix:1:t": 1.0,
        "prefix:2:th": 1.0,
        "prefix:n": 2.0,
        "prefix:deep:x:y": 1.0,
        "tags:a": 1.0,
        "tags:b": 1.0,
        "set:c": 1.0,
    }
    assert tokens_of(ITEMS)[2:] == [["word:né", "key", "列:字"], [], ["bias", "w=the", "列"], ["bias"]]


def test_those_of_python_crfsuite():
    theirs = pytest.importorskip("pycrfsuite").ItemSequence(ITEMS)
    assert [values(token) for token in tokens_of(ITEMS)] == theirs.items()
    assert as_tokens([theirs, ITEMS])[0] == tokens_of(theirs.items())


def test_sequences_of_other_types():
    assert tokens_of(pd.Series(ITEMS)) == tokens_of(tuple(ITEMS)) == tokens_of(ITEMS)
    for wrong in (None, "abc"):
        with pytest.raises(DataError, match="expected a list of tokens"):
            as_tokens([wrong])


def test_labels():
    assert as_labels([["a", b"b"], np.array(["c"])]) == [["a", "b"], ["c"]]
