"""The classifier: the optima of scikit-learn, classes and their weights, probabilities, tuning."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import structune
from structune import Classifier
from structune.errors import DataError
from structune.learning.tuning import MajorizeTuner
from structune.running import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X @ [1.5, -1.0, 0.0, 0.0] + RNG.normal(size=90) > 0.4).astype(int)
Y3 = Y + (X[:, 2] + 0.5 * RNG.normal(size=90) > 0.7)
WEIGHTS = RNG.uniform(0.0, 2.0, 90)
SEPARATED = (X[:, 0] > 0).astype(int)
EVERY_TUNING = pytest.mark.parametrize("tuning", [None, "majorize", "direct", "implicit", "grid"])
TWO_AND_THREE = pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])


def classifier(**options):
    return Classifier(**{"n_jobs": 1, "tuning": None, **options})


CASES = {
    "binary": (Y, {}, {}),
    "several classes": (Y3, {}, {}),
    "no intercept": (Y, {"fit_intercept": False}, {}),
    "several classes, no intercept": (Y3, {"fit_intercept": False}, {}),
    "weights": (Y, {}, {"sample_weight": WEIGHTS}),
    "several classes, weights": (Y3, {}, {"sample_weight": WEIGHTS}),
    "balanced": (Y3, {"class_weight": "balanced"}, {}),
    "class weights": (Y3, {"class_weight": {0: 3.0, 2: 0.5}}, {}),
}


@pytest.mark.parametrize(
    ("form", "penalty"), [(np.asarray, 10.0), (np.asfortranarray, 0.03), (sp.csc_matrix, 0.03)]
)
@pytest.mark.parametrize("case", CASES)
def test_logistic_regression_agrees(case, penalty, form):
    y, options, fit_options = CASES[case]
    x = 0.5 + X
    peer = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000, solver="newton-cg", **options)
    peer.fit(x, y, **fit_options)
    for hessian in ("dense", "exact"):
        model = classifier(penalty=penalty, run=Run(tolerance=1e-9), hessian=hessian, **options)
        model.fit(form(x), y, **fit_options)
        assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-6)
        assert_allclose(model.intercept_ + 0 * peer.intercept_, peer.intercept_, rtol=1e-6, atol=1e-6)
        assert_allclose(model.predict_proba(form(x)), peer.predict_proba(x), atol=1e-6)
        assert model.coef_.shape == peer.coef_.shape
        assert model.intercept_.shape == model.coef_.shape[:1]


@TWO_AND_THREE
def test_balanced_weights_count_as_so_many_examples(y):
    times = RNG.integers(0, 4, 90)
    one = classifier(class_weight="balanced", run=Run(tolerance=1e-9)).fit(X, y, times)
    other = classifier(class_weight="balanced", run=Run(tolerance=1e-9))
    other.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(one.coef_, other.coef_, atol=1e-6)


@TWO_AND_THREE
def test_a_class_may_weigh_nothing(y):
    weights = np.where(y == y.max(), 0.0, WEIGHTS)
    plain = classifier().fit(X, y, weights)
    again = classifier(class_weight=dict.fromkeys(range(y.max() + 1), 1.0)).fit(X, y, weights)
    assert_allclose(again.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    balanced = classifier(class_weight="balanced").fit(X, y, weights)
    assert balanced.predict_proba(X)[:, -1].max() < 1e-3


@pytest.mark.parametrize("given", [(None, {0: 0, 1: 0}), (Y, {0: 1, 1: 0})])
def test_class_weights_that_leave_nothing(given):
    weights, class_weight = given
    with pytest.raises(DataError, match="the weight of every example is zero"):
        classifier(class_weight=class_weight).fit(X, Y, weights)


@pytest.mark.parametrize("hessian", ["auto", "dense"])
def test_a_large_feature_does_not_spoil_the_others(hessian):
    """As scikit-learn's newton-cholesky does without trouble."""
    scale = np.array([1.0, 1e-3, 1e4, 1.0])
    peer = LogisticRegression(C=1e8, tol=1e-10, solver="newton-cholesky").fit(X * scale, Y)
    model = classifier(penalty=1e-8, hessian=hessian).fit(X * scale, Y)
    assert_allclose(model.predict_proba(X * scale), peer.predict_proba(X * scale), atol=1e-2)


LABELS = {
    "integers": np.array([7, -2, 5]),
    "small integers": np.array([7, 2, 5], np.int8),
    "strings": np.array(["no", "yes", "x"]),
    "objects": np.array(["no", "yes", "é x"], dtype=object),
    "floats": np.array([2.0, 1.0, -3.0]),
    "truth": np.array([True, False]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_kinds_of_labels(kind, tmp_path):
    labels = LABELS[kind]
    codes = Y3 if labels.size == 3 else Y
    model = classifier().fit(X, labels[codes])
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(X).dtype == model.classes_.dtype == labels.dtype
    assert model.score(X, labels[codes]) > 0.6
    assert classifier().fit(X, labels[codes].tolist()).score(X, labels[codes]) > 0.6
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    found, expected = again.classes_.tolist(), model.classes_.tolist()
    assert [(type(label), label) for label in found] == [(type(label), label) for label in expected]
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_classes_that_files_cannot_hold(tmp_path, unit):
    days = np.array(["2020-01-01", "2020-01-02"], dtype=f"M8[{unit}]")
    model = classifier().fit(X, days[Y])
    with pytest.raises(DataError, match="classes of type datetime64 cannot be saved"):
        model.save(tmp_path / "m")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.ones(90), {}, r"y contains only one class, 1\.0\. A classifier"),
        (np.where(Y, np.nan, 1.0), {}, "NaN"),
        (X[:, 0], {}, "Unknown label type"),
        (np.column_stack([Y, Y]), {}, "should be a 1d array"),
        (Y, {"class_weight": "even"}, "class_weight"),
        (Y, {"class_weight": {0: -1.0}}, "expected finite numbers >= 0"),
    ],
)
def test_what_is_refused(y, options, message):
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(X, y)


@EVERY_TUNING
def test_separated_classes_are_tuned(tuning):
    for form in (np.asarray, sp.csr_array):
        model = Classifier(tuning=tuning, n_jobs=1).fit(form(X), SEPARATED)
        assert model.score(form(X), SEPARATED) > 0.95
        assert np.isfinite(model.penalty_).all()


@EVERY_TUNING
def test_classes_that_are_hardly_there(tuning):
    """One is seen once, or has no weight."""
    once = np.where(np.arange(90) == 7, 5, Y)
    model = Classifier(tuning=tuning, n_jobs=1).fit(X, once)
    assert model.classes_.tolist() == [0, 1, 5]
    assert np.isfinite(model.predict_log_proba(X)).all()
    model = Classifier(tuning=tuning, n_jobs=1).fit(X, Y3, np.where(Y3 == 1, 0.0, 1.0))
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.predict_proba(X)[:, 1].max() < 0.05


@TWO_AND_THREE
def test_probabilities_follow_from_the_scores(y):
    model = classifier().fit(X, y)
    scores, p = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == ((90,) if y is Y else (90, 3))
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.log(p), model.predict_log_proba(X))
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    relative = scores - scores[:, :1] if y is Y3 else np.column_stack([0 * scores, scores])
    assert_allclose(np.log(p / p[:, :1]), relative, atol=1e-9)


@TWO_AND_THREE
def test_logarithms_where_probabilities_are_zero(y):
    model = classifier().fit(X, y)
    log_p = model.predict_log_proba(1e6 * X)
    assert np.isfinite(log_p).all()
    assert log_p.min() < -1e5
    assert log_p.max() <= 0.0
    assert model.predict_proba(1e6 * X).min() == 0.0


def test_probabilities_of_many_classes():
    """The evidence alone is too careful: its log loss is a sixth above that of the best penalty."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(scale(X), y, test_size=0.5, random_state=0)
    tuners = MajorizeTuner(calibrated=False), "auto", "implicit"
    models = [Classifier(tuning=tuner) for tuner in tuners]
    evidence, default, implicit = (log_loss(y_test, m.fit(X, y).predict_proba(X_test)) for m in models)
    assert default < 0.9 * evidence
    assert default < 1.05 * implicit


def test_fewer_groups_of_examples_than_folds():
    """What a part of them tells is better than nothing."""
    X, y = load_digits(return_X_y=True)
    model = Classifier().fit(X[:200], y[:200], groups=np.arange(200) % 3)
    assert any(record["stage"] == "calibrate" for record in model.history_)


def test_too_few_to_hold_any_out():
    one, other = (Classifier(tuning=t).fit([[0.0], [1.0]], [0, 1]) for t in ("majorize", MajorizeTuner()))
    assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("tuning", ["implicit", "grid"])
def test_groups_of_examples_stay_together(tuning, monkeypatch):
    seen = []
    build = structune.learning.tuning.TuningProblem.build.__func__

    def spy(cls, *args, **options):
        seen.append((options["example_groups"], options["strata"]))
        return build(cls, *args, **options)

    monkeypatch.setattr(structune.learning.tuning.TuningProblem, "build", classmethod(spy))
    groups = [f"g{k % 7}" for k in range(90)]
    Classifier(tuning=tuning, n_jobs=1).fit(X, np.array(list("nyz"))[Y3], groups=groups)
    assert seen[0][0] == groups
    assert_array_equal(seen[0][1], Y3)
