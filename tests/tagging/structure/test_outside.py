"""Labels that break rules: in training left out or taken for unknown, in prediction never there."""

import numpy as np
import pytest

from structune import SegmentTagger, SequenceTagger, load
from structune.compat import CRF, Tagger
from structune.errors import CapabilityError, DataError
from structune.tagging import read_crfsuite
from structune.tagging.structure.labels import ForbiddenLabelsWarning, LeftOut, fit_to_rules

NOISY = [["O", "I-x"], ["B-x", "I-x"], ["O", "I-x", "O"], ["B-x", "I-y"], ["b-x"], ["O"]]
X = [[{"w": label} for label in labels] for labels in NOISY]
GOOD = [1, 5]
LEARNED = [*NOISY[:4], ["B-y"], ["O"]]


def breaks_bio(labels):
    pairs = zip(["O", *labels], labels, strict=False)
    return any(b[0] == "I" and (a == "O" or a[2:] != b[2:]) for a, b in pairs)


def test_sequences_that_break_the_rules_are_left_out_and_counted():
    message = r"skipped 4 of 6 sequences: sequence 0, token 1 \(the label 'I-x' after 'O' and before"
    with pytest.warns(ForbiddenLabelsWarning, match=message):
        noisy = SequenceTagger(penalty=1, forbidden="bio").fit(X, NOISY, np.arange(6.0) + 1.0)
    known = ([of[s] for s in GOOD] for of in (X, NOISY))
    good = SequenceTagger(penalty=1, forbidden="bio").fit(*known, [2.0, 6.0])
    assert noisy.state_features_ == pytest.approx(good.state_features_)
    assert [s for s, _ in noisy.skipped_] == [0, 2, 3, 4]
    assert "'b-x' does not fit the scheme" in noisy.skipped_[3][1]


def test_labels_that_break_the_rules_are_unknown():
    left_out = LeftOut()
    lengths = np.array([len(labels) for labels in NOISY])
    kept, labels = fit_to_rules(NOISY, lengths, "bio", "trim", left_out)
    assert kept.tolist() == list(range(6))
    assert labels == [["O", None], ["B-x", "I-x"], ["O", None, "O"], ["B-x", None], [None], ["O"]]
    assert left_out.n_trimmed == 4
    with pytest.warns(ForbiddenLabelsWarning, match="treated 4 labels as unknown"):
        SequenceTagger(tuning=None, forbidden="bio", outside="trim").fit(X, NOISY)
    bioes = [["B-x"], ["B-x", "O"], ["I-x", "E-x"]]
    _, labels = fit_to_rules(bioes, np.array([1, 2, 2]), "bioes", "trim", LeftOut())
    assert labels == [[None], ["B-x", None], [None, "E-x"]]
    kept, _ = fit_to_rules(
        [["A"], ["A", "B"]], np.array([1, 2]), [("A", None), (None, "B")], "trim", LeftOut()
    )
    assert kept.tolist() == [1]  # no labels of one token keep to these rules


@pytest.fixture(params=[1, 2])
def tagger(request):
    return SequenceTagger(tuning=None, order=request.param).fit(X, LEARNED)


def test_rules_hold_in_all_predictions_when_they_come_after_the_fit(tagger, tmp_path):
    assert any(map(breaks_bio, tagger.predict(X)))
    tagger.set_params(forbidden="bio")
    tagger.save(tmp_path / "model")
    for model in (tagger, load(tmp_path / "model")):
        assert not any(map(breaks_bio, model.predict(X)))
        ranked = model.predict_nbest(X, 200)
        assert not any(breaks_bio(labels) for one in ranked for labels, _ in one)
        assert sum(p for _, p in ranked[2]) == pytest.approx(1.0)
        assert all(rows[0]["I-x"] == 0.0 for rows in model.predict_marginals(X))
        assert model.segment_probability(X, 0, 0, ["O", "I-x"]) == 0.0
    tagger.set_params(forbidden=None)
    assert any(map(breaks_bio, tagger.predict(X)))
    with pytest.raises(DataError, match="there is no label 'DET'"):
        tagger.set_params(forbidden=[("DET", "O")]).predict(X)


def test_rules_of_a_model_of_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence, labels in zip(X, LEARNED, strict=True):
        trainer.append(sequence, labels)
    trainer.train(str(tmp_path / "model"))
    model, crf = read_crfsuite(tmp_path / "model"), CRF(model_filename=tmp_path / "model")
    assert any(map(breaks_bio, model.predict([[{"w:I-x": 1.0}]])))
    tokens = [[["w:I-x"], ["w:I-x"]]]
    model.set_params(forbidden="bio")
    crf.tagger_.model.set_params(forbidden="bio")
    assert not breaks_bio(model.predict(tokens)[0])
    assert crf.predict(tokens) == model.predict(tokens)
    one = Tagger(model)
    one.set(tokens[0])
    assert one.marginal("I-x", 0) == crf.predict_marginals(tokens)[0][0]["I-x"] == 0.0
    assert one.probability(["I-x", "I-x"]) == 0.0


def test_a_warm_start_under_rules_for_new_labels():
    tagger = SequenceTagger(tuning=None, warm_start=True).fit([[["a"]]], [["A"]])
    tagger.set_params(forbidden=[("B", "A")]).fit([[["a"], ["b"]]], [["A", "B"]])
    assert tagger.classes_ == ["A", "B"]


@pytest.mark.parametrize("of", [SequenceTagger, SegmentTagger])
def test_the_loss_of_the_next_fit_makes_no_probabilities(of, tmp_path):
    y = [["B-x", "I-x"], ["O"]]
    tagger = of(loss="margin", tuning=None).fit(X[:1] + X[5:], y).set_params(loss="log")
    tagger.save(tmp_path / "model")
    for model in (tagger, load(tmp_path / "model")):
        with pytest.raises(CapabilityError, match="fitted with loss='margin' has scores"):
            model.predict_marginals(X)
    assert len(tagger.fit(X[:1] + X[5:], y).predict_marginals(X)) == 6
