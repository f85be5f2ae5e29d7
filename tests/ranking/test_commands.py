"""The ranking commands from files to files, and what they say to wrong input."""

import json
import re

import numpy as np
import pytest

import structune
from commands import fail, run, succeed
from structune import Ranker
from structune.files.shards import open_shards
from structune.ranking.letor import LetorData, write_letor
from structune.ranking.metrics import ndcg
from structune.running import memory

QUIET = ["--quiet", "--jobs", "1"]
FEATURES = np.array([1, 2, 5])


def letor(n_queries, seed, first=1):
    """Documents whose relevance rises with the first feature; in places there is no comment."""
    rng = np.random.default_rng(seed)
    queries = np.repeat(np.arange(first, first + n_queries), 6)
    X = np.round(rng.normal(size=(queries.size, 3)), 3)
    relevance = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=queries.size)), 0.0, 2.0)
    comments = [f"docid = {100 + j}\tx" if j % 5 else "" for j in range(queries.size)]
    return LetorData(X, relevance, [str(query) for query in queries], FEATURES, comments)


TRAIN, TEST = letor(15, 0), letor(7, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rank")
    write_letor(folder / "train.txt", TRAIN)
    write_letor(folder / "test.txt.gz", TEST)
    succeed("train", "ranking", folder / "train.txt", "-m", folder / "m.structune", "--penalty", 1, *QUIET)
    return folder


@pytest.fixture(scope="module")
def model(files):
    return structune.load(files / "m.structune")


def table(text):
    heading, *lines = text.splitlines()
    assert heading == "query\trank\tdocument\tscore\tcomment"
    return [line.split("\t") for line in lines]


def test_train(files, tmp_path):
    path = tmp_path / "m.structune"
    args = ["--test", files / "test.txt.gz", "--penalty", 2, *QUIET]
    out = succeed("train", "ranking", files / "train.txt", "-m", path, *args)
    for expected in ("converged", "15 queries, 90 documents, 3 features", "NDCG@k", "mean"):
        assert expected in out
    loaded = structune.load(path)
    assert loaded.penalty_.tolist() == [2.0]
    assert loaded.extra_ == {"features": [1, 2, 5], "missing": None}
    expected = Ranker(tuning=None, penalty=2.0, n_jobs=1).fit(TRAIN.X, TRAIN.relevance, TRAIN.queries)
    assert loaded.coef_.tolist() == expected.coef_.tolist()


def test_all_positions_are_counted_with_k_0(files, tmp_path):
    for command in ("train", "shard"):
        target = [tmp_path / "f"] if command == "shard" else ["-m", tmp_path / "m", "--penalty", 1, *QUIET]
        succeed(command, "ranking", files / "train.txt", *target, "--k", 0)
    assert structune.load(tmp_path / "m").k is None is open_shards(tmp_path / "f").model.k


def test_tune(files, tmp_path):
    path, plot = tmp_path / "m.structune", ["--plot", tmp_path / "t.png"]
    args = ["--method", "grid", "--loss", "equivalent", "--cv", 2, "--seed", 1, *plot]
    out = succeed("tune", "ranking", files / "train.txt", "--model", path, *args, *QUIET)
    assert "held-out loss" in out
    for name in ("t.png", "t-precisions.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    loaded = structune.load(path)
    assert (loaded.tuning, loaded.cv, loaded.random_state, loaded.k) == ("grid", 2, 1, 10)


def test_several_files_and_their_features(files, tmp_path):
    """A feature that a file lacks is 0 there; queries of the same name are different ones."""
    other = letor(5, 2)
    numbers = np.array([1, 3, 7])
    more = LetorData(other.X, other.relevance, other.queries, numbers, other.comments)
    write_letor(tmp_path / "more.txt", more)
    path = tmp_path / "m.structune"
    given = [files / "train.txt", tmp_path / "more.txt", "-m", path, "--penalty", 1, *QUIET]
    out = succeed("train", "ranking", *given)
    assert "20 queries, 120 documents, 5 features" in out
    loaded = structune.load(path)
    assert loaded.extra_["features"] == [1, 2, 3, 5, 7]
    X = np.zeros((120, 5))
    X[:90, [0, 1, 3]], X[90:, [0, 2, 4]] = TRAIN.X, other.X
    queries = [*TRAIN.queries, *(f"other {query}" for query in other.queries)]
    expected = Ranker(tuning=None, n_jobs=1).fit(X, np.append(TRAIN.relevance, other.relevance), queries)
    assert loaded.coef_.tolist() == expected.coef_.tolist()


def test_missing_values(files, tmp_path):
    text = (files / "train.txt").read_text().splitlines()
    text[3] = re.sub("2:[^ ]*", "2:NULL", text[3])
    (tmp_path / "null.txt").write_text("# a heading\n\n" + "\n".join(text))
    train = ["train", "ranking", tmp_path / "null.txt", "--penalty", 1, *QUIET, "-m"]
    path = tmp_path / "m.structune"
    message = fail(*train, path)
    assert "null.txt:6: feature 2 is NULL. Give a number for it" in message
    assert not path.exists()
    succeed(*train, path, "--missing", -1)
    assert structune.load(path).extra_["missing"] == -1.0
    X = TRAIN.X.copy()
    X[3, 1] = -1.0
    rows = table(succeed("rank", path, tmp_path / "null.txt"))
    scores = {int(document) - 1: float(score) for _, _, document, score, _ in rows}
    assert scores[3] == pytest.approx(structune.load(path).predict(X)[3], rel=1e-5)
    assert ":6: feature 2 is" in fail("evaluate", "ranking", files / "m.structune", tmp_path / "null.txt")
    assert "--missing nan: expected a finite number" in fail(*train, path, "--missing", "nan")


def test_training_data_that_is_refused(files, tmp_path):
    args = ["-m", tmp_path / "m", *QUIET]
    assert "nowhere.txt: No such file" in fail("train", "ranking", "nowhere.txt", *args)
    for text, message in (
        ("1 qid:1 1:2\n-1 qid:1 1:3\n", "bad.txt:2: the relevance '-1'"),
        ("1 qid:1\n0 qid:1\n", "bad.txt: no line has a feature"),
        ("1 qid:1 1:2\n1 qid:1 1:3\n", "no query has documents of different relevance"),
    ):
        (tmp_path / "bad.txt").write_text(text)
        assert message in fail("train", "ranking", tmp_path / "bad.txt", *args)
    (tmp_path / "bad.txt").write_text("1 qid:1 1:x\n")
    assert "bad.txt:1" in fail("train", "ranking", files / "train.txt", "--test", tmp_path / "bad.txt", *args)
    assert "cannot split 13 examples" in fail("tune", "ranking", files / "train.txt", "--cv", 16, *args)
    assert not (tmp_path / "m").exists()


def test_rank(files, model):
    given = files / "m.structune", files / "test.txt.gz"
    assert succeed("predict", *given) == succeed("rank", *given)  # the kind is that of the model
    rows = table(succeed("rank", *given))
    assert len(rows) == len(TEST)
    assert list(dict.fromkeys(row[0] for row in rows)) == [str(query) for query in range(1, 8)]
    scores, ranks = model.predict(TEST.X), model.rank(TEST.X, TEST.queries)
    for query, rank, document, score, comment in rows:
        j = int(document) - 1
        assert (query, int(rank)) == (TEST.queries[j], ranks[j])
        assert float(score) == pytest.approx(scores[j], rel=1e-5)
        assert comment == TEST.comments[j].replace("\t", " ")
    assert [int(row[1]) for row in rows] == [*range(1, 7)] * 7


def test_features_are_found_by_their_numbers(files, tmp_path):
    """Others are not looked at, and those that a line leaves out are 0."""
    (tmp_path / "a.txt").write_text("0 qid:1 5:1 8:3\n0 qid:1 1:2\n0 qid:q 3:1\n")
    rows = table(succeed("rank", files / "m.structune", tmp_path / "a.txt"))
    w = structune.load(files / "m.structune").coef_
    assert [row[:3] for row in rows] == [["1", "1", "2"], ["1", "2", "1"], ["q", "1", "3"]]
    assert [float(row[3]) for row in rows] == pytest.approx([2 * w[0], w[2], 0.0], rel=1e-5)


def test_inputs_of_rank_that_are_refused(files, tmp_path):
    model = files / "m.structune"
    assert ":1: the relevance 'x'" in fail("rank", model, "-", stdin="x qid:1 1:1\n")
    Ranker(tuning=None).fit(TRAIN.X, TRAIN.relevance, TRAIN.queries).save(tmp_path / "bare")
    assert "bare: the numbers of the features are" in fail("rank", tmp_path / "bare", files / "train.txt")
    for wrong in (["1", "2", "3"], 5):
        structune.load(model).save(tmp_path / "other", {"features": wrong, "missing": None})
        said = fail("rank", tmp_path / "other", files / "train.txt")
        assert "other: the numbers of the features are missing" in said
    structune.SequenceTagger(tuning=None).fit([[["a"], ["b"]]], [["x", "y"]]).save(tmp_path / "t.structune")
    message = fail("rank", tmp_path / "t.structune", files / "train.txt")
    assert "the model is of class SequenceTagger, but Ranker is needed" in message


def test_evaluate_several_files_in_the_convention_of_the_model(files, tmp_path):
    path = tmp_path / "m.structune"
    args = ["--convention", "burges", "--k", 3, "--penalty", 1]
    succeed("train", "ranking", files / "train.txt", "-m", path, *args, *QUIET)
    (tmp_path / "none.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    given = ["evaluate", "ranking", path, files / "test.txt.gz", tmp_path / "none.txt", files / "train.txt"]
    shown, out, model = json.loads(succeed(*given, "--json")), succeed(*given), structune.load(path)
    assert (shown["convention"], shown["queries"], shown["documents"]) == ("burges", 23, 134)
    irrelevant = [
        not data.relevance[np.array(data.queries) == query].any()
        for data in (TEST, TRAIN)
        for query in set(data.queries)
    ]
    assert shown["queries_without_relevant_documents"] == 1 + sum(irrelevant)
    expected = {}
    for k in range(1, 11):
        values = [ndcg(d.relevance, model.predict(d.X), d.queries, k, "burges") for d in (TEST, TRAIN)]
        expected[str(k)] = np.concatenate([*values, [0.0]]).mean()
    assert shown["ndcg"] == pytest.approx(expected)
    assert shown["mean"] == pytest.approx(np.mean(list(expected.values())))
    assert "burges: 2^r - 1, 1 / log2(1 + i)" in out
    for value in (*expected.values(), shown["mean"]):
        assert f"{value:.4f}" in out


def test_block_by_block(files, monkeypatch):
    given = files / "m.structune", files / "test.txt.gz"
    whole = [succeed(*words, *given) for words in (("rank",), ("evaluate", "ranking"))]
    monkeypatch.setattr(memory, "batch_memory", lambda: 1)
    assert [succeed(*words, *given) for words in (("rank",), ("evaluate", "ranking"))] == whole


def test_rank_writes_what_comes_before_an_error(files, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "batch_memory", lambda: 1)
    text = "1 qid:1 1:0.5\n0 qid:1 1:0.1\n1 qid:2 1:0.5\n"
    result = run("rank", files / "m.structune", "-", stdin=text + "0 qid:1 1:0.1\n")
    assert result.exit_code == 2
    assert result.stdout == succeed("rank", files / "m.structune", "-", stdin=text.rpartition("1 qid:2")[0])
    assert "the query '1' occurs again" in result.stderr
    assert "no documents" in fail("rank", files / "m.structune", "-", "-o", tmp_path / "out.tsv", stdin="\n")
    assert not (tmp_path / "out.tsv").exists()
