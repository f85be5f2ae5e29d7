"""The regressor: scikit-learn's conventions and optima, the noise, units of the outputs, files."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import structune
from structune import Regressor
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.learning.risk import Risk
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner
from structune.running import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
TRUTH = np.array([1.5, -1.0, 0.5, 0.0])
Y = 3.0 + X @ TRUTH + 0.5 * RNG.normal(size=80)
WEIGHTS = RNG.uniform(0.0, 2.0, 80)
TUNINGS = [None, "majorize", "direct", "implicit", "grid"]
FRAME = pd.DataFrame(X, columns=["size=1", "size=2", "hue", "age"])


def regressor(**options):
    return Regressor(**{"n_jobs": 1, "tuning": None, **options})


# --- scikit-learn's conventions ---------------------------------------------------------------------------


@parametrize_with_checks([Regressor(), Regressor(tuning=None), Regressor(groups="feature")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_not_fitted():
    with pytest.raises(NotFittedError, match="Regressor instance is not fitted"):
        Regressor().predict(X)
    with pytest.raises(NotFittedError):
        Regressor().save("nowhere")


def test_parameters_come_back_as_given():
    given = {"penalty": {"all": 2.0}, "tuning": GridTuner((1.0,)), "groups": len}
    model = Regressor(**given)
    assert all(model.get_params()[name] is value for name, value in given.items())
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert repr(Regressor(tuning=None, folds=3)) == "Regressor(folds=3, tuning=None)"


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_predict_the_same(copy_of):
    model = regressor(n_jobs=2).fit(X, Y)
    again = copy_of(model)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.fit(X, Y).coef_, model.coef_)


def test_model_selection():
    search = GridSearchCV(regressor(), {"penalty": [1e5, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"penalty": 1.0}
    assert search.best_estimator_.penalty_.tolist() == [1.0]
    scores = cross_val_score(Regressor(n_jobs=1), X, Y, cv=3, params={"sample_weight": WEIGHTS})
    assert np.all((scores > 0.6) & (scores < 1.0))


# --- scikit-learn's optima --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalty", [0.01, 10.0, 1e4])
def test_ridge_agrees(penalty, fit_intercept, weights, form):
    x = 0.5 + X
    peer = Ridge(alpha=penalty, fit_intercept=fit_intercept).fit(x, Y, weights)
    for hessian in ("dense", "exact"):
        model = regressor(penalty=penalty, fit_intercept=fit_intercept, tolerance=1e-9, hessian=hessian)
        model.fit(form(x), Y, weights)
        assert_allclose(model.coef_, peer.coef_, rtol=1e-6)
        assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-6)
        assert_allclose(model.predict(form(x)), peer.predict(x), rtol=1e-6)
        assert model.coef_.shape == (4,)
        assert type(model.intercept_) is float
        errors = np.average((Y - peer.predict(x)) ** 2, weights=weights)
        assert model.noise_variance_ == pytest.approx(errors)


def test_weights_count_as_so_many_examples():
    times = RNG.integers(0, 4, 80)
    for tuning in (None, "majorize", "direct"):
        one, other = (Regressor(tuning=tuning, tolerance=1e-9, n_jobs=1) for _ in range(2))
        one.fit(X, Y, times)
        other.fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
        assert_allclose(one.coef_, other.coef_, rtol=1e-4)
        assert one.noise_variance_ == pytest.approx(other.noise_variance_, rel=1e-4)


def test_tuning_by_probes_comes_to_an_end():
    """Effective numbers of so many weights are estimated: their noise must not drive the precisions about."""
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(800, 6000)), np.zeros(6000)
    w[:400] = rng.normal(size=400)
    y = X @ w + 0.3 * rng.normal(size=800)
    model = Regressor(groups=["few"] * 400 + ["many"] * 5600).fit(X[:400], y[:400])
    assert model.status_ == "converged"
    assert model.score(X[400:], y[400:]) > 0.89


def test_the_tolerance_that_comes_by_default_is_good_enough():
    for options in ({}, {"hessian": "exact"}):
        assert_allclose(regressor(**options).fit(X, Y).coef_, Ridge().fit(X, Y).coef_, atol=1e-3)


# --- input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        np.ndarray.tolist,
        sp.csr_matrix,
        sp.coo_array,
        lambda x: x.astype(np.float32),
        lambda x: pd.DataFrame(x, columns=list("abcd")),
    ],
)
def test_forms_of_input(form):
    x = X.astype(np.float32).astype(float)
    model, other = (regressor(tolerance=1e-9).fit(data, Y) for data in (x, form(x)))
    assert_allclose(other.coef_, model.coef_, rtol=1e-6)
    assert_allclose(other.predict(form(x)), model.predict(x), rtol=1e-6)
    assert model.coef_.dtype == other.coef_.dtype == other.predict(form(x)).dtype == np.float64


@pytest.mark.parametrize(
    "y",
    [
        np.rint(Y).astype(np.int8),
        Y > 3,
        np.rint(Y).tolist(),
        np.rint(Y).astype(object),
        Y.astype(np.float32),
        (1e20 * Y).astype(np.float32),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_outputs_may_be_of_any_real_type(y):
    model, other = (regressor().fit(X, outputs) for outputs in (y, np.asarray(y, float)))
    assert_allclose(model.coef_, other.coef_, rtol=1e-12)
    assert model.intercept_ == pytest.approx(other.intercept_, rel=1e-12)


@pytest.mark.parametrize("y", [["a"] * 80, ["1"] * 40 + ["2"] * 40])
def test_outputs_that_are_strings(y):
    with pytest.raises(ValueError, match="string"):
        regressor().fit(X, y)


@pytest.mark.parametrize(
    ("x", "y", "weights", "message"),
    [
        (X, Y[:5], None, "inconsistent numbers of samples"),
        (X[:0], Y[:0], None, "0 sample"),
        (X[:, :0], Y, None, "0 feature"),
        (np.where(X > 2, np.nan, X), Y, None, "contains NaN"),
        (np.where(X > 2, np.inf, X), Y, None, "contains infinity"),
        (sp.csr_array(np.where(X > 2, np.nan, X)), Y, None, "contains NaN"),
        (X, np.where(Y > 3, np.nan, Y), None, "contains NaN"),
        (X, np.where(Y > 3, np.inf, Y), None, "contains infinity"),
        (X, Y, np.ones(3), r"found weights of shape \(3,\), expected \(80,\)"),
        (X, Y, -np.ones(80), "example 0 has the weight -1.0"),
        (X, Y, np.zeros(80), "found a weight of zero for every example"),
    ],
)
def test_data_that_are_refused(x, y, weights, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(x, y, weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tuning": "bayes"}, "tuning='bayes': expected one of"),
        ({"hessian": "newton"}, "hessian='newton': expected one of"),
        ({"penalty": 0.0}, "penalty=0.0: expected finite numbers > 0"),
        (
            {"penalty": {"none": 1.0}},
            re.escape("penalty names the groups ['none'], expected some of ['all']"),
        ),
        ({"groups": "word"}, "groups='word': expected one of"),
        ({"groups": ["a"] * 3}, "found groups for 3 features, expected 4"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"tuning": "implicit", "folds": 81}, "cannot split 80 examples"),
        ({"tuning": "grid", "folds": None, "holdout": 1.5}, "holdout=1.5: expected a number between 0 and 1"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        regressor(**options).fit(X, Y)


# --- units ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize(("unit", "origin"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (-2.0, 3.0), (1e100, 0.0)])
def test_the_unit_of_the_outputs_does_not_matter(tuning, unit, origin, hessian):
    options = {"tuning": tuning, "hessian": hessian, "n_jobs": 1}
    plain, moved = (Regressor(**options).fit(X, y) for y in (Y, unit * Y + origin))
    assert_allclose(moved.predict(X), unit * plain.predict(X) + origin, rtol=1e-7)
    assert_allclose(moved.penalty_, plain.penalty_, rtol=1e-6)
    assert moved.noise_variance_ == pytest.approx(unit**2 * plain.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_the_origin_of_the_features_does_not_matter(tuning, hessian):
    options = {"tuning": tuning, "hessian": hessian, "n_jobs": 1}
    plain, moved = (Regressor(**options).fit(x, Y) for x in (X, X + 1e6))
    assert_allclose(moved.predict(X + 1e6), plain.predict(X), atol=1e-6)


@pytest.mark.parametrize("groups", ["single", "feature"])
@pytest.mark.parametrize("unit", [1e-4, 1e-2, 1e3])
def test_the_unit_of_the_features_does_not_matter(unit, groups):
    """It once did: of small features all weights went to zero."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5))
    y = x @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=200)
    one, other = (Regressor(groups=groups, tuning="majorize").fit(scale * x, y) for scale in (1.0, unit))
    assert one.score(x, y) > 0.9
    assert other.score(unit * x, y) == pytest.approx(one.score(x, y), abs=5e-3)  # beta has a unit


@pytest.mark.parametrize("tuning", [None, "majorize"])
def test_nor_that_of_sparse_features(tuning):
    plain, moved = (Regressor(tuning=tuning, n_jobs=1).fit(sp.csr_array(x), Y) for x in (X, X + 3e3))
    assert_allclose(moved.predict(X + 3e3), plain.predict(X), atol=0.02)


@pytest.mark.parametrize("hessian", ["auto", "dense"])
@pytest.mark.parametrize("scale", [[1e6, 1.0, 1.0, 1.0], [1e4, 1.0, 1.0, 1e-3]])
def test_a_large_feature_does_not_spoil_the_others(scale, hessian):
    """As it does not for Ridge."""
    x = X[:, [3, 0, 1, 2]] * scale
    model, peer = regressor(penalty=1e-8, hessian=hessian).fit(x, Y), Ridge(alpha=1e-8).fit(x, Y)
    assert_allclose(model.predict(x), peer.predict(x), atol=0.02)


# --- awkward data -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("y", [0.0, 3.0, 1e10])
def test_constant_outputs(tuning, y):
    model = Regressor(tuning=tuning, n_jobs=1).fit(X, np.full(80, y))
    assert_array_equal(model.predict(X), y)
    assert 0.0 <= model.noise_variance_ <= 1e-29  # a floor where it is integrated out
    assert np.isfinite(model.penalty_).all()


@pytest.mark.parametrize("tuning", TUNINGS)
def test_constant_outputs_whose_mean_is_rounded(tuning):
    model = Regressor(tuning=tuning, n_jobs=1).fit(X, np.full(80, 0.1))
    assert_allclose(model.predict(X), 0.1, rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("tuning", [None, "majorize", "direct"])
def test_one_example(tuning, fit_intercept):
    model = Regressor(tuning=tuning, fit_intercept=fit_intercept, n_jobs=1).fit(X[:1], Y[:1])
    assert np.isfinite(model.predict(X)).all()
    if fit_intercept:
        assert_allclose(model.predict(X), Y[0])


@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_collinear_and_constant_columns(tuning, hessian):
    x = np.column_stack([X, X[:, 0], X[:, :2].sum(axis=1), np.ones(80), np.full(80, 1e6), np.zeros(80)])
    model = Regressor(tuning=tuning, hessian=hessian, tolerance=1e-6, n_jobs=1).fit(x, Y)
    assert_allclose(model.coef_[0], model.coef_[4], atol=1e-2)
    assert_allclose(model.coef_[6:] * [1.0, 1e6, 1.0], 0.0, atol=1e-6)
    peer = Ridge(alpha=model.penalty_[0]).fit(x, Y)
    assert_allclose(model.predict(x), peer.predict(x), atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_features_that_vary(tuning, form):
    model = Regressor(tuning=tuning, n_jobs=1).fit(form(np.zeros((80, 2))), Y)
    assert_allclose(model.predict(np.ones((3, 2))), Y.mean(), rtol=1e-6)
    assert_array_equal(model.coef_, 0.0)


@pytest.mark.parametrize("groups", ["single", "feature"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("p", [19, 20, 60])
def test_as_many_features_as_examples(tuning, groups, p):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, p)), rng.normal(size=20)
    model = Regressor(tuning=tuning, groups=groups, folds=2, n_jobs=1).fit(x, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.penalty_).all()
    assert model.score(x, y) >= -1e-9


@pytest.mark.parametrize("tuning", ["majorize", "direct"])
def test_outputs_without_noise(tuning):
    model = Regressor(tuning=tuning, n_jobs=1).fit(X, 2.0 + X @ TRUTH)
    assert_allclose(model.coef_, TRUTH, atol=1e-3)
    assert model.noise_variance_ < 1e-5


# --- tuning -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("tuning", TUNINGS[1:])
def test_what_tuning_leaves(tuning, form):
    model = Regressor(tuning=tuning, groups=["a", "a", "b", "b"], n_jobs=1, tolerance=1e-6).fit(form(X), Y)
    assert model.status_ == "converged"
    assert (model.group_names_, model.group_sizes_.tolist()) == (("a", "b"), [2, 2])
    assert model.passes_ > 0
    assert len(model.history_) >= 1
    # the weights are those of the penalties
    names = dict(zip("ab", model.penalty_, strict=True))
    again = regressor(penalty=names, groups=["a", "a", "b", "b"], tolerance=1e-9).fit(form(X), Y)
    assert_allclose(model.coef_, again.coef_, atol=2e-3)
    assert model.score(X, Y) > 0.9


def test_tuners_may_be_objects():
    grid = GridTuner((1.0, 2.0))
    for tuner in (MajorizeTuner(alpha=1.0), DirectTuner(), ImplicitTuner(max_evaluations=2), grid):
        model = Regressor(tuning=tuner, n_jobs=1).fit(X, Y)
        assert model.tuning is tuner
    assert model.penalty_[0] in (1.0, 2.0)


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_the_noise_is_found(unit):
    """Its variance, and with it the penalty: noise times the precision of the weights."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2000, 8)), rng.normal(size=8)
    y = unit * (x @ w + 0.7 * rng.normal(size=2000))
    for tuning in ("majorize", "direct"):
        model = Regressor(tuning=tuning, n_jobs=1).fit(x, y)
        assert model.noise_variance_ == pytest.approx(0.49 * unit**2, rel=0.1)
        assert_allclose(model.coef_, unit * w, atol=0.07 * unit)
        assert 0.1 < model.penalty_[0] < 2.0


def test_all_tunings_are_about_as_good():
    x, y = load_diabetes(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    scores = [cross_val_score(Regressor(tuning=t, n_jobs=1), x, y, cv=3).mean() for t in TUNINGS[1:]]
    best = cross_val_score(RidgeCV(np.logspace(-2, 4, 20)), x, y, cv=3).mean()
    assert_allclose(scores, best, atol=0.01)


@pytest.mark.parametrize("p", [15, 30, 60])
def test_it_does_not_overfit_where_features_are_many(p):
    """About as good as a grid."""
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth, x, test = rng.normal(size=p) / 5, rng.normal(size=(60, p)), rng.normal(size=(500, p))
        y = x @ truth + rng.normal(size=60)
        models = [Regressor(n_jobs=1).fit(x, y), RidgeCV(np.logspace(-2, 3, 20)).fit(x, y)]
        errors.append([np.mean((model.predict(test) - test @ truth) ** 2) for model in models])
    mine, grid = np.mean(errors, axis=0)
    assert mine < 1.15 * grid


def test_one_precision_a_feature_shrinks_what_is_noise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 20))
    y = x[:, :3] @ [2.0, -1.0, 1.0] + rng.normal(size=60)
    free = regressor(penalty=1e-6).fit(x, y)
    for tuning in ("majorize", MajorizeTuner(beta=1e-2)):
        model = Regressor(groups="feature", tuning=tuning, n_jobs=1).fit(x, y)
        assert model.penalty_[:3].max() < np.median(model.penalty_[3:])
        assert np.linalg.norm(model.coef_[3:]) < np.linalg.norm(free.coef_[3:])
        assert_allclose(model.coef_[:3], [2.0, -1.0, 1.0], atol=0.4)


def test_groups_of_examples_stay_together():
    """Each example four times: a split by the example sees in training what it holds out."""
    rng = np.random.default_rng(0)
    x, groups = np.repeat(rng.normal(size=(20, 15)), 4, axis=0), np.repeat(np.arange(20), 4)
    y = np.repeat(rng.normal(size=20), 4)
    for tuning in ("implicit", "grid"):
        apart, together = (Regressor(tuning=tuning, n_jobs=1).fit(x, y, groups=g) for g in (None, groups))
        assert together.penalty_[0] > 10 * apart.penalty_[0]


# --- groups of features -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "names", "sizes"),
    [
        ("single", ("all",), [4]),
        ("feature", ("size=1", "size=2", "hue", "age"), [1, 1, 1, 1]),
        ("prefix", ("size", "hue", "age"), [2, 1, 1]),
        (["b", "a", "b", "a"], ("b", "a"), [2, 2]),
        (len, ("6", "3"), [2, 2]),
    ],
)
@pytest.mark.parametrize("tuning", [None, "majorize", "implicit"])
def test_groups(groups, names, sizes, tuning):
    model = Regressor(groups=groups, tuning=tuning, n_jobs=1).fit(FRAME, Y)
    assert (model.group_names_, model.group_sizes_.tolist()) == (names, sizes)
    assert model.penalty_.shape == (len(names),)


def test_penalties_by_group():
    """Those not named are 1; the intercept has none."""
    model = regressor(groups="prefix", penalty={"size": 1e8}, tolerance=1e-9).fit(FRAME, Y)
    assert model.penalty_.tolist() == [1e8, 1.0, 1.0]
    assert_allclose(model.coef_[:2], 0.0, atol=1e-5)
    other = Ridge().fit(X[:, 2:], Y)
    assert_allclose(model.coef_[2:], other.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(other.intercept_)


def test_blocks_of_a_column_transformer():
    kinds = RNG.integers(0, 3, 80)
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["p", "q", "r"])[kinds])
    blocks = ColumnTransformer(
        [("numbers", StandardScaler(), list("abcd")), ("kinds", OneHotEncoder(sparse_output=False), ["kind"])]
    ).set_output(transform="pandas")
    model = make_pipeline(blocks, Regressor(groups="prefix", n_jobs=1)).fit(table, Y + 2 * kinds)
    assert model[-1].group_names_ == ("numbers", "kinds")
    assert model[-1].group_sizes_.tolist() == [4, 3]
    assert model.score(table, Y + 2 * kinds) > 0.9


# --- fits after fits, and cut short -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"hessian": "exact"}, {"fit_intercept": False}])
def test_a_warm_start_is_quick(options):
    model = regressor(warm_start=True, tolerance=1e-6, **options).fit(X + 5.0, Y)
    coef, passes = model.coef_.copy(), model.passes_
    model.fit(X + 5.0, Y)
    assert model.passes_ <= passes
    assert_allclose(model.coef_, coef, atol=1e-4)


def test_a_warm_start_on_other_data():
    model = regressor(warm_start=True)
    for x, y in ((X, Y), (X, 1e6 * Y - 1e7), (X[:, :2], Y), (FRAME, Y), (X + 1e3, Y)):
        assert_allclose(model.fit(x, y).predict(x), Ridge().fit(x, y).predict(x), rtol=1e-3, atol=1e-3)
    model.set_params(fit_intercept=False).fit(X, Y)
    assert model.intercept_ == 0.0
    assert_allclose(model.coef_, Ridge(fit_intercept=False).fit(X, Y).coef_, rtol=1e-3)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("hessian", ["auto", "exact"])
def test_the_number_of_threads_does_not_matter(tuning, form, hessian):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 5))
    y = x @ rng.normal(size=5) + rng.normal(size=20_000)
    options = {"tuning": tuning, "hessian": hessian, "folds": 2}
    one, two = (Regressor(n_jobs=n, **options).fit(form(x), y) for n in (1, 2))
    assert_array_equal(two.coef_, one.coef_)
    assert two.intercept_ == one.intercept_
    assert_array_equal(two.penalty_, one.penalty_)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("hessian", ["auto", "exact"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_ctrl_c_leaves_a_model(tuning, hessian, n, monkeypatch):
    whole, count = Risk.value_and_gradient, iter(range(n))

    def cut(self, w):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return whole(self, w)

    monkeypatch.setattr(Risk, "value_and_gradient", cut)
    model = Regressor(tuning=tuning, hessian=hessian, tolerance=1e-12, n_jobs=1).fit(X, Y)
    assert model.status_ == "interrupted" or (tuning is None and model.status_ in ("converged", "stalled"))
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.penalty_).all()
    assert model.noise_variance_ <= np.var(Y) * (1 + 2e-6)  # the floor


@pytest.mark.parametrize("tuning", TUNINGS[1:])
def test_no_time_at_all(tuning):
    model = Regressor(tuning=tuning, run=Run(max_seconds=0.0), n_jobs=1).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert model.status_ == "budget"


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("data", [X, FRAME], ids=["array", "frame"])
def test_what_is_saved_comes_back(data, tuning, fit_intercept, tmp_path):
    model = Regressor(tuning=tuning, fit_intercept=fit_intercept, groups=["a", "b", "a", "b"], n_jobs=1)
    model.fit(data, Y).save(tmp_path / "model", {"note": "é"})
    again = structune.load(tmp_path / "model")
    assert type(again) is Regressor
    assert again.get_params() == model.get_params()
    assert again.extra_ == {"note": "é"}
    for name in ("coef_", "penalty_", "group_sizes_"):
        assert_array_equal(getattr(again, name), getattr(model, name), strict=True)
    for name in ("intercept_", "noise_variance_", "n_features_in_", "group_names_", "history_", "status_"):
        assert getattr(again, name) == getattr(model, name), name
    assert type(again.intercept_) is float
    assert hasattr(again, "feature_names_in_") == (data is FRAME)
    assert_array_equal(again.predict(data), model.predict(data))
    assert_array_equal(again.fit(data, Y).coef_, model.coef_)


def test_a_parameter_set_after_the_fit_does_not_change_what_is_saved(tmp_path):
    model = regressor(fit_intercept=True).fit(X, Y)
    model.set_params(fit_intercept=False).save(tmp_path / "model")
    assert_array_equal(structune.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "header",
    [
        {"n_features": 3},
        {"n_features": "many"},
        {"named": True},
        {"noise_variance": None},
        {"noise_variance": "loud"},
        {"noise_variance": [1.0]},
        {"history": 1},
        {"noise_variance": float("nan")},
        {"noise_variance": float("inf")},
        {"noise_variance": -1.0},
    ],
)
def test_a_header_that_does_not_fit(header, tmp_path):
    path = tmp_path / "model"
    regressor(fit_intercept=False).fit(X, Y).save(path)
    fields, arrays = read_model(path)
    fields = {
        name: value for name, value in {**fields, **header}.items() if name not in ("format", "version")
    }
    save_model(path, fields.pop("kind"), fields, arrays)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        structune.load(path)


# --- deviations of predictions ----------------------------------------------------------------------------


def deviations(model, x, weights, penalties, at):
    """As they are defined: of outputs with noise, by the posterior of weights and a free intercept."""
    z, z_at = (np.column_stack([rows, np.ones(len(rows))]) for rows in (x, at))
    inverse = np.linalg.inv(z.T @ (weights[:, None] * z) + np.diag([*penalties, 0.0]))
    return np.sqrt(model.noise_variance_ * (1.0 + np.einsum("ij,jk,ik->i", z_at, inverse, z_at)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("options", [{}, {"tuning": "majorize"}, {"tuning": "grid"}, {"penalty": {"b": 9.0}}])
def test_deviations(options, weights, form):
    x, at = 3.0 + X, 5.0 * RNG.normal(size=(7, 4))
    model = regressor(hessian="dense", groups=["a", "a", "b", "b"], **options).fit(form(x), Y, weights)
    mean, std = model.predict(form(at), return_std=True)
    assert_array_equal(mean, model.predict(form(at)))
    penalties = np.repeat(model.penalty_, 2)
    expected = deviations(model, x, np.ones(80) if weights is None else weights, penalties, at)
    assert_allclose(std, expected, rtol=1e-6)


def test_deviations_without_an_intercept_are_those_of_bayesian_ridge():
    peer = BayesianRidge(fit_intercept=False, lambda_1=0, lambda_2=0, alpha_1=0, alpha_2=0).fit(X, Y)
    model = regressor(fit_intercept=False, penalty=peer.lambda_ / peer.alpha_, hessian="dense").fit(X, Y)
    model.noise_variance_ = 1.0 / peer.alpha_
    assert_allclose(model.predict(X, return_std=True)[1], peer.predict(X, return_std=True)[1], rtol=1e-6)


def test_outputs_lie_within_their_deviations_as_often_as_they_should():
    rng = np.random.default_rng(1)
    within = []
    for _ in range(10):
        x = rng.normal(size=(1100, 30))
        y = x @ rng.normal(size=30) + rng.normal(size=1100)
        mean, std = Regressor(n_jobs=1).fit(x[:100], y[:100]).predict(x[100:], return_std=True)
        within.append(np.mean(np.abs(y[100:] - mean) < std))
    assert np.mean(within) == pytest.approx(0.683, abs=0.05)


def test_no_deviations_without_the_hessian(monkeypatch):
    with pytest.raises(DataError, match="without covariances of its weights, expected one fitted with"):
        regressor(hessian="exact").fit(X, Y).predict(X, return_std=True)
    monkeypatch.setattr("structune.flat.regressor.MOST_CELLS", 24)
    with pytest.raises(DataError, match="and at most 24 covariances"):
        regressor(hessian="dense").fit(X, Y).predict(X, return_std=True)


def test_imputers_draw_from_it():
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    imputer = IterativeImputer(regressor(hessian="dense"), sample_posterior=True, max_iter=2, random_state=0)
    assert np.isfinite(imputer.fit_transform(holes)).all()


# --- several outputs --------------------------------------------------------------------------------------

BOTH = np.column_stack([Y, 100.0 * (X @ TRUTH[::-1] + RNG.normal(size=80))])


@pytest.mark.parametrize("tuning", TUNINGS)
def test_columns_of_outputs_are_so_many_regressions(tuning):
    model = regressor(tuning=tuning, hessian="dense", groups="prefix").fit(FRAME, BOTH, WEIGHTS)
    parts = [clone(model).fit(FRAME, column, WEIGHTS) for column in BOTH.T]
    assert_allclose(model.predict(FRAME), np.column_stack([part.predict(FRAME) for part in parts]), rtol=1e-9)
    assert_array_equal(model.coef_, [part.coef_ for part in parts])
    assert_array_equal(model.intercept_, [part.intercept_ for part in parts])
    assert_array_equal(model.noise_variance_, [part.noise_variance_ for part in parts])
    assert_array_equal(model.penalty_, np.concatenate([part.penalty_ for part in parts]))
    assert model.group_names_ == ("0: size", "0: hue", "0: age", "1: size", "1: hue", "1: age")
    assert model.group_sizes_.sum() == model.coef_.size
    assert model.passes_ == sum(part.passes_ for part in parts)
    assert {record["output"] for record in model.history_} == {0, 1}
    std = np.column_stack([part.predict(FRAME, return_std=True)[1] for part in parts])
    assert_array_equal(model.predict(FRAME, return_std=True)[1], std)
    assert 0.5 < model.score(FRAME, BOTH) < 1.0


def test_one_column_is_a_matrix():
    one, column = regressor().fit(X, Y), regressor().fit(X, Y[:, None])
    assert_array_equal(column.predict(X), one.predict(X)[:, None])
    assert column.coef_.shape == (1, 4)
    assert regressor().fit(X, BOTH).set_params(penalty=2.0).fit(X, Y).predict(X).shape == (80,)


def test_warm_starts_of_columns():
    model = regressor(warm_start=True, hessian="exact", tolerance=1e-9).fit(X, BOTH)
    cold = model.coef_
    assert_allclose(model.fit(X, BOTH).coef_, cold, rtol=1e-6)
    assert_allclose(model.fit(X, BOTH[:, ::-1]).coef_, cold[::-1], rtol=1e-6)
    assert model.fit(X, np.column_stack([BOTH, Y])).coef_.shape == (3, 4)


def test_a_checkpoint_holds_one_fit(tmp_path):
    with pytest.raises(DataError, match="found 2 columns of outputs and a checkpoint, which holds one fit"):
        regressor(run=Run(checkpoint=tmp_path / "kept")).fit(X, BOTH)


@pytest.mark.parametrize("y", [Y, Y[:, None], BOTH])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_files_hold_all_outputs_and_deviations(y, fit_intercept, tmp_path):
    model = Regressor(hessian="dense", fit_intercept=fit_intercept, n_jobs=1).fit(FRAME, y)
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    for found, expected in zip(again.predict(FRAME, True), model.predict(FRAME, True), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(again.penalty_, model.penalty_)
    assert (again.history_, again.group_names_) == (model.history_, model.group_names_)
    assert again.predict(FRAME).shape == y.shape


@pytest.mark.parametrize(
    "header", [{"n_outputs": 0}, {"n_outputs": 3}, {"n_outputs": None}, {"noise_variance": [1.0]}]
)
def test_headers_that_do_not_fit_the_outputs(header, tmp_path):
    regressor().fit(X, BOTH).save(tmp_path / "model")
    fields, arrays = read_model(tmp_path / "model")
    fields = {name: v for name, v in {**fields, **header}.items() if name not in ("format", "version")}
    save_model(tmp_path / "model", fields.pop("kind"), fields, arrays)
    with pytest.raises(ModelFileError, match=re.escape(str(tmp_path))):
        structune.load(tmp_path / "model")


def test_files_of_before(tmp_path):
    """They say nothing of outputs and covariances."""
    model = regressor().fit(X, Y)
    model.save(tmp_path / "model")
    fields, arrays = read_model(tmp_path / "model")
    fields = {name: v for name, v in fields.items() if name not in ("format", "version", "n_outputs")}
    arrays = {name: array for name, array in arrays.items() if not name.startswith("posterior")}
    save_model(tmp_path / "model", fields.pop("kind"), fields, arrays)
    again = structune.load(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(DataError, match="without covariances"):
        again.predict(X, return_std=True)
