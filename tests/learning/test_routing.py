"""What scikit-learn's meta-estimators pass on arrives, and its tables do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from structune import Classifier, Regressor, SequenceTagger

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
WEIGHTS, GROUPS = RNG.uniform(0.1, 3.0, 60), np.arange(60) // 5
SEQUENCES, LABELS = [[[f"a={k % 3}"], ["b"]] for k in range(60)], [["PQ"[y], "Q"] for y in Y.tolist()]
MODELS = {
    "classifier": (Classifier(tuning=None, n_jobs=1), X, Y),
    "regressor": (Regressor(tuning=None, n_jobs=1), X, X[:, 1]),
    "tagger": (SequenceTagger(tuning=None, n_jobs=1), SEQUENCES, LABELS),
}


def taking(model):
    model = model.__sklearn_clone__().set_fit_request(sample_weight=True, groups=True)
    return model.set_score_request(sample_weight=True)


@pytest.mark.parametrize("name", ["classifier", "tagger"])
def test_weights_and_groups_reach_the_fit_and_the_score(name):
    model, x, y = MODELS[name]
    given = {"sample_weight": WEIGHTS, "groups": GROUPS}
    with config_context(enable_metadata_routing=True):
        found = cross_validate(taking(model), x, y, params=given, cv=GroupKFold(2))["test_score"]
        search = GridSearchCV(taking(model), {"penalty": [1.0]}, cv=GroupKFold(2)).fit(x, y, **given)
    expected = []
    for train, test in GroupKFold(2).split(X, Y, GROUPS):
        part, rest = ([[v[i] for i in rows] for v in (x, y)] for rows in (train, test))
        fit = model.__sklearn_clone__().fit(*part, sample_weight=WEIGHTS[train])
        expected.append(fit.score(*rest, sample_weight=WEIGHTS[test]))
    assert found == pytest.approx(expected, rel=1e-9)
    assert search.best_score_ == pytest.approx(np.mean(expected), rel=1e-9)


def test_pipelines():
    model, x, y = MODELS["classifier"]
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, taking(model)).fit(x, y, sample_weight=WEIGHTS, groups=GROUPS)
    alone = model.__sklearn_clone__().fit(scaler.fit_transform(x), y, sample_weight=WEIGHTS)
    assert_array_equal(pipe[-1].coef_, alone.coef_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_tables_with_names(library, name):
    table = pytest.importorskip(library).DataFrame(dict(zip("abc", X.T, strict=True)))
    model, x, y = MODELS[name]
    model = model.__sklearn_clone__().set_params(groups="feature").fit(table, y)
    assert_array_equal(model.feature_names_in_, list("abc"))
    assert model.group_names_ == ("a", "b", "c")
    assert_allclose(model.predict(table), model.__sklearn_clone__().fit(x, y).predict(x), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["b", "a", "c"]])
    pipe = make_pipeline(StandardScaler(), model).set_output(transform=library).fit(table, y)
    assert_array_equal(pipe[-1].feature_names_in_, list("abc"))
