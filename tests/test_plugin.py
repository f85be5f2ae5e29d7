"""A kind of another package, from its installation to models that load in new processes."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import PROGRAM

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"
LABELS = ["never", "sometimes", "often"]
LEARNED = ["--label", "answer", "--order", ",".join(LABELS), "--quiet", "--jobs", "1"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that the package is installed into."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder, PLUGIN], check=True)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    names = [*(f"useful={j}" for j in range(3)), *(f"noise={j}" for j in range(8))]
    for name, n in (("train.csv", 90), ("test.csv", 40)):
        rows = rng.normal(size=(n, len(names)))
        codes = np.digitize(rows[:, :3].sum(axis=1) + rng.normal(size=n) / 2, [-1.0, 1.0])
        lines = [",".join([*map(str, row), LABELS[code]]) for row, code in zip(rows, codes, strict=True)]
        (folder / name).write_text("\n".join([",".join([*names, "answer"]), *lines, ""]))
    return folder


@pytest.fixture
def structune(installed, files):
    """Runs a command line in a new process, and gives what it printed."""

    def run(*args, code=0, found=installed):
        command = [*PROGRAM, *map(str, args)]
        path = os.pathsep.join([str(found), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            command, cwd=files, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stderr if code else done.stdout

    return run


def test_from_training_to_predictions(structune, files, tmp_path):
    model, page = tmp_path / "a.structune", tmp_path / "a.html"
    told = structune("tune", "ordinal", "train.csv", *LEARNED, "--cv", 5, "-m", model, "--report", page)
    precision = {name: float(found) for name, found in re.findall(r"(useful|noise) +\d+ +([\d.]+)", told)}
    assert precision["noise"] > 10 * precision["useful"]
    assert "useful" in page.read_text(encoding="utf-8")
    scores = json.loads(structune("evaluate", "ordinal", model, "test.csv", "--json"))
    assert scores["right"] > 0.7
    assert np.sum(scores["counts"]) == 40
    known = [line.rpartition(",")[2] for line in (files / "test.csv").read_text().splitlines()[1:]]
    graded = structune("predict", model, "test.csv").split()
    assert np.mean([a == b for a, b in zip(graded, known, strict=True)]) == scores["right"]

    refused = structune("rank", model, "test.csv", code=2, found=tmp_path)  # without the package
    assert "unknown model type 'ordinal'" in refused


def test_folders_of_shards_and_checkpoints(structune, tmp_path):
    structune("shard", "ordinal", "train.csv", tmp_path / "shards", *LEARNED[:4])
    learn = ["tune", "ordinal", tmp_path / "shards", "-m", tmp_path / "b.structune", "--quiet", "--jobs", 1]
    assert "stopped before" in structune(*learn, "--max-seconds", 0, code=2)
    assert (tmp_path / "b.structune.checkpoint").exists()
    assert "converged" in structune(*learn, "--resume")
    assert not (tmp_path / "b.structune.checkpoint").exists()
    scores = json.loads(structune("evaluate", "ordinal", tmp_path / "b.structune", "test.csv", "--json"))
    assert scores["right"] > 0.7


def test_help_tells_of_it(structune):
    shown = structune("--help")
    assert "ordinal            labels in an order, from CSV files" in shown
    assert "structune train ordinal answers.csv" in structune("train", "--help")


def test_the_page_shows_its_code():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    source = (PLUGIN / "src" / "structune_ordinal" / "structure.py").read_text(encoding="utf-8")
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    assert len(classes) == 2
    for node in classes:
        assert ast.get_source_segment(source, node) in shown
