"""Which command the words of a command line mean, and names of files that commands make."""

import subprocess
import sys
from pathlib import Path

import pytest

import structune
from commands import PROGRAM, fail, run, succeed


def test_without_a_word_it_is_for_taggers(tmp_path):
    assert "Column file" in succeed("train", "some.txt", "--help")
    given = [tmp_path / "none.txt", "-m", tmp_path / "m"]
    assert fail("train", *given) == fail("train", "tagging", *given)


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 9 TiB"), MemoryError()])
def test_too_little_memory_is_told_in_one_line(monkeypatch, tmp_path, error):
    def read(*_args, **_kwargs):
        raise error

    monkeypatch.setattr("structune.rna.formats.any.RNALines", read)
    sequences = tmp_path / "a.fa"
    sequences.write_text(">a\nGGGAAACCC\n")
    told = fail("fold", sequences)
    why = f" ({error})" if str(error) else ""
    assert told.startswith(f"structune: not enough memory{why}; use ")


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
    command = [*PROGRAM, "--version"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = subprocess.run([*shell, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("" if ">&-" in closed.split() else f"structune {structune.__version__}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="found no /dev/full")
def test_a_full_disk_behind_standard_output():
    command = [*PROGRAM, "--version"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "structune: [Errno 28] No space left on device\n"


TWO = ">a\nMKV\n>b\nMV\n"
DNA = f">a\n{'ATGAAAGCTTAA' * 30}\n"
CASES = [
    ("fold", ">a\nGGGAAAUCCC\n", {".txt": "dbn", ".ct": "ct", ".BPSEQ": "bpseq", ".json": "json"}),
    ("align", TWO, {"": "fasta", ".aln": "clustal", ".stk": "stockholm", ".msf": "msf"}),
    ("align --multiple", TWO, {".phy": "phylip", ".json": "json"}),
    ("genes --model pretrained --meta", DNA, {".out": "gff3", ".gbk": "genbank", ".tsv": "tsv"}),
]


@pytest.mark.parametrize(("command", "text", "formats"), CASES)
def test_the_format_is_asked_for_or_that_of_the_name(tmp_path, command, text, formats):
    source, found = tmp_path / "in.fa", set()
    source.write_text(text)
    for ending, format in formats.items():
        written = []
        for name, *given in ((f"a{ending}",), ("b.ct", "--format", format)):
            assert run(*command.split(), source, "-q", "-o", tmp_path / name, *given).exit_code == 0
            written.append((tmp_path / name).read_text())
        assert written[0] == written[1]
        found.add(written[0])
    assert len(found) == len(formats)
