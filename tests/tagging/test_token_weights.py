"""Weights of tokens and labels in training."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune import SequenceTagger
from structune.errors import DataError
from structune.files.shards import write_shards
from structune.running import Run
from structune.tagging.features.attributes import as_table


def examples(seed=0, n=12, rare=0.3):
    """Sequences whose words tell their labels in part."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = ["b" if rng.random() < rare else "a" for _ in range(rng.integers(1, 6))]
        y.append(labels)
        X.append([[f"w={label if rng.random() < 0.6 else rng.choice(['a', 'b'])}"] for label in labels])
    return X, y


def fitted(X, y, sample_weight=None, **settings):
    return SequenceTagger(penalty=1.0, **settings).fit(X, y, sample_weight)


def test_equal_weights_are_those_of_sequences():
    X, y = examples()
    weights = np.linspace(0.5, 2.0, len(X))
    per_token = [[w] * len(labels) for w, labels in zip(weights, y, strict=True)]
    assert_allclose(fitted(X, y, per_token).coef_, fitted(X, y, weights).coef_, rtol=1e-12)


def test_weight_zero_is_an_unknown_label():
    X, y = examples()
    rng = np.random.default_rng(1)
    weights = [rng.integers(2, size=len(labels)).astype(float) for labels in y]
    masked = [[k if w else None for k, w in zip(*each, strict=True)] for each in zip(y, weights, strict=True)]
    assert any(not any(labels) for labels in masked)  # some have no known label
    settings = {"states": "all", "run": Run(tolerance=1e-9)}
    other, found = fitted(X, masked, **settings), fitted(X, y, weights, **settings)
    assert found.chain_.weight_names() == other.chain_.weight_names()
    assert_allclose(found.coef_, other.coef_, atol=1e-6)


def test_loss_is_a_sum_of_log_probabilities():
    X, y = [[["w=a"], ["w=b"], ["w=b"], ["w=a"]]], [["a", "b", "a", "b"]]
    values = [0.5, 2.0, 0.0, 1.25]
    tagger = fitted(X, y)
    encoded = tagger._encode_training(X, y, [values])
    w = np.random.default_rng(0).normal(size=encoded.structure.n_weights)
    log_z, within = (encoded.structure.log_partition(w, encoded.shard, within=b) for b in (False, True))
    objective = encoded.shard.weights @ (log_z - within)

    labelings = [list(labels) for labels in product("ab", repeat=4)]
    scores = encoded.structure.score(w, encoded.structure.encode(as_table(X * len(labelings)), labelings))
    p = np.exp(scores - np.logaddexp.reduce(scores))

    def surprise(level):
        agree = [
            all(v < level or k == own for k, own, v in zip(labels, y[0], values, strict=True))
            for labels in labelings
        ]
        return -np.log(p[agree].sum())

    expected = 0.5 * surprise(0.5) + 0.75 * surprise(1.25) + 0.75 * surprise(2.0)
    assert_allclose(objective, expected, rtol=1e-12)


def test_balanced_weights_raise_the_recall_of_a_rare_label():
    (X, y), (X_test, y_test) = examples(0, 200, 0.1), examples(1, 200, 0.1)

    def recall(tagger):
        found = [
            label == "b"
            for labels, own in zip(tagger.predict(X_test), y_test, strict=True)
            for label, k in zip(labels, own, strict=True)
            if k == "b"
        ]
        return np.mean(found)

    balanced = fitted(X, y, class_weight="balanced")
    assert recall(balanced) > recall(fitted(X, y)) + 0.2
    n = {k: sum(labels.count(k) for labels in y) for k in "ab"}
    total = sum(n.values())
    by_hand = fitted(X, y, class_weight={k: total / (2 * m) for k, m in n.items()})
    assert_allclose(by_hand.coef_, balanced.coef_, rtol=1e-12)


def test_copies_of_a_sequence_stay_together():
    X, y = examples(n=30)
    tagger = SequenceTagger(class_weight={"b": 3.0}, cv=3)
    encoded = tagger._encode_training(X, y)
    assert len(encoded.shard) > len(X)
    assert len(set(np.asarray(encoded.groups).tolist())) == len(X)
    assert tagger.fit(X, y).status_ == "converged"


@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({"class_weight": "equal"}, None, "class_weight='equal'"),
        ({"class_weight": {"c": 1.0}}, None, "no label 'c'"),
        ({"class_weight": {"a": -1.0}}, None, "weight -1.0"),
        ({"class_weight": {"a": 0, "b": 0}}, None, "above 0"),
        ({"class_weight": "balanced", "loss": "margin"}, None, "loss='log'"),
        ({}, [[1.0, 2.0]], "weights of 1 sequence, but X has 2"),
        ({}, [[1.0, 2.0], [1.0]], "sequence 1: sample weights must have the shape"),
        ({}, [[1.0, np.nan], [1.0, 1.0]], "sequence 0: example 1 has the weight nan"),
    ],
)
def test_refused(settings, weights, message):
    X, y = [[["w=a"], ["w=b"]]] * 2, [["a", "b"]] * 2
    with pytest.raises(DataError, match=message):
        fitted(X, y, weights, **settings)


def test_weights_are_in_shards(tmp_path):
    X, y = examples()
    settings = {"penalty": 1.0, "run": Run(tolerance=1e-9)}
    weighted = SequenceTagger(class_weight={"b": 4.0}, **settings)
    write_shards(weighted, tmp_path / "shards", X, y)
    found = SequenceTagger(**settings).fit_shards(tmp_path / "shards")
    assert_allclose(found.coef_, weighted.fit(X, y).coef_, atol=1e-5)
