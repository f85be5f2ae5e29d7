"""Training by the command line: how it ends before its end, goes on, and what it does to files."""

import re
import subprocess
import sys
from itertools import count
from unittest import mock

import pytest

import structune
from commands import fail, run, succeed
from structune import SequenceTagger
from structune.running import Run
from structune.running.monitor import BudgetExhausted, Monitor
from structune.tagging.conll import read_training
from structune.tagging.task import Learning

SMALL = ["--templates", "w[0] pos[-1..0]", "--quiet", "--jobs", "1"]
SENTENCES = [
    "the DT B-NP\ndog NN I-NP\n\n",
    "a DT B-NP\ncat NN B-NP\nsees VB B-VP\nthe DT B-NP\n\n",
    "now RB O\n\n",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    (folder / "train.txt").write_text("".join(SENTENCES) * 12)
    (folder / "test.txt").write_text("".join(SENTENCES[:2]) * 3)
    succeed("train", folder / "train.txt", "--model", folder / "m.structune", "--penalty", 1, *SMALL)
    return folder


@pytest.mark.parametrize("args", [["train", "--penalty", 1], ["tune"], ["tune", "--method", "grid"]])
def test_interrupted_training_saves_the_best(files, tmp_path, monkeypatch, args):
    calls = count()

    def check(self):
        if next(calls) >= 3 and (self.history or "train" in args):
            raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "check", check)
    path = tmp_path / "m.structune"
    result = run(*args, files / "train.txt", "-m", path, *SMALL)
    assert result.exit_code == 130
    assert re.search("status +interrupted", result.stdout)
    assert structune.load(path).coef_.any()


def test_nothing_is_saved_before_anything_is_learned(files, tmp_path):
    path = tmp_path / "m.structune"
    message = fail("tune", files / "train.txt", "-m", path, "--max-seconds", 0, *SMALL)
    assert "before the first result; no model was saved" in message
    assert not path.exists()


def test_a_fit_that_has_not_converged_is_told_in_a_line(files, tmp_path, monkeypatch):
    defaults = *Run.__init__.__defaults__[:-2], 1, None  # max_iterations, and the tolerance after it
    monkeypatch.setattr(Run.__init__, "__defaults__", defaults)
    result = run("train", files / "train.txt", "-m", tmp_path / "m.structune", "--penalty", 1, *SMALL)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("structune: the fit has not converged: it reached its limit of iterations")


def out_of_time():
    """The budget is spent at the twentieth look at the clock."""
    return mock.patch.object(Monitor, "check", side_effect=[*[None] * 20, *[BudgetExhausted] * 1000])


def test_resume(files, tmp_path):
    """Training that ran out of time goes on, and what is left of it goes when the model is saved."""
    path, rest = tmp_path / "m.structune", tmp_path / "m.structune.checkpoint"
    arguments = ["tune", files / "train.txt", "-m", path, *SMALL]
    with out_of_time():
        succeed(*arguments)
    assert rest.exists()
    with out_of_time():
        aside = run(*arguments)
    assert "m.structune.checkpoint exists and will be overwritten; to continue from it" in aside.stderr
    assert "converged" in succeed(*arguments, "--resume")
    assert not rest.exists()
    one, other = structune.load(path), SequenceTagger(**structune.load(path).get_params())
    reader, (data,), _ = read_training([files / "train.txt"], Learning(templates=SMALL[1]))
    other.fit(reader.attributes(data), reader.labels(data))
    assert one.penalty_ == pytest.approx(other.penalty_, rel=0.05)
    with out_of_time():
        succeed(*arguments)
    said = fail("tune", files / "test.txt", "-m", path, "--resume", *SMALL)
    assert "the checkpoint is from another training" in said


def test_a_disk_that_is_full(files, tmp_path, monkeypatch):
    """The model is saved elsewhere, and where is told."""
    path, whole = tmp_path / "m.structune", SequenceTagger.save

    def save(self, target, extra=None):
        if target == path:
            raise OSError(28, "No space left on device")
        whole(self, target, extra)

    monkeypatch.setattr(SequenceTagger, "save", save)
    said = fail("train", files / "train.txt", "-m", path, "--penalty", 1, *SMALL)
    match = re.search(r"m.structune: No space left on device. The model was saved as (\S+) instead", said)
    assert structune.load(match[1]).classes_ == structune.load(files / "m.structune").classes_


@pytest.mark.parametrize("code", [130, 2])
def test_ctrl_c_and_errors_wait_for_no_thread(code):
    script = f"""
import threading
import structune.cli

def run(args):
    threading.Thread(target=threading.Event().wait).start()
    print("written")
    raise SystemExit({code})

structune.cli.run = run
structune.cli.main()
"""
    # only a process that waits for the thread is there at the timeout
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (code, "written\n")


def test_the_seed_has_an_effect_or_is_refused(files, tmp_path):
    given = ["tune", files / "train.txt", "-m", tmp_path / "m", "--method", "direct", "--seed", 3, *SMALL]
    assert "--seed cannot be combined with --method direct" in fail(*given)
    succeed(*given, "--constraints", "validation")  # whose parts are random
    assert structune.load(tmp_path / "m").random_state == 3
