"""The segment tagger: what it accepts, scikit-learn's conventions, files, and when segments pay."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from structune import SegmentTagger, SequenceTagger, load
from structune.errors import CapabilityError, DataError
from structune.tagging import AttributeTable, segment_scores

X = [
    [["w=in"], ["w=New"], ["w=York"]],
    [["w=by"], ["w=York"]],
    [["w=New"], ["w=rules"], ["w=in"], ["w=Rome"]],
]
Y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"], ["O", "O", "O", "B-LOC"]]


def tagger(**options):
    return SegmentTagger(**{"n_jobs": 1, "penalty": 0.1, **options})


def initials(words, start, stop):
    return ["initials=" + "".join(word[:1] for word in words[start:stop])]


def test_labels_and_segments():
    model = tagger().fit(X, Y)
    assert model.predict(X) == Y
    assert model.predict_segments(X) == [[("LOC", 1, 3)], [("LOC", 1, 2)], [("LOC", 3, 4)]]
    assert (model.score(X, Y), model.status_) == (1.0, "converged")
    assert (model.segment_types_, model.classes_) == (["LOC"], ["B-LOC", "I-LOC", "O"])
    some = [[], X[0], [], X[1]]  # empty sequences have no labels
    assert model.predict(some) == [[], Y[0], [], Y[1]]
    assert model.predict_segments([[]]) == [[]]
    assert [len(rows) for rows in model.predict_marginals(some)] == [0, 3, 0, 2]
    assert model.segment_probability(some, 3, 1, 2, "LOC") == model.segment_probability(X, 1, 1, 2, "LOC")


def test_forms_of_input():
    expected = tagger().fit(AttributeTable.from_items(X), Y).coef_
    dicts = [[{"w": token[0][2:]} for token in sequence] for sequence in X]
    for form in (X, dicts, tuple(tuple(map(tuple, sequence)) for sequence in X)):
        assert_allclose(tagger().fit(form, Y).coef_, expected, atol=1e-6)
    rows = np.random.default_rng(0).normal(size=(9, 4))
    for form in ((rows, [3, 2, 4]), (sp.csr_array(rows), [3, 2, 4]), [rows[:3], rows[3:5], rows[5:]]):
        model = tagger().fit(form, Y)
        assert set(model.group_names_) == {"x", "segment.length", "transitions"}
        assert [len(labels) for labels in model.predict(form)] == [3, 2, 4]


def test_bioes_comes_back():
    outputs = [["O", "B-LOC", "E-LOC"], ["O", "S-LOC"], ["O", "O", "O", "S-LOC"]]
    model = tagger().fit(X, outputs)
    assert (model.predict(X), model.scheme_) == (outputs, "bioes")
    assert_allclose(model.coef_, tagger().fit(X, Y).coef_)
    model = tagger().fit(X, [*outputs[:2], ["O", "S-x", "O", "B-LOC"]])
    assert set(model.classes_) == {"O", "B-LOC", "I-LOC", "E-LOC", "S-LOC", "B-x", "S-x"}
    for rows, found in zip(model.predict_marginals(X), model.predict_nbest(X, 1000), strict=True):
        for t, row in enumerate(rows):
            for label, p in row.items():
                assert_allclose(p, sum(q for labels, q in found if labels[t] == label), atol=1e-12)


def test_what_l1_sets_to_zero_is_not_stored(tmp_path, monkeypatch):
    model = tagger(penalty=0.1, l1=0.05).fit(X, Y)
    model.save(tmp_path / "small")
    monkeypatch.setattr(SegmentTagger, "_drop_unused", lambda *_: None)
    whole = tagger(penalty=0.1, l1=0.05).fit(X, Y)
    whole.save(tmp_path / "large")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "large").stat().st_size
    assert all(w for (name, _), w in model.state_features_.items() if "length" not in name)
    assert all(model.state_features_.get(name, 0.0) == w for name, w in whole.state_features_.items())
    assert model.transition_features_ == whole.transition_features_
    new = [*X, [["w=New"], ["w=York"], ["w=rules"], ["w=Oslo"]]]
    assert load(tmp_path / "small").predict_marginals(new) == whole.predict_marginals(new)


def test_weights_by_name():
    model = tagger().fit(X, Y)
    names = [" : ".join(pair) for pair in model.state_features_]
    assert [*names, "(start) -> LOC"] == model.chain_.weight_names()[: len(names) + 1]
    assert {("w=York", "I-LOC"), ("segment.text=New York", "LOC")} <= model.state_features_.keys()
    at = model.chain_.weight_names().index("O -> LOC")
    assert model.transition_features_["O", "LOC"] == model.coef_[at]
    assert (None, "O") in model.transition_features_
    assert (None, "O") not in tagger(boundary=False).fit(X, Y).transition_features_


def test_probabilities():
    model = tagger().fit(X, Y)
    rows = model.predict_marginals(X[:1])[0]
    assert all(abs(sum(row.values()) - 1) < 1e-12 for row in rows)
    p = model.segment_probability(X, 0, 1, 3, "LOC")
    assert 0.5 < p <= rows[2]["I-LOC"] + 1e-12
    for sequence, start, stop, label in ((5, 0, 1, "O"), (0, 2, 4, "LOC"), (0, 1, 1, "LOC"), (0, 0, 1, "x")):
        with pytest.raises(DataError, match=r"sequence=5|so it has no segment|unknown label"):
            model.segment_probability(X, sequence, start, stop, label)
    best = model.predict_nbest([X[0], []], n=3)
    assert best[0][0][0] == Y[0]
    assert len(best[0]) == 3
    assert sum(share for _, share in model.predict_nbest(X[1:2], n=100)[0]) == pytest.approx(1.0)
    assert best[1] == [([], 1.0)]
    margin = tagger(loss="margin").fit(X, Y)
    assert margin.predict(X) == Y
    with pytest.raises(CapabilityError, match="has scores but no probabilities"):
        margin.predict_marginals(X)


def test_scikit_learns_conventions():
    model = tagger(max_length=4, gazetteers={"city": ["Rome"]}, segment_features=initials)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert cross_val_score(tagger(), X * 3, Y * 3, cv=3).shape == (3,)
    model = tagger(tuning="implicit", penalty=None, cv=2).fit(X * 4, Y * 4)
    of_segments = [f"segment.{name}" for name in ("last", "text", "shape", "length")]
    assert model.group_names_ == ("w", *of_segments, "transitions")
    assert model.predict(X) == Y


def test_weights_of_examples_count():
    weighted = tagger().fit(X, Y, sample_weight=[2, 1, 0])
    twice = tagger().fit([X[0], *X[:2]], [Y[0], *Y[:2]])
    p, q = (each.predict_marginals(X[:1])[0][1]["B-LOC"] for each in (weighted, twice))
    assert p == pytest.approx(q, abs=0.05)  # the vocabulary has what the third sequence has
    model, wrong = tagger().fit(X, Y), [*Y[:2], ["O"] * 4]
    assert_allclose(model.score(X, wrong), 4 / 5)
    assert model.score(X, wrong, sample_weight=[1, 1, 0]) == 1.0
    assert model.score(X[2:], wrong[2:]) == 0.0


def test_gazetteers_that_are_set_after_the_fit(tmp_path):
    new = [[["w=in"], ["w=Oslo"]]]
    model = tagger(gazetteers={"city": {"Rome"}}, penalty=0.01).fit(X, Y)
    model.save(tmp_path / "model")
    for fitted in (model, load(tmp_path / "model")):
        before = fitted.predict_marginals(new)[0][1]["B-LOC"]
        after = fitted.set_params(gazetteers={"city": ["Oslo"]}).predict_marginals(new)[0][1]["B-LOC"]
        assert after > before + 0.01
        fitted.save(tmp_path / "changed")
        assert load(tmp_path / "changed").predict_marginals(new)[0][1]["B-LOC"] == after
        with pytest.raises(DataError, match="the model has no weights for 'town'"):
            fitted.set_params(gazetteers={"town": ["Oslo"]}).predict(new)


def test_gazetteers_know_words_that_training_did_not_have():
    model = tagger(gazetteers={"city": ["Rome", "Oslo", "New York", "Los Angeles"]}).fit(X, Y)
    new, lower = ([[["w=in"], [f"w={a}"], [f"w={b}"]]] for a, b in (("Los", "Angeles"), ("los", "angeles")))
    p, q = (each.segment_probability(new, 0, 1, 3, "LOC") for each in (model, tagger().fit(X, Y)))
    assert p > q + 0.05
    assert model.segment_probability(lower, 0, 1, 3, "LOC") < p


def simulated(n, seed):
    """Segments of 2, 3 or 4 like words; those of 3 have a label of their own.

    The score of a chain is linear in the length, and what is best at 2 and 4 is so at 3.
    """
    rng = np.random.default_rng(seed)
    sequences, labels = [], []
    for _ in range(n):
        words, row = ["the"], ["O"]
        for size in rng.integers(2, 5, size=3).tolist():
            kind = "odd" if size == 3 else "even"
            words += [*(f"N{k}" for k in rng.integers(0, 30, size=size)), "and"]
            row += [f"B-{kind}", *[f"I-{kind}"] * (size - 1), "O"]
        sequences.append([[f"w={word}", f"shape={word[0]}"] for word in words])
        labels.append(row)
    return sequences, labels


def test_whole_segments_beat_a_chain():
    (x, y), (x_test, y_test) = simulated(40, 0), simulated(60, 1)
    segments, chain = tagger().fit(x, y), SequenceTagger(penalty=0.1, n_jobs=1).fit(x, y)
    f1, of_chain = segments.score(x_test, y_test), segment_scores(y_test, chain.predict(x_test)).overall.f1
    assert f1 == segment_scores(y_test, segments.predict(x_test)).overall.f1
    assert f1 > 0.95
    assert of_chain < 0.8


def test_models_come_back(tmp_path):
    model = tagger(gazetteers={"city": {"Oslo", "New York"}}, max_length=5).fit(X, Y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    new = [*X, [["w=in"], ["w=Oslo"]], []]
    assert type(again) is SegmentTagger
    assert again.predict(new) == model.predict(new)
    assert again.predict_marginals(new) == model.predict_marginals(new)
    assert again.chain_.weight_names() == model.chain_.weight_names()
    assert (again.scheme_, again.max_length, again.penalty) == ("bio", 5, 0.1)
    assert again.chain_.reader == model.chain_.reader


def test_functions_are_set_again(tmp_path):
    model = tagger(segment_features=initials).fit(X, Y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    with pytest.raises(DataError, match=r"a function that its file does not contain. Set the"):
        again.predict(X)
    with pytest.raises(DataError, match="segment_features='0': expected a function"):  # as a file may have it
        again.set_params(segment_features="0").predict(X)
    with pytest.raises(DataError, match="segment_features=3: expected a function"):
        tagger(segment_features=3).fit(X, Y)
    assert again.set_params(segment_features=initials).predict_marginals(X) == model.predict_marginals(X)


def test_wrong_input():
    for options, y, what in (
        ({}, [["O", "B-LOC", "LOC"], *Y[1:]], "sequence 0, token 2: the label 'LOC' is not"),
        ({"max_length": 1}, Y, "sequence 0, tokens 1 to 2: this segment of type 'LOC' has 2 tokens"),
        ({"max_length": 0}, Y, "max_length"),
        ({"segment_features": lambda *_: [1]}, Y, "segment_features must return .* it returned .1. for"),
    ):
        with pytest.raises(DataError, match=what):
            tagger(**options).fit(X, y)


def test_models_without_segments():
    model = tagger().fit(X[:2], [["O"] * 3, ["O"] * 2])
    assert (model.predict(X[:1]), model.predict_segments(X[:1])) == ([["O"] * 3], [[]])
    assert model.score(X[:1], [["O"] * 3]) == 0.0
    assert tagger().fit([[["w=a"]]], [["B-x"]]).predict([[["w=b"], ["w=a"]]]) == [["B-x", "B-x"]]
    with pytest.raises(DataError, match="no token has a label"):
        tagger().fit([[]], [[]])
