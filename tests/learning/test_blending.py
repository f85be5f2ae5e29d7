"""The mean of several models' weights, and the shares of it that score best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import structune
from structune import Regressor, RNAFolder, SequenceTagger
from structune.errors import DataError
from structune.learning import average_models, blend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=60) * 0.1


def models():
    return [
        Regressor(penalty=p).fit(X[some], Y[some]) for p, some in ((1.0, slice(30)), (9.0, slice(20, 60)))
    ]


def test_the_mean_of_weights(tmp_path):
    one, other = models()
    mean = average_models([one, other])
    assert_allclose(mean.predict(X), (one.predict(X) + other.predict(X)) / 2)
    uneven = average_models([one, other], [0.25, 0.75])
    assert_allclose(uneven.predict(X), 0.25 * one.predict(X) + 0.75 * other.predict(X))
    assert mean.status_ == "imported"
    x, y = ["GGGAAAACCC", "GGCAAAAGCC"], ["(((....)))", ".........."]
    folders = [RNAFolder(penalty=p).fit(x, y) for p in (0.1, 1.0)]
    mean = average_models(folders)
    mean.save(tmp_path / "m.structune")
    assert_allclose(structune.load(tmp_path / "m.structune").coef_, sum(f.coef_ for f in folders) / 2)
    assert folders[0].status_ == "converged"


def test_shares_that_score_best():
    """The better of two models has more of it, and the mean is no worse than each."""
    good, bad = Regressor(penalty=1.0).fit(X, Y), Regressor(penalty=1.0).fit(X, -Y)
    found = blend([bad, good], X, Y, steps=4)
    assert_allclose(found.shares, [0.0, 1.0])
    assert_allclose(found.scores, [bad.score(X, Y), good.score(X, Y)])
    assert found.score == pytest.approx(good.score(X, Y))
    high, low = Regressor(penalty=1.0).fit(X, 1.5 * Y), Regressor(penalty=1.0).fit(X, 0.5 * Y)
    found = blend([high, low], X, Y, steps=4)
    assert_allclose(found.shares, [0.5, 0.5])
    assert found.score > found.scores.max()
    assert_allclose(found.model.predict(X), (high.predict(X) + low.predict(X)) / 2)


def test_what_cannot_be_averaged():
    one, other = models()
    for shares in ([0.5], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(DataError, match="shares must be one number >= 0 for each model, with a sum of 1"):
            average_models([one, other], shares)
    with pytest.raises(DataError, match="there are no models"):
        average_models([])
    with pytest.raises(DataError, match="there are no models"):
        blend([], X, Y)
    with pytest.raises(NotFittedError, match="model 1 is not fitted"):
        average_models([one, Regressor()])
    x, y = ["GGGAAAACCC"], ["(((....)))"]
    with pytest.raises(DataError, match="model 1 has other weights"):
        average_models([RNAFolder(tuning=None).fit(x, y), RNAFolder(tuning=None, min_hairpin=0).fit(x, y)])
    with pytest.raises(DataError, match="steps=0"):
        blend([one], X, Y, steps=0)
    tagger = SequenceTagger(tuning=None).fit([[["a"], ["b"]]], [["x", "y"]])
    for rest in ([one, tagger], [tagger, SequenceTagger(tuning=None).fit([[["a"], ["c"]]], [["x", "y"]])]):
        with pytest.raises(DataError, match="model 1 has other weights than model 0"):
            average_models(rest)
