"""The alignment commands from files to files, and what they say to wrong input."""

import gzip
import io
import json
import re
from itertools import combinations

import numpy as np
import pytest

import structune
from commands import fail, run, succeed
from structune.alignment import align
from structune.alignment.formats import ProteinAlignment, read_protein_alignments, write_protein_alignments
from structune.alignment.metrics import alignment_scores
from structune.alignment.structure.rows import parse_alignment, residues_of
from structune.errors import DataError
from structune.running import memory

QUIET = ["--quiet", "--jobs", "1"]
RESIDUES = list("ARNDCQEGHILKMFPSTWYV")


def family(rng, n=3, length=20):
    """Rows of mutated copies, some residues of each left out."""
    ancestor = rng.choice(RESIDUES, length)
    rows = []
    for _ in range(n):
        row = [a if rng.random() < 0.7 else rng.choice(RESIDUES) for a in ancestor]
        rows.append("".join("-" if rng.random() < 0.1 else a for a in row))
    return ProteinAlignment([f"p{k}" for k in range(n)], rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("align"), np.random.default_rng(0)
    (folder / "train").mkdir()
    for k in range(5):
        write_protein_alignments(folder / "train" / f"{k}.fa", [family(rng)])
    test = family(rng, n=4)
    write_protein_alignments(folder / "test.aln", [test], "clustal")
    proteins = {name: row.replace("-", "") for name, row in zip(test.names, test.rows, strict=True)}
    (folder / "test.fa").write_text("".join(f">{name} x\n{row}\n" for name, row in proteins.items()))
    args = ["--features", "affine", "--penalty", 0.5, *QUIET]
    succeed("train", "alignment", folder / "train", "-m", folder / "m.structune", *args)
    return folder


def read(text):
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return [rows for block in blocks for rows in read_protein_alignments(io.StringIO(block))]


def test_train(files, tmp_path):
    args = ["--loss", "ramp", "--features", "affine", "--most-pairs", 2, "--test", files / "test.aln", *QUIET]
    out = succeed("train", "alignment", files / "train", "-m", tmp_path / "m.structune", *args)
    assert "10 pairs of 5 alignments" in out
    assert "precision" in out
    model = structune.load(tmp_path / "m.structune")
    assert (model.loss, model.features, model.tuning) == ("ramp", "affine", "auto")


def test_evaluate(files):
    shown = json.loads(succeed("evaluate", "alignment", files / "m.structune", files / "test.aln", "--json"))
    (test,) = read_protein_alignments(files / "test.aln")
    rows = [test.pair(a, b) for a, b in combinations(range(4), 2)]
    model = structune.load(files / "m.structune")
    scores = alignment_scores(rows, model.predict([residues_of(each) for each in rows]))
    assert shown["all"]["pairs"] == 6
    assert shown["all"]["recall"] == pytest.approx(scores.recall.mean())
    assert shown["all"]["precision"] == pytest.approx(scores.precision.mean())
    assert "recall" in succeed("evaluate", "alignment", "BLOSUM62", files / "test.aln")


def test_align_pairs(files):
    args = ["--pairs", "-m", files / "m.structune", *QUIET]
    out = succeed("align", files / "test.fa", *args)
    found = read(out)
    assert [alignment.names for alignment in found] == [["p0", "p1"], ["p2", "p3"]]
    pairs = [residues_of(tuple(alignment.rows)) for alignment in found]
    assert structune.load(files / "m.structune").predict(pairs) == [tuple(a.rows) for a in found]
    assert succeed("align", "-", *args, stdin=(files / "test.fa").read_text()) == out
    assert succeed("align", files / "test.fa", "--which", "pairs", *args[1:]) == out


@pytest.mark.parametrize("how", [[], ["--multiple"]])
def test_nucleotides_aligned_as_proteins_are_told_of(tmp_path, how):
    file = tmp_path / "two.fa"
    file.write_text(f">a\n{'ACGUN' * 6}RYS\n>b\n{'acgt' * 8}\n")
    told = f"structune: {file}: the sequences look like DNA or RNA but are aligned as proteins. Use --model"
    assert told in (found := run("align", *how, file, *QUIET).stderr)
    assert found.count("\n") == 1
    assert not run("align", *how, file, "--model", "NUC.4.4", *QUIET).stderr


@pytest.mark.parametrize("command", ["shard", "evaluate"])
def test_nucleotides_to_learn_from_are_told_of(tmp_path, command):
    (tmp_path / "x.fa").write_text(f">a\n{'ACGTR' * 6}\n>b\n{'ACGTA' * 6}\n")
    target = {"shard": [tmp_path / "f"], "evaluate": []}[command]
    given = ["BLOSUM62"] if command == "evaluate" else []
    told = run(command, "alignment", *given, tmp_path / "x.fa", *target).stderr
    assert "structune: The sequences look like DNA or RNA but are read as proteins." in told
    assert told.count("look like") == 1
    (tmp_path / "x.fa").write_text(f">a\n{'ACGTL' * 6}\n>b\n{'ACGTE' * 6}\n")
    assert "look like" not in run("evaluate", "alignment", "BLOSUM62", tmp_path / "x.fa").stderr


def test_align_in_a_band(files):
    args = ["--pairs", "-m", files / "m.structune", "--band", 1, *QUIET]
    result = run("align", files / "test.fa", *args)
    assert "structune: Some alignments reach the edge of the band (band=1)" in result.stderr
    found = read(result.stdout)
    pairs = [residues_of(tuple(alignment.rows)) for alignment in found]
    model = structune.load(files / "m.structune").set_params(band=1)
    with pytest.warns(UserWarning, match="reach the edge of the band"):
        assert model.predict(pairs) == [tuple(a.rows) for a in found]


def test_names_that_are_not_ascii(files, tmp_path):
    (tmp_path / "x.fa").write_bytes(b">caf\xe9\nAC\n>\xc3\xa9\nAC\n")
    succeed("align", tmp_path / "x.fa", "-m", "BLOSUM62", "-o", tmp_path / "out.fa.gz", *QUIET)
    assert gzip.decompress((tmp_path / "out.fa.gz").read_bytes()) == b">caf\xe9\nAC\n>\xc3\xa9\nAC\n\n"


def test_confidences_are_posteriors(files):
    args = ["--format", "json", "--pairs", "--method", "viterbi", *QUIET]
    out = succeed("align", files / "test.fa", "-m", files / "m.structune", *args).splitlines()[0]
    shown, model = json.loads(out), structune.load(files / "m.structune")
    assert shown["names"] == ["p0", "p1"]
    pair = residues_of(shown["rows"])
    assert model.predict_viterbi([pair]) == [tuple(shown["rows"])]
    partner = parse_alignment(shown["rows"], pair, "found").partner
    matched = np.flatnonzero(partner >= 0)
    expected = model.posterior(*pair)[matched, partner[matched]]
    found = [confidence for confidence in shown["confidence"] if confidence is not None]
    assert found == pytest.approx(expected, abs=1e-6)
    args[1] = "stockholm"
    *_, line = succeed("align", files / "test.fa", "-m", files / "m.structune", *args).split("//")[0].split()
    digits = ["." if c is None else str(min(9, int(10 * c))) for c in shown["confidence"]]
    assert list(line) == digits
    plain = ["align", files / "test.fa", "-m", "BLOSUM62", "--format", "json", "--pairs", *QUIET]
    assert "confidence" not in json.loads(succeed(*plain).splitlines()[0])


def test_plots(files, tmp_path):
    pytest.importorskip("matplotlib")
    args = ["--pairs", "--plot", tmp_path / "x.png", *QUIET]
    out = succeed("align", files / "test.fa", "-m", files / "m.structune", *args)
    assert out == succeed("align", files / "test.fa", "-m", files / "m.structune", "--pairs", *QUIET)
    assert {path.name for path in tmp_path.iterdir()} == {"x-p0-p1.png", "x-p2-p3.png"}
    (tmp_path / "two.fa").write_bytes(b">caf\xe9\nAC\n>b/c\nAC\n")
    args = ["--format", "json", "--plot", tmp_path / "two.svg", *QUIET]
    shown = json.loads(succeed("align", tmp_path / "two.fa", "-m", files / "m.structune", *args))
    assert len(shown["confidence"]) == len(shown["rows"][0])
    assert (tmp_path / "two.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("model", "name", "text", "message"),
    [
        ("BLOSUM62", "a.png", "AC", "BLOSUM62: this model has no probabilities, which --plot needs"),
        ("m.structune", "a.foo", "AC", "a.foo: the name must end in one of"),
        ("m.structune", "a.png", "", "x.fa, a: the sequence has no residues, so --plot cannot"),
    ],
)
def test_plots_that_cannot_be(files, tmp_path, model, name, text, message):
    pytest.importorskip("matplotlib")
    (tmp_path / "x.fa").write_text(f">a\n{text}\n>b\nAC\n")
    path = files / model if "." in model else model
    assert message in fail("align", tmp_path / "x.fa", "-m", path, "--plot", tmp_path / name, *QUIET)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        (">a\nAC\n", [], "the number of sequences is 1; give at least two"),
        (">a\nAC\n>b\nAC\n>c\nAC\n", ["--pairs"], "pairs need an even number (or --which all)"),
        (">a\nAC\n>b\nAC\n>c\nAC\n", ["--gamma", "1"], "--gamma applies to pairs only, but 3 sequences"),
        (">a AC\n>b AC\n", [], "there are only headers; no sequence has residues"),
        (">a\nAC\n()\n", [], ":3: '()' is not a row of residues"),
        (">a\nAC\n>b\nA1\n", [], "b: '1' at residue 2 (from 1) is not an amino acid"),
    ],
)
def test_what_is_wrong_is_named(files, tmp_path, text, args, message):
    (tmp_path / "x.fa").write_text(text)
    assert message in fail("align", tmp_path / "x.fa", "-m", files / "m.structune", *args, *QUIET)


def test_models_that_are_none(files, tmp_path):
    of_pairs = ["align", files / "test.fa", "--pairs", "-m", "BLOSUM62"]
    assert "--gamma has no effect" in fail(*of_pairs, "--gamma", "1")
    assert "no probabilities, which --method mea needs" in fail(*of_pairs, "--method", "mea")
    evaluate = ["evaluate", "alignment", "BLOSUM62"]
    assert "--gamma has no effect" in fail(*evaluate, files / "test.aln", "--gamma", "1")
    assert "nowhere.structune" in fail("align", files / "test.fa", "-m", "nowhere.structune")
    path, none = tmp_path / "x.fa", "no pair of sequences has a known column"
    for text, told in (
        (">a\nac\n>b\nac\n", none),
        (">a\nAC\n", none),
        (">a AC\n>b AC\n", none),
        (">a\nAC\n>b\nA1\n", "alignment 1, a and b: '1'"),
    ):
        path.write_text(text)
        assert told in fail(*evaluate, path)


def test_long_pairs_are_announced(monkeypatch):
    monkeypatch.setattr(align, "_LONG", 20)
    stdin = ">a\nACDEF\n>b\nACDE\n>c\nACD\n>d\nACDEF\n"
    told = "structune: -, a and b: 5 and 4 residues may need 0.0 GB of memory and 2 minutes"
    assert run("align", "--pairs", stdin=stdin).stderr == f"{told} (less with --band)\n"
    assert run("align", "--pairs", "--band", 2, stdin=stdin).stderr.startswith(f"{told}\n")
    assert told not in run("align", "--pairs", "--band", 1, stdin=stdin).stderr
    assert not run("align", "--pairs", "--quiet", stdin=stdin).stderr
    monkeypatch.setattr(align, "_LONG", 500_000_000)
    monkeypatch.setenv("STRUCTUNE_MEMORY", "1")
    stdin = f">a\n{'W' * 400}\n>b\n{'W' * 400}\n"
    assert "a and b: 400 and 400 residues may need 0.0 GB of memory" in run("align", stdin=stdin).stderr


def test_pairs_for_which_there_is_too_little_memory(files, monkeypatch):
    """Whichever two are the largest: the one that needs most is told of before any is aligned."""
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    long = "A" * 50_000
    text = f">a\nWY\n>b\nWYW\n>c\n{long}\n>d\n{long}\n"
    message = fail("align", "-", "--model", files / "m.structune", "--which", "all", *QUIET, stdin=text)
    assert re.search(
        r"-, c and d: 50,000 and 50,000 residues need [\d.]+ GB of memory, but only 1\.0 GB are available: "
        r"try shorter sequences, or a band \(--band, band=\)\n$",
        message,
    )
    with pytest.raises(DataError, match="pair 1: 50,000 and 50,000 residues need"):
        structune.load(files / "m.structune").predict([("WY", "WYW"), (long, long)])


def test_batches_change_nothing(files, monkeypatch):
    args = ["align", files / "test.fa", "--model", files / "m.structune", "--which", "all", *QUIET]
    whole = succeed(*args)
    assert len(read(whole)) == 6
    monkeypatch.setattr(align, "batch_memory", lambda: 1)
    assert succeed(*args) == whole
