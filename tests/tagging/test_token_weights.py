"""Weights of tokens and labels in training."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from structune import MultitaskEstimator, SequenceTagger
from structune.errors import DataError
from structune.files.shards import write_shards
from structune.running import Run
from structune.tagging.features.attributes import as_table
from structune.trees import tree_fit
from structune.trees.tree_fit import choose_priors


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
        pairs = zip(chain(*tagger.predict(X_test)), chain(*y_test), strict=True)
        return np.mean([found == "b" for found, own in pairs if own == "b"])

    balanced = fitted(X, y, class_weight="balanced")
    assert recall(balanced) > recall(fitted(X, y)) + 0.2
    n = Counter(chain(*y))
    by_hand = {k: n.total() / (2 * n[k]) for k in "ab"}
    assert_allclose(fitted(X, y, class_weight=by_hand).coef_, balanced.coef_, rtol=1e-12)
    singles = [[{label} for label in labels] for labels in y]  # known, too
    assert_allclose(fitted(X, singles, class_weight=by_hand).coef_, balanced.coef_, rtol=1e-12)
    numbers, codes = [["ab".index(k) for k in labels] for labels in y], dict(enumerate(by_hand.values()))
    assert_allclose(fitted(X, numbers, class_weight=codes).coef_, balanced.coef_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::structune.tagging.structure.labels.ForbiddenLabelsWarning")
@pytest.mark.parametrize("forbidden", [None, [("b", "b")]])
def test_splits_are_of_sequences(forbidden):
    X, y = examples(n=30)
    lengths = np.array(list(map(len, y)))
    kept = np.array([not forbidden or ("b", "b") not in pairwise(labels) for labels in y])
    folds = np.arange(30) % 3
    weighted = SequenceTagger(class_weight={"b": 3.0}, forbidden=forbidden)
    for cv in (PredefinedSplit(folds), [(folds != k, folds == k) for k in range(3)]):
        encoded = weighted.set_params(cv=cv)._encode_training(X, y)
        assert len(encoded.shard) > kept.sum()  # copies
        assert len({*encoded.groups.tolist()}) == kept.sum()
        for k, (train, heldout) in enumerate(encoded.splits):
            assert {*encoded.groups[heldout].tolist()} == {*np.flatnonzero(kept & (folds == k)).tolist()}
            assert sorted([*train, *heldout]) == list(range(len(encoded.shard)))
        assert (encoded.shard.sizes() == lengths[encoded.groups]).all()
        assert weighted.fit(X, y).status_ == "converged"
    # and without copies, where sequences are skipped
    plain, of = SequenceTagger(cv=cv, forbidden=forbidden, tuning="implicit").fit(X, y), np.flatnonzero(kept)
    same = clone(plain).set_params(cv=PredefinedSplit(folds[kept]))
    same.fit([X[s] for s in of], [y[s] for s in of])
    assert plain.state_features_ == pytest.approx(same.state_features_, rel=1e-9)


def test_tasks_hold_out_whole_sequences(monkeypatch):
    data = {task: ([[["w"]] * n for n in sizes], [["a", "b", "b", "a", "a", "b", "a"][:n] for n in sizes])
            for task, sizes in (("p", [2, 4, 6]), ("q", [3, 5, 7]))}  # fmt: skip
    seen = []

    def spy(tree, splits, *args, **options):
        seen.extend([{*np.concatenate([shard.sizes() for shard in part["root"].shards])} for part in pair]
                    for pair in splits)  # fmt: skip
        return choose_priors(tree, splits, *args, **options)

    monkeypatch.setattr(tree_fit, "choose_priors", spy)
    MultitaskEstimator(SequenceTagger(class_weight={"b": 3.0}), {"root": ["p", "q"]}, cv=2).fit(data)
    assert seen
    assert all(train.isdisjoint(heldout) for train, heldout in seen)


@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({"class_weight": "equal"}, None, "class_weight='equal'"),
        ({"class_weight": {"c": 1.0}}, None, "no label 'c'"),
        ({"class_weight": {"a": -1.0}}, None, "weight -1.0"),
        ({"class_weight": {"a": 0, "b": 0}}, None, "above 0"),
        ({"class_weight": "balanced", "loss": "margin"}, None, "loss='log'"),
        ({"class_weight": "balanced", "constraints": "validation"}, None, "no constraints"),
        ({}, [[1.0, 2.0]], "weights of 1 sequence, but X has 2"),
        ({}, [[1.0, 2.0], [1.0]], "sequence 1: sample weights must have the shape"),
        ({}, [[1.0, np.nan], [1.0, 1.0]], "sequence 0: example 1 has the weight nan"),
    ],
)
def test_refused(settings, weights, message):
    X, y = [[["w=a"], ["w=b"]]] * 2, [["a", "b"]] * 2
    with pytest.raises(DataError, match=message):
        fitted(X, y, weights, **settings)
    for settings in ({}, {"class_weight": "balanced"}, {"forbidden": [("a", "b")]}):
        with pytest.raises(DataError, match="sequence 2 is empty"):
            fitted([*X, []], [*y, []], **settings)


def test_weights_are_in_shards(tmp_path):
    X, y = examples()
    settings = {"penalty": 1.0, "run": Run(tolerance=1e-9)}
    weighted = SequenceTagger(class_weight={"b": 4.0}, **settings)
    write_shards(weighted, tmp_path / "shards", X, y)
    found = SequenceTagger(**settings).fit_shards(tmp_path / "shards")
    assert_allclose(found.coef_, weighted.fit(X, y).coef_, atol=1e-5)
