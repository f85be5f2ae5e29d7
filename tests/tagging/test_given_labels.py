"""Predictions with labels that are known in part, against all labelings of sequences."""

from __future__ import annotations

import warnings

import pytest
from numpy.testing import assert_allclose

from structune import SequenceTagger
from structune.errors import DataError

X = [[["w=a"], ["w=b"], ["w=b"]], [], [["w=b"], ["w=a"], ["w=a"], ["w=b"]]]
GIVEN = [[None, {"x", "z"}, None], [], ["y", None, None, "x"]]


def fitted(order=1, forbidden=None):
    tokens = [[["w=a"], ["w=b"], ["w=a"]], [["w=b"], ["w=a"]]]
    labels = [["x", "y", "z"], ["y", "x"]]
    return SequenceTagger(penalty=0.3, order=order, forbidden=forbidden, states="all").fit(tokens, labels)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("forbidden", [None, [("z", "y")]])
def test_conditional_on_the_given_labels(order, forbidden):
    tagger = fitted(order, forbidden)
    known = [[{k} if isinstance(k, str) else k or {"x", "y", "z"} for k in own] for own in GIVEN]
    labels = tagger.predict(X, given=GIVEN)
    marginals = tagger.predict_marginals(X, given=GIVEN)
    ranked = tagger.predict_nbest(X, 100, given=GIVEN)
    for s, every in enumerate(tagger.predict_nbest(X, 100)):
        agree = [(own, p) for own, p in every if all(a in b for a, b in zip(own, known[s], strict=True))]
        total = sum(p for _, p in agree)
        assert [own for own, _ in ranked[s]] == [own for own, _ in agree]
        assert_allclose([p for _, p in ranked[s]], [p / total for _, p in agree], rtol=1e-10)
        assert labels[s] == agree[0][0]
        for t, shares in enumerate(marginals[s]):
            expected = {k: sum(p for own, p in agree if own[t] == k) / total for k in "xyz"}
            assert shares == pytest.approx(expected, abs=1e-12)


def test_all_or_no_labels_given():
    tagger, given = fitted(), [["z", "z", "x"], [], ["y", "y", "z", "z"]]
    assert tagger.predict(X, given=given) == given
    assert tagger.predict_nbest(X, 3, given=given)[0] == [(given[0], pytest.approx(1.0))]
    assert tagger.predict(X, given=[None] * 3) == tagger.predict(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x", "list of sequences of known labels"),
        ([None], "labels for 1 sequences, but X has 3"),
        ([None, None, ["x"]], "sequence 2 has 1 label, but 4 tokens"),
        ([None, None, [None, "q", None, None]], "sequence 2, token 1: unknown label 'q'"),
        ([None, None, [None, "z", "y", None]], "sequence 2, token 2: the label 'y' after 'z' needs"),
        ([None, None, [None, set(), None, None]], "sequence 2, token 1: the set of labels is empty"),
    ],
)
def test_refused(given, message):
    with pytest.raises(DataError, match=message):
        fitted(forbidden=[("z", "y")]).predict(X, given=given)


def test_unknown_attributes_are_told():
    tagger = fitted()
    with pytest.warns(UserWarning, match="knows none of the 60 attributes"):
        tagger.predict([[["word=a"]] * 60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger.predict([[["word=a"]] * 60 + [["w=a"]]])
