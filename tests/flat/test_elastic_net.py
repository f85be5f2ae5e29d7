"""Elastic nets of rows of features against scikit-learn's solvers, point by point of a path."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import ElasticNet, LogisticRegression

import structune
from structune import Classifier, Regressor
from structune.learning import LogLoss, Risk, elastic_net_path
from structune.learning.tuning import GridTuner
from structune.running import Run


def data(n_classes=2, n=120, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = X[:, :n_classes] + 0.7 * rng.normal(size=(n, n_classes))
    return X, scores.argmax(axis=1)


def saga(X, y, penalty, l1):
    """The same objective: their C divides both penalties."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of parameters change between versions
        return LogisticRegression(
            solver="saga",
            penalty="elasticnet",
            l1_ratio=l1 / (l1 + penalty),
            C=1 / (l1 + penalty),
            tol=1e-11,
            max_iter=100_000,
        ).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("hessian", ["dense", "exact"])
def test_a_path_against_saga(n_classes, hessian):
    X, y = data(n_classes)
    model = Classifier(tuning=None, penalty=0.5, hessian=hessian, run=Run(tolerance=1e-8)).fit(X, y)
    structure = model._structure
    risk = Risk.over(structure, LogLoss(), structure.encode(X, y.tolist()), hessian=hessian)
    n_free = structure.n_weights - model.coef_.size
    precision = np.r_[np.full(model.coef_.size, 0.5), np.zeros(n_free)]
    points = elastic_net_path(risk, precision, n_factors=5, least=0.02, tolerance=1e-9)
    for factor, fit in list(points)[1:]:  # their intercepts are far off where nothing else is left
        peer = saga(X, y, 0.5, factor)
        found = fit.w[: model.coef_.size].reshape(12, -1).T
        assert_allclose(found, peer.coef_, atol=1e-6)
        assert np.all(np.abs(peer.coef_[found == 0]) < 1e-8)  # rounding
        theirs = np.r_[peer.coef_.T.ravel(), peer.intercept_]
        at_theirs = risk.value(theirs) + 0.25 * np.sum(peer.coef_**2) + factor * np.abs(peer.coef_).sum()
        assert fit.objective == pytest.approx(at_theirs, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_against_saga(n_classes, form, tmp_path):
    X, y = data(n_classes)
    X = X * (np.abs(X) > 0.3)
    model = Classifier(tuning=None, penalty=0.1, l1=4.0, run=Run(tolerance=1e-8), hessian="dense").fit(
        form(X), y
    )
    peer = saga(X, y, 0.1, 4.0)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    model.save(tmp_path / "m")
    loaded = structune.load(tmp_path / "m")
    assert_array_equal(loaded.coef_, model.coef_)
    assert (loaded.l1, loaded.l1_.tolist()) == (4.0, [4.0])


@pytest.mark.parametrize("l1", [3.0, 30.0])
@pytest.mark.parametrize("hessian", ["dense", "exact"])
def test_a_regressor_against_coordinate_descent(l1, hessian):
    """Whatever the unit of the outputs."""
    X, _ = data()
    y = 40 * X[:, 0] - 5 * X[:, 1] + 3 * np.random.default_rng(1).normal(size=len(X)) + 100
    model = Regressor(tuning=None, penalty=2.0, l1=l1, run=Run(tolerance=1e-8), hessian=hessian).fit(X, y)
    n = len(X)
    peer = ElasticNet(alpha=(2.0 + l1) / n, l1_ratio=l1 / (2.0 + l1), tol=1e-13, max_iter=10**6).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    assert_array_equal(model.coef_ == 0, peer.coef_ == 0)
    assert model.intercept_ == pytest.approx(peer.intercept_)
    assert_allclose(model.l1_, [l1])


def test_the_lasso():
    X, _ = data()
    y = 4 * X[:, 0] - X[:, 1] + np.random.default_rng(1).normal(size=len(X))
    model = Regressor(tuning=None, penalty=0, l1=20.0, run=Run(tolerance=1e-9)).fit(X, y)
    peer = ElasticNet(alpha=20.0 / len(X), l1_ratio=1.0, tol=1e-13, max_iter=10**6).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert model.penalty_.tolist() == [0.0]


def test_the_grid_beside_a_penalty():
    X, y = data(3)
    grid = GridTuner(values=[0.1, 1.0], l1=[4.0, 1.0], warm=True)
    model = Classifier(tuning=grid, l1=2.0).fit(X, y)
    assert model.l1_[0] in (8.0, 2.0)
    plain = Classifier(tuning="grid", l1=2.0).fit(X, y)
    assert plain.l1_.tolist() == [2.0]
