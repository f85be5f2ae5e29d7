"""What classifiers and regressors share: conventions, input, tuning, groups, fits cut short, files."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import structune
from structune import Classifier, Regressor
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.learning.tuning import GridTuner, MajorizeTuner
from structune.running import Run
from tiny import press_ctrl_c_at_evaluations

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 4))
Y = (X @ [1.5, -1.0, 0.0, 0.0] + RNG.normal(size=N) > 0.4).astype(int)
Y3 = Y + (X[:, 2] + 0.5 * RNG.normal(size=N) > 0.7)
NUMBERS = 3.0 + X @ [1.5, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=N)
FRAME = pd.DataFrame(X, columns=["size=1", "size=2", "hue", "age"])
KINDS = {"binary": (Classifier, Y), "classes": (Classifier, Y3), "numbers": (Regressor, NUMBERS)}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
BOTH = pytest.mark.parametrize("kind", ["classes", "numbers"])
TUNINGS = [None, "majorize", "direct", "implicit", "grid"]
EVERY_TUNING = pytest.mark.parametrize("tuning", TUNINGS)


def model_of(kind, **options):
    return KINDS[kind][0](**{"n_jobs": 1, "tuning": None, **options})


def fitted(kind, x=X, **options):
    return model_of(kind, **options).fit(x, KINDS[kind][1])


def predicted(model, x):
    """Probabilities of classes, or numbers."""
    return model.predict_proba(x) if isinstance(model, Classifier) else model.predict(x)


def rounded(estimator):
    """Checks that compare to seven digits what ends by the tolerances of `MajorizeTuner`."""
    if not isinstance(estimator.tuning, MajorizeTuner):
        return {}
    checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    return dict.fromkeys(checks, "sums over repeated rows round otherwise than weighted ones")


@parametrize_with_checks(
    [
        Classifier(),
        Classifier(tuning=MajorizeTuner(), groups="feature", hessian="exact"),
        Classifier(tuning=None),
        Classifier(loss="margin", tuning=None, n_jobs=1),
        Regressor(),
        Regressor(tuning=None, groups="feature"),
    ],
    expected_failed_checks=rounded,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_what_is_not_fitted_is_not_saved():
    with pytest.raises(NotFittedError):
        Classifier().save("nowhere")


FORMS = [np.ndarray.tolist, sp.csr_matrix, sp.coo_array, pd.DataFrame, lambda x: x.astype(np.float32)]


@BOTH
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:.*feature names")
def test_forms_of_input(kind, form):
    x = X.astype(np.float32).astype(float)
    given = form(x)
    if isinstance(given, pd.DataFrame):
        given.columns = list("abcd")
    model, other = (fitted(kind, data, run=Run(tolerance=1e-9)) for data in (x, given))
    assert_allclose(other.coef_, model.coef_, atol=1e-7)
    assert_allclose(predicted(other, given), predicted(model, x), atol=1e-7)
    assert model.coef_.dtype == other.coef_.dtype == np.float64


@BOTH
@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        (X[:5], None, "inconsistent numbers of samples"),
        (sp.csr_array(np.where(X > 2, np.inf, X)), None, "contains infinity"),
        (X, np.ones(3), r"weights must have the shape \(90,\), not \(3,\)"),
        (X, -np.ones(N), "example 0 has the weight -1.0"),
    ],
)
def test_data_that_are_refused(kind, x, weights, message):
    y = KINDS[kind][1][: max(x.shape[0], 6)]
    with pytest.raises(ValueError, match=message):
        model_of(kind).fit(x, y, weights)


@BOTH
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "large"}, "penalty='large'"),
        ({"penalty": {"none": 1.0}}, r"unknown groups of weights: \['none'\]. The groups are \['all'\]"),
        ({"groups": "word"}, "groups='word': expected one of"),
        ({"groups": {"x0": 1}}, "expected one of"),
        ({"groups": "prefix"}, "groups='prefix' needs feature names: fit with a data frame"),
        ({"groups": ["a"] * 3}, "groups has 3 names, but there are 4 features"),
        ({"tuning": "grid", "cv": 1.5}, "cv=1.5: expected a share between 0 and 1"),
    ],
)
def test_options_that_are_refused(kind, options, message):
    with pytest.raises(DataError, match=message):
        fitted(kind, **options)


@EVERY_KIND
def test_the_tolerance_that_comes_by_default_is_good_enough(kind):
    exact = Ridge().fit(X, NUMBERS) if kind == "numbers" else fitted(kind, run=Run(tolerance=1e-10))
    for hessian in ("auto", "exact"):
        assert_allclose(predicted(fitted(kind, hessian=hessian), X), predicted(exact, X), rtol=0.0, atol=1e-3)


@BOTH
def test_other_features_are_refused_in_prediction(kind):
    with pytest.raises(ValueError, match="X has 3 features, but "):
        fitted(kind).predict(X[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted(kind, FRAME).predict(FRAME.rename(columns={"age": "e"}))


@EVERY_KIND
@pytest.mark.parametrize(("tuning", "hessian"), [*((tuning, "auto") for tuning in TUNINGS), (None, "exact")])
def test_the_origin_of_the_features_does_not_matter(kind, tuning, hessian):
    plain, moved = (fitted(kind, x, tuning=tuning, hessian=hessian) for x in (X, X + 1e6))
    assert_allclose(predicted(moved, X + 1e6), predicted(plain, X), atol=1e-6)


@EVERY_KIND
@pytest.mark.parametrize("hessian", ["auto", "dense"])
def test_nor_that_of_sparse_features(kind, hessian):
    plain, moved = (fitted(kind, sp.csr_array(x), hessian=hessian) for x in (X, X + 1e3))
    assert_allclose(predicted(moved, X + 1e3), predicted(plain, X), atol=0.02)


@BOTH
@EVERY_TUNING
def test_collinear_and_constant_columns(kind, tuning):
    x = np.column_stack([X, X[:, 0], X[:, :2].sum(axis=1), np.ones(N), np.full(N, 1e6), np.zeros(N)])
    model = fitted(kind, x, tuning=tuning, run=Run(tolerance=1e-6))
    coef = np.atleast_2d(model.coef_)
    assert_allclose(coef[:, 0], coef[:, 4], atol=1e-2)
    assert_allclose(coef[:, 6:] * [1.0, 1e6, 1.0], 0.0, atol=1e-3)
    few = [0, 1, 2, 3, 4, 5, 6, 8]
    sparse = fitted(kind, sp.csr_array(x[:, few]), tuning=tuning)
    assert_allclose(predicted(sparse, x[:, few]), predicted(model, x), atol=0.05)


@BOTH
@EVERY_TUNING
@pytest.mark.parametrize(("n", "groups"), [(20, "single"), (19, "feature"), (60, "single")])
def test_as_many_features_as_examples(kind, tuning, n, groups):
    rng = np.random.default_rng(0)
    x, y = np.hstack([X[:20], rng.normal(size=(20, n - 4))]), KINDS[kind][1][:20]
    model = model_of(kind, tuning=tuning, groups=groups, cv=2).fit(x, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.penalty_).all()
    assert model.score(x, y) > (0.4 if kind == "classes" else -1e-9)


@EVERY_KIND
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("tuning", TUNINGS[1:])
def test_what_tuning_leaves(kind, tuning, form):
    options = {"groups": ["a", "a", "b", "b"], "run": Run(tolerance=1e-6)}
    model = fitted(kind, form(X), tuning=tuning, **options)
    assert model.status_ == "converged"
    assert model.group_names_ == ("a", "b")
    assert model.group_sizes_.tolist() == [2 * np.atleast_2d(model.coef_).shape[0]] * 2
    assert model.passes_ > 0
    assert [record["stage"] for record in model.history_]
    # the weights are those of the penalties
    again = fitted(kind, form(X), penalty=dict(zip("ab", model.penalty_, strict=True)), **options)
    assert_allclose(predicted(model, X), predicted(again, X), atol=0.02 if tuning == "direct" else 2e-3)


@pytest.mark.parametrize("kind", ["binary", "numbers"])
def test_one_precision_a_feature_shrinks_what_is_noise(kind):
    x = np.hstack([X[:, :2], np.random.default_rng(0).normal(size=(N, 10))])
    free = np.atleast_2d(fitted(kind, x, penalty=1e-6).coef_)[0]
    for tuning in ("majorize", MajorizeTuner(beta=1e-2)):
        model = fitted(kind, x, groups="feature", tuning=tuning)
        assert model.group_names_ == tuple(f"x{k}" for k in range(12))
        assert model.penalty_[:2].max() < np.median(model.penalty_[2:])
        noise = [np.linalg.norm(w[2:]) / np.linalg.norm(w[:2]) for w in (np.atleast_2d(model.coef_)[0], free)]
        assert noise[0] < noise[1]
    assert noise[0] < 0.8 * noise[1]


@BOTH
@pytest.mark.parametrize(
    ("groups", "names", "sizes"),
    [
        ("single", ("all",), [4]),
        ("feature", ("size=1", "size=2", "hue", "age"), [1, 1, 1, 1]),
        ("prefix", ("size", "hue", "age"), [2, 1, 1]),
        (["b", "a", "b", "a"], ("b", "a"), [2, 2]),
        (pd.Series(["b", "a", "b", "a"]), ("b", "a"), [2, 2]),
        (np.array([1, 1, 2, 2]), ("1", "2"), [2, 2]),
        (len, ("6", "3"), [2, 2]),
    ],
)
def test_groups(kind, groups, names, sizes):
    model = fitted(kind, FRAME, groups=groups)
    times = 3 if kind == "classes" else 1
    assert (model.group_names_, model.group_sizes_.tolist()) == (names, [times * size for size in sizes])
    assert model.penalty_.shape == (len(names),)


@BOTH
def test_penalties_by_group(kind):
    """Those not named are 1; the intercept has none."""
    model = fitted(kind, FRAME, groups="prefix", penalty={"size": 1e8}, run=Run(tolerance=1e-9))
    assert model.penalty_.tolist() == [1e8, 1.0, 1.0]
    assert_allclose(model.coef_[..., :2], 0.0, atol=1e-5)
    other = fitted(kind, X[:, 2:], run=Run(tolerance=1e-9))
    assert_allclose(model.coef_[..., 2:], other.coef_, atol=1e-4)
    assert_allclose(model.intercept_, other.intercept_, atol=1e-4)


@BOTH
def test_blocks_of_a_column_transformer(kind):
    y = KINDS[kind][1]
    table = FRAME.assign(kind=np.array(["p", "q", "r"])[Y3])
    blocks = ColumnTransformer(
        [
            ("numbers", StandardScaler(), list(FRAME.columns)),
            ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    ).set_output(transform="pandas")
    model = make_pipeline(blocks, model_of(kind, groups="prefix", tuning="majorize")).fit(table, y)
    assert model[-1].group_names_ == ("numbers", "kinds")
    assert model[-1].feature_names_in_[0] == "numbers__size=1"
    assert model.score(table, y) > 0.7


@EVERY_KIND
@pytest.mark.parametrize("options", [{}, {"hessian": "exact"}, {"fit_intercept": False}])
def test_a_warm_start_is_quick(kind, options):
    model = fitted(kind, X + 5.0, warm_start=True, run=Run(tolerance=1e-6), **options)
    coef, passes = model.coef_.copy(), model.passes_
    model.fit(X + 5.0, KINDS[kind][1])
    assert model.passes_ <= passes
    assert kind == "numbers" or model.passes_ < 0.5 * passes
    assert_allclose(model.coef_, coef, atol=1e-4)


@pytest.mark.parametrize("cls", [Classifier, Regressor])
def test_a_warm_start_on_other_data(cls):
    """With other classes or features, fits start anew."""
    model = cls(warm_start=True, tuning=None, n_jobs=1)
    cases = [(X, Y), (X, Y3), (X[:, :2], Y3), (X[:, :2], 100 * Y - 7), (FRAME, Y)]
    for x, y in cases:
        again = model.fit(x, y)
        assert_allclose(predicted(again, x), predicted(clone(model).fit(x, y), x), atol=1e-2)
    model.set_params(fit_intercept=False).fit(X, Y)
    assert np.all(model.intercept_ == 0.0)
    assert_allclose(model.coef_, clone(model).fit(X, Y).coef_, atol=1e-3)


@EVERY_KIND
@EVERY_TUNING
def test_the_number_of_threads_does_not_matter(kind, tuning):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 5))
    y = x @ rng.normal(size=(5, 3)) + rng.normal(size=(20_000, 3))
    y = y[:, 0] if kind == "numbers" else y[:, : 2 + (kind == "classes")].argmax(axis=1)
    tuner = GridTuner((1.0, 30.0)) if tuning == "grid" else tuning
    options = {"tuning": tuner, "cv": 2, "run": Run(tolerance=1e-2)}
    form = sp.csr_array if tuning == "majorize" else np.asarray
    one, two = (model_of(kind, **options, n_jobs=n).fit(form(x), y) for n in (1, 2))
    assert_array_equal(two.coef_, one.coef_)
    assert_array_equal(two.intercept_, one.intercept_)
    assert_array_equal(two.penalty_, one.penalty_)


@pytest.mark.parametrize("kind", ["binary", "numbers"])
@EVERY_TUNING
@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("n", [2, 5])
def test_ctrl_c_leaves_a_model(kind, tuning, hessian, n, monkeypatch):
    press_ctrl_c_at_evaluations(monkeypatch, n)
    model = fitted(kind, tuning=tuning, hessian=hessian, run=Run(tolerance=1e-12))
    assert model.status_ == "interrupted" or (tuning is None and model.status_ in ("converged", "stalled"))
    assert np.isfinite(predicted(model, X)).all()
    assert np.isfinite(model.penalty_).all()


@pytest.mark.parametrize("kind", ["binary", "numbers"])
@pytest.mark.parametrize("tuning", TUNINGS[1:])
def test_no_time_at_all(kind, tuning):
    model = fitted(kind, tuning=tuning, run=Run(max_seconds=0.0))
    assert model.status_ == "budget"
    assert np.isfinite(predicted(model, X)).all()


@EVERY_KIND
@pytest.mark.parametrize(("tuning", "fit_intercept"), [(None, False), ("majorize", True), ("grid", True)])
def test_what_is_saved_comes_back(kind, tuning, fit_intercept, tmp_path):
    data = X if tuning else FRAME
    options = {"groups": ["a", "b", "a", "b"], "cv": 0.3, "fit_intercept": fit_intercept}
    model = fitted(kind, data, tuning=tuning, **options)
    model.save(tmp_path / "model", {"note": "é"})
    again = structune.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert again.extra_ == {"note": "é"}
    for name in ("coef_", "intercept_", "penalty_", "group_sizes_", "n_features_in_"):
        assert_array_equal(getattr(again, name), getattr(model, name))
        assert type(getattr(again, name)) is type(getattr(model, name))
    for name in ("group_names_", "history_", "status_", "passes_"):
        assert getattr(again, name) == getattr(model, name), name
    assert hasattr(again, "feature_names_in_") == (data is FRAME)
    assert_array_equal(predicted(again, data), predicted(model, data))
    assert_array_equal(again.fit(data, KINDS[kind][1]).coef_, model.coef_)


def test_feature_names_come_back(tmp_path):
    names = ["size=1", "", "é\0", " a b"]
    fitted("binary", pd.DataFrame(X, columns=names), groups="feature").save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == names
    assert again.group_names_ == tuple(names)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(FRAME)


@BOTH
def test_a_parameter_set_after_the_fit_does_not_change_what_is_saved(kind, tmp_path):
    model = fitted(kind, X + 1.0)
    model.set_params(fit_intercept=False).save(tmp_path / "model")
    assert_array_equal(predicted(structune.load(tmp_path / "model"), X), predicted(model, X))


def damaged(model, path, header):
    """The model's file with other entries in its header."""
    model.save(path)
    fields, arrays = read_model(path)
    fields = {name: v for name, v in {**fields, **header}.items() if name not in ("format", "version")}
    save_model(path, fields.pop("kind"), fields, arrays)
    return path


CLASSES = [[0, 1, 2], [0], [0, 0], [1, 0], [[0], [1]], "ab", None, [{}, {}], [0, "a"], [0.0, float("nan")]]
BAD_HEADERS = [
    *(("binary", {"n_features": n}) for n in (3, 5, -1, None, [4], 4.7)),
    *(("binary", {"classes": classes}) for classes in CLASSES),
    *(("binary", header) for header in ({"named": True}, {"parameters": {"colour": 1}}, {"passes": "many"})),
    *(("numbers", {"noise_variance": v}) for v in (None, "loud", [1.0], float("nan"), float("inf"), -1.0)),
    *(("numbers", header) for header in ({"n_outputs": 0}, {"n_outputs": 2}, {"history": 1})),
]


@pytest.mark.parametrize(("kind", "header"), BAD_HEADERS)
def test_a_header_that_does_not_fit(kind, header, tmp_path):
    path = damaged(fitted(kind, fit_intercept=False), tmp_path / "model", header)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        structune.load(path)


def test_a_lie_about_the_number_of_features_takes_no_memory(tmp_path):
    path = damaged(fitted("binary", fit_intercept=False), tmp_path / "model", {"n_features": 100_000})
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        structune.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
