"""Wide features turned to as many as there are examples: nothing that is learned may change."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

import structune
from structune import Classifier, Regressor
from structune.flat import regressor, rotation
from structune.flat.rotation import Rotation
from structune.flat.structure.shard import Design
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner
from structune.running import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 90))
CLASSES = np.argmax(X[:, :3] + RNG.normal(size=(30, 3)), axis=1)
NUMBERS = X[:, :3].sum(axis=1) + RNG.normal(size=30)
BLOCKS = ["a"] * 40 + ["b"] * 3 + ["c"] * 47
TIGHT = {"fit_tolerance": 1e-8}


@pytest.fixture
def few_are_many(monkeypatch):
    """Turns features of groups from 31 on."""
    monkeypatch.setattr(rotation, "_LEAST_FEATURES", 31)
    monkeypatch.setattr(rotation, "_WIDER", 1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_scores_and_norms(sparse, bias, few_are_many):
    x = sp.csr_array(np.where(X > 0.5, X, 0.0)) if sparse else X
    found = Rotation.of(Design(x, bias), [f"x{k}" for k in range(90)], BLOCKS)
    labels = found.labels
    assert len(found.names) == len(labels) == found.design.n_columns - bias == 63
    v = RNG.normal(size=(found.design.n_columns, 2))
    w = found.back(v)
    assert_allclose(Design(x, bias).times(w), found.design.times(v), atol=1e-9)
    assert_allclose(found.turned(w), v, atol=1e-9)
    for group in "abc":
        of_v, of_w = (np.array(given) == group for given in (labels, BLOCKS))
        assert np.sum(w[:90][of_w] ** 2) == pytest.approx(np.sum(v[:63][of_v] ** 2))


@pytest.mark.parametrize(
    "tuning",
    [
        None,
        ImplicitTuner(max_evaluations=1, **TIGHT),
        GridTuner((0.1, 1.0), fit_tolerance=1e-8),
        MajorizeTuner(max_iterations=100, tolerance=1e-4, **TIGHT),
    ],
)
@pytest.mark.parametrize("groups", ["single", BLOCKS])
@pytest.mark.parametrize("kind", ["classes", "numbers", "margin"])
@pytest.mark.filterwarnings("ignore")
def test_the_same_models(kind, groups, tuning, monkeypatch):
    loss = {"loss": "margin"} if kind == "margin" else {}
    if loss and tuning is not None:
        pytest.skip("takes a minute, or needs a smooth loss")
    make, y = (Regressor, NUMBERS) if kind == "numbers" else (Classifier, CLASSES)
    options = {"tuning": tuning, "groups": groups, "run": Run(tolerance=1e-5 if loss else 1e-9), **loss}
    plain = make(**options).fit(X, y)
    monkeypatch.setattr(rotation, "_LEAST_FEATURES", 31)
    monkeypatch.setattr(rotation, "_WIDER", 1)
    monkeypatch.setattr(regressor, "MOST_CELLS", 0)
    turned = make(**options).fit(X, y)
    assert plain.history_[0].keys() == turned.history_[0].keys()
    for key in ("heldout_loss", "gradient") if isinstance(tuning, ImplicitTuner) else ():
        assert_allclose(turned.history_[0][key], plain.history_[0][key], rtol=1e-3 if loss else 1e-5)
    assert turned.group_names_ == plain.group_names_
    assert turned.group_sizes_.tolist() == plain.group_sizes_.tolist()
    assert_allclose(turned.penalty_, plain.penalty_, rtol=1e-2)
    assert_allclose(turned.coef_, plain.coef_, atol=(2e-2 if loss else 5e-3) * np.abs(plain.coef_).max())


@pytest.mark.parametrize(
    "options",
    [
        {"tuning": None, "l1": 0.1},
        {"tuning": DirectTuner()},
        {"tuning": MajorizeTuner(count="all")},
        {"groups": "feature"},
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_counts_weights_gets_all(options, few_are_many):
    model = Classifier(**options)
    model._set_weights = lambda w, keep=model._set_weights: (sizes.append(w.size), keep(w))
    sizes = []
    model.fit(X, CLASSES)
    assert sizes == [3 * 91]


def test_warm_starts_go_on(few_are_many):
    model = Classifier(tuning=None, warm_start=True).fit(X, CLASSES)
    first = model.passes_
    assert model.fit(X, CLASSES).passes_ < first


def test_more_features_than_examples():
    """By thousands: the penalty of a signal that is there is found, and in the time of a few examples."""
    x = RNG.normal(size=(200, 3000))
    y = x[:, :10].sum(axis=1) + RNG.normal(size=200) > 0
    models = Classifier().fit(x, y), Classifier(tuning="implicit").fit(x, y)
    for model in models:
        assert model.coef_.shape == (1, 3000)
        assert 50 < model.penalty_[0] < 5000


def test_weights_stand_for_numbers_of_examples():
    x = RNG.normal(size=(60, 1500))
    y = x[:, :100].sum(axis=1) > 0
    model = Classifier(tuning=MajorizeTuner(), hessian="dense")
    weighted = clone(model).fit(x, y, sample_weight=np.full(60, 20.0)).penalty_
    assert_allclose(weighted, clone(model).fit(np.tile(x, (20, 1)), np.tile(y, 20)).penalty_, rtol=0.3)


def test_a_group_that_never_varies(few_are_many, tmp_path):
    x = np.where(np.array(BLOCKS) == "c", 1.0, X)
    model = Classifier(groups=BLOCKS, tuning=None, penalty={"c": 3.0}).fit(x, CLASSES)
    assert model.group_names_ == ("a", "b", "c")
    model.save(tmp_path / "m")
    assert_allclose(structune.load(tmp_path / "m").predict_proba(x), model.predict_proba(x))
