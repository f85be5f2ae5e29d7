"""``structune align --multiple`` and the evaluation of whole families, from files to files."""

import gzip
import io
import json
from base64 import b64encode

import pytest
from Bio import Phylo

import structune
from commands import fail, run, succeed
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


@pytest.mark.parametrize("format", ["fasta", "msf", "json"])
def test_multiple(families, format):
    out = succeed("align", "--multiple", families / "one.fa", "--format", format, *QUIET)
    assert "MKVLAAGIVGAGPAG" in out
    assert "mkvlaagivgagpa-" in out.replace("A.", "A-").replace("a.", "a-")
    assert ("a first" in out) == (format == "fasta")
    if format == "json":
        shown = json.loads(out)
        rows = [row.replace("-", "") for row in shown["rows"]]
        assert rows == ["MKVLAAGIVGAGPAG", "mkvlaagivgagpa", "MKVLAAGVGAGPAG"]
        assert len(shown["confidence"]) == len(shown["rows"][0])
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
    (families / "one.fa").unlink()
    (families / "PF1.21.fa").unlink()
    succeed("align", "--multiple", families, "-o", tmp_path / "new", *QUIET)  # of a folder, which holds one
    assert (tmp_path / "new" / "two.fa").read_text() == ">x\nMKVLAAGIV\n"
    succeed("align", "--multiple", "-", "-o", out, *QUIET, stdin=">x\nMKV\n")
    assert (out / "alignment.fa").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "margin.structune"], "this model has no probabilities, which families need"),
        (["-o", "none.fa"], "none.fa: --output must be a folder"),
        (["bad.fa"], "bad.fa, b: '1' at residue 2 (from 1) is not an amino acid"),
        (["none.fa"], "none.fa: the file has no sequences"),
        (["families/one.fa", "-o", "out"], "several input files would be written to"),
        ([], "2 input files need a folder as --output: a fasta file holds one alignment"),
        (["-o", "families"], "one.fa: this file is also read; write to another file"),
    ],
)
def test_multiple_that_cannot_be(families, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.fa").write_text(">a\nAC\n>b\nA1\n")
    (tmp_path / "none.fa").write_text("")
    SequenceAligner.from_matrix("BLOSUM62").save(tmp_path / "margin.structune")
    assert message in fail("align", "--multiple", "families", *args, *QUIET)


def test_more_than_two_sequences_are_a_family(families, tmp_path):
    one, args = families / "one.fa", ["--format", "clustal", *QUIET]
    family, pairs = run("align", one, *args), run("align", one, "--which", "all", *args)
    assert family.stdout == succeed("align", one, "--multiple", *args) != pairs.stdout
    told = "structune: 3 sequences are aligned as a family; --pairs aligns them in pairs"
    assert [told in result.stderr for result in (family, pairs)] == [True, False]
    piped = run("align", *args, stdin=one.read_text())
    assert (piped.stdout, told in piped.stderr) == (family.stdout, True)
    two = tmp_path / "two.fa"
    two.write_text(">a\nMKV\n>b\nMKV\n")
    assert succeed("align", two, *args) == succeed("align", two, "--pairs", *args)


def test_the_sequences_of_each_of_several_files_are_a_family(families, tmp_path):
    one, out = families / "one.fa", tmp_path / "out"
    result = run("align", one, "-o", out, families, *QUIET)
    assert "each of several files is aligned as a family. Put all sequences into one" in result.stderr
    (families / "two.fa.gz").unlink()
    assert "the sequences of each file are aligned" in run("align", one, one, "--format", "json").stderr
    assert "3 sequences are aligned as a family" in run("align", families, "-o", out, *QUIET).stderr
    assert (out / "one.fa").exists()
    assert "--pairs and --which take one file, not" in fail("align", one, one, "--pairs")
    (families / "more").mkdir()
    assert f"{families}: skipped 1 folders in this folder" in run("align", families, "-o", out, *QUIET).stderr
    told = fail("align", one, "-o", tmp_path / "x.nex", *QUIET)
    assert "x.nex: no output format has this ending. Use --format, or one of the" in told


def test_families_of_more_than_2000_sequences_are_asked_for():
    many = "".join(f">{k}\nA\n" for k in range(2001))
    told = fail("align", "-", *QUIET, stdin=many)
    assert "there are 2,001 sequences. For more than 2,000, give --multiple or --pairs" in told
    told = fail("align", "-", "--pairs", *QUIET, stdin=many)
    assert "the number of sequences is 2,001; pairs need an even number" in told


def test_what_is_left_out_is_told(tmp_path):
    stdin = ">a\nMKV--L\n>b\n\n>c\nMKVL.\n"
    result = run("align", *QUIET, stdin=stdin)
    assert result.stdout == ">a\nMKVL\n>b\n----\n>c\nMKVL\n"
    assert "structune: -: removed the gaps from 2 of 3 sequences\n" in result.stderr
    told = "structune: -: 1 of 3 sequences have no residues, so their rows are gaps; the first is b\n"
    assert told in result.stderr
    (tmp_path / "x.fa").write_text(">a\nACD\n>b\nACD\n>c\nacd\n")
    told = run("evaluate", "alignment", "BLOSUM62", tmp_path / "x.fa").stderr
    assert told == "structune: skipped 2 of 3 pairs, which have no match of two residues in upper case\n"


def test_names_in_trees_are_those_of_the_rows():
    stdin = ">a:b\nMKVL\n>a_b\nMKV\n>it's(c)\nMKL\n"
    shown = json.loads(succeed("align", "--format", "json", *QUIET, stdin=stdin))
    tree = Phylo.read(io.StringIO(shown["tree"]), "newick")
    assert {leaf.name for leaf in tree.get_terminals()} == {"a:b", "a_b", "it_s(c)"}
    assert shown["names"] == ["a:b", "a_b", "it's(c)"]


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
    assert "2 families of 4 sequences aligned, mean column confidence 0." in text
    assert "Save one.fa" in text
    assert "Save two.fa" in text


@pytest.mark.parametrize("format", ["fasta", "json", "stockholm"])
@pytest.mark.parametrize("how", [["--multiple"], ["--which", "all"]])
@pytest.mark.parametrize("model", ["pretrained", "BLOSUM62"])
def test_a_report_leaves_the_output_as_it_is(families, tmp_path, how, format, model):
    page, args = tmp_path / "page.html", [*how, "--format", format, "--model", model, *QUIET]
    out = succeed("align", families / "one.fa", *args)
    assert succeed("align", families / "one.fa", *args, "--report", page) == out
    text = page.read_text()
    if "all" in how:
        assert "3 pairs of sequences aligned" in text
        assert "<summary>a and b, identity 100%" in text
    else:
        assert "3 sequences aligned in 15 columns, mean column confidence" in text
    assert ("confidence 0." in text) == (model == "pretrained" or "all" not in how)
    assert b64encode(out.encode()).decode() in text
    told = f"structune {structune.__version__}, model {model}"
    assert told in text
    if format == "stockholm":
        assert f"# STOCKHOLM 1.0\n#=GF CC {told}\n" in out
    if format == "json":
        shown = json.loads(out.splitlines()[0])
        assert list(shown.items())[-2:] == [("structune", structune.__version__), ("model", model)]


def test_a_report_is_bounded(families, tmp_path, monkeypatch):
    from structune.alignment import report
    from structune.cli import reports

    for name, most in (("_MOST_DRAWN", 1), ("_MOST_ROWS", 2), ("_MOST_NAMES", 1), ("_MOST_COLUMNS", 10)):
        monkeypatch.setattr(report, name, most)
    monkeypatch.setattr(reports, "_MOST_KEPT", 100)
    page, out = tmp_path / "page.html", tmp_path / "out.fa"
    succeed("align", families / "one.fa", "--which", "all", "-o", out, "--report", page, *QUIET)
    text = page.read_text()
    assert "The table has the first 2 of 3 pairs." in text
    assert "The first 1 of 3 pairs are drawn below." in text
    assert "The first 1 of 2 sequences and 10 of 15 columns." in text
    assert f"The results are in {out}." in text


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
    shown = json.loads(succeed("evaluate", "alignment", *args, "--json"))
    assert shown["families"] == {"one": {"Q": 4 / 7, "TC": 4 / 7}, "two": {"Q": 0.0, "TC": 0.0}}
    assert shown["Q"] == pytest.approx(2 / 7)
    told = succeed("evaluate", "alignment", *args, "--report", tmp_path / "page.html")
    assert "all (2) 0.2857 0.2857" in " ".join(told.split())
    assert "Families, the worst first" in (tmp_path / "page.html").read_text()


def test_models_are_evaluated_on_whole_families(folders):
    args = "evaluate", "alignment", "pretrained", folders / "known", "--multiple", "--json", "--jobs", "1"
    shown = json.loads(succeed(*args))
    assert shown["families"]["two"]["Q"] == 1.0
    assert shown["families"]["one"]["Q"] >= 6 / 7


def test_evaluations_that_cannot_be(folders):
    known, found, none, lower = (folders / name for name in ("known", "found", "none", "lower.fa"))
    (found / "one.afa").unlink()
    none.mkdir()
    lower.write_text(">x\nmkACde\n>y\n--de--\n")
    for args, told in (
        ((found, known), "there is no alignment named one"),
        ((found, known, "--gamma", 2), "--gamma has no effect on whole families."),
        ((found, none), "none: there are no alignments"),
        ((found / "two.afa", lower), "lower: the known alignment has no column to score"),
    ):
        assert told in fail("evaluate", "alignment", *args)
    (known / "sub.sto").write_text("# STOCKHOLM 1.0\nx AC\n//\n")
    (known / "sub.aln").write_text("CLUSTAL W\n\nx AC\n")
    assert "another file has an alignment named sub" in fail("evaluate", "alignment", found, known)


def test_families_for_which_there_is_too_little_memory(families, monkeypatch):
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 100)
    message = run("align", "--multiple", families / "one.fa", *QUIET).stderr
    assert "one.fa: 3 sequences, 3 pairs need 0.0 GB of memory, but only 0.0 GB are available" in message
