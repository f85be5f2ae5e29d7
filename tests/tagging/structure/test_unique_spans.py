"""Labels with at most one span of each type, against all labelings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from structune import SequenceTagger
from structune.errors import DataError
from structune.tagging.features.attributes import as_table
from structune.tagging.structure.labels import read_segments

PLAIN, BIO = ["a", "b", "c", "O"], ["B-x", "I-x", "B-y", "I-y", "O"]


def tagger_of(labels, order, rng):
    """A tagger with random weights that likes to repeat labels."""
    X = [[[f"w={rng.integers(4)}"] for _ in range(len(labels))] for _ in range(3)]
    tagger = SequenceTagger(penalty=1.0, order=order, states="all").fit(X, [labels] * 3)
    tagger.coef_ = rng.normal(scale=2.0, size=tagger.coef_.size)
    return tagger


def spans_of(labels, is_bio):
    """The type of each span of one labeling."""
    if is_bio:
        return [kind for kind in read_segments([labels], np.array([len(labels)])).types if kind != "O"]
    return [label for t, label in enumerate(labels) if label != "O" and (t == 0 or labels[t - 1] != label)]


def scores_of(tagger, X, labelings):
    """The scores of labelings of one sequence."""
    table = as_table([X] * len(labelings))
    return tagger.chain_.score(tagger.coef_, tagger.chain_.encode(table, labelings))


def best_of_all(tagger, X, allowed, unique, is_bio):
    """The labeling of the highest score among all that keep to the rules; None if there is none."""
    kinds = [(labels, [k for k in spans_of(labels, is_bio) if unique is True or k in unique])
             for labels in product(*allowed)]  # fmt: skip
    found = [list(labels) for labels, kinds in kinds if len(kinds) == len(set(kinds))]
    return found[int(np.argmax(scores_of(tagger, X, found)))] if found else None


@pytest.mark.parametrize("labels", [PLAIN, BIO], ids=["plain", "bio"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_best_of_all_labelings(labels, order, seed):
    rng = np.random.default_rng(seed)
    tagger = tagger_of(labels, order, rng)
    is_bio = labels is BIO
    kinds = ["x", "y"] if is_bio else ["a", "b", "c"]
    X = [[[f"w={rng.integers(4)}"] for _ in range(n)] for n in (1, 0, 5)]
    known = [[None if rng.random() < 0.8 else str(rng.choice(labels)) for _ in x] for x in X]
    known[0] = None
    for unique in (True, kinds[:1]):
        for given in (None, known):
            keys = [row or [None] * len(x) for row, x in zip(given or [None] * len(X), X, strict=True)]
            allowed = [[labels if k is None else [k] for k in row] for row in keys]
            pairs = zip(X, allowed, strict=True)
            expected = [best_of_all(tagger, x, rows, unique, is_bio) if x else [] for x, rows in pairs]
            if None in expected:
                with pytest.raises(DataError, match=f"sequence {expected.index(None)}: no labels"):
                    tagger.predict(X, given, unique)
            else:
                assert tagger.predict(X, given, unique) == expected


def test_long_sequences_are_solved_exactly():
    # Forty tokens that each want one of two labels in turn: each label can have one run.
    X, train = [[[f"w={t % 2}"] for t in range(40)]], [[["w=0"], ["w=1"]], [["w=1"], ["w=0"]]]
    tagger = SequenceTagger(penalty=0.1).fit(train, [["a", "b"], ["b", "a"]])
    (labels,) = tagger.predict(X, unique=True)
    assert len(spans_of(labels, False)) <= 2
    others = [[first] * n + [last] * (40 - n) for first, last in (("a", "b"), ("b", "a")) for n in range(41)]
    score, *bounds = scores_of(tagger, X[0], [labels, *others])
    assert score == pytest.approx(max(bounds), rel=1e-12)


def test_unknown_types_are_refused():
    tagger = tagger_of(BIO, 1, np.random.default_rng(0))
    for unique in ("x", ["z"], ["B-x"], False, []):
        with pytest.raises(DataError, match="unique"):
            tagger.predict([[["w=0"]]], unique=unique)
