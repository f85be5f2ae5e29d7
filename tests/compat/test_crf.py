"""A CRF by sklearn-crfsuite's parameters, against python-crfsuite and against the tagger that it is."""

import inspect
import pickle
import sys
from collections import Counter

import joblib
import numpy as np
import pytest
from scipy.stats import expon
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_predict, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import structune
from structune import Classifier, SequenceTagger, load
from structune.compat import CRF, CompatibilityWarning, metrics
from structune.errors import DataError, ModelFileError
from structune.running import Run

RNG = np.random.default_rng(0)
X = [[{"w": str(RNG.integers(6)), "n": float(RNG.integers(1, 4)) / 2} for _ in range(5)] for _ in range(30)]
Y = [["PQR"[(int(token["w"]) + int(RNG.integers(2))) % 3] for token in sequence] for sequence in X]
ATTRIBUTES = [f"{name}_" for name in ("classes", "attributes", "num_attributes", "size", "state_features")]


@pytest.fixture(scope="module")
def fitted():
    return CRF(c2=0.1).fit(X, Y)


def theirs(path, X, y, **params):
    """A tagger of python-crfsuite, trained to the end."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params({"epsilon": 1e-9, "delta": 1e-12, **params})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def test_parameters_by_position():
    names = list(inspect.signature(CRF).parameters)
    assert names[1:4] == ["min_freq", "all_possible_states", "all_possible_transitions"]
    assert (names[0], *names[4:7], len(names)) == ("algorithm", "c1", "c2", "max_iterations", 28)
    assert CRF("l2sgd", 2, True, False, 0.0, 0.5, 50).get_params()["c2"] == 0.5
    assert set(CRF().get_params().values()) == {None, False}
    assert clone(CRF("pa", c=2.0)).get_params() == CRF("pa", c=2.0).get_params()


def test_what_they_mean():
    def tagger(**params):
        return CRF(**params)._tagger()

    expected = SequenceTagger(penalty=2.0, boundary=False, transitions="seen")
    assert tagger().get_params() == expected.get_params()
    all_states = tagger(c2=0.25, all_possible_states=True)
    assert all_states.get_params() == expected.set_params(states="all", penalty=0.5).get_params()
    assert tagger(all_possible_transitions=True).transitions == "all"
    assert tagger(max_iterations=7).run.max_iterations == 7
    assert (tagger(c1=0.5, c2=0.0).l1, tagger(c2=0.0).penalty) == (0.5, 1e-8)
    with pytest.warns(CompatibilityWarning, match="algorithm='pa' is an online algorithm"):
        online = tagger(algorithm="pa", c=4.0)
    assert online.get_params() == tagger().set_params(loss="margin", penalty=0.25).get_params()
    with pytest.warns(CompatibilityWarning, match="max_iterations has no effect"):
        assert tagger(algorithm="ap", max_iterations=7).run is None  # epochs are no passes
    with pytest.warns(CompatibilityWarning, match="have no effect: epsilon, linesearch$") as told:
        CRF(epsilon=1e-3, linesearch="Backtracking").fit(X, Y)
    assert [each.filename for each in told] == [__file__]


def test_wrong_parameters():
    for params, told in (
        ({"algorithm": "sgd"}, "algorithm='sgd': expected one of"),
        ({"c2": -1}, "c2=-1: expected None or a number >= 0"),
        ({"min_freq": "a"}, "min_freq='a': expected None or a number >= 0"),
    ):
        with pytest.raises(DataError, match=told):
            CRF(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "options"),
    [
        ({"c2": 0.5}, {}),
        ({"c2": 0.1, "all_possible_states": True}, {"feature.possible_states": 1}),
        ({"c2": 1.0, "all_possible_transitions": True}, {"feature.possible_transitions": 1}),
        ({"c2": 0.3, "min_freq": 7}, {"feature.minfreq": 7}),
    ],
)
def test_weights_are_those_of_crfsuite(tmp_path, monkeypatch, params, options):
    monkeypatch.setattr(
        CRF, "_tagger", lambda self, tagger=CRF._tagger: tagger(self).set_params(run=Run(tolerance=1e-8))
    )
    crf = CRF(**params).fit(X, Y)
    model = theirs(tmp_path / "m", X, Y, c2=params["c2"], **options)
    info = model.info()
    assert crf.state_features_ == pytest.approx(info.state_features, abs=1e-4)
    assert crf.transition_features_ == pytest.approx(info.transitions, abs=1e-4)
    assert crf.classes_ == sorted(model.labels())
    assert set(crf.attributes_) == set(info.attributes)
    model.set(X[0])
    crf.tagger_.set(X[0])
    assert crf.tagger_.marginal("Q", 2) == pytest.approx(model.marginal("Q", 2), abs=1e-4)
    assert crf.tagger_.probability(Y[0]) == pytest.approx(model.probability(Y[0]), abs=1e-4)
    assert crf.predict(X) == [model.tag(sequence) for sequence in X]


def test_features_with_negative_sums_have_no_weights(tmp_path):
    pairs = [zip(*each, strict=True) for each in zip(X, Y, strict=True)]
    tokens = [[token | {"n": -1.0} if k == "Q" else token for token, k in own] for own in pairs]
    found = CRF(c2=0.5).fit(tokens, Y).state_features_
    assert found.keys() == theirs(tmp_path / "m", tokens, Y, c2=0.5).info().state_features.keys()
    assert ("n", "P") in found
    assert ("n", "Q") not in found


@pytest.mark.filterwarnings("ignore::structune.compat.CompatibilityWarning")
def test_online_algorithms_have_marginals_too():
    for algorithm in ("ap", "arow"):
        crf = CRF(algorithm).fit(X, Y)
        assert crf.score(X, Y) > 0.5
        assert {round(sum(row.values()), 9) for row in crf.predict_marginals_single(X[0])} == {1.0}


def test_one_sequence(fitted):
    assert fitted.predict_single(X[3]) == fitted.predict(X)[3] == fitted.tagger_.tag(X[3])
    assert fitted.predict_marginals_single(X[3]) == fitted.predict_marginals([X[3]])[0]
    fitted.tagger_.set(X[3])
    assert fitted.tagger_.tag() == fitted.predict_single(X[3])
    assert fitted.tagger_.marginal("P", 1) == fitted.predict_marginals_single(X[3])[1]["P"]
    for wrong in (("P", 5), ("Z", 0), ("P", -1)):
        with pytest.raises(DataError, match=r"there is no (label|token)"):
            fitted.tagger_.marginal(*wrong)
    with pytest.raises(DataError, match="yseq has 1 label, but the sequence has 5 tokens"):
        fitted.tagger_.probability(["P"])


def test_attributes(fitted):
    crf = CRF()
    assert {getattr(crf, name) for name in [*ATTRIBUTES, "transition_features_", "tagger_"]} == {None}
    for use in (crf.predict, crf.predict_single, crf.predict_marginals):
        with pytest.raises(NotFittedError):
            use(X)
    assert fitted.classes_ == fitted.tagger_.labels() == ["P", "Q", "R"]
    assert sorted(fitted.attributes_) == ["n", *(f"w:{k}" for k in range(6))]
    assert (fitted.num_attributes_, fitted.size_ > 1000) == (7, True)
    info = fitted.tagger_.info()
    assert info.state_features == fitted.state_features_
    assert info.labels == {"P": "0", "Q": "1", "R": "2"}
    assert {attribute for attribute, _ in fitted.state_features_} == set(fitted.attributes_)


def test_bytes_and_empty_sequences():
    as_bytes = [[{"w": token["w"].encode(), "n": token["n"]} for token in sequence] for sequence in X]
    labels = [[label.encode() for label in sequence] for sequence in Y]
    crf = CRF(c2=0.1).fit([*as_bytes, []], [*labels, []])
    assert crf.predict(X) == CRF(c2=0.1).fit(X, Y).predict(X)
    with pytest.raises(DataError, match="y has labels for 29 sequences, but X has 30"):
        CRF().fit(X, Y[1:])


def test_item_sequences(fitted):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    items = [pycrfsuite.ItemSequence(sequence) for sequence in X]
    assert CRF(c2=0.1).fit(items, Y).state_features_ == fitted.state_features_
    assert fitted.predict(items) == fitted.predict(X)
    assert fitted.predict_single(items[0]) == fitted.predict_single(X[0])


def test_held_out_sequences(capsys):
    for given in ({"X_dev": X}, {"y_dev": Y}):
        with pytest.raises(DataError, match="X_dev and y_dev must be given together"):
            CRF().fit(X, Y, **given)
    learned = CRF().fit(X[:20], Y[:20], X[20:], Y[20:])
    assert not capsys.readouterr().out
    assert learned.state_features_ == CRF().fit(X[:20], Y[:20]).state_features_
    CRF(verbose=True).fit(X[:20], Y[:20], X_dev=X[20:], y_dev=Y[20:])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()][-5:]
    assert ([row[0] for row in rows], rows[-1][-1]) == (["label", "P", "Q", "R", "all"], "50")


@pytest.mark.parametrize(("c1", "c2"), [(0.5, 0.1), (2.0, 0.0)])
def test_sparse_weights_are_those_of_crfsuite(tmp_path, c1, c2):
    crf = CRF(c1=c1, c2=c2)
    weights = crf.fit(X, Y).state_features_
    info = theirs(tmp_path / "m", X, Y, c1=c1, c2=c2).info()  # OWL-QN ends earlier than it should
    for name in weights.keys() | info.state_features.keys():
        assert weights.get(name, 0.0) == pytest.approx(info.state_features.get(name, 0.0), abs=0.02)


def test_a_file_for_the_model(tmp_path, fitted):
    path = tmp_path / "m.structune"
    check_is_fitted(fitted)
    assert CRF(model_filename=path).classes_ is None
    with pytest.raises(NotFittedError):
        check_is_fitted(CRF(model_filename=path))
    with pytest.raises(NotFittedError, match=r"m\.structune' does not exist"):
        CRF(model_filename=path).predict(X)
    CRF(c2=0.1, model_filename=path).fit(X, Y)
    check_is_fitted(CRF(model_filename=path))
    assert CRF(model_filename=str(path)).predict(X) == fitted.predict(X)
    assert structune.load(path).classes_ == fitted.classes_
    Classifier(tuning=None).fit(np.eye(2), [0, 1]).save(path)
    with pytest.raises(ModelFileError, match="class Classifier, but a sequence tagger is needed"):
        CRF(model_filename=path).predict(X)


NEW = [[{"w": "9"}, {"w": "1"}], [{"w": "9"}, {"w": "8", "n": 2.0}]]
NEW_LABELS = [["Z", "Q"], ["Z", "P"]]


@pytest.mark.parametrize("from_file", [False, True])
def test_more_sequences(tmp_path, from_file):
    path, c2 = tmp_path / "m.structune", 0.3
    crf = CRF(c2=c2, model_filename=path).partial_fit(X, Y)
    before, moves = crf.state_features_, crf.transition_features_
    assert before == CRF(c2=c2).fit(X, Y).state_features_
    crf = CRF(c2=c2, model_filename=path) if from_file else pickle.loads(pickle.dumps(crf))
    assert crf.partial_fit(NEW, NEW_LABELS).classes_ == ["P", "Q", "R", "Z"]
    after, rows = crf.state_features_, crf.predict_marginals(NEW)
    assert {("w:9", "Z"), ("w:8", "P")} <= after.keys() - before.keys()
    assert crf.transition_features_.keys() == moves.keys() | {("Z", "Q"), ("Z", "P")}
    same = [name for name in before if name[0] == "w:2"]  # which the new ones lack
    assert len(same) >= 2
    assert all(after[name] == before[name] for name in same)
    # at the minimum, observed minus expected counts are the slope of the penalty
    assert 2.0 - sum(row[0]["Z"] for row in rows) == pytest.approx(2.0 * c2 * after["w:9", "Z"], rel=1e-3)
    assert load(path).classes_ == crf.classes_
    shares = [crf.predict_marginals_single(X[0])[0], crf.partial_fit(X, Y).predict_marginals_single(X[0])[0]]
    assert shares[1]["Z"] < shares[0]["Z"]
    assert crf.partial_fit(NEW, [[1, "Z"], ["Z", 2]]).classes_ == [1, 2, "P", "Q", "R", "Z"]


def test_earlier_sequences_hold_weights_by_their_fisher_information():
    tokens, labels = [[[token] for row in each for token in row] for each in (X, Y)]
    crf = CRF(c2=0.3).fit(tokens, labels)
    rows = zip(tokens, crf.predict_marginals(tokens), strict=True)
    shares = [row["Q"] for (token,), (row,) in rows if token["w"] == "1"]
    before, known = crf.state_features_["w:1", "Q"], sum(p * (1 - p) for p in shares)
    crf.partial_fit([[{"w": "1"}]] * 5, [["Q"]] * 5)
    slope = (2 * 0.3 + known) * (crf.state_features_["w:1", "Q"] - before)
    ((row,),) = crf.predict_marginals([[{"w": "1"}]])
    assert slope == pytest.approx(5 * (1 - row["Q"]), rel=0.05)  # penalties are rounded to two digits


def test_models_of_other_forms_are_continued(tmp_path):
    path, tags = tmp_path / "m", [["B-x", "I-x", "O", "O", "O"]] * 30
    items = [[{f"w:{token['w']}": 1.0} for token in sequence] for sequence in X]
    SequenceTagger(penalty=1.0, order=2, forbidden="bio").fit(items, tags).save(path)
    crf = CRF(model_filename=path, min_freq=1.0).partial_fit(NEW, [["B-y", "I-y"], ["B-y", "O"]])
    assert crf.classes_ == ["B-x", "B-y", "I-x", "I-y", "O"]
    model = load(path)
    assert (model.order, model.boundary, model.forbidden, model.groups) == (2, True, "bio", "template")
    with pytest.raises(DataError, match="partial_fit needs algorithm='lbfgs' or 'l2sgd', not 'pa'"):
        crf.set_params(algorithm="pa").partial_fit(X, Y)


# --- scikit-learn -----------------------------------------------------------------------------------------


class Words(TransformerMixin, BaseEstimator):
    """From words to tokens with attributes."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [[{"w": word, "bias": 1.0} for word in words] for words in X]


@pytest.mark.filterwarnings("error")
def test_the_ways_of_scikit_learn(tmp_path):
    words = [[token["w"] for token in sequence] for sequence in X]
    pipeline = make_pipeline(Words(), CRF(max_iterations=100, all_possible_transitions=True))
    f1 = make_scorer(metrics.flat_f1_score, average="weighted", labels=["P", "Q"])
    space = {"crf__c1": expon(scale=0.5), "crf__c2": expon(scale=0.05)}
    search = RandomizedSearchCV(pipeline, space, n_iter=3, cv=3, scoring=f1, random_state=0).fit(words, Y)
    assert len(search.cv_results_["mean_test_score"]) == 3
    best = search.best_estimator_[-1]
    assert best.size_ > 1000
    assert Counter(best.state_features_).most_common(1)[0][1] == max(best.state_features_.values())
    report = metrics.flat_classification_report(Y, search.predict(words), ["P", "R"], digits=3)
    assert [line.split()[0] for line in report.splitlines()[2:4]] == ["P", "R"]
    found = cross_val_predict(pipeline, words, Y, cv=3)
    assert [len(row) for row in found] == [5] * 30
    assert metrics.flat_accuracy_score(Y, found) > 0.3
    joblib.dump(search, tmp_path / "m")
    assert joblib.load(tmp_path / "m").predict(words) == search.predict(words)
    assert get_tags(best).estimator_type is None
    assert "CRF" in pipeline._repr_html_()
    assert "CRF" in best._repr_html_()
    scores = learning_curve(CRF(c2=0.1), X, Y, cv=2, exploit_incremental_learning=True)
    assert np.isfinite(scores[2]).all()


def test_the_module_in_place_of_sklearn_crfsuite(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn_crfsuite", structune.compat)
    space = {}
    exec("from sklearn_crfsuite.metrics import flat_f1_score as f1", space)
    exec("from sklearn_crfsuite import CRF, scorers\nfrom sklearn_crfsuite.utils import flatten", space)
    assert space["CRF"] is CRF
    assert space["flatten"]([["a"], [], ["b", "c"]]) == ["a", "b", "c"]
    assert space["f1"]([["a"]], [["a"]], average="micro") == 1.0
