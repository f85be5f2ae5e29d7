"""The classifier: scikit-learn's conventions and optima, tuning, groups of features, files."""

import copy
import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import structune
from structune import Classifier
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.learning.risk import Risk
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner
from structune.running import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X @ [1.5, -1.0, 0.0, 0.0] + RNG.normal(size=90) > 0.4).astype(int)
Y3 = Y + (X[:, 2] + 0.5 * RNG.normal(size=90) > 0.7)
WEIGHTS = RNG.uniform(0.0, 2.0, 90)
SEPARATED = (X[:, 0] > 0).astype(int)
TUNINGS = [None, "majorize", "direct", "implicit", "grid"]


def classifier(**options):
    return Classifier(**{"n_jobs": 1, "tuning": None, **options})


def frame(x=X, names="abcd"):
    return pd.DataFrame(x, columns=list(names))


# --- scikit-learn's conventions ---------------------------------------------------------------------------


def splits_at_random(estimator):
    """Checks that a tuner which holds examples out cannot pass."""
    if estimator.tuning != "majorize":
        return {}
    checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    return dict.fromkeys(checks, "examples are held out one by one, whatever their weight")


@parametrize_with_checks(
    [
        Classifier(),
        Classifier(tuning=MajorizeTuner()),
        Classifier(tuning=None),
        Classifier(groups="feature", hessian="exact"),
    ],
    expected_failed_checks=splits_at_random,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_probabilities_of_many_classes():
    """The evidence alone is too careful: its log loss is a sixth above that of the best penalty."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(scale(X), y, test_size=0.5, random_state=0)
    models = [Classifier(tuning=MajorizeTuner()), Classifier(), Classifier(tuning="implicit")]
    evidence, default, implicit = (log_loss(y_test, m.fit(X, y).predict_proba(X_test)) for m in models)
    assert default < 0.9 * evidence
    assert default < 1.05 * implicit


def test_fewer_groups_of_examples_than_folds():
    """What a part of them tells is better than nothing."""
    X, y = load_digits(return_X_y=True)
    model = Classifier().fit(X[:200], y[:200], groups=np.arange(200) % 3)
    assert any(record["stage"] == "calibrate" for record in model.history_)


def test_too_few_to_hold_any_out():
    found = [
        Classifier(tuning=tuning).fit([[0.0], [1.0]], [0, 1]) for tuning in ("majorize", MajorizeTuner())
    ]
    assert_array_equal(found[0].coef_, found[1].coef_)


@pytest.mark.parametrize("call", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_not_fitted(call):
    with pytest.raises(NotFittedError, match="Classifier instance is not fitted"):
        getattr(Classifier(), call)(X)
    with pytest.raises(NotFittedError):
        Classifier().save("nowhere")


def test_parameters_come_back_as_given():
    given = {"penalty": {"all": 2.0}, "tuning": GridTuner((1.0,)), "groups": len, "class_weight": {0: 1.0}}
    model = Classifier(**given)
    assert all(model.get_params()[name] is value for name, value in given.items())
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert repr(Classifier(tuning=None, folds=3)) == "Classifier(folds=3, tuning=None)"


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_classes_that_files_cannot_hold(tmp_path, unit):
    days = np.array(["2020-01-01", "2020-01-02"], dtype=f"M8[{unit}]")
    model = classifier().fit(X, days[Y])
    with pytest.raises(DataError, match="found classes of type datetime64, expected text or numbers"):
        model.save(tmp_path / "m")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_predict_the_same(copy_of):
    model = classifier(n_jobs=2).fit(X, Y3)
    again = copy_of(model)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.fit(X, Y3).coef_, model.coef_)


def test_model_selection():
    search = GridSearchCV(classifier(), {"penalty": [1e4, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"penalty": 1.0}
    assert search.best_estimator_.penalty_.tolist() == [1.0]
    scores = cross_val_score(Classifier(n_jobs=1), X, Y3, cv=3, params={"sample_weight": WEIGHTS})
    assert np.all((scores > 0.4) & (scores < 1.0))


# --- scikit-learn's optima --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("penalty", [0.03, 10.0])
@pytest.mark.parametrize("case", CASES)
def test_logistic_regression_agrees(case, penalty, form):
    y, options, fit_options = CASES[case]
    x = 0.5 + X
    peer = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000, solver="newton-cg", **options)
    peer.fit(x, y, **fit_options)
    for hessian in ("dense", "exact"):
        model = classifier(penalty=penalty, tolerance=1e-9, hessian=hessian, **options)
        model.fit(form(x), y, **fit_options)
        assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-6)
        assert_allclose(model.intercept_ + 0 * peer.intercept_, peer.intercept_, rtol=1e-6, atol=1e-6)
        assert_allclose(model.predict_proba(form(x)), peer.predict_proba(x), atol=1e-6)
        assert model.coef_.shape == peer.coef_.shape
        assert model.intercept_.shape == model.coef_.shape[:1]


def test_weights_count_as_so_many_examples():
    times = RNG.integers(0, 4, 90)
    for y in (Y, Y3):
        one = classifier(tolerance=1e-9).fit(X, y, times)
        other = classifier(tolerance=1e-9).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_allclose(one.coef_, other.coef_, atol=1e-6)


def test_balanced_weights_count_as_so_many_examples():
    times = RNG.integers(0, 4, 90)
    one = classifier(class_weight="balanced", tolerance=1e-9).fit(X, Y3, times)
    other = classifier(class_weight="balanced", tolerance=1e-9)
    other.fit(np.repeat(X, times, axis=0), np.repeat(Y3, times))
    assert_allclose(one.coef_, other.coef_, atol=1e-6)


@pytest.mark.parametrize("y", [Y, Y3])
def test_a_class_may_weigh_nothing(y):
    weights = np.where(y == y.max(), 0.0, WEIGHTS)
    plain = classifier().fit(X, y, weights)
    again = classifier(class_weight=dict.fromkeys(range(y.max() + 1), 1.0)).fit(X, y, weights)
    assert_allclose(again.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    balanced = classifier(class_weight="balanced").fit(X, y, weights)
    assert balanced.predict_proba(X)[:, -1].max() < 1e-3


@pytest.mark.parametrize("hessian", ["auto", "dense", "exact", "complex-step", "finite-difference"])
def test_ways_to_the_optimum(hessian):
    expected = classifier(tolerance=1e-9, hessian="dense").fit(X, Y3)
    found = classifier(tolerance=1e-7, hessian=hessian).fit(X, Y3)
    assert_allclose(found.coef_, expected.coef_, atol=1e-5)


def test_the_tolerance_that_comes_by_default_is_good_enough():
    for y in (Y, Y3):
        for options in ({}, {"hessian": "exact"}):
            p = classifier(**options).fit(X, y).predict_proba(X)
            assert_allclose(p, classifier(tolerance=1e-10).fit(X, y).predict_proba(X), atol=1e-3)


# --- input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [np.ndarray.tolist, sp.csr_matrix, sp.coo_array, frame, lambda x: x.astype(np.float32)]
)
def test_forms_of_input(form):
    x = X.astype(np.float32).astype(float)
    model, other = (classifier(tolerance=1e-8).fit(data, Y3) for data in (x, form(x)))
    assert_allclose(other.coef_, model.coef_, atol=1e-7)
    assert_allclose(other.predict_proba(form(x)), model.predict_proba(x), atol=1e-7)
    assert model.coef_.dtype == other.coef_.dtype == np.float64


LABELS = {
    "integers": np.array([7, -2, 5]),
    "small integers": np.array([7, 2, 5], np.int8),
    "strings": np.array(["no", "yes", "x"]),
    "objects": np.array(["no", "yes", "é x"], dtype=object),
    "floats": np.array([2.0, 1.0, -3.0]),
    "truth": np.array([True, False]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_kinds_of_labels(kind):
    labels = LABELS[kind]
    codes = Y3 if labels.size == 3 else Y
    model = classifier().fit(X, labels[codes])
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(X).dtype == model.classes_.dtype == labels.dtype
    assert set(model.predict(X).tolist()) <= set(labels.tolist())
    assert model.score(X, labels[codes]) > 0.6
    assert classifier().fit(X, labels[codes].tolist()).score(X, labels[codes]) > 0.6


def test_series_are_taken_by_their_order():
    index = np.arange(90)[::-1]
    model = classifier().fit(frame().set_index(index), pd.Series(Y))
    assert_allclose(model.coef_, classifier().fit(X, Y).coef_)


@pytest.mark.parametrize(
    ("x", "y", "weights", "message"),
    [
        (X, np.ones(90), None, r"found one class, 1\.0, expected at least two"),
        (X, Y[:5], None, "inconsistent numbers of samples"),
        (X[:0], Y[:0], None, "0 sample"),
        (X[:, :0], Y, None, "0 feature"),
        (np.where(X > 2, np.nan, X), Y, None, "contains NaN"),
        (np.where(X > 2, np.inf, X), Y, None, "contains infinity"),
        (sp.csr_array(np.where(X > 2, np.inf, X)), Y, None, "contains infinity"),
        (X, np.where(Y, np.nan, 1.0), None, "NaN"),
        (X, X[:, 0], None, "Unknown label type"),
        (X, np.column_stack([Y, Y]), None, "should be a 1d array"),
        (X, Y, np.ones(3), r"found weights of shape \(3,\), expected \(90,\)"),
        (X, Y, -np.ones(90), "example 0 has the weight -1.0"),
        (X, Y, np.zeros(90), "found a weight of zero for every example"),
        (X, Y, np.append(np.ones(89), np.nan), "example 89 has the weight nan"),
    ],
)
def test_data_that_are_refused(x, y, weights, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(x, y, weights)


@pytest.mark.parametrize("given", [(None, {0: 0, 1: 0}), (Y, {0: 1, 1: 0})])
def test_class_weights_that_leave_nothing(given):
    weights, class_weight = given
    with pytest.raises(DataError, match="a weight of zero for every example"):
        classifier(class_weight=class_weight).fit(X, Y, weights)


def test_other_features_are_refused_in_prediction():
    model = classifier().fit(frame(), Y)
    with pytest.raises(ValueError, match="X has 3 features, but Classifier is expecting 4"):
        classifier().fit(X, Y).predict(X[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame(names="abce"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"loss": "hinge"},
            re.escape("loss='hinge': expected one of ['log', 'margin', 'ramp', 'equiv"),
        ),
        ({"tuning": "bayes"}, "tuning='bayes': expected one of"),
        ({"hessian": "newton"}, "hessian='newton': expected one of"),
        ({"penalty": 0.0}, "penalty=0.0: expected finite numbers > 0"),
        ({"penalty": "large"}, "penalty='large'"),
        (
            {"penalty": {"none": 1.0}},
            re.escape("penalty names the groups ['none'], expected some of ['all']"),
        ),
        ({"penalty": {"all": -1.0}}, "expected finite numbers > 0"),
        ({"groups": "word"}, "groups='word': expected one of"),
        ({"groups": None}, "groups=None: expected one of"),
        ({"groups": {"x0": 1}}, "expected one of"),
        ({"groups": ["a"] * 3}, "found groups for 3 features, expected 4"),
        ({"groups": ["a"] * 5}, "found groups for 5 features, expected 4"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": {0: -1.0}}, "expected finite numbers >= 0"),
        ({"tuning": "implicit", "folds": 91}, "cannot split 90 examples"),
        ({"tuning": "grid", "folds": None, "holdout": 1.5}, "holdout=1.5: expected a number between 0 and 1"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(X, Y)


# --- awkward data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-10, 1e-5, 1e5, 1e10])
def test_separated_classes(penalty):
    model = classifier(penalty=penalty).fit(X, SEPARATED)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert penalty > 1 or model.score(X, SEPARATED) == 1.0


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_separated_classes_are_tuned(tuning, form):
    model = Classifier(tuning=tuning, n_jobs=1).fit(form(X), SEPARATED)
    assert model.score(form(X), SEPARATED) > 0.95
    assert np.isfinite(model.penalty_).all()


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [Y, Y3])
def test_collinear_and_constant_columns(tuning, y):
    x = np.column_stack([X, X[:, 0], X[:, :2].sum(axis=1), np.ones(90), np.full(90, 1e6), np.zeros(90)])
    model = Classifier(tuning=tuning, n_jobs=1).fit(x, y)
    assert_allclose(model.coef_[:, 0], model.coef_[:, 4], rtol=1e-2, atol=1e-3)
    assert_allclose(model.coef_[:, 6:] * [1.0, 1e6, 1.0], 0.0, atol=1e-3)
    sparse = Classifier(tuning=tuning, n_jobs=1).fit(sp.csr_array(x[:, [0, 1, 2, 3, 4, 5, 6, 8]]), y)
    assert_allclose(sparse.predict_proba(x[:, [0, 1, 2, 3, 4, 5, 6, 8]]), model.predict_proba(x), atol=0.05)


@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [Y, Y3])
def test_the_origin_of_the_features_does_not_matter(tuning, y, hessian):
    options = {"tuning": tuning, "hessian": hessian, "n_jobs": 1}
    plain, moved = (Classifier(**options).fit(x, y) for x in (X, X + 1e6))
    assert_allclose(moved.predict_proba(X + 1e6), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("hessian", ["auto", "dense"])
def test_nor_that_of_sparse_features(hessian):
    model = classifier(hessian=hessian)
    moved = model.fit(sp.csr_array(X + 1e3), Y).predict_proba(X + 1e3)
    assert_allclose(moved, classifier().fit(X, Y).predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("hessian", ["auto", "dense"])
def test_a_large_feature_does_not_spoil_the_others(hessian):
    """As scikit-learn's newton-cholesky does without trouble."""
    scale = np.array([1.0, 1e-3, 1e4, 1.0])
    peer = LogisticRegression(C=1e8, tol=1e-10, solver="newton-cholesky").fit(X * scale, Y)
    model = classifier(penalty=1e-8, hessian=hessian).fit(X * scale, Y)
    assert_allclose(model.predict_proba(X * scale), peer.predict_proba(X * scale), atol=1e-2)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [Y, Y3])
def test_more_features_than_examples(tuning, y):
    x = np.hstack([X[:30], np.random.default_rng(0).normal(size=(30, 40))])
    model = Classifier(tuning=tuning, folds=2, n_jobs=1).fit(x, y[:30])
    assert np.isfinite(model.coef_).all()
    assert model.score(x, y[:30]) > 0.6


def test_two_examples():
    model = Classifier(n_jobs=1).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[-1.0], [2.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("tuning", TUNINGS)
def test_a_class_seen_once(tuning):
    y = Y.copy()
    y[7] = 5
    model = Classifier(tuning=tuning, n_jobs=1).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 5]
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [Y, Y3])
def test_a_class_without_weight(tuning, y):
    model = Classifier(tuning=tuning, n_jobs=1).fit(X, y, np.where(y == 1, 0.0, 1.0))
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.predict_proba(X)[:, 1].max() < 0.05


def test_many_classes():
    y = np.arange(90) // 6
    for tuning in (None, "majorize", "implicit"):
        model = Classifier(tuning=tuning, folds=3, n_jobs=1).fit(X, y)
        assert model.coef_.shape == (15, 4)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_many_classes_and_one_held_out_part():
    Classifier(tuning="implicit", folds=None, n_jobs=1).fit(X, np.arange(90) // 3)


# --- prediction -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, Y3])
def test_probabilities_follow_from_the_scores(y):
    model = classifier().fit(X, y)
    scores, p = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == ((90,) if y is Y else (90, 3))
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.log(p), model.predict_log_proba(X))
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    relative = scores - scores[:, :1] if y is Y3 else np.column_stack([0 * scores, scores])
    assert_allclose(np.log(p / p[:, :1]), relative, atol=1e-9)


@pytest.mark.parametrize("y", [Y, Y3])
def test_logarithms_where_probabilities_are_zero(y):
    far = 1e6 * X
    log_p = classifier().fit(X, y).predict_log_proba(far)
    assert np.isfinite(log_p).all()
    assert log_p.min() < -1e5
    assert log_p.max() <= 0.0
    assert classifier().fit(X, y).predict_proba(far).min() == 0.0


# --- tuning -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("y", [Y, Y3])
@pytest.mark.parametrize("tuning", TUNINGS[1:])
def test_what_tuning_leaves(tuning, y, form):
    model = Classifier(tuning=tuning, groups=["a", "a", "b", "b"], n_jobs=1, tolerance=1e-6)
    model.fit(form(X), y)
    assert model.status_ == "converged"
    assert model.group_names_ == ("a", "b")
    n_scores = 1 if y is Y else 3
    assert model.group_sizes_.tolist() == [2 * n_scores, 2 * n_scores]
    assert model.penalty_.shape == (2,)
    assert [record["stage"] for record in model.history_]
    assert model.passes_ > 0
    # the weights are those of the penalties
    names = dict(zip("ab", model.penalty_, strict=True))
    again = classifier(penalty=names, groups=["a", "a", "b", "b"], tolerance=1e-8).fit(form(X), y)
    assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=0.02 if tuning == "direct" else 1e-3)


def test_tuners_may_be_objects():
    for tuner in (
        MajorizeTuner(alpha=1.0),
        DirectTuner(),
        ImplicitTuner(max_evaluations=2),
        GridTuner((1.0, 2.0)),
    ):
        model = Classifier(tuning=tuner, n_jobs=1).fit(X, Y)
        assert model.tuning is tuner
    assert model.penalty_[0] in (1.0, 2.0)


def test_one_precision_a_feature_shrinks_what_is_noise():
    rng = np.random.default_rng(0)
    x = np.hstack([X[:, :2], rng.normal(size=(90, 10))])
    free = classifier(penalty=1e-6).fit(x, Y)
    for tuning in ("majorize", MajorizeTuner(beta=1e-2)):
        model = Classifier(groups="feature", tuning=tuning, n_jobs=1).fit(x, Y)
        assert model.group_names_ == tuple(f"x{k}" for k in range(12))
        assert model.penalty_[:2].max() < np.median(model.penalty_[2:])
        noise = [np.linalg.norm(m.coef_[0, 2:]) / np.linalg.norm(m.coef_[0, :2]) for m in (model, free)]
        assert noise[0] < noise[1]
    assert noise[0] < 0.8 * noise[1]


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


def test_the_seed_decides_on_the_folds():
    a, b, c = (
        Classifier(tuning="grid", folds=None, random_state=s, n_jobs=1).fit(X, Y).history_[0]["heldout_loss"]
        for s in (0, 0, 1)
    )
    assert a == b != c


# --- groups of features -----------------------------------------------------------------------------------


FRAME = frame(names=["size=1", "size=2", "hue", "age"])


@pytest.mark.parametrize(
    ("groups", "names", "sizes"),
    [
        ("single", ("all",), [4]),
        ("feature", ("size=1", "size=2", "hue", "age"), [1, 1, 1, 1]),
        ("prefix", ("size", "hue", "age"), [2, 1, 1]),
        (["b", "a", "b", "a"], ("b", "a"), [2, 2]),
        (("b", "a", "b", "a"), ("b", "a"), [2, 2]),
        (np.array([1, 1, 2, 2]), ("1", "2"), [2, 2]),
        (len, ("6", "3"), [2, 2]),
        (lambda name: name[0], ("s", "h", "a"), [2, 1, 1]),
    ],
)
def test_groups(groups, names, sizes):
    model = classifier(groups=groups).fit(FRAME, Y)
    assert (model.group_names_, model.group_sizes_.tolist()) == (names, sizes)
    assert model.group_names_ == classifier(groups=groups).fit(FRAME, Y3).group_names_
    assert classifier(groups=groups).fit(FRAME, Y3).group_sizes_.tolist() == [3 * n for n in sizes]


@pytest.mark.parametrize("kind", [pd.Series, pd.Index])
def test_groups_from_pandas(kind):
    assert classifier(groups=kind(["b", "a", "b", "a"])).fit(FRAME, Y).group_names_ == ("b", "a")


def test_penalties_by_group():
    """Those not named are 1; the intercept has none."""
    model = classifier(groups="prefix", penalty={"size": 1e8}).fit(FRAME, Y)
    assert model.penalty_.tolist() == [1e8, 1.0, 1.0]
    assert_allclose(model.coef_[0, :2], 0.0, atol=1e-6)
    other = classifier().fit(X[:, 2:], Y)
    assert_allclose(model.coef_[0, 2:], other.coef_[0], atol=1e-3)
    assert_allclose(model.intercept_, other.intercept_, atol=1e-3)


def test_blocks_of_a_column_transformer():
    table = frame().assign(kind=np.array(["p", "q", "r"])[Y3 + RNG.integers(-1, 2, 90).clip(-Y3, 2 - Y3)])
    blocks = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["a", "b", "c", "d"]),
            ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    ).set_output(transform="pandas")
    model = make_pipeline(blocks, Classifier(groups="prefix", n_jobs=1)).fit(table, Y)
    assert model[-1].group_names_ == ("numbers", "kinds")
    assert model[-1].group_sizes_.tolist() == [4, 3]
    assert model[-1].feature_names_in_[0] == "numbers__a"
    assert model.score(table, Y) > 0.7
    search = GridSearchCV(model, {"classifier__groups": ["single", "prefix"]}, cv=2).fit(table, Y)
    assert search.best_score_ > 0.6


def test_text():
    texts = ["good dog", "bad cat", "good cat", "bad dog", "very good", "very bad"] * 3
    model = make_pipeline(CountVectorizer(), Classifier(n_jobs=1)).fit(
        texts, ["+", "-", "+", "-", "+", "-"] * 3
    )
    assert model.predict(["good", "bad", "unheard of"])[:2].tolist() == ["+", "-"]


# --- fits after fits, and cut short -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"hessian": "exact"}, {"fit_intercept": False}])
@pytest.mark.parametrize("y", [Y, Y3])
def test_a_warm_start_is_quick(y, options):
    model = classifier(warm_start=True, tolerance=1e-6, **options).fit(X + 5.0, y)
    coef, passes = model.coef_.copy(), model.passes_
    model.fit(X + 5.0, y)
    assert model.passes_ < 0.5 * passes
    assert_allclose(model.coef_, coef, atol=1e-4)
    assert_allclose(model.coef_, classifier(tolerance=1e-9, **options).fit(X + 5.0, y).coef_, atol=1e-3)


def test_a_warm_start_on_other_data():
    """With other classes or features, fits start anew."""
    model = classifier(warm_start=True)
    for x, y in ((X, Y), (X, Y3), (X[:, :2], Y3), (X[:, :2], Y), (frame(), np.array(["n", "y"])[Y])):
        again = model.fit(x, y)
        assert_allclose(again.predict_proba(x), classifier().fit(x, y).predict_proba(x), atol=1e-3)
    model.set_params(fit_intercept=False).fit(X, Y)
    assert model.intercept_.tolist() == [0.0]
    assert_allclose(model.coef_, classifier(fit_intercept=False).fit(X, Y).coef_, atol=1e-3)
    model.set_params(tuning="majorize").fit(X, Y)
    assert_array_equal(model.coef_, Classifier(fit_intercept=False, n_jobs=1).fit(X, Y).coef_)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_number_of_threads_does_not_matter(tuning, y, form):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 5))
    labels = (x @ rng.normal(size=(5, 2 + y)) + rng.normal(size=(20_000, 2 + y))).argmax(axis=1)
    tuning = GridTuner((1.0, 30.0)) if tuning == "grid" else tuning
    options = {"tuning": tuning, "folds": 2, "tolerance": 1e-2}
    one, two = (Classifier(n_jobs=n, **options).fit(form(x), labels) for n in (1, 2))
    assert_array_equal(two.coef_, one.coef_)
    assert_array_equal(two.intercept_, one.intercept_)
    assert_array_equal(two.penalty_, one.penalty_)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("n", [3, 6, 15])
def test_ctrl_c_leaves_a_model(tuning, hessian, n, monkeypatch):
    whole, count = Risk.value_and_gradient, iter(range(n))

    def cut(self, w):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return whole(self, w)

    monkeypatch.setattr(Risk, "value_and_gradient", cut)
    model = Classifier(tuning=tuning, hessian=hessian, tolerance=1e-12, n_jobs=1).fit(X, Y)
    assert model.status_ in ("interrupted", "stalled", "converged")
    assert model.status_ == "interrupted" or n == 15
    assert model.predict_proba(X).shape == (90, 2)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.penalty_).all()


@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_time_at_all(tuning):
    model = Classifier(tuning=tuning, run=Run(max_seconds=0.0), n_jobs=1).fit(X, Y)
    assert model.status_ == "budget"
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_iterations_run_out():
    model = classifier(run=Run(max_iterations=1), tolerance=1e-9).fit(X, Y)
    assert model.status_ == "iterations"


# --- files ------------------------------------------------------------------------------------------------


def saved(model, path):
    model.save(path)
    return structune.load(path)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_what_is_saved_comes_back(tuning, fit_intercept, tmp_path):
    for data, y in ((X, Y), (FRAME, Y3)):
        options = {"groups": ["a", "b", "a", "b"], "class_weight": "balanced", "holdout": 0.3}
        model = Classifier(tuning=tuning, fit_intercept=fit_intercept, n_jobs=1, **options).fit(data, y)
        model.save(tmp_path / "model", {"note": "é"})
        again = structune.load(tmp_path / "model")
        assert type(again) is Classifier
        assert again.get_params() == model.get_params()
        assert again.extra_ == {"note": "é"}
        for name in ("coef_", "intercept_", "classes_", "penalty_", "group_sizes_", "n_features_in_"):
            assert_array_equal(getattr(again, name), getattr(model, name), strict=name != "n_features_in_")
        for name in ("group_names_", "history_", "status_", "passes_"):
            assert getattr(again, name) == getattr(model, name), name
        assert hasattr(again, "feature_names_in_") == (data is FRAME)
        assert_array_equal(again.predict_proba(data), model.predict_proba(data))
        assert_array_equal(again.fit(data, y).coef_, model.coef_)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back(kind, fit_intercept, tmp_path):
    labels = LABELS[kind]
    codes = Y3 if labels.size == 3 else Y
    model = classifier(fit_intercept=fit_intercept).fit(X, labels[codes])
    again = saved(model, tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert [type(label) for label in again.classes_.tolist()] == [
        type(label) for label in model.classes_.tolist()
    ]
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_feature_names_come_back(tmp_path):
    names = ["size=1", "", "é\0", " a b"]
    model = classifier(fit_intercept=False, groups="feature").fit(frame(names=names), Y)
    again = saved(model, tmp_path / "model")
    assert again.feature_names_in_.tolist() == names
    assert again.group_names_ == tuple(names)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame())


def test_tuners_and_functions_come_back_as_defaults(tmp_path):
    model = classifier(fit_intercept=False, tuning=MajorizeTuner(), groups=len).fit(X, Y)
    again = saved(model, tmp_path / "model")
    assert (again.tuning, again.groups) == ("majorize", "single")
    assert_array_equal(again.penalty_, model.penalty_)


def test_a_parameter_set_after_the_fit_does_not_change_what_is_saved(tmp_path):
    model = classifier(fit_intercept=True).fit(X + 1.0, Y)
    model.set_params(fit_intercept=False)
    assert_array_equal(saved(model, tmp_path / "model").predict_proba(X), model.predict_proba(X))


def damaged(model, path, header):
    """The model's file with other entries in its header."""
    model.save(path)
    fields, arrays = read_model(path)
    fields = {
        name: value for name, value in {**fields, **header}.items() if name not in ("format", "version")
    }
    save_model(path, fields.pop("kind"), fields, arrays)
    return path


@pytest.mark.parametrize(
    "header",
    [
        {"n_features": 3},
        {"n_features": 5},
        {"n_features": -1},
        {"n_features": None},
        {"n_features": [4]},
        {"named": True},
        {"classes": [0, 1, 2]},
        {"classes": [0]},
        {"classes": []},
        {"classes": [0, 0]},
        {"classes": [[0], [1]]},
        {"classes": "ab"},
        {"classes": None},
        {"classes": 5},
        {"classes": [{}, {}]},
        {"parameters": {"colour": 1}},
        {"passes": "many"},
        {"classes": [0, None]},
        {"classes": [0, "a"]},
        {"classes": [0.0, float("nan")]},
        {"classes": [1, 0]},
        {"n_features": 4.7},
    ],
)
def test_a_header_that_does_not_fit(header, tmp_path):
    path = damaged(classifier(fit_intercept=False).fit(X, Y), tmp_path / "model", header)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        structune.load(path)


@pytest.mark.parametrize("n_features", [0, 3, 5])
def test_names_of_other_features(n_features, tmp_path):
    model = classifier(fit_intercept=False).fit(FRAME, Y)
    with pytest.raises(ModelFileError):
        structune.load(damaged(model, tmp_path / "model", {"n_features": n_features}))


def test_a_lie_about_the_number_of_features_takes_no_memory(tmp_path):
    path = damaged(classifier(fit_intercept=False).fit(X, Y), tmp_path / "model", {"n_features": 100_000})
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        structune.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("array", ["coef", "penalty", "group_sizes", "feature_bytes", "feature_ends"])
def test_a_missing_part(array, tmp_path):
    classifier(fit_intercept=False).fit(FRAME, Y).save(tmp_path / "model")
    fields, arrays = read_model(tmp_path / "model")
    fields = {name: value for name, value in fields.items() if name not in ("format", "version")}
    del arrays[array]
    save_model(tmp_path / "model", fields.pop("kind"), fields, arrays)
    with pytest.raises(ModelFileError, match=array):
        structune.load(tmp_path / "model")
