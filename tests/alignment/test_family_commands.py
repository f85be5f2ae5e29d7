"""``structune align --multiple`` and the evaluation of whole families, from files to files."""

import gzip
import json

import pytest

from commands import fail, succeed
from structune import SequenceAligner
from structune.running import memory

QUIET = ["--quiet", "--jobs", "1"]

FAMILY = ">a first\nMKVLAAGIVGAGPAG\n>b\nmkvlaagivgagpa*\n>a first\nMKVL-AAGVGAGPAG\n"


@pytest.fixture
def families(tmp_path):
    folder = tmp_path / "families"
    folder.mkdir()
    (folder / "one.fa").write_text(FAMILY)
    (folder / "two.fa.gz").write_bytes(gzip.compress(b">x\nMKVLAAGIV\n"))
    (folder / ".hidden").write_text("?")
    return folder


@pytest.mark.parametrize("format", ["fasta", "clustal", "stockholm", "phylip", "msf", "json"])
def test_multiple(families, format):
    out = succeed("align", "--multiple", families / "one.fa", "--format", format, *QUIET)
    assert "MKVLAAGIVGAGPAG" in out
    assert "mkvlaagivgagpa-" in out.replace("A.", "A-").replace("a.", "a-")
    assert ("a first" in out) == (format == "fasta")
    if format == "json":
        shown = json.loads(out)
        assert [row.replace("-", "") for row in shown["rows"]] == [
            "MKVLAAGIVGAGPAG",
            "mkvlaagivgagpa",
            "MKVLAAGVGAGPAG",
        ]
        assert len(shown["confidence"]) == len(shown["rows"][0])
        assert shown["tree"].count("(") == 2
        assert shown["tree"].endswith(";")
        assert shown["names"] == ["a", "b", "a_2"]
        assert "a_2:" in shown["tree"]


def test_multiple_families_go_to_a_folder(families, tmp_path):
    out = tmp_path / "out"
    assert succeed("align", "--multiple", families, "-o", out, "--format", "clustal", *QUIET) == ""
    assert sorted(path.name for path in out.iterdir()) == ["one.aln", "two.aln"]
    assert "x   MKVLAAGIV\n" in (out / "two.aln").read_text()
    (families / "PF1.21.fa").write_text(">x\nMKV\n")
    succeed("align", "--multiple", families / "PF1.21.fa", "-o", out, *QUIET)
    assert (out / "PF1.21.fa").exists()
    assert succeed("align", "--multiple", families / "two.fa.gz", "-o", out / "x.fa", *QUIET) == ""
    assert (out / "x.fa").read_text() == ">x\nMKVLAAGIV\n"
    message = fail("align", "--multiple", out / "x.fa", "-o", out / "x.fa", *QUIET)
    assert "x.fa: expected another file than the one that is read" in message
    (families / "one.fa").unlink()
    (families / "PF1.21.fa").unlink()
    succeed("align", "--multiple", families, "-o", tmp_path / "new", *QUIET)  # of a folder, which holds one
    assert (tmp_path / "new" / "two.fa").read_text() == ">x\nMKVLAAGIV\n"
    for _ in range(2):  # the second time it is there
        succeed("align", "--multiple", "-", "-o", out, *QUIET, stdin=">x\nMKV\n")
    assert (out / "alignment.fa").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "margin.structune"], "found a model without probabilities, which --multiple needs"),
        (["--which", "all"], "found --which with --multiple, which has no use for it"),
        (["-o", "none.fa"], "none.fa: found a file, expected a folder"),
        (["bad.fa"], "bad.fa, b: found '1' at residue 2 (from 1), expected an amino acid"),
        (["none.fa"], "none.fa: found no sequences, expected at least one"),
        (["families/one.fa", "-o", "out"], "found several files whose alignments would be"),
        ([], "found 2 files, expected --output, a folder: fasta has one alignment a file"),
        (["-o", "families"], "one.fa: expected another file than the one that is read"),
    ],
)
def test_multiple_that_cannot_be(families, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.fa").write_text(">a\nAC\n>b\nA1\n")
    (tmp_path / "none.fa").write_text("")
    SequenceAligner.from_matrix("BLOSUM62").save(tmp_path / "margin.structune")
    assert message in fail("align", "--multiple", "families", *args, *QUIET)


def test_multiple_by_a_matrix(families):
    assert "MKVLAAGIVGAGPAG" in succeed("align", "--multiple", families / "one.fa", "-m", "BLOSUM45", *QUIET)


def test_several_files_are_for_families(families):
    assert "found 2 files, expected one" in fail("align", families / "one.fa", families / "one.fa")


def test_pages_and_dot_plots(families, tmp_path):
    page, plot = tmp_path / "page.html", tmp_path / "dots.svg"
    args = ["--report", page, "--plot", plot, "-o", tmp_path / "out", *QUIET]
    succeed("align", "--multiple", families, *args)
    text = page.read_text()
    assert "<h2>one</h2>" in text
    assert "<h2>two</h2>" in text
    assert "linear-gradient" in text
    assert "Guide tree" in text.split("<h2>two")[0]
    assert "Guide tree" not in text.split("<h2>two")[1]  # of one sequence
    names = sorted(path.name for path in tmp_path.glob("dots*"))
    assert names == ["dots-a-a.svg", "dots-a-b.svg", "dots-b-a.svg"]
    assert "--multiple only" in fail("align", families / "one.fa", "--report", page, *QUIET)


KNOWN = {"one": ">a\nMKVLAAGI\n>b\nMKVL-AGI\n", "two": ">x\nmkACDE\n>y\n--ACDE\n"}
FOUND = {"one": ">b\nMKVLAGI-\n>a\nMKVLAAGI\n", "two": ">x\nMKACDE\n>y\nACDE--\n>z\nACDEAA\n"}


@pytest.fixture
def folders(tmp_path):
    for name, texts, ending in (("known", KNOWN, ".fa"), ("found", FOUND, ".afa")):
        (tmp_path / name).mkdir()
        for key, text in texts.items():
            (tmp_path / name / f"{key}{ending}").write_text(text)
    return tmp_path


def test_whole_families_are_evaluated(folders, tmp_path):
    args = folders / "found", folders / "known"
    shown = json.loads(succeed("evaluate", "align", *args, "--json"))
    assert shown["families"] == {"one": {"Q": 4 / 7, "TC": 4 / 7}, "two": {"Q": 0.0, "TC": 0.0}}
    assert shown["Q"] == pytest.approx(2 / 7)
    told = succeed("evaluate", "align", *args, "--report", tmp_path / "page.html")
    assert "all (2) 0.2857 0.2857" in " ".join(told.split())
    assert "Families, the worst first" in (tmp_path / "page.html").read_text()


def test_models_are_evaluated_on_whole_families(folders):
    args = "evaluate", "alignment", "pretrained", folders / "known", "--multiple", "--json", "--jobs", "1"
    shown = json.loads(succeed(*args))
    assert shown["families"]["two"]["Q"] == 1.0
    assert shown["families"]["one"]["Q"] >= 6 / 7


def test_evaluations_that_cannot_be(folders):
    known, found = folders / "known", folders / "found"
    (found / "one.afa").unlink()
    assert "found no alignment of one, expected one for each" in fail("evaluate", "align", found, known)
    message = fail("evaluate", "align", found / "two.afa", known / "one.fa")
    assert "two.afa: one: found no row of 'a'" in message
    assert "found --gamma with whole families" in fail("evaluate", "align", found, known, "--gamma", 2)
    (known / "sub.sto").write_text("# STOCKHOLM 1.0\nx AC\n//\n")
    (known / "sub.aln").write_text("CLUSTAL W\n\nx AC\n")
    assert "found another alignment named sub" in fail("evaluate", "align", found, known)
    (folders / "none").mkdir()
    assert "found no alignment, expected at least one" in fail("evaluate", "align", found, folders / "none")
    (folders / "lower.fa").write_text(">x\nmkACde\n>y\n--de--\n")
    assert "lower: found no column of two residues to score" in fail(
        "evaluate", "align", found / "two.afa", folders / "lower.fa"
    )


def test_families_for_which_there_is_too_little_memory(families, monkeypatch):
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 100)
    message = fail("align", "--multiple", families / "one.fa", *QUIET)
    assert "one.fa: 3 sequences, 3 pairs need 0.0 GB of memory, found 0.0 GB available" in message
