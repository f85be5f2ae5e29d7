"""Folders of shards: fitted as if they were in memory, and refused where they are not sound."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shard_kinds import rewrite
from structune import RNAFolder, SegmentTagger, SequenceTagger
from structune.errors import DataError
from structune.files import shards as shard_files
from structune.files.shards import ShardWriter, open_shards, write_shards
from structune.running import Run
from structune.tagging.data.hmm import simulate_hmm


def sentences(n=60, seed=0, unknown=0.0):
    y, x = simulate_hmm(n, 3, 6, length=5, agreement=0.8, random_state=seed)
    rng = np.random.default_rng(seed)
    X = [[[f"x{k}={v}" for k, v in enumerate(token)] for token in sequence] for sequence in x.tolist()]
    return X, [[None if rng.random() < unknown else "ab"[k] for k in row] for row in y.tolist()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "all"
    write_shards(SequenceTagger(), path, *sentences())
    return path


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_a_fit_with_unknown_labels_is_that_in_memory(tmp_path):
    X, y = sentences(unknown=0.3)
    data = write_shards(SequenceTagger(), tmp_path / "f", X, y, n_folds=3)
    assert (len(data), sum(data.n_parts), sorted(data.fold)) == (60, 300, [0, 1, 2])
    found = SequenceTagger(tuning=None, run=Run(tolerance=1e-8)).fit_shards(tmp_path / "f")
    expected = SequenceTagger(tuning=None, run=Run(tolerance=1e-8)).fit(X, y)
    assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    assert found.predict(X) == expected.predict(X)
    assert found.classes_ == ["a", "b"]


def test_a_warm_start(folder):
    tagger = SequenceTagger(tuning=None, warm_start=True).fit(*sentences())
    assert tagger.fit_shards(folder).passes_ < SequenceTagger(tuning=None).fit_shards(folder).passes_


def test_batches_add_up(tmp_path):
    """As a file that is read piece by piece gives them."""
    model, examples = SequenceTagger()._without_weights(*sentences())
    whole = examples.shard
    writer = ShardWriter(tmp_path / "f", n_folds=2)
    for piece in (slice(0, 1), slice(1, 30), slice(30, 60)):
        writer.add(whole.take(piece))
    data = writer.finish(model)
    assert len(data) == 60
    assert data.fold == (0, 0, 1, 0, 1)
    assert [sum(data.n_examples[k] for k in range(5) if data.fold[k] == fold) for fold in (0, 1)] == [30, 30]
    found, expected = SequenceTagger(penalty=1), SequenceTagger(penalty=1).fit(*sentences())
    assert_allclose(found.fit_shards(tmp_path / "f").coef_, expected.coef_, atol=1e-3)


def test_groups_stay_together(tmp_path):
    """In one fold, in every batch."""
    model, examples = SequenceTagger()._without_weights(*sentences())
    whole = examples.shard
    groups = [f"family {k % 7}" for k in range(60)]
    writer = ShardWriter(tmp_path / "f", n_folds=3)
    for piece in (slice(0, 20), slice(20, 60)):
        writer.add(replace(whole.take(piece), weights=np.arange(60.0)[piece]), groups[piece])
    data = writer.finish(model)
    folds = [{int(w) % 7 for shard in data.of_folds([fold]) for w in shard.weights} for fold in range(3)]
    assert sorted(map(len, folds)) == [2, 2, 3]
    assert set.union(*folds) == set(range(7))
    with pytest.raises(DataError, match="groups has 59 entries, but there are 60 examples"):
        writer.add(whole, groups[1:])
    written = write_shards(SequenceTagger(), tmp_path / "g", *sentences(), groups=groups, n_folds=3)
    assert sorted(written.fold) == [0, 1, 2]
    assert min(written.n_examples) >= 16


def test_a_fit_that_fails_leaves_nothing(folder):
    tagger = SequenceTagger(penalty=-1.0)
    with pytest.raises(DataError, match="penalty"):
        tagger.fit_shards(folder)
    assert not hasattr(tagger, "coef_")


def test_margin_losses_refuse_unknown_labels(tmp_path):
    write_shards(SequenceTagger(), tmp_path / "f", *sentences(unknown=0.3))
    with pytest.raises(DataError, match=r"/f: sequence \d+, token \d+: the label is unknown"):
        SequenceTagger(loss="margin").fit_shards(tmp_path / "f")


def test_shards_pickle_as_their_paths(folder):
    shard = open_shards(folder).shards[0]
    again = pickle.loads(pickle.dumps(shard))
    assert len(pickle.dumps(shard)) < 1500
    assert_array_equal(again.rows.dense.indices, shard.rows.dense.indices)
    part = shard.take([0, 2])
    assert_array_equal(pickle.loads(pickle.dumps(part)).labels, part.labels)


def test_what_is_refused(folder, tmp_path):
    with pytest.raises(DataError, match="not empty"):
        write_shards(SequenceTagger(), folder, *sentences())
    with pytest.raises(DataError, match="SegmentTagger does not support"):
        write_shards(SegmentTagger(), tmp_path / "f", *sentences())
    with pytest.raises(DataError, match=r"shards\.json is missing"):
        open_shards(tmp_path / "f")
    with pytest.raises(DataError, match="examples are for SequenceTagger, not for RNAFolder"):
        RNAFolder(tuning=None).fit_shards(folder)
    with pytest.raises(DataError, match="the folder has 5 folds, but cv needs 9"):
        SequenceTagger(tuning="grid", cv=9).fit_shards(folder)
    with pytest.raises(DataError, match="needs examples in memory"):
        SequenceTagger(constraints="validation").fit_shards(folder)
    with pytest.raises(DataError, match="n_folds=0"):
        ShardWriter(tmp_path / "g", 0)
    with pytest.raises(DataError, match="no examples"):
        ShardWriter(tmp_path / "g").finish(None)


def begun(folder):
    writer = ShardWriter(folder)
    writer.add(SequenceTagger()._without_weights(*sentences())[1].shard)
    return writer


def test_a_folder_that_is_being_written(tmp_path):
    folder = tmp_path / "f"
    writer = begun(folder)
    with pytest.raises(DataError, match="not a finished folder"):
        SequenceTagger(tuning=None).fit_shards(folder)
    assert len(writer.finish(SequenceTagger()._without_weights(*sentences())[0])) == 60
    with pytest.raises(DataError, match="this writer has finished"):
        writer.finish(None)
    del writer
    assert sorted(path.name for path in folder.iterdir())[-2:] == ["shards.json", "structure.structune"]


def test_a_later_writer_is_the_one(tmp_path):
    """Of one process: the error of the one before may still hold it."""
    former = begun(tmp_path / "f")
    writer = begun(tmp_path / "f")
    with pytest.raises(DataError, match="this writer has finished"):
        former.add(SequenceTagger()._without_weights(*sentences())[1].shard)
    del former
    assert len(writer.finish(SequenceTagger()._without_weights(*sentences())[0])) == 60


def test_a_writer_takes_what_it_began_with_it(tmp_path):
    """And nothing that is not its own."""
    mine = tmp_path / "mine"
    mine.mkdir()
    for folder in (tmp_path / "new", mine):
        begun(folder)
    assert list(tmp_path.iterdir()) == [mine]
    assert not list(mine.iterdir())
    writer = begun(mine)
    (mine / "notes.txt").write_text("")
    del writer
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]


KILLED = """
import os, signal, subprocess, sys
sys.path[:0] = sys.argv[2:]
from test_shards import begun
writer = begun(sys.argv[1])
again = "from structune.files.shards import ShardWriter; ShardWriter(" + repr(sys.argv[1]) + ")"
told = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True).stderr
assert "the folder is being written" in told, told
(writer.path / "structure.structune.partial").touch()
if os.fork() == 0:
    sys.exit()  # another process with this writer, which ends as usual
os.wait()
assert len(list(writer.path.iterdir())) > 5
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_what_a_killed_process_left_is_replaced(tmp_path):
    folder, tests = tmp_path / "f", Path(__file__).parents[1]
    paths = [str(tests / "files"), str(tests)]
    done = subprocess.run([sys.executable, "-c", KILLED, folder, *paths], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list(folder.iterdir())) > 5
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="not empty"):
        write_shards(SequenceTagger(), folder, *sentences())
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    assert len(write_shards(SequenceTagger(), folder, *sentences())) == 60


def test_a_finished_folder_is_not_begun_anew(folder):
    """Also if it was killed just before it could take the mark away."""
    (folder / "unfinished").touch()
    before = sorted(folder.iterdir())
    with pytest.raises(DataError, match="not empty"):
        ShardWriter(folder)
    assert sorted(folder.iterdir()) == before


HEADERS = ["[]", '{"format": 1, "kind": "tagging", "shards": []}', "[" * 100_000]
HEADERS += ['{"format": 1, "kind": "unheard of", "shards": [{"fold": 0, "examples": 1, "parts": 1}]}']
HEADERS += ['{"format": 1, "kind": "tagging", "shards": [{"fold": 1e999, "examples": 1, "parts": 1}]}']
HEADERS += ['{"format": 9, "kind": "tagging", "shards": [{"fold": 0, "examples": 1, "parts": 1}]}']


@pytest.mark.parametrize("text", HEADERS, ids=range(len(HEADERS)))
def test_damaged_headers(copied, text):
    (copied / "shards.json").write_text(text)
    with pytest.raises(DataError, match=r"damaged|shards of type|has format"):
        open_shards(copied)


@pytest.mark.parametrize("dtype", [None, "<f8,<f8", "|O8"])
def test_types_of_arrays_that_are_none(copied, dtype):
    header = json.loads((copied / "shards.json").read_text())
    ((name, where), *_) = header["shards"][0]["layout"]
    assert (name, where[0]) == ("weights", "<f8")
    where[0] = dtype
    (copied / "shards.json").write_text(json.dumps(header))
    with pytest.raises(DataError, match=r"shard-00000\.bin: the file does not match the list"):
        _ = open_shards(copied).shards


def test_other_shards_than_listed(copied):
    header = json.loads((copied / "shards.json").read_text())
    header["shards"][1]["examples"] += 1
    (copied / "shards.json").write_text(json.dumps(header))
    with pytest.raises(DataError, match=r"shard-00001\.bin: the file does not match"):
        SequenceTagger(tuning=None).fit_shards(copied)


def test_labels_that_are_ruled_out(tmp_path):
    """Known to one, or in part."""
    X = [[["x"], ["y"]]] * 4
    for k, labels in enumerate((["a", "b"], ["a", None])):
        path = tmp_path / str(k)
        write_shards(SequenceTagger(forbidden=[("b", "a")]), path, X, [labels, ["a", "b"]] * 2)
        allowed = np.tile([[False, True], [True, False]], (open_shards(path).n_examples[0], 1))
        changed = {"labels": (~allowed).argmin(1)} | ({"allowed": allowed} if k else {})
        rewrite(path, lambda shard, changed=changed: replace(shard, **changed))
        with pytest.raises(DataError, match=r"damaged: sequence 0, token 1: the label 'a' after 'b'"):
            _ = open_shards(path).shards


def test_labels_that_are_not_the_only_ones(tmp_path):
    write_shards(SequenceTagger(), tmp_path / "f", *sentences(unknown=0.3))
    rewrite(tmp_path / "f", lambda shard: replace(shard, labels=shard.labels * 0))
    with pytest.raises(DataError, match="damaged: the known labels and the sets of possible labels differ"):
        _ = open_shards(tmp_path / "f").shards


def test_a_full_disk(monkeypatch, tmp_path):
    """What was written is taken away, and the error is that of the system."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shard_files, "_arrays", full)
    with pytest.raises(OSError, match="No space left"):
        write_shards(SequenceTagger(), tmp_path / "f", *sentences())
    assert not any(tmp_path.iterdir())
