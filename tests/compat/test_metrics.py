"""Scores of label sequences, against counts by hand."""

import pytest
from sklearn.model_selection import cross_val_score

from structune.compat import CRF, metrics, scorers

TRUE = [["a", "b", "c"], ["a", "a"]]
FOUND = [["a", "b", "b"], ["a", "c"]]


def test_scores():
    assert metrics.flat_accuracy_score(TRUE, FOUND) == 3 / 5
    assert metrics.flat_precision_score(TRUE, FOUND, average=None).tolist() == [1.0, 0.5, 0.0]
    assert metrics.flat_recall_score(TRUE, FOUND, average=None, labels=["a"]).tolist() == [2 / 3]
    assert metrics.flat_f1_score(TRUE, FOUND, average=None, labels=["b"]).tolist() == [2 / 3]
    assert metrics.flat_fbeta_score(TRUE, FOUND, beta=1, average="micro") == pytest.approx(3 / 5)
    assert "support" in metrics.flat_classification_report(TRUE, FOUND, zero_division=0)
    pairs = (TRUE, FOUND), (TRUE, [TRUE[0], FOUND[1]]), ([], [])
    assert [metrics.sequence_accuracy_score(*pair) for pair in pairs] == [0, 1 / 2, 0]


def test_scorers_in_a_search():
    X = [[{"w": label} for label in row] for row in TRUE] * 4
    for scorer in (scorers.flat_accuracy, scorers.sequence_accuracy):
        assert cross_val_score(CRF(c2=0.01), X, TRUE * 4, scoring=scorer, cv=2).tolist() == [1.0, 1.0]
