"""Recall and precision of predicted matches, by hand."""

import pytest
from numpy.testing import assert_array_equal

from structune.alignment.formats import ProteinAlignment
from structune.alignment.metrics import alignment_scores, column_scores
from structune.errors import DataError


def scores(true, predicted):
    found = alignment_scores([true], [predicted])
    return found.n_true[0], found.n_predicted[0], found.right[0]


def test_all_matches_count_where_all_is_known():
    assert scores(("ACDE", "ACDE"), ("ACDE", "ACDE")) == (4, 4, 4)
    assert scores(("ACDE-", "-ACDE"), ("ACDE", "ACDE")) == (3, 4, 0)
    assert scores(("ACDE", "ACDE"), ("ACDE----", "----ACDE")) == (4, 0, 0)


def test_columns_in_lower_case_are_not_scored():
    assert scores(("ACde", "ACde"), ("ACDE", "ACDE")) == (2, 2, 2)
    assert scores(("ACde", "ACde"), ("-ACDE", "ACDE-")) == (2, 2, 0)  # C of x with D of y, and A of x with C
    assert scores(("Acde-", "-acdE"), ("ACDE", "ACDE")) == (0, 0, 0)


def test_ratios():
    true = [("ACDE", "ACDE"), ("AC--", "--AC"), ("AC--", "--AC"), ("AC", "AC")]
    predicted = [("AC-DE", "ACD-E"), ("AC--", "--AC"), ("AC", "AC"), ("AC--", "--AC")]
    found = alignment_scores(true, predicted)
    assert_array_equal(found.recall, [0.75, 1.0, 0.0, 0.0])
    assert_array_equal(found.precision, [1.0, 1.0, 0.0, 0.0])


def test_empty_sequences():
    found = alignment_scores([("", ""), ("AC", "--")], [("", ""), ("AC", "--")])
    assert_array_equal(found.recall, 1.0)
    assert len(alignment_scores([], []).recall) == 0


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([("AC", "AC")], [], "there are 0 predicted alignments, but 1 true"),
        ([("AC", "AC")], [("AC", "AD")], "prediction 0, y: residue 1 .from 0. is 'D'"),
    ],
)
def test_what_is_wrong_is_named(true, predicted, message):
    with pytest.raises(DataError, match=message):
        alignment_scores(true, predicted)


REFERENCE = ProteinAlignment(["a", "b", "c"], ["AC-D", "ACcD", "A--D"])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["AC-D", "ACCD", "A--D"], (1.0, 1.0)),
        (["AC-D-", "ACC-D", "A--D-"], (5 / 7, 2 / 3)),  # of the last column one of three
        (["AC.D", "ACCD", "A.-D"], (1.0, 1.0)),
    ],
)
def test_columns(rows, expected):
    found = ProteinAlignment(["c", "b", "a", "x"], [rows[2], rows[1], rows[0], "W" * len(rows[0])])
    assert column_scores(REFERENCE, found) == pytest.approx(expected)
    with pytest.raises(DataError, match="b: the residues differ from those in the reference"):
        column_scores(REFERENCE, found._replace(rows=[*rows[:1], "A" * len(rows[0]), *rows[:1], rows[2]]))


def test_columns_with_nothing_to_score():
    one = ProteinAlignment(["a", "b"], ["ac", "AC"])
    assert column_scores(one, one) == (1.0, 1.0)
    with pytest.raises(DataError, match="there is no row named 'b'"):
        column_scores(one, ProteinAlignment(["a"], ["AC"]))
