"""Taggers where scikit-learn expects an estimator, with sequences of unequal and of equal lengths."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from structune import SegmentTagger, SequenceTagger
from structune.compat import CRF
from structune.errors import DataError

LENGTHS = {"unequal": [1, 3, 2, 3, 1, 2, 4, 2, 3], "equal": [2] * 9}
TAGGERS = {"c2": CRF(c2=0.1), "penalty": SequenceTagger(penalty=1), "max_length": SegmentTagger(penalty=1)}


def sequences(lengths):
    X = [[{"w": str((s + t) % 4)} for t in range(n)] for s, n in enumerate(lengths)]
    return X, [["B-x" if int(token["w"]) % 2 else "O" for token in sequence] for sequence in X]


@pytest.fixture(params=LENGTHS)
def data(request):
    return sequences(LENGTHS[request.param])


@pytest.fixture(params=TAGGERS)
def parameter(request):
    return request.param


def in_pipeline(tagger):
    return make_pipeline(FunctionTransformer(), tagger)


def test_cross_validation(parameter, data):
    X, y = data
    for tagger in (TAGGERS[parameter], in_pipeline(TAGGERS[parameter])):
        folds = KFold(3, shuffle=True, random_state=0)
        assert list(map(len, cross_val_predict(tagger, X, y, cv=folds))) == list(map(len, y))
        assert np.all(cross_validate(tagger, X, y, cv=folds)["test_score"] >= 0.0)
    curve = learning_curve(
        TAGGERS[parameter], X, y, cv=GroupKFold(3), groups=[0, 1, 2] * 3, train_sizes=[1.0]
    )
    assert curve[2].shape == (1, 3)


def test_searches_and_pipelines_predict_lists_that_are_one_array(parameter, data):
    X, y = data
    pipeline = in_pipeline(TAGGERS[parameter])
    found = pipeline.fit(X, y).predict(X)
    assert found == y
    assert isinstance(found, list)
    assert np.array(found).shape == (9,)
    assert pipeline.score(X, y) == 1.0
    name = f"{type(TAGGERS[parameter]).__name__.lower()}__{parameter}"
    search = GridSearchCV(pipeline, {name: [4, 5]}, cv=3).fit(X, y)
    assert search.predict(X) == y


@pytest.mark.parametrize("n", [2.5, True, 0])
@pytest.mark.parametrize("of", [SequenceTagger, SegmentTagger])
def test_a_number_of_labellings_that_is_none(of, n):
    X, y = sequences([1, 2])
    with pytest.raises(DataError, match=r"n=.*: expected a whole number >= 1"):
        of(tuning=None).fit(X, y).predict_nbest(X, n)


def test_arguments_that_are_mixed_up():
    X, y = sequences([2, 3])
    tagger, segments = SequenceTagger(tuning=None).fit(X, y), SegmentTagger(tuning=None).fit(X, y)
    for call, message in (
        (lambda: tagger.segment_probability(X, 0, ["O"], 0), r"start=\['O'\]: expected a whole number >= 0"),
        (lambda: tagger.segment_probability(X, 0, 0, "O"), "labels='O': expected a list of labels"),
        (lambda: tagger.segment_probability(X, "0", 0, ["O"]), "sequence='0': expected a whole number"),
        (lambda: segments.segment_probability(X, 0, 0, "x", 1), "stop='x': expected a whole number"),
    ):
        with pytest.raises(DataError, match=message):
            call()
