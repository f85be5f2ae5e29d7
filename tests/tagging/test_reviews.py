"""Reviews: held-out predictions, labels that were made wrong, and the learning curve."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from structune import SegmentTagger, SequenceTagger
from structune.errors import CapabilityError, DataError
from structune.tagging import LearningCurve, review
from structune.tagging.structure.labels import ForbiddenLabelsWarning

LETTERS = {"d": "DET", "n": "NOUN", "v": "VERB"}


def corpus(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [["d", "n", "v", "d", "n"][: rng.integers(2, 6)] for _ in range(n)]
    X = [[[f"w={k}{rng.integers(3)}"] for k in sentence] for sentence in words]
    return X, [[LETTERS[k] for k in sentence] for sentence in words]


def test_wrong_labels_come_first():
    X, y = corpus(60)
    wrong = {(3, 0): "VERB", (17, 1): "DET", (40, 1): "VERB"}
    for (s, t), label in wrong.items():
        y[s][t] = label
    y[50][0] = "RARE"  # which no other sequence has
    tagger = SequenceTagger(penalty=1.0)
    found = review(tagger, X, y)
    first = found.suspects[:4]
    assert {(one.sequence, one.token): one.label for one in first} == {**wrong, (50, 0): "RARE"}
    assert first[0][:5] == (50, 0, "RARE", 0.0, "DET")
    assert [one.probability for one in found.suspects] == sorted(one.probability for one in found.suspects)
    assert found.curve.measure == "accuracy of tokens"
    assert found.curve.n_sequences == pytest.approx([9.6, 19.2, 28.8, 38.4, 48.0], abs=1)
    assert not hasattr(tagger, "coef_")


def test_each_sequence_is_labelled_by_a_model_of_the_others():
    X, y = corpus(24)
    groups = np.repeat(np.arange(8), 3)
    splits = list(GroupKFold(4).split(X, groups=groups))
    tagger = SequenceTagger(penalty=1.0)
    found = review(tagger, X, y, groups, splits)
    for train, test in splits:
        model = SequenceTagger(penalty=1.0).fit([X[s] for s in train], [y[s] for s in train])
        held_out = [X[s] for s in test]
        for s, rows in zip(test, model.predict_marginals(held_out), strict=True):
            own = [row[label] for row, label in zip(rows, y[s], strict=True)]
            assert found.probabilities[s] == pytest.approx(own, rel=1e-6)
        assert [found.predictions[s] for s in test] == model.predict(held_out)
    assert found.curve.scores.shape == (4, 5)
    assert (found.curve.n_sequences % 3 == 0).all()  # whole groups
    dealt = review(tagger, X, y, groups, 4)
    assert dealt.reliability["whole sequences"].counts.sum() == 24


def test_a_wrong_label_does_not_hide_behind_its_copy():
    X, y = corpus(60)
    X, y = [*X, X[0], X[0]], [*y, y[0][:], y[0][:]]
    for s in (0, 60, 61):
        y[s][0] = "RARE"
    assert [one.probability for one in review(SequenceTagger(penalty=1.0), X, y).suspects[:3]] == [0.0] * 3


def test_the_last_doubling():
    n = np.array([25.0, 50.0, 100.0])
    curve = LearningCurve(n, np.array([[0.5, 0.6, 0.8], [0.5, 0.7, 0.8]]), "accuracy of tokens")
    assert curve.last_doubling() == pytest.approx((0.15, 0.05))
    assert "from about 50 to 100 sequences, changed the accuracy of tokens by +0.1500" in str(curve)


def test_rules_and_weights_of_labels_that_a_fold_lacks():
    X, y = corpus(30)
    y[5][0] = "RARE"
    tagger = SequenceTagger(penalty=1.0, forbidden=[("RARE", "NOUN")], class_weight={"RARE": 2.0})
    for outside, n in (("skip", 29), ("trim", 30)):
        with pytest.warns(ForbiddenLabelsWarning, match="sequence 5, token 1") as told:
            found = review(tagger.set_params(outside=outside), X, y, cv=list(KFold(30).split(X)))
        assert len(told) == 1  # and not one of each fit
        assert found.suspects[0][:4] == (5, 0, "RARE", 0.0)
        assert found.curve.n_sequences[-1] == pytest.approx(29 * n / 30)
    with pytest.raises(DataError, match="sequence 5, token 1"):
        review(tagger.set_params(outside="error"), X, y)


def test_spans_are_of_one_kind_in_all_folds():
    y = [["B-x", "I-x", "O"], ["O", "B-x", "I-x"]] * 6
    y[5] = ["B-x", "I-x", "other"]  # so no labels are segments, also where a fold lacks this one
    X = [[[f"w={k}"] for k in labels] for labels in y]
    with pytest.warns(match=r"not read as segments: the label 'other' \(1 token\)"):
        found = review(SequenceTagger(penalty=0.1), X, y, cv=4)
    assert found.reliability["tokens"].summary()[1] == pytest.approx(35 / 36)
    assert found.reliability["runs of equal labels"].summary()[1] == 1.0
    y[5][2] = "O"
    found = review(SegmentTagger(penalty=0.1), X, y, cv=4)
    assert (found.curve.measure, found.suspects) == ("F1 of segments", [])


@pytest.mark.parametrize(
    ("changes", "y", "cv", "error", "message"),
    [
        ({"loss": "margin"}, None, 3, CapabilityError, "no probabilities"),
        ({}, [["DET", None]], 3, DataError, "sequence 0, token 1: the label is None"),
        ({}, [[]], 3, DataError, "sequence 0 is empty"),
        ({}, None, [([0, 1], [2, 3])], DataError, "each sequence must be held out exactly once"),
        ({}, None, 9, DataError, "there are 4 examples"),
    ],
)
def test_what_cannot_be_reviewed(changes, y, cv, error, message):
    X, known = corpus(4)
    if y is not None:
        X[0], known[0] = X[0][: len(y[0])], y[0]
    with pytest.raises(error, match=message):
        review(SequenceTagger(penalty=1.0, **changes), X, known, cv=cv)
