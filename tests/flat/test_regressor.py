"""The regressor: the optima of scikit-learn, the noise, units, deviations of predictions, several outputs."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge, Ridge, RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

import structune
from structune import Regressor
from structune.errors import DataError
from structune.files.models import read_model, save_model
from structune.running import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
TRUTH = np.array([1.5, -1.0, 0.5, 0.0])
Y = 3.0 + X @ TRUTH + 0.5 * RNG.normal(size=80)
WEIGHTS = RNG.uniform(0.0, 2.0, 80)
TUNINGS = [None, "majorize", "direct", "implicit", "grid"]
EVERY_TUNING = pytest.mark.parametrize("tuning", TUNINGS)
FRAME = pd.DataFrame(X, columns=["size=1", "size=2", "hue", "age"])


def regressor(**options):
    return Regressor(**{"n_jobs": 1, "tuning": None, **options})


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csc_matrix])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("fit_intercept", "penalty"), [(False, 10.0), (True, 0.01), (True, 1e4)])
def test_ridge_agrees(penalty, fit_intercept, weights, form):
    x = 0.5 + X
    peer = Ridge(alpha=penalty, fit_intercept=fit_intercept).fit(x, Y, weights)
    for hessian in ("dense", "exact"):
        model = regressor(
            penalty=penalty, fit_intercept=fit_intercept, run=Run(tolerance=1e-9), hessian=hessian
        )
        model.fit(form(x), Y, weights)
        assert_allclose(model.coef_, peer.coef_, rtol=1e-6)
        assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-6)
        assert_allclose(model.predict(form(x)), peer.predict(x), rtol=1e-6)
        assert model.coef_.shape == (4,)
        assert type(model.intercept_) is float
        errors = np.average((Y - peer.predict(x)) ** 2, weights=weights)
        assert model.noise_variance_ == pytest.approx(errors)


def test_outputs_that_are_refused():
    texts = (["a"] * 80, ["1"] * 40 + ["2"] * 40)
    for y in (*texts, np.where(Y > 3, np.nan, Y), np.where(Y > 3, np.inf, Y)):
        with pytest.raises(ValueError, match="string" if isinstance(y, list) else "contains (NaN|infinity)"):
            regressor().fit(X, y)


@pytest.mark.parametrize(("tuning", "hessian"), [*((t, "auto") for t in TUNINGS), ("majorize", "exact")])
@pytest.mark.parametrize(("unit", "origin"), [(1e6, 0.0), (-2.0, 1e6), (1e100, 0.0)])
def test_the_unit_of_the_outputs_does_not_matter(tuning, unit, origin, hessian):
    plain, moved = (regressor(tuning=tuning, hessian=hessian).fit(X, y) for y in (Y, unit * Y + origin))
    assert_allclose(moved.predict(X), unit * plain.predict(X) + origin, rtol=1e-7)
    assert_allclose(moved.penalty_, plain.penalty_, rtol=1e-6)
    assert moved.noise_variance_ == pytest.approx(unit**2 * plain.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("groups", ["single", "feature"])
@pytest.mark.parametrize("unit", [1e-4, 1e3])
def test_the_unit_of_the_features_does_not_matter(unit, groups):
    """It once did: of small features all weights went to zero."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5))
    y = x @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=200)
    one, other = (Regressor(groups=groups, tuning="majorize").fit(scale * x, y) for scale in (1.0, unit))
    assert one.score(x, y) > 0.9
    assert other.score(unit * x, y) == pytest.approx(one.score(x, y), abs=5e-3)  # beta has a unit


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@EVERY_TUNING
def test_constant_outputs(tuning):
    for y in (0.0, 1e10):
        model = regressor(tuning=tuning).fit(X, np.full(80, y))
        assert_array_equal(model.predict(X), y)
        assert 0.0 <= model.noise_variance_ <= 1e-29  # a floor where it is integrated out
        assert np.isfinite(model.penalty_).all()
    model = regressor(tuning=tuning).fit(X, np.full(80, 0.1))  # whose mean is rounded
    assert_allclose(model.predict(X), 0.1, rtol=1e-12)


def test_many_more_features_than_examples_in_groups():
    """Bounds of counts, updated to the end, gave one group all that there is to explain."""
    rng = np.random.default_rng(1)
    x, group = rng.normal(size=(400, 2400)), np.repeat(np.arange(12), 200)
    f = x @ (rng.normal(size=2400) * np.where(group < 3, rng.uniform(0.3, 1.0, 12)[group], 0.0))
    y = f + rng.normal(size=400) * f.std() / 3
    groups = [f"group {k}" for k in group]
    scores = [
        Regressor(tuning=tuning, groups=groups).fit(x[:100], y[:100]).score(x[100:], y[100:])
        for tuning in (None, "auto")
    ]
    assert scores[1] > scores[0] > 0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("tuning", [None, "majorize", "direct"])
def test_one_example(tuning, fit_intercept):
    model = regressor(tuning=tuning, fit_intercept=fit_intercept).fit(X[:1], Y[:1])
    assert np.isfinite(model.predict(X)).all()
    if fit_intercept:
        assert_allclose(model.predict(X), Y[0])


@EVERY_TUNING
def test_no_features_that_vary(tuning):
    for form in (np.asarray, sp.csr_array):
        model = regressor(tuning=tuning).fit(form(np.zeros((80, 2))), Y)
        assert_allclose(model.predict(np.ones((3, 2))), Y.mean(), rtol=1e-6)
        assert_array_equal(model.coef_, 0.0)


@pytest.mark.parametrize("tuning", ["majorize", "direct"])
def test_outputs_without_noise(tuning):
    model = regressor(tuning=tuning).fit(X, 2.0 + X @ TRUTH)
    assert_allclose(model.coef_, TRUTH, atol=1e-3)
    assert model.noise_variance_ < 1e-5


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_the_noise_is_found(unit):
    """Its variance, and with it the penalty: noise times the precision of the weights."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2000, 8)), rng.normal(size=8)
    y = unit * (x @ w + 0.7 * rng.normal(size=2000))
    for tuning in ("majorize", "direct"):
        model = regressor(tuning=tuning).fit(x, y)
        assert model.noise_variance_ == pytest.approx(0.49 * unit**2, rel=0.1)
        assert_allclose(model.coef_, unit * w, atol=0.07 * unit)
        assert 0.1 < model.penalty_[0] < 2.0


def test_all_tunings_are_about_as_good():
    x, y = load_diabetes(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    scores = [cross_val_score(regressor(tuning=t), x, y, cv=3).mean() for t in TUNINGS[1:]]
    best = cross_val_score(RidgeCV(np.logspace(-2, 4, 20)), x, y, cv=3).mean()
    assert_allclose(scores, best, atol=0.01)


@pytest.mark.parametrize("p", [15, 60])
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


def test_tuning_of_many_weights_comes_to_an_end():
    """They are many more than the examples, and most say nothing."""
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(800, 6000)), np.zeros(6000)
    w[:400] = rng.normal(size=400)
    y = X @ w + 0.3 * rng.normal(size=800)
    model = Regressor(groups=["few"] * 400 + ["many"] * 5600).fit(X[:400], y[:400])
    assert model.status_ == "converged"
    assert model.score(X[400:], y[400:]) > 0.8


def deviations(model, x, weights, penalties, at):
    """As they are defined: of outputs with noise, by the posterior of weights and a free intercept."""
    z, z_at = (np.column_stack([rows, np.ones(len(rows))]) for rows in (x, at))
    inverse = np.linalg.inv(z.T @ (weights[:, None] * z) + np.diag([*penalties, 0.0]))
    return np.sqrt(model.noise_variance_ * (1.0 + np.einsum("ij,jk,ik->i", z_at, inverse, z_at)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("options", [{"tuning": "majorize"}, {"tuning": "grid"}, {"penalty": {"b": 9.0}}])
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
    with pytest.raises(DataError, match="return_std=True needs the covariances of the weights"):
        regressor(hessian="exact").fit(X, Y).predict(X, return_std=True)
    monkeypatch.setattr("structune.flat.regressor.MOST_CELLS", 24)
    with pytest.raises(DataError, match="and at most 3 features"):
        regressor(hessian="dense").fit(X, Y).predict(X, return_std=True)


BOTH = np.column_stack([Y, 100.0 * (X @ TRUTH[::-1] + RNG.normal(size=80))])


@pytest.mark.parametrize("tuning", [None, "majorize", "grid"])
def test_columns_of_outputs_are_so_many_regressions(tuning):
    model = regressor(tuning=tuning, hessian="dense", groups="prefix").fit(FRAME, BOTH, WEIGHTS)
    parts = [clone(model).fit(FRAME, column, WEIGHTS) for column in BOTH.T]
    assert_allclose(model.predict(FRAME), np.column_stack([part.predict(FRAME) for part in parts]), rtol=1e-9)
    for name in ("coef_", "intercept_", "noise_variance_"):
        assert_array_equal(getattr(model, name), [getattr(part, name) for part in parts])
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
    model = regressor(warm_start=True, hessian="exact", run=Run(tolerance=1e-9)).fit(X, BOTH)
    cold = model.coef_
    assert_allclose(model.fit(X, BOTH).coef_, cold, rtol=1e-6)
    assert_allclose(model.fit(X, BOTH[:, ::-1]).coef_, cold[::-1], rtol=1e-6)
    assert model.fit(X, np.column_stack([BOTH, Y])).coef_.shape == (3, 4)


def test_a_checkpoint_holds_one_fit(tmp_path):
    with pytest.raises(DataError, match="a checkpoint holds one fit, but the outputs have 2 columns"):
        regressor(run=Run(checkpoint=tmp_path / "kept")).fit(X, BOTH)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("y", [Y, BOTH])
def test_files_hold_all_outputs_and_deviations(y, fit_intercept, tmp_path):
    model = Regressor(hessian="dense", fit_intercept=fit_intercept, n_jobs=1).fit(FRAME, y)
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    for found, expected in zip(again.predict(FRAME, True), model.predict(FRAME, True), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(again.penalty_, model.penalty_)
    assert (again.history_, again.group_names_) == (model.history_, model.group_names_)
    assert again.predict(FRAME).shape == y.shape


def test_files_without_covariances(tmp_path):
    model = regressor().fit(X, Y)
    model.save(tmp_path / "model")
    fields, arrays = read_model(tmp_path / "model")
    fields = {name: v for name, v in fields.items() if name not in ("format", "version")}
    arrays = {name: array for name, array in arrays.items() if not name.startswith("posterior")}
    save_model(tmp_path / "model", fields.pop("kind"), fields, arrays)
    again = structune.load(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(DataError, match="needs the covariances"):
        again.predict(X, return_std=True)
