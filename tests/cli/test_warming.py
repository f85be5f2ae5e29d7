"""``structune warm``: afterwards nothing is left to compile."""

import os
import re
import subprocess

import pytest

from commands import PROGRAM, fail, succeed
from structune.cli import warming
from structune.kinds import kinds


def test_what_is_asked_for():
    assert warming._rooms(None).keys() == {word for word, kind in kinds().items() if kind.task}
    assert warming._rooms(["tagging", "rna"]).keys() == {"tagging", "rna"}
    for word in ("tree", "weather"):  # no commands, no kind
        assert f"found {word!r}, expected one of tagging, segments, rna, " in fail("warm", word)


def test_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_CACHE", "off")
    assert "STRUCTUNE_CACHE=off" in fail("warm")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STRUCTUNE_CACHE", str(tmp_path / "file"))
    assert f"{tmp_path / 'file'}" in fail("warm")


def test_help_tells_of_it():
    assert re.search(r"^ +warm +Compile", succeed("--help"), re.MULTILINE)


@pytest.mark.parametrize("word", ["prokaryotic-genes"])  # others take longer to compile
def test_the_first_prediction_compiles_nothing(word, tmp_path):
    cache = tmp_path / "cache"
    dna = tmp_path / "dna.fa"
    dna.write_text(">a\n" + "ATGGCATTAGCGTAA" * 40 + "\n")

    def run(*args):
        command = [*PROGRAM, *map(str, args)]
        environment = {**os.environ, "STRUCTUNE_CACHE": str(cache)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}

    told, compiled = run("warm", word)
    n = len([path for path in compiled if path.suffix == ".nbc"])
    assert re.fullmatch(rf"{n} functions compiled, 0 were there already, in \d+ s: .*kernels\n", told)
    found, after = run("genes", dna, "--model", "pretrained")
    assert found.startswith("##gff-version 3")
    assert after == compiled
    assert f"0 functions compiled, {n} were there already" in run("warm", word)[0]
