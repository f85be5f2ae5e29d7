"""Tables that come block by block, and folders of shards of them: fits are those in memory."""

import gzip
import re
from functools import partial
from itertools import islice
from unittest import mock

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file

from commands import fail, succeed
from endless import Endless
from structune import Classifier, Regressor, load, open_shards, write_shards
from structune.errors import DataError
from structune.files.shards import ShardWriter
from structune.flat import tables
from structune.flat.svmlight import read_svmlight_blocks
from structune.running import Run

N = 90
RNG = np.random.default_rng(0)
X = RNG.normal((5.0, 0.0, -2.0, 0.0), size=(N, 4))
WEIGHTS = RNG.random(N)
NUMBERS = 100.0 + X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=N)
LETTERS = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [103.0, 105.0])]
FEATURES = {"dense": X, "sparse": scipy.sparse.csr_array(np.where(X > 0.0, X, 0.0))}
classifier, regressor = (
    partial(cls, n_jobs=1, tuning=None, run=Run(tolerance=1e-9), cv=0.2) for cls in (Classifier, Regressor)
)
MODELS = {
    "binary": (classifier(), LETTERS == "a"),
    "balanced": (classifier(class_weight="balanced"), LETTERS),
    "weighted": (classifier(class_weight={"a": 1.0, "b": 3.0, "c": 0.5}), LETTERS),
    "margin": (classifier(loss="margin"), LETTERS),
    "ramp": (classifier(loss="ramp", run=Run(max_iterations=5)), LETTERS == "a"),
    "tuned": (classifier(tuning="majorize", groups="feature"), LETTERS == "a"),
    "tuned directly": (classifier(tuning="direct", groups="feature"), LETTERS == "a"),
    "squared": (regressor(), NUMBERS),
    "no intercept": (regressor(fit_intercept=False), NUMBERS),
    "tuned numbers": (regressor(tuning="majorize", groups="feature"), NUMBERS),
}


def in_blocks(features, y, size=7):
    """As a reader gives them, not one before it is asked for."""
    for start in range(0, N, size):
        rows = slice(start, start + size)
        yield features[rows], y[rows], WEIGHTS[rows]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("name", MODELS)
def test_fits_of_shards_are_those_in_memory(tmp_path, name, kind):
    (model, y), features = MODELS[name], FEATURES[kind]
    expected = clone(model).fit(features, y, WEIGHTS)
    model.write_blocks(partial(in_blocks, features, y), ShardWriter(tmp_path / "blocks", 2))
    write_shards(model, tmp_path / "whole", features, y, sample_weight=WEIGHTS, n_folds=3)
    # A gap of the objective leaves weights off by its root, and rounding of BLAS decides where within it a
    # bundle method ends.
    atol = 1e-3 if name in ("margin", "ramp") else 1e-6
    for folder in ("blocks", "whole"):
        found = clone(model).set_params(fit_intercept=True).fit_shards(tmp_path / folder)
        assert_allclose(found.coef_, expected.coef_, atol=atol)
        assert_allclose(found.intercept_, expected.intercept_, atol=atol)
        assert_allclose(found.penalty_, expected.penalty_, rtol=1e-6)
        assert found.fit_intercept == expected.fit_intercept


def test_what_else_a_regression_knows(tmp_path):
    """The noise, and how far predictions may be off."""
    for model in (regressor(), regressor(tuning="majorize")):
        folder = tmp_path / str(model.tuning)
        model.write_blocks(partial(in_blocks, X, NUMBERS), ShardWriter(folder, 2))
        found, expected = clone(model).fit_shards(folder), clone(model).fit(X, NUMBERS, WEIGHTS)
        assert_allclose(found.noise_variance_, expected.noise_variance_)
        assert_allclose(found.predict(X, return_std=True), expected.predict(X, return_std=True))
        found.save(tmp_path / "model")
        assert_allclose(load(tmp_path / "model").predict(X), expected.predict(X))


def test_names_of_features_are_those_of_the_folder(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a=1", "a=2", "b=1", "b=2"])
    write_shards(classifier(), tmp_path / "f", frame, LETTERS)
    found = classifier(groups="prefix").fit_shards(tmp_path / "f")
    assert found.group_names_ == ("a", "b")
    assert_array_equal(found.predict(frame), clone(found).fit(frame, LETTERS).predict(frame))
    write_shards(classifier(), tmp_path / "g", X, LETTERS)
    assert not hasattr(found.set_params(groups="single").fit_shards(tmp_path / "g"), "feature_names_in_")


def test_groups_are_kept_together(tmp_path):
    groups = np.arange(N) % 6
    blocks = [(X[:50], LETTERS[:50], None, groups[:50]), (X[50:], LETTERS[50:], None, groups[50:])]
    Classifier().write_blocks(lambda: blocks, ShardWriter(tmp_path / "f", 3))
    folder = open_shards(tmp_path / "f")
    mean = X.mean(axis=0)
    for fold in range(3):
        rows = np.vstack([shard.design.matrix for shard in folder.of_folds([fold])]) + mean
        of = {int(groups[np.argmin(np.abs(X - row).sum(axis=1))]) for row in rows}
        assert len(of) == 2


REFUSED = [
    ([(X, LETTERS), (X[:, 1:], LETTERS)], "block 1: X has 3 features, but Classifier is expecting 4"),
    ([(X, LETTERS), (X, LETTERS[1:])], "block 1: Found input variables with inconsistent"),
    ([(X, LETTERS), (X * np.inf, LETTERS)], "block 1: Input X contains"),
    ([(X, LETTERS), (FEATURES["sparse"], LETTERS)], "some blocks have sparse features and some dense"),
    ([(X, LETTERS == "z")] * 2, "y contains only one class, False"),
    ([], "there are no examples"),
]


@pytest.mark.parametrize(("blocks", "message"), REFUSED)
def test_blocks_that_are_refused(tmp_path, blocks, message):
    with pytest.raises(DataError, match=message):
        Classifier().write_blocks(lambda: blocks, ShardWriter(tmp_path / "f"))


def test_a_folder_without_a_location(tmp_path):
    write_shards(classifier(), tmp_path / "f", X, LETTERS)
    model = open_shards(tmp_path / "f").model
    model._location = None
    (tmp_path / "f" / "structure.structune").unlink()
    model.save(tmp_path / "f" / "structure.structune")
    with pytest.raises(DataError, match="feature means are missing in this folder"):
        classifier().fit_shards(tmp_path / "f")


def test_columns_of_outputs_are_refused(tmp_path):
    with pytest.raises(DataError, match="found 2 columns of outputs: shards can hold only one"):
        write_shards(Regressor(), tmp_path / "f", X, np.column_stack((NUMBERS, NUMBERS)))


def svmlight(y, first=1):
    rows = (" ".join(f"{j}:{v:.3f}" for j, v in enumerate(row, first) if v > 0.0) for row in X)
    return "".join(f"{output} {row}\n" for output, row in zip(y, rows, strict=True))


FILES = {
    "classifier": (svmlight(np.digitize(NUMBERS, [103.0, 105.0])), classifier),
    "regressor": (svmlight(NUMBERS.round(2)), regressor),
    "from 0": (svmlight(np.where(LETTERS == "a", -1, 1), first=0), classifier),
}


@pytest.mark.parametrize("name", FILES)
def test_commands(tmp_path, name):
    text, model = FILES[name]
    path = tmp_path / "train.svm.gz"
    path.write_bytes(gzip.compress(f"# a comment\n{text}".encode()))
    word = "regressor" if name == "regressor" else "classifier"
    with mock.patch.object(tables, "read_svmlight_blocks", partial(read_svmlight_blocks, n_bytes=500)):
        out = succeed("shard", word, path, tmp_path / "f", "--folds", 2)
    assert "90 examples of 4 features" in out
    assert len(open_shards(tmp_path / "f").fold) > 4
    found, expected = model().fit_shards(tmp_path / "f"), model().fit(*load_svmlight_file(str(path)))
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    assert_allclose(found.intercept_, expected.intercept_, atol=1e-6)
    if word == "classifier":
        assert found.classes_.dtype == np.int64


def test_files_are_read_in_blocks():
    endless = Endless(lambda k: b"%d %d:0.5\n" % (k % 2, 1 + k % 7))
    for features, y in islice(read_svmlight_blocks(endless, n_bytes=1000), 3):
        assert 100 <= y.size <= 150
        assert features.shape == (y.size, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n\n1 x:3\n", r":3: found '1 x:3', expected an example such as '1 3:0.5 7:2' \(invalid lit"),
        ("1 2:1 1:1\n", ":1: found '1 2:1 1:1', .*sorted"),
        ("one 1:2\n", ":1: found 'one 1:2', .*could not convert"),
        ("1 1:2\n2 1:nan\n", ":2: found '2 1:nan', .*not finite"),
        ("1 99999999999:2\n", ":1: found '1 99999999999:2'"),
        ("1 2147483647:2\n", ":1: found '1 2147483647:2', .*feature 2,147,483,647 is too high"),
        ("1 2000000000:2\n", "feature number 2,000,000,000 is too high for 1 value"),
        ("# nothing\n", "the file has no examples"),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    path = tmp_path / "train.svm"
    path.write_text(text)
    said = fail("shard", "classifier", path, tmp_path / "f")
    assert re.search(f"train.svm.*{message}", said), said


def test_classes_are_numbers_or_text(tmp_path):
    writer = ShardWriter(tmp_path / "f")
    with pytest.raises(DataError, match=r"found the classes \['a'\] beside \[0\]: classes must be all"):
        classifier().write_blocks(lambda: iter([(X, np.arange(N) % 2), (X, LETTERS)]), writer)
