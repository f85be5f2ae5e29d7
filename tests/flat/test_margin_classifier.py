"""Taggers, folders and classifiers with margin and ramp losses: optima of scikit-learn, tuning, files."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import LinearSVC

import structune
from structune import Classifier, RNAFolder, SequenceTagger
from structune.errors import CapabilityError, DataError
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.tuning import GridTuner
from structune.running import Run
from structune.tagging.data.hmm import simulate_hmm
from tiny import press_ctrl_c

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X @ [1.5, -1.0, 0.0] + RNG.normal(size=60) > 0.4).astype(int)
Y3 = (X + 0.7 * RNG.normal(size=(60, 3))).argmax(axis=1)
WEIGHTS = RNG.uniform(0.0, 2.0, 60)
SEQUENCES = ["GGGAAAACCC", "AGGCAAAAGCC", "GGCUUUUAGCCA", "CCAAAGAGG", "GGAUACC", "AGGGUAAACCCUA"]
FOLDS = ["(((....)))", ".(((....)))", "(((.....))).", "((.....))", "((...))", ".(((....))).."]


def hmm_data(n_sequences=12, seed=0):
    y, x = simulate_hmm(n_sequences, 3, 3, length=5, agreement=0.8, random_state=seed)
    sequences = [[[f"x{j}={v}" for j, v in enumerate(token)] for token in row] for row in x.tolist()]
    return sequences, [["ab"[k] for k in row] for row in y.tolist()]


DATA = {
    "tagger": (SequenceTagger, *hmm_data()),
    "folder": (RNAFolder, SEQUENCES, FOLDS),
    "classifier": (Classifier, X, Y3),
}
EVERY_KIND = pytest.mark.parametrize("kind", DATA)
BOTH_LOSSES = pytest.mark.parametrize("loss", ["margin", "ramp"])
TUNINGS = [None, "majorize", GridTuner((0.1, 10.0), fit_tolerance=1e-3)]


def name_of(loss):
    return loss if isinstance(loss, str) else f"{loss.name}-{loss.rescaling}-{loss.outer}"


def model_of(kind, **options):
    return DATA[kind][0](**{"n_jobs": 1, "tuning": None, **options})


def fitted(kind, **options):
    return model_of(kind, **options).fit(*DATA[kind][1:])


def classifier(**options):
    return Classifier(**{"n_jobs": 1, "tuning": None, "loss": "margin", **options})


@pytest.mark.parametrize("tuning", TUNINGS, ids=["no tuning", "majorize", "grid"])
@BOTH_LOSSES
@EVERY_KIND
def test_fit_and_predict(kind, loss, tuning):
    model = fitted(kind, loss=loss, tuning=tuning)
    _, x, y = DATA[kind]
    assert model.status_ == "converged"
    assert np.all(np.isfinite(model.penalty_) & (model.penalty_ > 0))
    assert model.penalty_.shape == (len(model.group_names_),)
    assert model.score(x, y) > 0.6
    assert tuning is not None or model.history_[-1]["stage"] == "fit"


@pytest.mark.parametrize("kind", ["tagger", "classifier"])
def test_losses_may_be_objects(kind):
    slack = (MarginLoss("slack"), MarginLoss("slack", "logistic"), RampLoss("slack"))
    for loss in (MarginLoss(outer="huber"), *slack):
        model = fitted(kind, loss=loss)
        assert model.loss is loss
        assert model.status_ == "converged"
        assert model.score(*DATA[kind][1:]) > 0.6
    assert_array_equal(fitted(kind, loss="ramp").coef_, fitted(kind, loss=RampLoss()).coef_)


CASES = {
    "two classes": (Y, None, {}),
    "three classes": (Y3, None, {}),
    "weights": (Y, WEIGHTS, {}),
    "class weights": (Y, None, {"class_weight": {0: 3.0}}),
    "balanced": (Y3, None, {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("case", CASES)
def test_linear_svc_agrees(case):
    """The hinge loss of two classes, and the loss of Crammer & Singer of three."""
    y, weights, options = CASES[case]
    how = {"loss": "hinge"} if y is Y else {"multi_class": "crammer_singer"}
    peer = LinearSVC(**how, **options, C=10.0, fit_intercept=False, tol=1e-9, max_iter=10**7)
    model = classifier(**options, penalty=0.1, fit_intercept=False, run=Run(tolerance=1e-8)).fit(
        X, y, weights
    )
    assert_allclose(model.coef_, peer.fit(X, y, weights).coef_, atol=1e-3)
    assert model.score(X, y) == pytest.approx(peer.score(X, y), abs=0.05)


@BOTH_LOSSES
def test_the_intercept_follows_the_features(loss):
    plain, moved = (classifier(loss=loss, run=Run(tolerance=1e-6)).fit(x, Y) for x in (X, X + 100.0))
    assert_allclose(moved.coef_, plain.coef_, atol=1e-6)
    assert_allclose(moved.decision_function(X + 100.0), plain.decision_function(X), atol=1e-6)
    assert plain.intercept_.any()


@BOTH_LOSSES
def test_there_are_no_probabilities(loss):
    for model in (classifier(loss=loss), classifier(loss=loss).fit(X, Y)):
        for name in ("predict_proba", "predict_log_proba"):
            assert not hasattr(model, name)
    with pytest.raises(AttributeError) as caught:
        _ = model.predict_proba
    assert f"loss={loss!r} has scores but no probabilities" in str(caught.value.__cause__)
    assert not hasattr(classifier(loss=MarginLoss("slack")), "predict_proba")
    assert hasattr(classifier(loss="log"), "predict_proba")


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("tagger", lambda model, x: model.predict_marginals(x)),
        ("tagger", lambda model, x: model.predict_nbest(x)),
        ("tagger", lambda model, x: model.segment_probability(x, 0, 0, ["a"])),
        ("folder", lambda model, x: model.predict_mea(x, [1.0])),
        ("folder", lambda model, x: model.predict_centroid(x)),
        ("folder", lambda model, x: model.predict_nbest(x)),
        ("folder", lambda model, x: model.sample(x)),
        ("folder", lambda model, x: model.pair_probabilities(x[0])),
        ("folder", lambda model, x: model.log_loss(x, FOLDS)),
    ],
)
def test_what_needs_probabilities_is_refused(kind, call):
    x = DATA[kind][1]
    call(fitted(kind, loss="log"), x)
    with pytest.raises(CapabilityError, match="fitted with loss='ramp' has scores but no probabilities"):
        call(fitted(kind, loss="ramp"), x)


@BOTH_LOSSES
def test_folders_predict_the_highest_score(loss):
    model = fitted("folder", loss=loss)
    assert model.predict(SEQUENCES) == model.predict_viterbi(SEQUENCES)
    assert model.predict(SEQUENCES, gamma=100.0) == model.predict_viterbi(SEQUENCES)
    known = ["x" * len(sequence) for sequence in SEQUENCES]
    assert model.predict(SEQUENCES, constraints=known) == ["." * len(sequence) for sequence in SEQUENCES]


@EVERY_KIND
def test_losses_that_are_none(kind):
    message = re.escape("expected one of ['log', 'margin', 'ramp', 'equivalent'], or a loss")
    for loss in ("hinge", None, 3, MarginLoss):
        with pytest.raises(DataError, match=message):
            fitted(kind, loss=loss)


@BOTH_LOSSES
def test_partial_labels_are_refused(loss):
    x = [[["w=1"], ["w=2"], ["w=3"]], [["w=1"]]]
    for first, where in ((None, "sequence 0, token 1"), ("a", "sequence 1, token 0")):
        with pytest.raises(DataError, match=f"{where}: the label is unknown or only partly known"):
            model_of("tagger", loss=loss).fit(x, [["a", first, "b"], [{"a", "b"}]])


@pytest.mark.parametrize("tuning", [None, "majorize"])
@BOTH_LOSSES
def test_one_token_and_one_label(loss, tuning):
    model = model_of("tagger", loss=loss, tuning=tuning).fit([[["a"]]], [["p"]])
    assert model.status_ == "converged"
    assert_array_equal(model.coef_, 0.0)
    assert model.predict([[["a"]]]) == [["p"]]


@BOTH_LOSSES
def test_rna_without_pairs(loss):
    """No structure costs anything."""
    for tuning in (None, "majorize"):
        model = model_of("folder", loss=loss, tuning=tuning).fit(SEQUENCES[:2], ["." * 10, "." * 11])
        assert model.status_ == "converged"
        assert model.history_[-1]["objective"] == pytest.approx(0.0, abs=1e-12)
    x, y = [*SEQUENCES, "AAAAAAA", ""], [*FOLDS, ".......", ""]
    model = model_of("folder", loss=loss).fit(x, y)
    assert_allclose(model.coef_, fitted("folder", loss=loss).coef_, atol=0.5)
    assert model.predict(["AAAAAAA", ""]) == [".......", ""]


@BOTH_LOSSES
def test_contradicting_examples(loss):
    model = model_of("tagger", loss=loss).fit([[["a"]]] * 6, [["p"], ["p"], ["q"]] * 2)
    assert model.status_ == "converged"
    assert np.isfinite(model.coef_).all()
    same = classifier(loss=loss).fit(np.ones((10, 2)), [0, 1] * 5)
    assert same.history_[-1]["objective"] <= 10.0


@BOTH_LOSSES
def test_a_class_may_weigh_nothing(loss):
    without = classifier(loss=loss).fit(X, Y3, np.where(Y3 == 1, 0.0, 1.0))
    assert not np.any(without.predict(X[Y3 != 1]) == 1)


@pytest.mark.parametrize(("loss", "n"), [("margin", 2), ("ramp", 12)])
@pytest.mark.parametrize("tuning", TUNINGS, ids=["no tuning", "majorize", "grid"])
@EVERY_KIND
def test_ctrl_c_leaves_a_model(kind, loss, tuning, n, monkeypatch):
    press_ctrl_c(monkeypatch, n)
    given = {"tuning": tuning} if tuning else {"penalty": 0.01}
    model = fitted(kind, loss=loss, run=Run(tolerance=1e-8), **given)
    assert model.status_ == "interrupted"
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.penalty_).all()
    assert len(model.predict(DATA[kind][1])) == len(DATA[kind][1])


@EVERY_KIND
def test_ctrl_c_before_there_is_anything(kind, monkeypatch):
    press_ctrl_c(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        fitted(kind, loss="margin")


@pytest.mark.parametrize("loss", ["margin", MarginLoss(outer="logistic"), RampLoss()], ids=name_of)
@EVERY_KIND
def test_files_keep_the_kind_of_loss(kind, loss, tmp_path):
    model = fitted(kind, loss=loss)
    model.save(tmp_path / "model")
    again = structune.load(tmp_path / "model")
    assert again.loss == (loss if isinstance(loss, str) else loss.name)
    for name in ("coef_", "penalty_"):
        assert_array_equal(getattr(again, name), getattr(model, name))
    assert (again.history_, again.status_) == (model.history_, model.status_)
    x = DATA[kind][1]
    assert list(again.predict(x)) == list(model.predict(x))
    assert not hasattr(again, "predict_proba")
    if isinstance(loss, str):
        assert_array_equal(again.fit(*DATA[kind][1:]).coef_, model.coef_)
