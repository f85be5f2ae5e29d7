"""The sample files of `structune example`, and the commands that it prints."""

import shlex
from pathlib import Path

import pytest

from commands import run
from structune.cli.app import _SAMPLES
from structune.cli.samples import SAMPLES


@pytest.mark.parametrize("name", _SAMPLES)
def test_printed_commands_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the same files again are no conflict
        shown = run("example", name)
        assert shown.exit_code == 0, shown.stderr
    commands = [line.strip() for line in shown.stdout.splitlines() if line.startswith("  structune ")]
    assert len(commands) >= 2
    for command in commands:
        words, _, output = command.partition(" > ")
        result = run(*shlex.split(words)[1:])
        assert result.exit_code == 0, result.stderr
        assert result.stdout
        if output:
            Path(output).write_text(result.stdout)


def test_other_content_is_kept(tmp_path):
    file = tmp_path / "train.svm"
    file.write_text("mine")
    result = run("example", "classifier", "--folder", tmp_path)
    assert (result.exit_code, file.read_text()) == (2, "mine")
    assert f"{file} exists with other content" in result.stderr
    assert tuple(SAMPLES) == _SAMPLES
