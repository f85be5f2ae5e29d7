"""``structune warm``: afterwards nothing is left to compile."""

import os
import re
import subprocess

import pytest

from commands import PROGRAM, fail
from structune.cli import warming
from structune.kinds import kinds


def test_what_is_asked_for():
    assert warming._rooms(None).keys() == {word for word, kind in kinds().items() if kind.task}
    assert warming._rooms(["tagging", "rna"]).keys() == {"tagging", "rna"}
    for word in ("tree", "weather"):  # no commands, no kind
        assert f"no such model type: {word!r}. Choose from tagging, segments, rna, " in fail("warm", word)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("word", warming._rooms(None))
def test_every_kind_can_be_warmed(word):
    warming._rooms([word])[word]()


def test_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_CACHE", "off")
    assert "STRUCTUNE_CACHE=off" in fail("warm")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STRUCTUNE_CACHE", str(tmp_path / "file"))
    assert f"{tmp_path / 'file'}" in fail("warm")


def test_the_first_training_compiles_nothing(tmp_path):
    """Of the kind that compiles least: the kernels of the others take minutes."""
    cache, table = tmp_path / "cache", tmp_path / "table.csv"
    table.write_text("a,b,y\n1,2,p\n2,1,q\n3,1,q\n1,3,p\n")

    def run(*args):
        command = [*PROGRAM, *map(str, args)]
        environment = {**os.environ, "STRUCTUNE_CACHE": str(cache)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}

    told, compiled = run("warm", "classifier")
    n = len([path for path in compiled if path.suffix == ".nbc"])
    assert n > 0
    assert re.match(rf"Compiled {n} functions in \d+ s; 0 were compiled before. Folder: .*kernels\n", told)
    told, after = run("train", "classifier", table, "--target", "y", "--model", tmp_path / "m", "--quiet")
    assert "converged" in told
    assert after == compiled
    assert f"; {n} were compiled before. " in run("warm", "classifier")[0]
