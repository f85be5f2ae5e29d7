"""Schemes of labels: each is detected and converted, and labels that may be something else are left."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structune
from commands import fail, run, succeed
from structune.tagging.schemes import SCHEMES, converted, detect_scheme, pairs_of


def written(segments, scheme):
    """The labels of segments (type or "", length), one after the other."""
    labels, before = [], ""
    for kind, n in segments:
        middle = {"BMES": "M", "BMEWO": "M"}.get(scheme, "I")
        last = {"BILOU": "L", "IOB1": "I", "BIO": "I"}.get(scheme, "E")
        single = {"BILOU": "U", "BMEWO": "W", "BIO": "B", "IOB1": "I"}.get(scheme, "S")
        prefixes = [single] if n == 1 else ["B", *middle * (n - 2), last]
        if scheme == "IOB1":
            prefixes[0] = "B" if before == kind else "I"
        labels += [f"{prefix}-{kind}" for prefix in prefixes] if kind else ["O"] * n
        before = kind
    return labels


SENTENCES = st.lists(st.lists(st.tuples(st.sampled_from(["X", "Y", ""]), st.integers(1, 4)), min_size=1))
EVERYTHING = [("X", 1), ("X", 3), ("", 2), ("X", 2), ("Y", 1)]  # what tells the schemes apart


@given(SENTENCES, st.sampled_from(["IOB1", "BILOU", "BMES", "BMEWO"]))
def test_segments_of_each_scheme(sentences, scheme):
    sentences = [*sentences, EVERYTHING]
    labels = [written(segments, scheme) for segments in sentences]
    known = "BIO" if scheme == "IOB1" else "BIOES"
    found = detect_scheme(pairs_of(labels))
    assert SCHEMES[found] == known
    expected = [written(segments, known) for segments in sentences]
    assert converted(labels, found) == expected
    assert converted(expected, found) == expected  # a test file may have these already


@given(SENTENCES, st.sampled_from(["BIO", "BIOES"]))
def test_known_schemes_are_left(sentences, scheme):
    assert detect_scheme(pairs_of([written(segments, scheme) for segments in sentences])) is None


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("BMES", "B M E S B E"), ("BMES", "B-x M-x E-x B-x O"), ("BILOU", "B-x L-x U-y-z O"),
        (None, "B M E S B M S"), (None, "B L O U"),  # a segment is broken
        (None, "I-x I-x O I-x"),  # IO, or IOB1
        (None, "I-x B-x O B-y"), (None, "I-x B-y O"),  # B-y begins after another
        (None, "O U-x O"), (None, "B-x L-x E-x"), (None, "B-x M-x E-x W-x S-x"), (None, "B-x M-x E-x NOUN"),
        (None, "B-x M-x E"), (None, "B- M- E-"), (None, "NOUN VERB O"),
    ],
)  # fmt: skip
def test_labels_that_may_be_something_else_are_left(scheme, text):
    assert detect_scheme(pairs_of([text.split()])) == scheme


def column_file(path, scheme, sentences=(EVERYTHING,) * 4):
    lines = (
        "".join(f"w{label} {label}\n" for label in written(segments, scheme)) + "\n" for segments in sentences
    )
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(("scheme", "known"), [("IOB1", "bio"), ("BILOU", "bioes")])
def test_commands_convert_in_training_and_evaluation(tmp_path, scheme, known):
    path, model = column_file(tmp_path / "train.txt", scheme), tmp_path / "m"
    told = f"train.txt: the labels are {scheme} and are converted to {known.upper()}"
    result = run("train", path, "-m", model, "--forbidden", known, "--test", path, "-q")
    assert result.stderr.count(told) == 1
    assert f"Segments ({known})" in result.stdout
    assert "skipped" not in result.stderr
    assert structune.load(model).extra_["scheme"] == scheme
    # Alone, the segments of the test file may be of several schemes.
    test = column_file(tmp_path / "test.txt", scheme, [[("X", 1), ("", 1)], [("", 1), ("X", 2)]])
    scores = json.loads(succeed("evaluate", model, test, "--json"))
    assert scores["scheme"] == known
    assert scores["segments"]["overall"]["support"] == 2
    assert scores["accuracy"] > 0.6
    assert run("shard", path, tmp_path / "shards").stderr.count(told) == 1
    succeed("train", tmp_path / "shards", "-m", tmp_path / "other", "-q")
    assert structune.load(tmp_path / "other").extra_["scheme"] == scheme
    succeed("train", "segments", path, "-m", tmp_path / "s", "-q")
    structune.load(model).save(model, extra={"columns": ["w", "y"], "templates": [], "scheme": "Q"})
    assert "does not contain columns and templates" in run("predict", model, path).stderr


def test_files_of_different_schemes_are_told_or_refused(tmp_path):
    paths = {scheme: column_file(tmp_path / scheme, scheme) for scheme in ("BIO", "IOB1", "BILOU")}
    given = ["-m", tmp_path / "m", "--templates", "w[0]", "--penalty", 1, "-q"]
    assert "the labels are IOB1 in" in (told := run("train", paths["IOB1"], paths["BILOU"], *given).stderr)
    assert f"BILOU in {paths['BILOU']}. Convert all files to one scheme" in told
    told = run("train", paths["BIO"], "--test", paths["BILOU"], *given).stderr
    assert f"{paths['BILOU']}: the labels are BILOU, unlike in training. Convert them to BIO\n" in told
    told = run("train", paths["BIO"], paths["IOB1"], "--test", paths["IOB1"], *given).stderr
    assert told == f"structune: {paths['IOB1']}: the labels are IOB1 and are converted to BIO\n"
    bioes, io = column_file(tmp_path / "BIOES", "BIOES"), tmp_path / "IO"
    io.write_text("a I-X\nb I-X\nc O\n")
    mixed = f"the labels are BIO in {paths['BIO']} and BIOES in {bioes}. Convert all files to one scheme"
    assert mixed in run("train", paths["BIO"], bioes, *given).stderr
    assert "the labels are BIO in" in fail("train", paths["BIO"], paths["BILOU"], *given)
    assert "the labels are IO in" in run("train", io, paths["BIO"], *given).stderr
    succeed("train", paths["BIO"], *given)
    for path, scheme in ((bioes, "BIOES"), (io, "IO")):
        told = f"{path}: the labels are {scheme}, unlike in training. Convert them to BIO\n"
        assert told in run("evaluate", tmp_path / "m", path).stderr
    assert run("evaluate", tmp_path / "m", paths["BIO"]).stderr == ""
    told = f"structune: {bioes}: the labels are BIOES, unlike in training. Convert them to BIO"
    found = run("evaluate", tmp_path / "m", bioes, io, paths["BIO"]).stderr
    assert found == f"{told}, also in 1 other file\n"
    assert run("train", "segments", io, "--test", io, *given).stderr == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a B-x\nb E-x\n\nc B-x\n", "the labels are BIOES, but a segment ends with 'B-x'. Check"),
        ("a B-x\nb L-x\nc B-x\nd O\n", "the labels are BILOU, but a segment ends with 'B-x'. Check"),
        ("a B-x\nb O\nc I-x\n", "the labels are BIO, but a segment begins with 'I-x'. Check"),
        ("a B-x\nb I-x\nc 0\n", "the labels are not read as segments: the label '0'"),
        ("a O\nb O\n", "all labels are 'O': nothing can be learned. Choose the columns with --columns"),
        ("a B\nb E\n\nc E\n", ""),
    ],
)
def test_broken_and_mixed_labels_are_told(tmp_path, text, told):
    (tmp_path / "a.txt").write_text(text)
    for verb, *more in (("train", "--penalty", 1, "-q", "-m", tmp_path / "m"), ("shard", tmp_path / "s")):
        said = run(verb, tmp_path / "a.txt", *more).stderr
        assert told in said
        assert "label" in told or not said


def test_labels_that_are_not_read_as_segments_are_told_by_all_commands(tmp_path):
    path, model = tmp_path / "a.txt", tmp_path / "m"
    path.write_text("a B-x\nb I-x\nc 0\n\n" * 6)
    given = [path, "--penalty", 1, "-q", "--templates", "w[0]"]
    told = "the labels are not read as segments: the label '0' (6 tokens) is not BIO or BIOES"
    for verb, *args in (("train", *given, "-m", model), ("evaluate", model, path), ("review", *given)):
        assert run(verb, *args).stderr == f"structune: {told}\n"
    for label, told in (("E-x", "such as 'E-x' are read"), ("S-x", "")):
        path.write_text(f"a {label}\nb O\n\n" * 3)
        stderr = run("train", "segments", *given, "-m", model).stderr
        assert told in stderr if told else not stderr
