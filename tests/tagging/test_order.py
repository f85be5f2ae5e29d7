"""Taggers of the second order: what they learn, their files, and their commands."""

import numpy as np
import pytest

import structune
from commands import succeed
from structune import SequenceTagger
from structune.errors import DataError
from structune.tagging import Chain, SecondOrderChain


def second_order_data(n_sequences, seed):
    """A label is mostly the one before the last, and three of four tokens tell it."""
    rng, x, y = np.random.default_rng(seed), [], []
    for _ in range(n_sequences):
        labels = rng.integers(2, size=2).tolist()
        for _ in range(28):
            labels.append(labels[-2] if rng.random() < 0.97 else 1 - labels[-2])
        seen = [label if rng.random() < 0.75 else 1 - label for label in labels]
        x.append([[f"seen={s}"] for s in seen])
        y.append([f"y{label}" for label in labels])
    return x, y


TRAIN, TEST = second_order_data(30, 0), second_order_data(60, 1)


def fitted(**options):
    return SequenceTagger(**{"n_jobs": 1, "tuning": None, **options}).fit(*TRAIN)


@pytest.fixture(scope="module")
def tagger():
    return fitted(order=2)


def test_it_learns_what_the_first_order_cannot(tagger):
    first = fitted(order=1)
    assert (type(first.chain_), type(tagger.chain_)) == (Chain, SecondOrderChain)
    assert first.score(*TEST) < 0.75
    assert tagger.score(*TEST) > 0.85


def test_precisions_of_trigrams_are_learned():
    tagger = fitted(order=2, tuning="implicit")
    assert tagger.group_names_ == ("seen", "transitions", "trigrams")
    assert tagger.score(*TEST) > 0.85
    assert tagger.penalty_[1] > tagger.penalty_[2]


def test_weights_by_name(tagger):
    trigrams, names = tagger.trigram_features_, tagger.chain_.weight_names()
    assert trigrams["y0", "y1", "y0"] == tagger.coef_[names.index("y0 -> y1 -> y0")]
    assert trigrams[None, "y1", "y0"] == tagger.coef_[names.index("(start) -> y1 -> y0")]
    assert trigrams["y1", "y0", None] == tagger.coef_[names.index("y1 -> y0 -> (end)")]
    assert len(tagger.transition_features_) == 8
    assert fitted().trigram_features_ == {}
    seen = SequenceTagger(tuning=None, order=2, transitions="seen").fit([[["a"], ["b"]]], [["A", "B"]])
    assert set(seen.trigram_features_) == {(None, "A", "B"), ("A", "B", None)}


@pytest.mark.parametrize("order", [0, 3, 2.0, True])
def test_other_orders_are_refused(order):
    with pytest.raises(DataError, match=rf"^order={order!r}: expected 1 or 2$"):
        fitted(order=order)


@pytest.fixture(scope="module")
def column_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("order") / "train.txt"
    sentences = (zip(*sequence, strict=True) for sequence in zip(*TRAIN, strict=True))
    text = ("".join(f"{x[0]} {y}\n" for x, y in sentence) for sentence in sentences)
    path.write_text("\n".join(text))
    return path


SMALL = ["--templates", "w[0]", "--quiet"]


def test_commands(column_file, tmp_path):
    path = tmp_path / "m.structune"
    succeed("tune", column_file, "-m", path, "--order", 2, "--jobs", 1, *SMALL)
    assert structune.load(path).order == 2
    assert "trigrams" in succeed("weights", path)


def test_folders_of_shards(column_file, tmp_path):
    path, folder = tmp_path / "m.structune", tmp_path / "shards"
    succeed("shard", column_file, folder, "--order", 2, *SMALL)
    succeed("train", folder, "-m", path, "--penalty", 1, "--quiet", "--jobs", 1)
    tagger = structune.load(path)
    assert tagger.chain_.order == tagger.order == 2
    assert tagger.score([[[f"w[0]={token[0]}"] for token in x] for x in TEST[0]], TEST[1]) > 0.8
