"""Schemes of labels: each is detected and converted, and labels that may be something else are left."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structune
from commands import run, succeed
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
    assert "those of" in (told := run("train", paths["IOB1"], paths["BILOU"], *given).stderr)
    assert f"{paths['BILOU']} are BILOU. Convert them to one" in told
    told = run("train", paths["BIO"], "--test", paths["BILOU"], *given).stderr
    assert f"{paths['BILOU']}: the labels are BILOU, unlike in training. Convert them to BIOES" in told
    told = run("train", paths["BIO"], paths["IOB1"], "--test", paths["IOB1"], *given).stderr
    assert told == f"structune: {paths['IOB1']}: the labels are IOB1 and are converted to BIO\n"
