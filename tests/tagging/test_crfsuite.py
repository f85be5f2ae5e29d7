"""Models of CRFsuite, read from its files."""

import re
from contextlib import suppress

import numpy as np
import pytest

from structune.compat import CRF
from structune.errors import ModelFileError
from structune.tagging import read_crfsuite

pycrfsuite = pytest.importorskip("pycrfsuite")
RNG = np.random.default_rng(0)
NAMES = ["bias", "w=the", "w=--> x", "列=字", "a:b", "w=(0)"]
X = [[{name: float(RNG.integers(3)) / 2 for name in NAMES} for _ in range(4)] for _ in range(40)]
Y = [["B-é" if token["w=the"] > 0.5 else "O" if RNG.random() < 0.8 else "I x" for token in row] for row in X]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    trainer = pycrfsuite.Trainer(verbose=False)
    for sequence, labels in zip(X, Y, strict=True):
        trainer.append(sequence, labels)
    trainer.set_params({"c1": 0.3, "c2": 0.1})  # with c1, some weights are left out of the file
    found = tmp_path_factory.mktemp("crfsuite") / "m.crfsuite"
    trainer.train(str(found))
    return found


@pytest.fixture(scope="module")
def theirs(path):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def test_it_predicts_the_same(path, theirs):
    tagger = read_crfsuite(path)
    assert sorted(tagger.classes_) == sorted(theirs.labels())
    assert tagger.predict(X) == [theirs.tag(sequence) for sequence in X]
    for sequence, found in zip(X, tagger.predict_marginals(X), strict=True):
        theirs.set(sequence)
        for t, token in enumerate(found):
            assert token == pytest.approx({y: theirs.marginal(y, t) for y in theirs.labels()}, rel=1e-9)


def test_a_model_without_weights(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["P", "Q"])
    trainer.set_params({"c1": 100.0})
    trainer.train(str(tmp_path / "m"))
    assert read_crfsuite(tmp_path / "m").state_features_ == {}


def test_files_that_are_none(tmp_path, path):
    other = tmp_path / "other"
    other.write_bytes(b"lCR")
    with pytest.raises(ModelFileError, match="not a model of CRFsuite"):
        read_crfsuite(other)
    CRF(model_filename=tmp_path / "own").fit(X, Y)
    with pytest.raises(ModelFileError, match=re.escape(f"{tmp_path / 'own'}: not a model of CRFsuite")):
        read_crfsuite(tmp_path / "own")


def test_damage_is_found_or_harmless(path, tmp_path):
    """Whatever a byte becomes: an error of ours, or a model that predicts."""
    data, damaged = path.read_bytes(), tmp_path / "damaged"
    rng = np.random.default_rng(0)
    places = [*range(4, 48), *rng.integers(48, len(data), 100).tolist()]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 0xFF
        damaged.write_bytes(changed)
        with suppress(ModelFileError):
            assert len(read_crfsuite(damaged).predict(X[:2])) == 2
    for end in (4, 20, 48, 60, len(data) // 2, len(data) - 1):
        damaged.write_bytes(data[:end])
        with pytest.raises(ModelFileError, match="damaged"):
            read_crfsuite(damaged)
