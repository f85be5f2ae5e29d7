"""A CRF by sklearn-crfsuite's parameters, against python-crfsuite and against the tagger that it is."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import structune
from structune import Classifier, SequenceTagger
from structune.compat import CRF, CompatibilityWarning
from structune.errors import DataError, ModelFileError
from structune.running import Run

RNG = np.random.default_rng(0)
X = [[{"w": str(RNG.integers(6)), "n": float(RNG.integers(1, 4)) / 2} for _ in range(5)] for _ in range(30)]
Y = [["PQR"[(int(token["w"]) + int(RNG.integers(2))) % 3] for token in sequence] for sequence in X]
ATTRIBUTES = (
    "classes_",
    "attributes_",
    "num_attributes_",
    "size_",
    "state_features_",
    "transition_features_",
)


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
    assert names[:7] == [
        *("algorithm", "min_freq", "all_possible_states", "all_possible_transitions"),
        *("c1", "c2", "max_iterations"),
    ]
    assert len(names) == 28
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
    assert tagger(all_possible_transitions=True, max_iterations=7).transitions == "all"
    assert tagger(max_iterations=7).run.max_iterations == 7
    assert tagger(c2=0.0).penalty < 1e-6
    with pytest.warns(CompatibilityWarning, match="algorithm='pa' is an online algorithm"):
        online = tagger(algorithm="pa", c=4.0)
    assert online.get_params() == tagger().set_params(loss="margin", penalty=0.25).get_params()
    with pytest.warns(CompatibilityWarning, match="max_iterations has no effect"):
        assert tagger(algorithm="ap", max_iterations=7).run is None  # epochs are no passes


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"algorithm": "sgd"}, "algorithm='sgd': expected one of"),
        ({"c2": -1}, "c2=-1: expected None or a number >= 0"),
        ({"min_freq": "a"}, "min_freq='a': expected None or a number >= 0"),
    ],
)
def test_wrong_parameters(params, told):
    with pytest.raises(DataError, match=told):
        CRF(**params).fit(X, Y)


def test_what_has_no_effect_is_told_once():
    with pytest.warns(CompatibilityWarning, match="have no effect: epsilon, linesearch$") as told:
        CRF(epsilon=1e-3, linesearch="Backtracking").fit(X, Y)
    assert [each.filename for each in told] == [__file__]


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


@pytest.mark.parametrize("algorithm", ["ap", "arow"])
@pytest.mark.filterwarnings("ignore::structune.compat.CompatibilityWarning")
def test_online_algorithms_have_marginals_too(algorithm):
    crf = CRF(algorithm).fit(X, Y)
    assert crf.score(X, Y) > 0.5
    for token in crf.predict_marginals_single(X[0]):
        assert sum(token.values()) == pytest.approx(1.0)


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
    assert crf.tagger_ is None
    assert [getattr(crf, name) for name in ATTRIBUTES] == [None] * len(ATTRIBUTES)
    for use in (crf.predict, crf.predict_single, crf.predict_marginals):
        with pytest.raises(NotFittedError):
            use(X)
    assert fitted.classes_ == fitted.tagger_.labels() == ["P", "Q", "R"]
    assert sorted(fitted.attributes_) == ["n", *(f"w:{k}" for k in range(6))]
    assert fitted.num_attributes_ == 7
    assert fitted.size_ > 1000
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
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows][-5:] == ["label", "P", "Q", "R", "all"]
    assert rows[-1][-1] == "50"


@pytest.mark.parametrize(("c1", "c2"), [(0.5, 0.1), (2.0, 0.0)])
def test_sparse_weights_are_those_of_crfsuite(tmp_path, c1, c2):
    crf = CRF(c1=c1, c2=c2)
    assert (crf._tagger().l1, crf._tagger().penalty) == (c1, max(2 * c2, 1e-8))
    weights = crf.fit(X, Y).state_features_
    info = theirs(tmp_path / "m", X, Y, c1=c1, c2=c2).info()  # OWL-QN ends earlier than it should
    for name in weights.keys() | info.state_features.keys():
        assert weights.get(name, 0.0) == pytest.approx(info.state_features.get(name, 0.0), abs=0.02)


def test_a_file_for_the_model(tmp_path, fitted):
    path = tmp_path / "m.structune"
    assert CRF(model_filename=path).classes_ is None
    CRF(c2=0.1, model_filename=path).fit(X, Y)
    assert CRF(model_filename=str(path)).predict(X) == fitted.predict(X)
    assert structune.load(path).classes_ == fitted.classes_
    Classifier(tuning=None).fit(np.eye(2), [0, 1]).save(path)
    with pytest.raises(ModelFileError, match="class Classifier, but a sequence tagger is needed"):
        CRF(model_filename=path).predict(X)


def test_scikit_learn_knows_when_it_is_fitted(tmp_path, fitted):
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(CRF(model_filename=tmp_path / "none"))
    CRF(c2=0.1, model_filename=tmp_path / "model").fit(X, Y)
    check_is_fitted(CRF(model_filename=tmp_path / "model"))
