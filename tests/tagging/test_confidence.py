"""Probabilities of spans and sequences against sums over all labelings; reliability by its definition."""

from itertools import groupby

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from chains import RULES, labellings, random_tagger, score_of
from structune import SegmentTagger, SequenceTagger
from structune.errors import CapabilityError
from structune.tagging.confidence import Confidence, Reliability, Span, confidences, reliabilities


def entities(labels):
    return [(kind, a, b + 1) for kind, a, b in get_entities(list(labels))]


def runs(labels):
    ends = np.cumsum([len([*run]) for _, run in groupby(labels)]).tolist()
    starts = [0, *ends[:-1]]
    return [(labels[a], a, b) for a, b in zip(starts, ends, strict=True) if labels[a] != "O"]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("read", [entities, runs])
@pytest.mark.parametrize("seed", range(3))
def test_spans_by_all_labelings(order, rules, read, seed):
    tagger, X = random_tagger(seed, order, RULES[rules])
    if read is runs:  # the same labels, but of no scheme
        tagger.chain_.labels = tagger.classes_ = ["x", "y", "O"]
        names = dict(zip(["B-x", "I-x", "O"], tagger.classes_, strict=True)) | {None: None}
        rules = [(names[a], names[b]) for a, b in RULES["list"]] if rules == "list" else None
        tagger.set_params(forbidden=rules)
    found, n = tagger.predict_spans([*X, []]), 0
    assert found.pop() == []
    predicted, allowed = tagger.predict(X), tagger.forbidden
    for tokens, labels, spans in zip(X, predicted, found, strict=True):
        assert [span[:3] for span in spans] == read(labels)
        every = labellings(tagger.classes_, len(tokens), allowed)
        weights = np.exp([score_of(tagger, tokens, other) for other in every])
        for kind, a, b, probability in spans:
            same = [[*k[a:b]] == labels[a:b] and (kind, a, b) in read(k) for k in every]
            assert probability == pytest.approx(weights @ same / weights.sum(), rel=1e-9)
            n += 1
    assert n
    ranked, marginals = tagger.predict_nbest(X, 1), tagger.predict_marginals(X)
    for one, ((labels, p),), rows in zip(confidences(tagger, X), ranked, marginals, strict=True):
        assert (one.labels, one.sequence) == (labels, pytest.approx(p))
        assert one.tokens == pytest.approx([row[k] for row, k in zip(rows, labels, strict=True)])


def test_long_sequences_and_large_scores():
    rng = np.random.default_rng(0)
    X = [[[f"w={rng.integers(9)}"] for _ in range(3000)]]
    y = [["B-x" if k[0] < "w=3" else "I-x" if k[0] < "w=6" else "O" for k in X[0]]]
    tagger = SequenceTagger(penalty=1.0).fit(X, y).set_params(forbidden="bio")
    tagger.coef_ *= 100.0
    labels, spans = tagger.predict(X)[0], tagger.predict_spans(X)[0]
    assert [span[:3] for span in spans] == entities(labels)
    for _, a, b, probability in spans[: -1 : len(spans) // 5]:
        whole, longer = (tagger.segment_probability(X, 0, a, labels[a:b] + k) for k in ([], ["I-x"]))
        assert probability == pytest.approx(whole - longer, abs=1e-9)


def test_labels_of_no_type_or_of_no_scheme():
    X = [[["w=a"], ["w=b"], ["w=c"]]]
    for y, label in (("B I O", "_"), ("B E B", "B")):
        tagger = SequenceTagger(penalty=0.1).fit(X, [y.split()])
        assert tagger.predict_spans(X)[0][0].label == label
    spans = SequenceTagger(penalty=0.1).fit(X, [[0, 1, 1]]).predict_spans(X)[0]
    assert [span.label for span in spans] == [0, 1]
    tagger = SequenceTagger(penalty=0.1).fit(X, [["B-x", "I-x", "0"]])
    with pytest.warns(match="not read as segments: the label '0' is not BIO or BIOES"):
        tagger.predict_spans(X)


def test_margin_models_have_no_probabilities():
    tagger, X = random_tagger(0, loss="margin")
    with pytest.raises(CapabilityError, match="loss='log'"):
        tagger.predict_spans(X)


def test_confidence_of_segment_taggers():
    X = [[["w=in"], ["w=New"], ["w=York"]], [["w=by"], ["w=York"]], [], [["w=New"], ["w=rules"]]]
    y = [["O", "B-L", "E-L"], ["O", "S-L"], [], ["O", "O"]]
    tagger = SegmentTagger(penalty=0.1).fit(X[:2], y[:2])
    found = confidences(tagger, X)
    assert [one.labels for one in found] == tagger.predict(X)
    assert [[span[:3] for span in one.spans] for one in found] == tagger.predict_segments(X)
    _, a, b, p = found[0].spans[0]
    assert p == pytest.approx(tagger.segment_probability(X, 0, a, b, "L"))
    assert found[0].sequence == pytest.approx(tagger.predict_nbest(X, 1)[0][0][1])
    assert [*reliabilities(True, found, y)] == ["tokens", "segments", "whole sequences"]


def test_reliability():
    p, right = [0.05, 0.15, 0.12, 0.9, 1.0], [False, True, False, True, True]
    found = Reliability.of(p, right)
    assert found.counts.tolist() == [1, 2, 2]
    assert found.predicted == pytest.approx([0.05, 0.135, 0.95])
    assert found.observed == pytest.approx([0.0, 0.5, 1.0])
    assert found.summary() == pytest.approx([np.mean(p), 0.6, (0.05 + 2 * 0.365 + 2 * 0.05) / 5])


def test_what_is_right():
    spans = [Span("x", 0, 1, 0.6), Span("x", 2, 3, 0.3)]
    found = [Confidence(["B-x", "O", "B-x"], [0.9, 0.8, 0.7], spans, 0.5), Confidence([], [], [], 1.0)]
    of = reliabilities(True, found, [["B-x", "I-x", "B-x"], []])
    told = {what: (each.counts.sum(), round(each.summary()[1], 3)) for what, each in of.items()}
    assert told == {"tokens": (3, 0.667), "segments": (2, 0.5), "whole sequences": (1, 0.0)}
