"""Reactivities in the files that people have."""

import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.rna import ReactivityModel, deigan_log_odds, read_reactivities


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
        (">b\n1\n>a\nACGU\n0.1 0.2 0.3\n", ":3: found 4 letters and 3 reactivities of 'a', expected as many"),
        (">a\n1\n>a\n1\n", ":3: found the name 'a' a second time"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=message):
        read_reactivities(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        "1 g 0.5\n2 T -999\n4 N 0.1\n",
        "1\t0.5\t0.1\tG\n2\t-999\t0\tu\n4\t0.1\t0\tn\n",
        ">\nGUNN\n0.5 NA nan 0.1\n",
    ],
)
def test_letters(text):
    ((values),) = read_reactivities(io.StringIO(text)).values()
    assert_array_equal(values, [0.5, np.nan, np.nan, 0.1])
    assert values.letters == "GUNN"
    model = ReactivityModel.pretrained()
    for sequence in ("GUAC", "gtac", "NUCC"):
        assert_array_equal(model.paired(sequence, values), model.paired(sequence, np.array(values)))
        assert_array_equal(deigan_log_odds(values, sequence=sequence), deigan_log_odds(values))
    told = r"or shifted ones: base 2 \(from 1\) is U in their file and A in the sequence, and 1 of 4 letters"
    for refused in (
        lambda: model.paired("GACA", values),
        lambda: deigan_log_odds(values, sequence="GACA"),
        lambda: ReactivityModel.fit(None, ["GACA"], [values]),
    ):
        with pytest.raises(DataError, match=told):
            refused()


def test_pairs_and_sequences_are_no_reactivities():
    with pytest.raises(DataError, match="found pairs of bases, as BPSEQ has them"):
        read_reactivities(io.StringIO("1 G 4\n2 A 0\n3 A 0\n4 C 1\n"))
    assert_array_equal(read_reactivities(io.StringIO("1 G 4\n2 A 0\n3 A 0\n4 C 2\n"))[""], [4, 0, 0, 2])
    with pytest.raises(DataError, match="found names, and no reactivities below them"):
        read_reactivities(io.StringIO(">a\nACGU\n>b\n"))
    with pytest.raises(DataError, match="The file looks like RDAT: reactivities are read from tables"):
        read_reactivities(io.StringIO("RDAT_VERSION 0.34\nNAME x\n"))
