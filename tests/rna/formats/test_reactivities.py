"""Reactivities in the files that people have."""

import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.rna import read_reactivities


@pytest.mark.parametrize(
    "text",
    [
        "1 0.5\n2 -999\n4 1e-1\n",
        "# comment\n1\tA\t0.5\n2\tC\tNA\n\n4\tG\t0.1\n",
        "1 0.5 0.01\n2 nan 0.2\n4 0.1 0.3\n",
    ],
)
def test_tables(text):
    assert_array_equal(read_reactivities(io.StringIO(text))[""], [0.5, np.nan, np.nan, 0.1])


def test_many_sequences():
    found = read_reactivities(io.StringIO(">a first\nACGU\n0.1,NA\tnan 2\n>b\nNA\n>c\n1 2\n3\n"))
    assert list(found) == ["a", "b", "c"]
    assert_array_equal(found["a"], [0.1, np.nan, np.nan, 2.0])
    assert_array_equal(found["b"], [np.nan])
    assert_array_equal(found["c"], [1.0, 2.0, 3.0])


def test_lines_of_nothing_known_are_no_sequence():
    found = read_reactivities(io.StringIO(">a\nNA NA NA\n1 1\nACGUA\n>b\nna,NA\n"))
    assert_array_equal(found["a"], [np.nan] * 3 + [1.0, 1.0])
    assert_array_equal(found["b"], [np.nan] * 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<input>: found no reactivities"),
        ("1 0.1\n0 0.2\n", ":2: found '0 0.2', expected a place, from 1"),
        ("1 0.1\n1 0.2\n", ":2: found the place 1 a second time"),
        ("99999999999999 1\n", ":1: found '99999999999999 1', expected a place"),
        ("1 x\n", ":1: found 'x', expected a reactivity"),
        ("one\n", ":1: found 'one', expected a place"),
        (">a\n1 2 x3\n", ":2: found 'x3', expected a reactivity"),
        (">a\n1\n>a\n1\n", ":3: found the name 'a' a second time"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=message):
        read_reactivities(io.StringIO(text))
