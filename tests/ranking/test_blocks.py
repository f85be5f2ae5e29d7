"""Documents that come block by block, and folders of shards of them: fits are those in memory."""

import re
from functools import partial
from itertools import islice
from unittest import mock

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose
from sklearn.base import clone

from commands import fail, succeed
from endless import Endless, written_before_the_next
from structune import Ranker, load, write_shards
from structune.errors import DataError
from structune.files.shards import ShardWriter
from structune.learning.risk import cut_shard
from structune.ranking import first_weights
from structune.ranking import letor as letor_files
from structune.ranking.letor import read_letor_blocks
from structune.running import Run

N, SIZE = 20, 7
RNG = np.random.default_rng(0)
QUERIES = np.repeat(np.arange(N), SIZE)
X = RNG.normal((3.0, 0.0, 0.0, -1.0), size=(N * SIZE, 4)).round(3)
Y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + 2.0 * RNG.normal(size=N * SIZE), [3.0, 6.0])
Y[: 2 * SIZE] = 1  # queries of which there is nothing to learn
WEIGHTS = 1.0 + RNG.random(N)
FEATURES = {"dense": X, "sparse": scipy.sparse.csr_array(np.where(X > 0.0, X, 0.0))}
OPTIONS = {"n_jobs": 1, "tuning": None, "run": Run(tolerance=1e-7), "penalty": 0.1}


def in_blocks(features, n_queries=3):
    for start in range(0, N, n_queries):
        rows = slice(start * SIZE, (start + n_queries) * SIZE)
        yield features[rows], Y[rows], QUERIES[rows], WEIGHTS[start : start + n_queries]


@pytest.mark.parametrize(("loss", "kind"), [("ramp", "dense"), ("equivalent", "sparse"), ("margin", "dense")])
def test_fits_of_shards_are_those_in_memory(tmp_path, loss, kind):
    features, ranker = FEATURES[kind], Ranker(**OPTIONS, loss=loss, k=5, convention="burges")
    expected = clone(ranker).fit(features, Y, QUERIES, WEIGHTS)
    assert expected.coef_.any()
    written = ranker.write_blocks(partial(in_blocks, features), ShardWriter(tmp_path / "blocks", 2))
    assert len(written) == N - 2
    write_shards(ranker, tmp_path / "whole", features, Y, queries=QUERIES, sample_weight=WEIGHTS)
    for folder in ("blocks", "whole"):
        found = Ranker(**OPTIONS, loss=loss).fit_shards(tmp_path / folder)
        assert_allclose(found.coef_, expected.coef_, atol=1e-6)
        assert (found.k, found.convention) == (5, "burges")
    found.save(tmp_path / "model")
    assert load(tmp_path / "model").score(X, Y, QUERIES) == found.score(X, Y, QUERIES)


@pytest.mark.parametrize("kind", FEATURES)
def test_first_weights_are_those_of_all_documents_together(monkeypatch, kind):
    """Whether they come from sums of products, or from a table of all documents."""
    ranker = Ranker()
    shard, _ = ranker._checked(FEATURES[kind], Y, QUERIES, WEIGHTS)
    structure = ranker._structure
    summed = first_weights.ridge_regression(cut_shard(structure, shard))
    monkeypatch.setattr(first_weights, "_MOST_FEATURES", 0)
    assert_allclose(first_weights.ridge_regression([shard]), summed, rtol=1e-6)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(X, Y, QUERIES), (X[:, 1:], Y, QUERIES + N)], "block 1: X has 3 features, but Ranker"),
        ([(X, Y, QUERIES), (X, Y, QUERIES + N), (X, Y, QUERIES)], "block 2: the query 0 is already"),
        ([(X, Y, QUERIES), (X, -1.0 * Y, QUERIES + N)], "block 1: document 0.* the relevance -1.0"),
        ([(X, np.zeros(len(Y)), QUERIES)], "no query has documents of different relevance"),
    ],
)
def test_blocks_that_are_refused(tmp_path, blocks, message):
    with pytest.raises(DataError, match=message):
        Ranker().write_blocks(lambda: blocks, ShardWriter(tmp_path / "f"))


def letor(first, last, columns):
    rows = range(first * SIZE, last * SIZE)
    return "".join(
        f"{Y[j]} qid:{QUERIES[j]} {' '.join(f'{c + 1}:{X[j, c]}' for c in columns)} # {j}\n" for j in rows
    )


@pytest.fixture
def files(tmp_path):
    """Of which the first has a feature that the second has not."""
    (tmp_path / "a.txt").write_text(letor(0, 12, range(4)))
    (tmp_path / "b.txt").write_text(letor(10, N, range(3)))
    return [tmp_path / "a.txt", tmp_path / "b.txt"]


def test_commands(files, tmp_path):
    small = partial(read_letor_blocks, n_values=40)

    def read(path, features, missing):
        blocks = small(path, features, missing)
        is_second = features is not None and path == files[0]
        return written_before_the_next(tmp_path / "f", blocks, 2) if is_second else blocks

    measure = ["--k", 5, "--convention", "burges"]
    with mock.patch.object(letor_files, "read_letor_blocks", read):
        out = succeed("shard", "ranking", *files, tmp_path / "f", *measure, "--folds", 2)
    assert "20 queries, 140 documents" in out
    options = ["--loss", "margin", "--penalty", 0.1, "--quiet", "--jobs", 1, "--test", files[0]]
    told = succeed("train", "ranking", tmp_path / "f", "-m", tmp_path / "m", *options)
    assert "20 examples, 140 documents" in told
    succeed("train", "ranking", *files, "-m", tmp_path / "n", *options, *measure)
    found, expected = load(tmp_path / "m"), load(tmp_path / "n")
    assert_allclose(found.coef_, expected.coef_, atol=1e-3)
    assert found.extra_ == expected.extra_
    assert succeed("rank", tmp_path / "m", files[0])


def test_a_folder_without_the_numbers_of_its_features(tmp_path):
    write_shards(Ranker(), tmp_path / "g", X, Y, queries=QUERIES)
    said = fail("train", "ranking", tmp_path / "g", "-m", tmp_path / "m")
    assert "the numbers of the features are missing" in said


def test_files_that_are_refused(files, tmp_path):
    text = files[0].read_text()
    for wrong, message in (
        (text + "1 qid:0 1:2\n", r"wrong.txt:85: the query '0' occurs again after line 1. Put"),
        (text + "1 qid:77 1:NULL\n", "wrong.txt:85: feature 1 is NULL"),
        ("1 qid:1\n", "wrong.txt: no line has a feature"),
    ):
        (tmp_path / "wrong.txt").write_text(wrong)
        said = fail("shard", "ranking", tmp_path / "wrong.txt", tmp_path / "f")
        assert re.search(message, said), said
    assert not (tmp_path / "f").exists()


def test_blocks_are_read_one_by_one(monkeypatch):
    monkeypatch.setattr(letor_files, "_BLOCK", 1 << 12)
    endless = Endless(lambda k: b"%d qid:%d %d:0.5\n" % (k % 3, k // 5, 1 + k % 7))
    blocks = list(islice(read_letor_blocks(endless, n_values=100), 3))
    for number, block in enumerate(blocks):
        assert 50 <= len(block) <= 60
        assert block.feature_indices.tolist() == [1, 2, 3, 4, 5, 6, 7]
        assert len(set(block.queries)) * 5 == len(block)
        assert number == 0 or block.queries[0] != blocks[number - 1].queries[-1]
