"""Which command the words of a command line mean."""

import subprocess
import sys
from pathlib import Path

import pytest

import structune
from commands import fail, run, succeed
from structune.kinds import kinds

GROUPS = ("train", "tune", "evaluate", "shard")


def having(command):
    return [kind for kind in kinds().values() if kind.command(command)]


def words_of(text):
    return " ".join(text.split())


@pytest.mark.parametrize("group", GROUPS)
def test_groups_tell_of_every_kind_that_has_such_a_command(group):
    shown = succeed(group, "--help")
    usage, _, rest = words_of(shown).partition("] ...")
    listed = usage.rpartition("[")[2].replace(" ", "")  # long lines break at hyphens, too
    assert listed.split("|") == [kind.word for kind in having(group)]
    assert len(having(group)) >= 5
    for kind in having(group):
        assert f"structune {group} {'' if kind.word == 'tagging' else kind.word}".strip() in rest


def test_the_first_page_tells_of_every_kind_and_command():
    shown = words_of(succeed("--help"))
    for kind in kinds().values():
        if kind.commands:
            assert f"{kind.word} {kind.about}" in shown
            assert all(f" {name} " in shown for name in kind.own)
    listed = shown.partition("Commands: ")[2]
    places = [listed.index(f"{name} ") for name in ("train", "tune", "predict", "fold", "evaluate", "shard")]
    assert places == sorted(places)


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_has_help_with_an_example(group):
    for kind in having(group):
        shown = succeed(group, kind.word, "--help")
        assert f"structune {group} " in shown.partition("Example:")[2]


def test_without_a_word_it_is_for_taggers(tmp_path):
    assert "Column file" in succeed("train", "some.txt", "--help")
    missing = tmp_path / "none.txt"
    assert fail("train", missing, "-m", tmp_path / "m") == fail(
        "train", "tagging", missing, "-m", tmp_path / "m"
    )


@pytest.mark.parametrize(
    ("group", "word", "told"),
    [
        ("train", "rnaa", "No such kind 'rnaa'. Did you mean 'rna'?"),
        ("evaluate", "rankin", "Did you mean 'ranking'?"),
        ("evaluate", "align", "Did you mean 'alignment'?"),
        ("shard", "segments", "There is no shard for 'segments': expected one of tagging, rna, ranking"),
        ("train", "classifier", "There is no train for 'classifier': expected one of tagging, rna"),
    ],
)
def test_words_that_are_no_kinds(group, word, told, tmp_path, monkeypatch):
    result = run(group, word, "x.txt", "-m", "m")
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    monkeypatch.chdir(tmp_path)
    (tmp_path / word).write_text("")
    assert told not in " ".join(run(group, word, "-m", "m").stderr.split())  # a file for taggers


@pytest.mark.parametrize(("typed", "meant"), [("fodl", "fold"), ("trian", "train"), ("evalute", "evaluate")])
def test_typos(typed, meant):
    result = run(typed)
    assert result.exit_code == 2
    assert f"No such command {typed!r}. Did you mean {meant!r}" in result.stderr


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 9 TiB"), MemoryError()])
def test_too_little_memory_is_told_in_one_line(monkeypatch, tmp_path, error):
    def read(*_args, **_kwargs):
        raise error

    monkeypatch.setattr("structune.rna.formats.any.Lines", read)
    sequences = tmp_path / "a.fa"
    sequences.write_text(">a\nGGGAAACCC\n")
    told = fail("fold", sequences)
    assert told.startswith(f"structune: found too little memory ({error or 'it ran out'}), expected ")


@pytest.mark.skipif(sys.platform == "win32", reason="found no limits of files")
def test_what_is_not_finished_is_removed_at_the_end(tmp_path):
    """In a process of its own, which ends without what Python does at its end."""
    train = tmp_path / "train.txt"
    train.write_text("the DET\ndog NOUN\n\n" * 50)
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    script = f"{limited}; from structune.cli import main; main()"
    command = [sys.executable, "-c", script, "shard", train, tmp_path / "new"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "structune: [Errno 27] File too large\n")
    assert list(tmp_path.iterdir()) == [train]


@pytest.mark.skipif(sys.platform == "win32", reason="found no sh")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed):
    command = [sys.executable, "-c", "from structune.cli import main; main()", "--version"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = subprocess.run([*shell, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("" if ">&-" in closed.split() else f"structune {structune.__version__}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="found no /dev/full")
def test_a_full_disk_behind_standard_output():
    command = [sys.executable, "-c", "from structune.cli import main; main()", "--version"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "structune: [Errno 28] No space left on device\n"
