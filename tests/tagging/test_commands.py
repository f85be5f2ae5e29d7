"""The commands from files to files, and what they say to wrong input."""

import json
import re
from io import BytesIO
from unittest import mock

import numpy as np
import pytest

import structune
from commands import fail, run, succeed
from structune.tagging import conll, symbol_templates, task, text_templates
from structune.tagging.conll import read_conll

TOKENS = {"DT": ["the", "a"], "NN": ["dog", "cat", "tree"], "VB": ["sees", "eats"], "RB": ["now"]}
CHUNKS = {"DT": "B-NP", "NN": "I-NP", "VB": "B-VP", "RB": "O"}
SMALL = ["--templates", "w[0] pos[-1..0]", "--quiet", "--jobs", "1"]


def corpus(n, seed):
    """Sentences with words, tags, and chunks that sometimes break the pattern."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        for pos in ["DT", "NN", "VB", "DT", "NN", "RB"][: rng.integers(2, 7)]:
            chunk = "B-NP" if pos == "NN" and rng.random() < 0.1 else CHUNKS[pos]
            lines.append(f"{rng.choice(TOKENS[pos])} {pos} {chunk}\n")
        lines.append("\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.txt").write_text(corpus(40, 0))
    (folder / "test.txt").write_text(corpus(10, 1))
    succeed("train", folder / "train.txt", "--model", folder / "m.structune", "--penalty", 1, *SMALL)
    return folder


@pytest.fixture
def model(files):
    return files / "m.structune"


def test_train_tells_and_saves(files, tmp_path):
    path = tmp_path / "m.structune"
    given = ["-m", path, "--test", files / "test.txt", "--penalty", 2, *SMALL]
    out = succeed("train", files / "train.txt", *given)
    for expected in ("pos[-1]", "transitions", "converged", "40 sentences", "Tokens", "Segments (bio)"):
        assert expected in out
    loaded = structune.load(path)
    assert loaded.penalty_ == pytest.approx(np.full(4, 2.0))
    assert loaded.extra_ == {"columns": ["w", "pos", "y"], "templates": ["w[0]", "pos[-1]", "pos[0]"]}


@pytest.mark.parametrize("method", ["implicit", "direct"])
def test_tune(files, tmp_path, method):
    path = tmp_path / "m.structune"
    args = ["--method", method, "--plot", tmp_path / "t.png"]
    out = succeed("tune", files / "train.txt", "--model", path, *args, *SMALL)
    assert "Penalties of 4 groups" in out
    assert ("held-out loss" in out) == (method == "implicit")
    for name in ("t.png", "t-precisions.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert structune.load(path).predict([[["w[0]=the"], ["w[0]=dog"]]]) == [["B-NP", "I-NP"]]


def test_weights(model):
    out = succeed("weights", model, "--top", 2)
    tagger = structune.load(model)
    transitions, states = out.split("state features")
    rows = [line.split() for line in states.splitlines() if line.strip()][2:]
    falling = sorted(tagger.state_features_.values(), reverse=True)
    assert [row[-1] for row in rows] == [
        *(f"{weight:.4f}" for weight in falling[:2]), "...", *(f"{weight:.4f}" for weight in falling[-2:])
    ]  # fmt: skip
    assert "(none)" in succeed("weights", model, "--top", 100)
    assert f"{len(tagger.transition_features_)} transitions" in transitions


def test_explain(files, model):
    out = succeed("explain", model, files / "test.txt", "--sentences", 2)
    first, second = out.split("\n\n")[:2]
    assert first.startswith(f"{files / 'test.txt'}:1\ntoken ")
    tagger, data = structune.load(model), read_conll(files / "test.txt")
    rows = [line.split() for line in first.splitlines()[2:]]
    assert [row[0] for row in rows] == data.sentences("w")[0]
    read = conll.Reader.of_header(tagger.extra_, "")
    table = read.attributes(data)
    assert [row[1] for row in rows] == tagger.predict(table)[0]
    assert len(second.splitlines()) == 2 + len(data.sentences("w")[1])
    assert "MODEL FILE" in fail("explain", model)


def test_review(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # long paths are broken in tables
    lines = (files / "train.txt").read_text().splitlines(keepends=True)
    n = lines.index("the DT B-NP\n", 60)
    lines[n] = "the DT O\n"
    (tmp_path / "bad.txt").write_text("".join(lines))
    given = ["--penalty", 1, "--folds", 3, "--report", tmp_path / "r.html", *SMALL]
    out = succeed("review", "bad.txt", *given)
    assert re.search(rf" bad.txt:{n + 1} +the +O +B-NP +0.0", out)
    assert "The last doubling of the training data" in out
    page = (tmp_path / "r.html").read_text()
    titles = ["Scores", "Reliability", "Labels to look at", "Learning curve", "How this page was made"]
    assert re.findall("<h2>(.*?)</h2>", page) == titles
    assert "loss='margin' has scores but no probabilities" in fail(
        "review", files / "train.txt", "--loss", "margin", *SMALL
    )


def test_weights_of_crfsuite(tmp_path):
    trainer = pytest.importorskip("pycrfsuite").Trainer(verbose=False)
    trainer.append([["a=1"], ["b=2"]], ["P", "Q"])
    trainer.train(str(tmp_path / "m"))
    assert re.search(r"P +Q +0\.\d{4}", succeed("weights", tmp_path / "m"))
    assert "a=1" in succeed("weights", tmp_path / "m")
    (tmp_path / "text").write_text("a P\n\n")
    assert "does not contain columns and templates" in fail("predict", tmp_path / "m", tmp_path / "text")


def test_several_files_are_learned_from_as_one(files, tmp_path):
    text = (files / "train.txt").read_text()
    middle = text.index("\n\n", len(text) // 2) + 2
    parts = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, part in zip(parts, (text[:middle], text[middle:]), strict=True):
        path.write_text(part)
    assert "40 sentences" in succeed("train", *parts, "-m", tmp_path / "m", "--penalty", 1, *SMALL)
    one, other = structune.load(tmp_path / "m"), structune.load(files / "m.structune")
    assert one.chain_.weight_names() == other.chain_.weight_names()
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-9)
    assert "40 sentences" in succeed("shard", *parts, tmp_path / "shards", *SMALL[:3])
    whole = succeed("predict", files / "m.structune", files / "train.txt", "--nbest", 2)
    assert succeed("predict", files / "m.structune", *parts, "--nbest", 2) == whole
    whole = succeed("evaluate", files / "m.structune", files / "train.txt", "--json")
    assert succeed("evaluate", files / "m.structune", *parts, "--json") == whole


def test_labels_of_several_files_that_break_the_scheme(tmp_path):
    (tmp_path / "a").write_text("a O\nb I-x\n\nc B-x\nd O\n\n")
    (tmp_path / "b").write_text("a O\nd O\n\na O\nb I-x\n\nc B-x\n\n")
    given = ["--forbidden", "bio", "--templates", "w[0]", "-q"]
    message, _ = warned("train", tmp_path / "a", tmp_path / "b", "-m", tmp_path / "m", *given)
    assert "skipped 2 of 5 sequences" in message
    assert f"{tmp_path / 'a'}:2" in message
    assert f"{tmp_path / 'b'}:5" in message


def test_columns_of_several_files_have_to_agree(files, tmp_path):
    (tmp_path / "wide").write_text("a b c d\n\n")
    given = [files / "train.txt", tmp_path / "wide", "-m", tmp_path / "m", "--penalty", 1, *SMALL]
    told = f"{tmp_path / 'wide'} has the columns w, pos, c2, y, but {files / 'train.txt'} has w, pos, y"
    assert told in fail("train", *given)
    succeed("train", *given, "--columns", "w,pos,y")


def test_segments(files, tmp_path):
    path = tmp_path / "m.structune"
    given = ["--columns", "token,pos,label", "--templates", "token[0] pos[-1..0]", "-q", "--jobs", 1]
    out = succeed("tune", "segments", files / "train.txt", "-m", path, "--test", files / "test.txt", *given)
    assert "40 sentences" in out
    assert "Segments (bio)" in out
    model = structune.load(path)
    assert isinstance(model, structune.SegmentTagger)
    assert model.chain_.reader.words == "token[0]"  # so segments have features of their words
    labelled = succeed("predict", path, files / "test.txt", "--marginals")
    scores = json.loads(succeed("evaluate", "segments", path, files / "test.txt", "--json"))
    columns = read_conll(BytesIO(labelled.encode()), None).columns
    right = [a == b for a, b in zip(columns["c2"], columns["c3"], strict=True)]
    assert scores["accuracy"] == pytest.approx(np.mean(right))
    assert scores["segments"]["overall"]["f1"] > 0.8
    assert "rank 2" in succeed("predict", path, files / "test.txt", "--nbest", 2)
    for verb in ("evaluate", "explain"):
        assert "is needed. structune evaluate segments reads this model" in fail(verb, path, path)


def test_segments_of_bioes_labels(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("in O\nNew B-x\nYork E-x\n\nby O\nRome S-x\n\n" * 3)
    succeed("train", "segments", path, "-m", tmp_path / "m", "--penalty", 0.1, "-q")
    found = succeed("predict", tmp_path / "m", "-", stdin="by\nNew\nYork\n").split()
    assert found[1::2] == ["O", "B-x", "E-x"]
    rows = [
        line.split() for line in succeed("predict", tmp_path / "m", path, "--marginals").splitlines() if line
    ]
    assert min(float(row[3]) for row in rows) > 0.7
    assert [row[2] for row in rows[:5]] == ["O", "B-x", "E-x", "O", "S-x"]
    assert "segment.text=Rome" in succeed("weights", tmp_path / "m")
    path.write_text("in O\nx Q\n")
    assert f"{path}:2: the label 'Q'" in fail("train", "segments", path, "-m", tmp_path / "m", "-q")


@pytest.fixture(scope="module")
def shards(files):
    with mock.patch.object(task, "_LINES", 20):  # several blocks
        out = succeed("shard", files / "train.txt", files / "shards", *SMALL[:3])
    assert re.search(r"40 sentences, \d+ tokens, 4 labels", out)
    return files / "shards"


@pytest.mark.parametrize("command", [["train", "--penalty", 1], ["tune"]])
def test_a_folder_of_shards(files, shards, tmp_path, command):
    path = tmp_path / "m.structune"
    out = succeed(*command, shards, "-m", path, "--test", files / "test.txt", "--quiet")
    assert "40 sentences" in out
    assert "F1" in out
    if "train" in command:
        one, other = structune.load(path), structune.load(files / "m.structune")
        named = [dict(zip(m.chain_.weight_names(), m.coef_, strict=True)) for m in (one, other)]
        assert named[0] == pytest.approx(named[1], abs=1e-3)
        assert one.extra_ == other.extra_
        assert "Is a directory" in fail("train", tmp_path, "-m", tmp_path / "new")


@pytest.mark.parametrize(
    ("text", "columns", "templates"),
    [
        ("A x\nC y\n\nC y\n", ["w", "y"], symbol_templates()),
        ("ab c x\n", ["w", "pos", "y"], text_templates("w", ["pos"])),
        ("a b c d\n", ["w", "pos", "c2", "y"], symbol_templates("w", ["pos", "c2"])),
    ],
)
def test_default_columns_and_templates(tmp_path, text, columns, templates):
    (tmp_path / "train.txt").write_text(text)
    succeed("train", tmp_path / "train.txt", "-m", tmp_path / "m.structune", "--penalty", 1, "-q")
    expected = {"columns": columns, "templates": [*map(str, templates)]}
    assert structune.load(tmp_path / "m.structune").extra_ == expected


def test_predict_adds_a_column(files, model, tmp_path):
    succeed("predict", model, files / "test.txt", "--output", tmp_path / "out.txt")
    labelled = read_conll(files / "test.txt", None)
    written = read_conll(tmp_path / "out.txt", None)
    assert [*written.columns.values()][:3] == [*labelled.columns.values()]
    assert np.mean([a == b for a, b in zip(written.columns["c2"], written.columns["c3"], strict=True)]) > 0.9
    text = "".join(f"{line.rpartition(' ')[0]}\n" for line in (files / "test.txt").read_text().splitlines())
    unlabelled = read_conll(BytesIO(succeed("predict", model, "-", stdin=text).encode()), None)
    assert unlabelled.columns["c2"] == written.columns["c3"]


def test_predict_nbest(model):
    sentence = "the DT\ndog NN\n\nnow RB\n"
    out = succeed("predict", model, "-", "--nbest", 3, "--marginals", stdin=sentence)
    heads = [line.split() for line in out.splitlines() if line.startswith("# ")]
    assert [(head[2], head[4]) for head in heads] == [(s, r) for s in "12" for r in "123"]
    probabilities = [float(head[6]) for head in heads]
    assert probabilities[:3] == sorted(probabilities[:3], reverse=True)
    data = read_conll(BytesIO(out.encode()), None, comment="# sentence")
    assert len(data) == 6
    best = succeed("predict", model, "-", stdin=sentence)
    assert data.columns["c2"][:2] == read_conll(BytesIO(best.encode()), None).columns["c2"][:2]


@pytest.mark.parametrize("how", [("--marginals",), ("--nbest", 2)])
def test_predict_block_by_block(files, model, monkeypatch, how):
    whole = succeed("predict", model, files / "test.txt", *how)
    monkeypatch.setattr(conll, "batch_memory", lambda: 1)
    assert succeed("predict", model, files / "test.txt", *how) == whole


def test_predict_writes_what_comes_before_an_error(files, model, monkeypatch, tmp_path):
    monkeypatch.setattr(conll, "batch_memory", lambda: 1)
    text = (files / "test.txt").read_text()
    result = run("predict", model, "-", stdin=f"{text}\nonly-one-column\n")
    assert result.exit_code == 2
    assert result.stdout == succeed("predict", model, files / "test.txt")
    assert "the line has 1 column" in result.stderr
    assert "has 1 column, but" in fail("predict", model, "-", "-o", tmp_path / "out.txt", stdin="one\n")
    assert not (tmp_path / "out.txt").exists()


def warned(*args):
    """What a command warns of, and what it prints."""
    result = run(*args)
    assert result.exit_code == 0, result
    return result.stderr, result.stdout


def test_evaluate(files, model, tmp_path):
    out = succeed("evaluate", model, files / "test.txt")
    assert "Tokens" in out
    assert "Segments (bio)" in out
    scores = json.loads(succeed("evaluate", model, files / "test.txt", "--json"))
    assert scores["accuracy"] > 0.9
    assert scores["scheme"] == "bio"
    assert set(scores["segments"]["by_name"]) == {"NP", "VP"}
    assert f"{scores['segments']['overall']['f1']:.4f}" in out
    assert set(scores["tokens"]["by_name"]["O"]) == {"precision", "recall", "f1", "support"}

    path = tmp_path / "m.structune"
    given = ["--columns", "w,y", "--templates", "w[0]", "--penalty", 1, "-q"]
    succeed("train", files / "train.txt", "-m", path, *given)
    assert "Segments" not in succeed("evaluate", path, files / "test.txt")
    scores = json.loads(succeed("evaluate", path, files / "test.txt", "--json"))
    assert scores["segments"] is None
    assert scores["scheme"] is None


def test_evaluate_tells_of_labels_of_another_kind(model, tmp_path):
    path = tmp_path / "test.txt"
    for text, found in (("the DT PER\ndog NN O\n", "file except O"), ("the DT PER\ndog NN LOC\n", "file")):
        path.write_text(text)
        told, _ = warned("evaluate", model, path)
        assert f"none of the labels of the {found}. It has B-NP, B-VP, I-NP, O; the file has " in told
    path.write_text("the DT PER\ndog NN B-NP\n")
    assert "none of the labels" not in warned("evaluate", model, path)[0]


def test_files_with_numbers_are_told_by_all_commands(model, tmp_path):
    path, other = tmp_path / "numbered.txt", tmp_path / "m.structune"
    path.write_text("1-2 du O\n1 de A\n2 le B\n\n1 a O\n")
    told = "the first column, read as 'w', contains token numbers."
    said, _ = warned("train", path, "-m", other, "-q")
    assert told in said
    assert "skipped 1 multiword token" in said
    for command in ("predict", "evaluate"):
        said, _ = warned(command, other, path)
        assert f"{told} The model expects the columns w, pos, y" in said
        assert "skipped 1 multiword token" in said
    path.write_text("1 the\n2 dog\n3 now\n")
    assert told in warned("predict", other, path)[0]
    path.write_text("1-2 du O\n1 de A\n2 le B\n")
    succeed("train", path, "-m", other, "--columns", "id,w,y", "--templates", "w[0]", "-q")
    assert succeed("predict", other, path).split() == ["1", "de", "A", "A", "2", "le", "B", "B"]


def test_what_is_left_out_or_empty_is_told(tmp_path):
    path, model = tmp_path / "text", tmp_path / "m.structune"
    path.write_text("% c\na\t\tX\n% d\nNew York\tq\tY\n")
    given = [model, path]
    for command in (["train", path, "-m", model, "-q"], ["shard", path, tmp_path / "s", "-q"]):
        assert "text: empty values are used as features: 1 in the" in warned(*command, "--comment", "%")[0]
    for command in ("predict", "evaluate"):
        told = warned(command, *given)[0]
        assert "text: skipped 2 comments" in told
        assert "text: empty values are used as features: 1 in the column pos" in told
        assert "ignored" not in told
        assert "skipped" not in warned(command, *given, "--comment", "%")[0]
    path.write_text("a\tq\tX\tz\nNew York\tq\tY\tz\n")
    for command in ("predict", "evaluate"):
        assert "text has 4 columns. The first 3 are read as w, pos, y" in warned(command, *given)[0]


def test_too_few_columns(model, tmp_path):
    path, new = tmp_path / "bad.txt", ["-m", tmp_path / "m", "-q"]
    path.write_text("the DT B-NP\ndog NN\n")
    for args in (["train", path, *new], ["evaluate", model, path], ["predict", model, path]):
        assert "bad.txt:2: the line has 2 columns" in fail(*args)
    path.write_text("the\n")
    assert "bad.txt has 1 column, but the model needs at least 2 (w, pos)" in fail("predict", model, path)
    assert "there is 1 column, but at least 2 are needed" in fail("train", path, *new)
    assert "no tokens" in fail("predict", model, "-", stdin="\n")
    path.write_text("New York\tO\t\nb\tB\t\n")
    assert "bad.txt:1: the label is empty" in fail("train", path, *new)


_REST = "\t_\t{}" + 6 * "\t_" + "\n"
CONLLU = "# sent_id = s1\n1-2\tdu{}1\tde{}2\tle{}\n".format(*map(_REST.format, ("_", "ADP", "DET")))
COLUMN_FILES = {
    "conllu": CONLLU,
    "metadata": "# sent_id = s1\nde ADP\nle DET\n",
    "tabs": "de la\tADP\nle\tDET\n",
}


@pytest.mark.parametrize(
    ("command", "name"), [("train", "conllu"), ("shard", "conllu"), ("tune", "metadata"), ("train", "tabs")]
)
def test_every_command_reads_what_the_look_tells(tmp_path, command, name):
    path, text = tmp_path / "columns.txt", COLUMN_FILES[name]
    path.write_text(text)
    model, trained = tmp_path / "model", path
    if command == "shard":
        succeed("shard", path, trained := tmp_path / "shards")
    if command == "tune":
        path.write_text(text := (text.rstrip("\n") + "\n\n") * 6)
    succeed("tune" if command == "tune" else "train", trained, "--model", model, "-q")
    tagger = structune.load(model)
    assert tagger.classes_ == ["ADP", "DET"]
    words = {name.partition("=")[2] for name in tagger.chain_.attributes if re.match(r"(w|form)\[0\]=", name)}
    assert words == ({"de la", "le"} if "de la" in text else {"de", "le"})
    found = succeed("predict", model, path)
    if name == "conllu":
        assert found == text
    else:
        assert [line.split()[-1] for line in found.splitlines() if line][:2] == ["ADP", "DET"]
    succeed("evaluate", model, path)


def test_conllu_is_written_back(files, tmp_path):
    """Labels and probabilities are in their columns, and all other lines stay where they were."""
    end = f"3.1\tx{_REST.format('_')}3.2\ty{_REST.format('_')}# the end\n"
    last = f"1\tle{_REST.format('DET')}"
    text = f"{CONLLU[:-1]}{end}\n# newpar\n# sent_id = s2\n{last}\n{last}\n"
    path, model = tmp_path / "a.conllu", tmp_path / "m"
    path.write_text(text)
    succeed("train", path, "-m", model, "-q", "--templates", "form[0]")
    unknown = text.replace("ADP", "X").replace("DET", "_")
    path.write_text(unknown.replace(f"{last}\n{last}\n".replace("DET", "_"), f"{last}{last}"))
    assert succeed("predict", model, path) == text
    with mock.patch.object(conll, "batch_memory", return_value=1):
        assert succeed("predict", model, path) == text
    found = succeed("predict", model, path, "--marginals")
    assert re.sub(r"Probability=0\.\d{4}$", "_", found, flags=re.MULTILINE) == text
    assert found.count("Probability=") == 4
    assert succeed("predict", model, path, "--nbest", 1).count("\tDET\n") == 3
    row = "1\tle\t_\tDET\t_\t_\t0\troot\t_\t"
    for before, after in (("", ""), ("A=b c|Probability=0.1|D=e", "A=b c|D=e|")):
        path.write_text(f"{row}{before}\r\n")
        assert succeed("predict", model, path, "--marginals").startswith(f"{row}{after}Probability=0.")
    said = fail("evaluate", files / "m.structune", path)
    assert "is CoNLL-U, but the model needs the columns w, pos, y" in said
    assert "--columns" not in said  # which evaluate has not


def test_what_separates_columns_is_the_same_in_training_and_prediction(tmp_path):
    path, model = tmp_path / "train.txt", tmp_path / "model"
    path.write_text("New York\tB-LOC\nis\tO\n")
    succeed("train", path, "--columns", "w,y", "--model", model, "-q")
    assert succeed("predict", model, "-", stdin="New York\nis\n") == "New York\tB-LOC\nis\tO\n\n"
    two = "New York\nLos Angeles\n"
    assert "the file has no tabs, but the training data have" in fail("predict", model, "-", stdin=two)
    succeed("predict", model, "-", "--separator", "tab", stdin=two)
    found = succeed("predict", model, "-", "--separator", "whitespace", stdin=two)
    assert found.startswith("New York ")
    path.write_text("Rome\tB-New York\nis\tO\n")
    succeed("train", path, "--columns", "w,y", "--model", model, "-q")
    assert succeed("predict", model, "-", stdin="Rome\tX\n") == "Rome\tX\tB-New York\n\n"


def test_comments_and_separators_that_are_given(tmp_path):
    path, model = tmp_path / "train.txt", tmp_path / "model"
    path.write_text("% a comment\nde|ADP\nle|DET\n")
    for words in (["train", path, "-m", model, "-q"], ["predict", model, path], ["evaluate", model, path]):
        succeed(*words, "--separator", "|", "--comment", "%")
    assert succeed("predict", model, path) == "de|ADP|ADP\nle|DET|DET\n\n"  # as in training


def test_labels_that_break_the_scheme_are_told_by_file_and_line(tmp_path):
    path, model = tmp_path / "noisy.txt", tmp_path / "model"
    path.write_text("a O\n\nc B-x\nb I-x\n\n# k = v\nb O\nb I-x\n")
    ruled = ["--forbidden", "bio", "-q"]
    told = run("train", path, "--model", model, *ruled, "--outside", "error").stderr
    assert "noisy.txt:8: the label 'I-x' after 'O'" in told
    warned("train", path, "--model", model, *ruled)
    assert structune.load(model).chain_.forbidden == "bio"
    for outside, n in (("skip", 2), ("trim", 3)):
        warned("shard", path, tmp_path / outside, *ruled, "--outside", outside)
        assert len(structune.open_shards(tmp_path / outside)) == n
    assert "noisy.txt:8" in run("shard", path, tmp_path / "e", *ruled, "--outside", "error").stderr


def test_models_without_columns_and_templates(files, model, tmp_path):
    path = tmp_path / "bad.structune"
    structune.SequenceTagger(tuning=None).fit([[["a"], ["b"]]], [["x", "y"]]).save(path)
    assert "does not contain columns and templates" in fail("evaluate", path, files / "test.txt")
    structune.load(model).save(path, extra={"columns": ["w", "y"], "templates": "w[zero]"})
    assert "does not contain columns and templates" in fail("evaluate", path, files / "test.txt")


def test_templates_in_a_file(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tpl").write_text("U0:%x[-1,0]/%x[0,1]\nU1:%x[0,0]\n\nB\n")
    given = [files / "train.txt", "-m", "m", "--penalty", 1, "-q", "--templates"]
    assert run("train", *given, "a.tpl").stderr == ""
    assert structune.load("m").extra_["templates"] == ["w[-1].pad|pos[0]", "w[0]"]
    scores = json.loads(succeed("evaluate", "m", files / "test.txt", "--json"))
    assert scores["accuracy"] > 0.8
    assert "'b.tpl' is not a template. Allowed: forms such as" in fail("train", *given, "b.tpl")
    (tmp_path / "w[0]").write_text("w[1]")
    assert "'w[0]' is a template and a file" in fail("train", *given, "w[0]")


def test_encodings(tmp_path):
    path, model = tmp_path / "a.txt", tmp_path / "m"
    path.write_bytes("é X\nb Y\n".encode("utf-16"))
    assert "looks like UTF-16 text (use --encoding utf-16)" in fail("train", path, "-m", model)
    for args in (["train", path, "-m", model, "-q"], ["evaluate", model, path], ["predict", model, path]):
        out = succeed(*args, "--encoding", "utf-16")
    assert out == "é X X\nb Y Y\n\n"
    succeed("shard", path, tmp_path / "shards", "--encoding", "UTF_16")
    assert "encoding='utf-61' is unknown" in fail("predict", model, path, "--encoding", "utf-61")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--templates", "w[0] nonsense"], "'nonsense'"),
        (["--templates", "lemma[0]"], "reads the column 'lemma', but the columns are w, pos"),
        (["--columns", "a b,pos,y"], "the column name 'a b' must be without white space"),
        (["--columns", ",pos,y"], "the column name '' must be"),
        (["--columns", "w,pos", "--forbidden", "bio"], "does not fit the scheme 'bio'"),
    ],
)
def test_wrong_options(files, tmp_path, args, message):
    assert message in fail("train", files / "train.txt", "-m", tmp_path / "m", *args)
