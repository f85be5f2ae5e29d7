"""The RNA commands from files to files, and what they say to wrong input."""

import gzip
import io
import json
import queue
import re
import threading
from io import BytesIO
from itertools import count

import numpy as np
import pytest

import structune
from commands import fail, run, succeed
from endless import Pipe
from rnas import hairpins
from structune import RNAFolder
from structune.cli.terminal import Progress
from structune.rna import examples, fold_commands
from structune.rna.examples import Example
from structune.rna.fold_commands import Recipe
from structune.rna.formats.any import read_rna
from structune.rna.formats.sequences import RNARecord, write_dot_bracket
from structune.rna.metrics import ROC_GAMMAS, base_pair_scores, roc_area, sensitivity_ppv_curve
from structune.running import memory

QUIET = ["--quiet", "--jobs", "1"]
KNOT = RNARecord("knot", "GGGAAAGGGCCCCCC", "(((...[[[)))]]]")


def records(text):
    return list(read_rna(BytesIO(text.encode()), "dot_bracket"))


def headers(text):
    return [line[1:].split() for line in text.splitlines() if line.startswith(">")]


def hairpin_records(n, seed):
    return [RNARecord(f"h{k}", *both) for k, both in enumerate(zip(*hairpins(n, seed), strict=True))]


TRAIN, TEST = hairpin_records(14, 0), [*hairpin_records(6, 1), KNOT]
SEQUENCES = [record.sequence for record in TEST]
FASTA = "".join(f">{record.name} some words\n{record.sequence}\n" for record in TEST)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rna")
    write_dot_bracket(folder / "train.dbn", TRAIN)
    write_dot_bracket(folder / "test.dbn", TEST)
    (folder / "test.fa").write_text(FASTA)
    fit = RNAFolder(penalty=0.1, n_jobs=1).fit(
        [record.sequence for record in TRAIN], [record.structure for record in TRAIN]
    )
    fit.save(folder / "m.structune")
    fit.to_contrafold(folder / "m.params")
    return folder


@pytest.fixture(scope="module")
def folder(files):
    return structune.load(files / "m.structune").set_params(n_jobs=1)


@pytest.fixture
def fold(files):
    """Runs `structune fold` with the model, quietly; the exit code has to be 0."""
    return lambda *args, **given: succeed("fold", *args, "--model", files / "m.structune", *QUIET, **given)


@pytest.fixture
def refused(files):
    return lambda *args, **given: fail("fold", *args, "--model", files / "m.structune", *QUIET, **given)


def test_fold(files, folder, fold):
    out = fold(files / "test.fa")
    assert out.startswith(f">h0 some words\n{SEQUENCES[0]}\n")
    assert [record.name for record in records(out)] == [record.name for record in TEST]
    assert [record.structure for record in records(out)] == folder.predict(SEQUENCES)


@pytest.fixture(scope="module")
def margin_model(files):
    sequences, structures = zip(*((record.sequence, record.structure) for record in TRAIN), strict=True)
    model = RNAFolder(loss="margin", penalty=0.1, n_jobs=1).fit(sequences, structures)
    model.save(files / "margin.structune")
    return files / "margin.structune"


def test_a_model_without_probabilities(files, margin_model, tmp_path):
    folder = structune.load(margin_model).set_params(n_jobs=1)
    args = ["fold", files / "test.fa", "--model", margin_model, *QUIET]
    best = folder.predict_viterbi(SEQUENCES)
    assert [record.structure for record in records(succeed(*args))] == best
    assert succeed(*args, "--method", "viterbi") == succeed(*args)
    rows = [json.loads(line) for line in succeed(*args, "--format", "json").splitlines()]
    assert [row["structure"] for row in rows] == best
    assert {row["pairs"] for row in rows} == {row["log_partition"] for row in rows} == {None}
    succeed("fold", "-", *args[2:], "--plot", tmp_path / "plot.png", stdin=f">a\n{SEQUENCES[0]}\n")
    assert (tmp_path / "plot.png").stat().st_size


def test_what_needs_probabilities(files, margin_model):
    for option in ("--samples 2", "--method mea", "--gamma 2", "--format pairs", "--dot-plot x.png"):
        message = fail("fold", files / "test.fa", "--model", margin_model, *option.split(), *QUIET)
        named = option if option.startswith(("--method", "--format")) else option.split()[0]
        needs = f"{margin_model}: {named} needs a model with probabilities; this one was fitted with loss="
        assert message == f"structune: {needs}'margin'.\n"
    for command, text in (("consensus", ""), ("score", ">a\nGGGAAACCC\n(((...)))\n")):
        told = fail(command, "--model", margin_model, stdin=text)
        assert f"{command} needs a model with probabilities; this one" in told


def test_standard_input(files, fold):
    expected = fold(files / "test.fa")
    assert fold("-", stdin=FASTA) == fold(stdin=FASTA) == expected
    assert succeed("predict", files / "m.structune", *QUIET, stdin=FASTA) == expected
    assert fold(stdin=gzip.compress(FASTA.encode())) == expected
    in_dot_bracket = fold(files / "test.dbn")  # its structures are not looked at
    assert in_dot_bracket == expected.replace(" some words", "")
    assert fold(stdin=FASTA.lower().replace("u", "t")).count(">") == len(TEST)


def test_methods(files, folder, fold):
    for args, expected in (
        ("--method mea --gamma 0.5", folder.predict(SEQUENCES, 0.5)),
        ("--method viterbi", folder.predict_viterbi(SEQUENCES)),
        ("--method centroid", folder.predict_centroid(SEQUENCES)),
        ("--method centroid --threshold 0.1", folder.predict_centroid(SEQUENCES, 0.1)),
        ("--no-lonely-pairs --gamma 0.6", folder.predict(SEQUENCES, 0.6, lonely_pairs=False)),
        ("--pseudoknots --gamma 0.6", folder.predict_knotted(SEQUENCES, 0.6)),
    ):
        assert [record.structure for record in records(fold(files / "test.fa", *args.split()))] == expected
    assert succeed("fold", files / "test.fa", "--contrafold", files / "m.params") == fold(files / "test.fa")


def test_circles(files, fold):
    model, sequence = structune.load(files / "m.structune").set_params(circular=True), "CCCAAAGGGAAAGGGAAACCC"
    assert fold("--circular", stdin=f"{sequence}\n").splitlines()[2] == model.predict([sequence])[0]


def test_structures_within_a_range(folder, fold):
    expected = [s for s, _ in folder.predict_nbest(["GGGAAACCC"], 10**6, within=2.5)[0]]
    assert [r.structure for r in records(fold("--within", 2.5, stdin="GGGAAACCC\n"))] == expected
    out = fold("--within", 2.5, "--nbest", 2, stdin="GGGAAACCC\n")
    assert [record.structure for record in records(out)] == expected[:2]


def test_pretrained_is_the_default(files, folder, fold, monkeypatch):
    monkeypatch.setattr(RNAFolder, "pretrained", classmethod(lambda _: folder))
    expected = fold(files / "test.fa")
    assert succeed("fold", files / "test.fa") == expected
    assert succeed("fold", files / "test.fa", "--model", "pretrained") == expected


def test_a_file_may_have_the_name_of_the_model_that_comes_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        succeed("fold", "-", "-o", "pretrained", *QUIET, stdin=">a\nGGGAAACCC\n")


def test_nbest(files, folder, fold):
    out, expected = fold(files / "test.fa", "--nbest", 3), folder.predict_nbest(SEQUENCES, 3)
    assert [record.structure for record in records(out)] == [s for row in expected for s, _ in row]
    assert headers(out)[1][:4] == ["h0", "rank", "2", "probability"]
    assert float(headers(out)[1][4]) == pytest.approx(expected[0][1][1], rel=1e-5)


def test_samples_are_those_of_the_folder(files, folder, fold, monkeypatch):
    """Whatever threads, batches, and other sequences there are."""
    out = fold(files / "test.fa", "--samples", 2)
    found = [header[:3] for header in headers(out)[:3]]
    assert found == [["h0", "sample", "1"], ["h0", "sample", "2"], ["h1", "sample", "1"]]
    assert out == fold(files / "test.fa", "--samples", 2, "--seed", 0)
    assert out != fold(files / "test.fa", "--samples", 2, "--seed", 1)
    monkeypatch.setattr(examples, "_MOST_EXAMPLES", 1)
    assert out == fold(files / "test.fa", "--samples", 2, "--jobs", 3)
    assert [record.structure for record in records(out)] == [
        structure for structures in folder.sample(SEQUENCES, 2, 0) for structure in structures
    ]
    assert fold("--samples", 2, stdin=f">{TEST[3].name}\n{SEQUENCES[3]}\n") in out.replace(" some words", "")


def test_constraints(fold, folder):
    text = ">a\nGGGGAAA\nACCCC\nx......\n....x\n\n>b\nGGGAAACCC\n# no record\n"
    text += ">c\nGGGAAACCC\n(.......) (-1.20)\n"
    found = [record.structure for record in records(fold("--constraints", stdin=text))]
    constraints = ["x..........x", None, "(.......)"]
    assert found == folder.predict(["GGGGAAAACCCC", "GGGAAACCC", "GGGAAACCC"], constraints=constraints)
    assert found[0][0] == "."
    assert found[2][0] == "("


def test_constraints_reach_everything(fold, folder):
    text, all_unpaired = ">a\nGGGGAAAACCCC\nxxxxxxxxxxxx\n", "." * 12
    for args in (["--nbest", 2], ["--samples", 2], ["--method", "viterbi"], ["--method", "centroid"]):
        found = records(fold("--constraints", *args, stdin=text))
        assert {record.structure for record in found} == {all_unpaired}
    shown = json.loads(fold("--constraints", "--format", "json", stdin=text))
    assert shown["pairs"] == []
    assert shown["log_partition"] == pytest.approx(folder.log_partition(["GGGGAAAACCCC"], ["x" * 12])[0])


def test_ct(files, folder, fold):
    found = list(read_rna(BytesIO(fold(files / "test.fa", "--format", "ct").encode()), "ct"))
    assert [record.name for record in found] == [record.name for record in TEST]
    assert [record.structure for record in found] == folder.predict(SEQUENCES)
    best = list(
        read_rna(BytesIO(fold("--format", "ct", "--nbest", 1, stdin=">a\nGGGAAACCC\n").encode()), "ct")
    )
    assert best[0].name.startswith("a_rank_1_probability_0.")


def test_json(files, folder, fold):
    lines = [json.loads(line) for line in fold(files / "test.fa", "--format", "json").splitlines()]
    assert [line["name"] for line in lines] == [record.name for record in TEST]
    assert [line["sequence"] for line in lines] == SEQUENCES
    assert [line["structure"] for line in lines] == folder.predict(SEQUENCES)
    made = [("structune", structune.__version__), ("model", "m.structune")]
    assert all(list(line.items())[-2:] == made for line in lines)
    assert [line["log_partition"] for line in lines] == pytest.approx(folder.log_partition(SEQUENCES))
    (said,) = folder.judge(SEQUENCES[:1], [lines[0]["structure"]])
    told = lines[0]["expected_ppv"], lines[0]["expected_sensitivity"]
    assert told == pytest.approx((said.expected_ppv, said.expected_sensitivity))


def test_output(files, fold, tmp_path):
    expected = fold(files / "test.fa")
    assert fold(files / "test.fa", "--output", tmp_path / "a.dbn") == ""
    assert (tmp_path / "a.dbn").read_text() == expected
    fold(files / "test.fa", "-o", tmp_path / "a.dbn.gz")
    assert gzip.decompress((tmp_path / "a.dbn.gz").read_bytes()).decode() == expected


def test_a_folder_takes_a_file_of_each(folder, fold, tmp_path):
    text = ">a/1-9\nGGGAAACCC\n>b\nGGGAAACCC\n>B\nGGGAAACCC\n"
    for format in ("bpseq", "pairs"):
        target, ending = tmp_path / format, "tsv" if format == "pairs" else format
        target.mkdir()
        fold("-o", target, "--format", format, stdin=text)
        names = sorted(path.name for path in target.iterdir())
        assert names == [f"B-2.{ending}", f"a_1-9.{ending}", f"b.{ending}"]
    head, *rows = (tmp_path / "pairs" / "B-2.tsv").read_text().splitlines()
    assert head == "name\ti\tj\tprobability"
    pairs = folder.pair_probabilities("GGGAAACCC")
    told = {(int(i) - 1, int(j) - 1): float(p) for name, i, j, p in map(str.split, rows) if name == "B"}
    assert len(told) == len(rows) > 0
    assert all(p == pytest.approx(pairs[place], rel=1e-5) for place, p in told.items())
    (found,) = read_rna(tmp_path / "bpseq" / "b.bpseq")
    assert found.structure == folder.predict(["GGGAAACCC"])[0]


def test_drawings_of_several_structures(fold, tmp_path, monkeypatch):
    monkeypatch.setattr("structune.plots.figure.DPI", 20)
    text = ">a\nGGGAAACCC\n"
    fold("--nbest", 2, "--plot", tmp_path / "a.png", "--dot-plot", tmp_path / "b.png", stdin=text)
    fold("--samples", 2, "--plot", tmp_path / "c.png", stdin=text + ">b\nGGGAAACCC\n")
    fold("--samples", 1, "--plot", tmp_path / "d.png", stdin=text)
    names = ["a-1", "a-2", "b", "c-a-1", "c-a-2", "c-b-1", "c-b-2", "d"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == names


def test_a_program_may_wait_for_each_result(files, monkeypatch):
    """It writes one sequence, and the next only once it has read the structure."""
    lines = ["GGGAAAACCC", "GGGAAACCC", ">b", "GGCGAAAGCC", "(((....)))"]
    asked, told = queue.Queue(), queue.Queue()
    read = structune.rna.read_rna(io.BufferedReader(Pipe(iter(asked.get, None))), live=True)
    monkeypatch.setattr(fold_commands, "read_sequences", lambda *_: (Example(r, "<pipe>") for r in read))
    monkeypatch.setattr(Progress, "advance", lambda self, count: count and told.put(count))
    out = []
    folded = threading.Thread(target=lambda: out.append(run("fold", "-m", files / "m.structune", *QUIET)))
    folded.start()
    for line in lines:
        asked.put(f"{line}\n")
        if not line.startswith(">") and line != "GGCGAAAGCC":
            assert told.get(timeout=30) == 1
    asked.put("")
    folded.join()
    assert [record.name for record in records(out[0].stdout)] == ["1", "2", "b"]


def test_what_was_folded_before_a_wrong_record_is_written(fold, files, tmp_path):
    text = f"{FASTA}>bad\nGGG\nGG!AA\n>next\nGGGAAACCC\n"
    args = ["fold", "-m", files / "m.structune", *QUIET]
    result = run(*args, stdin=text)
    assert (result.exit_code, result.stdout) == (2, fold(stdin=FASTA))
    assert re.match(r"structune: \S+:17: position 3 .*'!' is not", result.stderr)
    (tmp_path / "a.fa").write_text(text)
    assert "a.fa:17: " in fail(*args, tmp_path / "a.fa", "-o", tmp_path / "a.dbn")
    assert (tmp_path / "a.dbn").read_text() == result.stdout


def test_what_was_folded_before_impossible_constraints_is_written(files, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nGGGAAACCC\n>b\nAAAA\n|..|\n>c\nGGGAAACCC\n")
    args = ["fold", tmp_path / "a.fa", "--constraints", "-m", files / "m.structune"]
    for jobs in ("1", "3"):
        result = run(*args, "--jobs", jobs)
        assert result.exit_code == 2
        assert "a.fa:5: record 'b': no structure satisfies the constraints" in result.stderr
        assert [record.name for record in records(result.stdout)] == ["a"]


def test_interrupted_folding(files, fold, monkeypatch):
    calls = count()

    def interrupt(self, count):
        if next(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(examples, "_MOST_EXAMPLES", 3)
    expected = fold(stdin=FASTA)
    monkeypatch.setattr(Progress, "advance", interrupt)
    result = run("fold", files / "test.fa", "-m", files / "m.structune", "--jobs", "2")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert 2 <= len(records(result.stdout)) < len(records(expected))
    assert expected.startswith(result.stdout)


def test_options_of_fold_that_are_refused(refused, files, tmp_path):
    for args, message in (
        ("--format pairs --nbest 2", "--format pairs cannot be combined with --samples, --nbest or --within"),
        ("--format bpseq --samples 2", "--format bpseq cannot be combined with"),
        ("--format bpseq", "test.fa: a BPSEQ file holds one structure, but there are several sequences"),
        ("--min-probability 0.5", "--min-probability needs --format json or --format pairs."),
        ("--initiation nan", "--initiation nan: expected a finite number"),
        (f"--plot {tmp_path}/a.foo", "png"),
        (f"--dot-plot {tmp_path}/no/a.png", "cannot be written; give a file in a folder that exists"),
        (f"--output {tmp_path}/no/a.dbn", "a.dbn: No such file"),
    ):
        assert message in refused(files / "test.fa", *args.split())


def test_files_of_folders_are_named(tmp_path):
    (tmp_path / "a.dbn").write_text(">a\nGGGAAACCC\n(((...)))\n")
    (tmp_path / "b.fa").write_text(">b\nGGGAAACCC\n")
    named = f"{tmp_path / 'b.fa'}: record 'b': no structure"
    assert named in fail("train", "rna", tmp_path, "--model", tmp_path / "m")
    assert named in fail("evaluate", "rna", "pretrained", tmp_path, *QUIET[:1])


def test_inputs_of_fold_that_are_refused(refused):
    assert "nowhere.fa: No such file" in refused("nowhere.fa")
    assert ": the file is empty" in refused(stdin="")
    assert ": the file has only comments" in refused(stdin="# ACGU\n")
    assert ":3: position 1 (from 1): '.' is not" in refused("--constraints", stdin="ACGU\n....\n....\n")
    assert ":4: expected a header '>name'" in refused("--constraints", stdin=">a\nACGU\n....\nACGU\n")
    for text, message in (
        ("...", ":3: record 'a': the length of constraints is 3, but there are 4 bases"),
        ("..)x", ":3: record 'a': constraints, base 3 (from 1): ')' has no matching '('"),
        ("..?.", ":3: '..?.' is neither bases nor constraints (.x|<>())"),
        ("AJJJ", ":3: position 2 (from 1): 'J' is not"),
    ):
        assert message in refused("--constraints", stdin=f">a\nACGU\n{text}\n")


def test_sequences_without_bases_are_told(tmp_path):
    (tmp_path / "e.fa").write_text(">a\n\n>b\nGGGGAAAACCCC\n>c\n")
    result = run("fold", tmp_path / "e.fa")
    assert result.exit_code == 0
    assert "e.fa: 2 empty sequences" in result.stderr


def test_empty_sequences_cannot_be_drawn(refused, tmp_path):
    told = refused("--dot-plot", tmp_path / "a.png", stdin=">a\nACGU\n>b\n>c\nACGU\n")
    assert "record 'b': an empty sequence cannot be drawn" in told


def test_long_sequences_are_announced(files, monkeypatch):
    monkeypatch.setattr(fold_commands, "_LONG", 9)
    result = run("fold", "-m", files / "m.structune", "--jobs", 1, stdin="GGGAAACCC\n")
    assert "1: 9 bases take about 0.0 GB of memory and 2 minutes" in result.stderr


def test_reactivities(files, tmp_path, refused):
    table, many = tmp_path / "one.shape", tmp_path / "all.react"
    table.write_text("".join(f"{k} {r}\n" for k, r in enumerate([0, 0, 0, 2, 2, 2, 2, 0, 0], 1)))
    many.write_text(">b\n0 0 0 2 2 2 2 0 0\n")
    args = ["fold", "-m", files / "m.structune", "--format", "json", "--jobs", 1]
    one = json.loads(succeed(*args, "--shape", table, stdin="GGGAAAACCC\n"))
    row = [*[0.0] * 3, *[2.0] * 4, 0.0, 0.0, np.nan]
    paired = structune.rna.ReactivityModel.pretrained().paired("GGGAAAACCC", row)
    known = structune.rna.Constraints(paired=paired)
    folder = structune.load(files / "m.structune")
    assert one["log_partition"] == pytest.approx(folder.log_partition(["GGGAAAACCC"], [known])[0])
    deigan = json.loads(succeed(*args, "--shape", table, "--shape-method", "deigan", stdin="GGGAAAACCC\n"))
    known = structune.rna.Constraints(paired=structune.rna.deigan_log_odds(row))
    assert deigan["log_partition"] == pytest.approx(folder.log_partition(["GGGAAAACCC"], [known])[0])
    two = run(*args, "--shape", many, stdin=">a\nGGGAAAACCC\n>b\nGGGAAAACCC\n")
    first, second = map(json.loads, two.stdout.splitlines())
    assert second["log_partition"] == one["log_partition"] != first["log_partition"]
    told = "all.react: folded 1 sequence without reactivities: 'a'"
    assert told in two.stderr
    assert "reactivities without a name" in refused("--shape", table, stdin=">a\nACGUACGUA\n>b\nACGU\n")
    assert "record 'a': 9 reactivities in " in refused("--shape", table, stdin=">a\nACGU\n")


def test_commands_are_added_to_what_is_known(files, folder, tmp_path, refused):
    """By name, to all results, beside --constraints and --shape; what no structure satisfies is refused."""
    commands, shape, sequence = tmp_path / "a.txt", tmp_path / "a.shape", "GGGAAAACCC"
    commands.write_text(">b\nF 1 0 1 D\nE 3 0 1 1\n1 9 2.5\n>c\n1 1\n")
    shape.write_text(">b\n0 0 0 2 2 2 2 0 0 0\n")
    args = ["fold", "-m", files / "m.structune", "--jobs", 1, "--constraints", "--shape", shape]
    text = f">a\n{sequence}\n>b\n{sequence}\n.x........\n"
    result = run(*args, "--commands", commands, "--format", "json", stdin=text)
    paired = structune.rna.ReactivityModel.pretrained().paired(sequence, [0, 0, 0, 2, 2, 2, 2, 0, 0, 0])
    paired[2] += 1 / 0.61632
    known = structune.rna.Constraints("<x........", paired=paired, pairs=[(0, 8, 2.5)])
    free, found = map(json.loads, result.stdout.splitlines())
    assert free["log_partition"] == pytest.approx(folder.log_partition([sequence])[0])
    assert found["log_partition"] == pytest.approx(folder.log_partition([sequence], [known])[0])
    assert "a.txt: folded 1 sequence without commands: 'a'" in result.stderr
    assert "a.txt: ignored the commands of 1 name that no sequence has: 'c'" in result.stderr
    for more in (["--samples", 9], ["--nbest", 3], ["--method", "viterbi"], ["--method", "centroid"]):
        structures = [
            record.structure for record in records(succeed(*args, "--commands", commands, *more, stdin=text))
        ]
        assert {each[:2] for each in structures[len(structures) // 2 :]} == {"(."}
    commands.write_text("F 1 10 1\n")
    told = refused("--commands", commands, stdin=">a\nGGGAAAACCC\n>b\nGGGAAAACCC\n")
    assert "a.txt: commands without a name; for several sequences, put a line '>name'" in told
    told = refused("--commands", commands, "--max-span", 5, stdin=">a\nGGGAAAACCC\n")
    assert "record 'a': " in told
    assert "a.txt:1: bases 1 and 10: they are 9 apart, but max_span is 5" in told
    told = refused("--commands", commands, "--duplex", stdin=">a\nGGGAAAACCC&CC\n")
    assert "record 'a': no structure satisfies the constraints" in told


def test_reactivities_that_are_not_used_or_of_another_sequence(files, tmp_path, refused):
    many, shifted, text = tmp_path / "all.react", tmp_path / "a.shape", ">a\nGGGAAAACCC\n"
    many.write_text(">a\n0 0 0 2 2\n>b\n1 1\n>c\n1\n")
    told = run("fold", "-m", files / "m.structune", "--jobs", 1, "--shape", many, stdin=text).stderr
    assert "all.react: 'a' has 5 reactivities for 10 bases; the last bases count as not measured" in told
    assert "all.react: ignored the reactivities of 2 names that no sequence has: 'b', 'c'" in told
    many.write_text("1 0.5\n2 0.5\n")
    told = run("fold", "-m", files / "m.structune", "--jobs", 1, "--shape", many, stdin=text).stderr
    assert "all.react: 'a' has 2 reactivities for 10 bases" in told
    shifted.write_text("".join(f"{k} {base} 0.5\n" for k, base in enumerate("GAAAACCC", 1)))
    told = refused("--shape", shifted, stdin=text)
    assert "a.shape: the reactivities belong to another sequence or are shifted: base 2 (from 1) is A" in told


def test_alignments(files, tmp_path):
    text = "# STOCKHOLM 1.0\n#=GF ID fam\na GGGAA-AACCC\nb GGCAAAAAGCC\n//\n"
    out = succeed("consensus", "--threshold", 0.2, "--jobs", 1, stdin=text)
    assert out.splitlines()[2] == f"#=GF CC structune {structune.__version__}, model pretrained"
    (found,) = structune.rna.read_alignments(io.StringIO(out))
    assert (found.name, found.rows) == ("fam", ("GGGAA-AACCC", "GGCAAAAAGCC"))
    assert found.structure == RNAFolder.pretrained().predict_alignment(found.rows, 0.2)
    (tmp_path / "a.sto").write_text(text + text)
    args = ["consensus", tmp_path / "a.sto", "-m", files / "m.structune"]
    assert len(list(structune.rna.read_alignments(io.StringIO(succeed(*args))))) == 2
    assert "this file is also read" in fail(*args, "-o", tmp_path / "a.sto")
    family = "# STOCKHOLM 1.0\na GGGAAACCC\n#=GC SS_cons <<<...>>>\n//\n"
    told = run("consensus", "-m", files / "m.structune", stdin=family).stderr
    assert "replaced 1 known structure (SS_cons)" in told


def test_table_of_bases(files, folder, fold):
    text = ">a\nGGGAAACCC\n>b\nACG\n"
    heading, *rows = fold("--format", "bases", "--window", "4", stdin=text).splitlines()
    assert heading == "name\ti\tbase\tunpaired\tentropy\twindow"
    assert [row.split("\t")[:3] for row in rows[8:10]] == [["a", "9", "C"], ["b", "1", "A"]]
    found = [[float(value) for value in row.split("\t")[3:]] for row in rows]
    unpaired = 1.0 - folder.pair_probabilities("GGGAAACCC").sum(axis=1)
    assert [row[0] for row in found[:9]] == pytest.approx(unpaired, abs=1e-5)
    windows = np.array([row[2] for row in found])
    assert windows[:6] == pytest.approx(folder.unpaired_windows("GGGAAACCC", 4), abs=1e-5)
    assert np.isnan(windows[6:]).all()
    plain = fold("--format", "bases", stdin=text).splitlines()
    assert plain == [row.rpartition("\t")[0] for row in (heading, *rows)]


def test_which_records_can_be_skipped(files, fold, refused, tmp_path):
    args = ["fold", "-m", files / "m.structune", *QUIET, "--skip-bad"]
    result = run(*args, stdin=">m\nGCGGA[UUA\n>n\nACG\n")
    assert result.stdout == ">n\nACG\n...\n"
    assert "skipped <input>:2: position 6 (from 1): '[' is not" in result.stderr
    out = fold("--skip-bad", stdin=">\nGGGAAACCC\n>structure\n(((...)))\n>\nG!\n>\nGGC\n")
    assert [record.name for record in records(out)] == ["1", "3"]
    (tmp_path / "mixed.fa").write_text(">a\nGGGAAACCC\n>b\nGG!AACC\n>c\nGGC\nGAAAGCC\n")
    found = records(succeed(*args, tmp_path / "mixed.fa"))
    assert [(record.name, record.sequence) for record in found] == [("a", "GGGAAACCC"), ("c", "GGCGAAAGCC")]
    assert "files with headers '>name'" in refused("--skip-bad", stdin="GGGAAACCC\nG!\nGGC\n")
    told = refused("--skip-bad", stdin=">a\nACG\nxxx\n>b\nAAA\nxxx\n")
    assert "each sequence has a line 'xxx' below it" in told


def test_a_model_keeps_its_limit_of_spans(folder, files, tmp_path):
    structune.load(files / "m.structune").set_params(max_span=5).save(tmp_path / "local")
    for options, is_possible in (([], False), (["--max-span", "9"], True)):
        told = succeed("score", "-m", tmp_path / "local", *options, stdin=">a\nGGGAAACCC\n(((...)))\n")
        assert (told.splitlines()[1].split("\t")[1] != "-inf") == is_possible


def test_known_structures_are_scored(files, folder):
    args = ["score", "-m", files / "m.structune"]
    text = ">a\nGGGAAACCC\n(((...)))\n>b\nACG\n...\n"
    heading, one, other = succeed(*args, stdin=text).splitlines()
    assert heading.split("\t") == ["name", *structune.rna.Judgement._fields]
    assert [row.split("\t")[0] for row in (one, other)] == ["a", "b"]
    found = [float(value) for value in one.split("\t")[1:]]
    assert found == pytest.approx(folder.judge(["GGGAAACCC"], ["(((...)))"])[0], rel=1e-5)
    told = fail(*args, stdin=">a\nGGGAAACCC\n")
    assert told.count("record 'a'") == 1
    assert "record 'a': no structure" in told
    (best,) = folder.predict_viterbi(["GGGAAACCC"])
    assert succeed(*args, stdin=f">a\nGGGAAACCC\n{best}\n").splitlines()[1].split("\t")[2] == "0"
    assert not run(*args, stdin="GGGAAACCC\n(((...)))\n").stderr


def test_two_strands(files, fold, refused):
    model, pair = structune.load(files / "m.structune"), "GGGAAACCC&GGGUUUCCC"
    header, sequence, structure = fold("--initiation", "2", stdin=f">a b\n{pair}\n").splitlines()
    (p,) = model.set_params(initiation=2.0).dimer_probabilities([pair])
    assert (header, sequence) == (f">a dimer {p:.6g} b", pair)
    assert [structure] == model.predict([pair])
    told = json.loads(fold("--format", "json", "--initiation", "2", stdin=pair + "\n"))
    assert told["dimer_probability"] == pytest.approx(p)
    only = fold("--duplex", "--gamma", "100", stdin=pair + "\n").splitlines()[2]
    left, right = only.split("&")
    assert "(" in left
    assert not set(left) & set(")") | set(right) & set("(")
    assert len(fold("--format", "bases", stdin=pair + "\n").splitlines()) == 19
    assert "needs a sequence of two strands" in refused("--duplex", stdin="GGGAAACCC\n")
    assert "record '1': two strands cannot be written" in refused("--format", "ct", stdin=pair + "\n")


def test_a_method_is_that_of_all_layers(tmp_path):
    """Of a model whose own is another."""
    centroids = RNAFolder.pretrained().set_params(n_jobs=1, decoding="centroid")
    centroids.save(tmp_path / "m")
    own = structune.load(tmp_path / "m").set_params(decoding="mea", n_jobs=1)
    sequence = "AGGAUGCAAUAGUUCACUGAGCACUUAGUCCAAUAAAAUC"
    for options, expected in (
        ([], centroids.predict([sequence])),
        (["--method", "mea"], own.predict([sequence])),
        (["--method", "mea", "--pseudoknots"], own.predict_knotted([sequence])),
    ):
        out = succeed("fold", "-m", tmp_path / "m", *options, *QUIET, stdin=sequence + "\n")
        assert [out.splitlines()[2]] == expected


def test_several_inputs(files, fold, tmp_path, refused):
    one, two = tmp_path / "a.fa", tmp_path / "b.txt"
    one.write_text(">a\nGGGAAACCC\n")
    two.write_text("GGGAAACCCA\nACGUACGU\n")
    assert [r.name for r in records(fold(one, two, one))] == ["a", "1", "2", "a"]
    assert [r.name for r in records(fold(two, "-", stdin=">x\nACGU\n"))] == ["1", "2", "x"]
    assert "standard input (-) can be given only once" in refused("-", "-", stdin="ACGU\n")
    for args in ([one, two], [tmp_path], [two, "--shape", one]):
        assert "a.fa: this file is also read" in refused(*args, "-o", one)
    one.write_text("")
    assert "a.fa: no sequences" in refused(one)
    two.write_text("ACGU\n")
    told = run("fold", one, two, "-m", files / "m.structune", *QUIET).stderr
    assert told == f"structune: {one}: the file has no sequences\n"
    assert "the structure '(...)' has no sequence before it" in refused(stdin="(...)\n")


def test_the_gamma_that_is_documented_is_that_of_the_model():
    shown = f"{RNAFolder.pretrained().gamma:g} for the pretrained model, {RNAFolder().gamma:g} for others"
    assert shown in " ".join(succeed("fold", "--help").split())


def test_models_of_fold_that_are_refused(files, tmp_path):
    assert "No such file" in fail("fold", files / "test.fa", "-m", "nowhere.structune")
    assert "test.fa: not a model file" in fail("fold", files / "test.fa", "-m", files / "test.fa")
    assert "nowhere.params: No such file" in fail("fold", files / "test.fa", "--contrafold", "nowhere.params")
    structune.SequenceTagger(tuning=None).fit([[["a"], ["b"]]], [["x", "y"]]).save(tmp_path / "t.structune")
    message = fail("fold", files / "test.fa", "-m", tmp_path / "t.structune")
    assert "the model is of class SequenceTagger, but one for RNA is needed" in message


def test_the_format_of_inputs(files, fold, refused, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nGGGAAACCC\n(((...)))\n")
    (tmp_path / "masked.fa").write_text(">a\nGGGAAACCC\nxxxxxxxxx\n")
    args = ["--input-format", "dot_bracket"]
    assert records(fold(tmp_path / "a.fa", *args))[0].sequence == "GGGAAACCC"
    assert "For constraints use --constraints" in refused(tmp_path / "masked.fa")
    assert len(records(fold(tmp_path / "masked.fa", "--input-format", "fasta"))[0].sequence) == 18
    for text in (">a\nGGGAA\nACCC\nXXXXX\nXXXX\n", "GGGAAACCC\nXXXXXXXXX\n"):
        assert "a line of X as long as the sequence above" in refused("--constraints", stdin=text)
    model = files / "m.structune"
    assert succeed("score", tmp_path / "a.fa", "-m", model, *args).startswith("name\t")
    assert "1 sequence," in succeed("evaluate", "rna", model, tmp_path / "a.fa", *args, *QUIET)
    succeed("shard", "rna", tmp_path / "a.fa", tmp_path / "shards", "--folds", 2, *args, "-q")
    center = ["-m", tmp_path / "m", "--center", model, *QUIET]  # which shards do not depend on
    assert "1 example" in succeed("train", "rna", tmp_path / "shards", *center)


def test_structures_that_are_not_used_are_told_once(files, tmp_path):
    (tmp_path / "b.ct").write_text("1 x\n1 G 0 0 0 1\n")
    args = ["fold", "-m", files / "m.structune", *QUIET]
    for inputs, text, n in (
        (["-"], ">a\nGGGAAACCC\n(((...)))\n>b\nGGGAAACCC\n", 1),
        (["-"], "GGGAAACCC\n(((...)))\nACGU\n....\n", 2),
        ([tmp_path / "b.ct", tmp_path / "b.ct"], "", 2),
    ):
        told = run(*args, *inputs, stdin=text).stderr
        assert told.count("\n") == 1
        assert f": ignored {n} known structure{'s'[: n - 1]}. Score them with structune score" in told
    assert not run(*args, "--constraints", stdin="GGGAAACCC\n(((...)))\n").stderr


def test_train(files, tmp_path):
    path = tmp_path / "m.structune"
    args = ["--penalty", 0.1, "--test", files / "test.dbn", *QUIET]
    out = succeed("train", "rna", files / "train.dbn", "--model", path, *args)
    for expected in ("helix stacking", "converged", "14 sequences", "Base pairs", "pooled slip 1"):
        assert expected in out
    assert "3 pairs in 1 sequence" in out
    loaded = structune.load(path)
    assert loaded.coef_ == pytest.approx(structune.load(files / "m.structune").coef_)


def test_training_around_a_model(files, tmp_path):
    args = ["--center", "pretrained", "--penalty", 1e6, *QUIET]
    succeed("train", "rna", files / "train.dbn", "--model", tmp_path / "m", *args)
    found, own = structune.load(tmp_path / "m"), RNAFolder.pretrained()
    assert (found.gamma, found.decoding) == (own.gamma, own.decoding)
    assert found.coef_ == pytest.approx(own.coef_, abs=1e-3)


OUTSIDE = [RNARecord("tight", "GGGAACCC", "(((..)))"), RNARecord("odd", "GGAAAAACC", "(((...)))")]


def test_what_is_left_out_is_named(files, tmp_path):
    write_dot_bracket(tmp_path / "out.dbn", [*OUTSIDE, KNOT])
    data = [files / "train.dbn", tmp_path / "out.dbn", "-m", tmp_path / "m", "--penalty", 1, *QUIET]
    result = run("train", "rna", *data)
    assert result.exit_code == 0
    assert not result.stderr
    assert "Skipped 2 sequences" in result.stdout
    assert re.search(r"tight +bases 3 and 6 .*a hairpin of 2", result.stdout)
    assert re.search(r"skipped +2 sequences", result.stdout)
    assert re.search(r"pseudoknots +removed 3 pairs in 1 sequence", result.stdout)
    out = succeed("train", "rna", *data, "--outside", "trim")
    assert re.search(r"trimmed +removed \d pairs in 2 sequences", out)
    assert "Skipped" not in out
    message = fail("train", "rna", *data, "--outside", "error")
    assert "out.dbn: record 'tight': bases 3 and 6" in message


def test_families(files, tmp_path, monkeypatch):
    seen, fit = [], RNAFolder.fit

    def fit_untuned(self, *args, groups):
        seen.append(groups)
        return fit(self.set_params(tuning=None), *args)

    monkeypatch.setattr(RNAFolder, "fit", fit_untuned)
    families = [f"f{k % 3}" for k in range(len(TRAIN))]
    rows = zip(TRAIN, families, strict=True)
    (tmp_path / "f.tsv").write_text("".join(f"{record.name}\t{family}\n" for record, family in rows))
    data = ["tune", "rna", files / "train.dbn", "-m", tmp_path / "m"]
    args = ["--method", "grid", "--cv", 2, "--groups", "single", *QUIET]
    succeed(*data, "--families", tmp_path / "f.tsv", *args)
    assert seen == [families]
    for text, message in (
        ("h0\ta b\n", "f.tsv: no family for sequence 'h1' of "),
        ("h0 a\n", "f.tsv:1: 'h0 a' is not a name and a family"),
        ("h0\ta\n\nh0\tb\n", "f.tsv:3: 'h0' already has another family"),
    ):
        (tmp_path / "f.tsv").write_text(text)
        assert message in fail(*data, "--families", tmp_path / "f.tsv", *args)


def test_training_data_that_is_refused(files, tmp_path):
    args = ["-m", tmp_path / "m", *QUIET]
    assert "nowhere.dbn: No such file" in fail("train", "rna", "nowhere.dbn", *args)
    assert "test.fa: record 'h0': no structure" in fail("train", "rna", files / "test.fa", *args)
    (tmp_path / "bad.dbn").write_text(">a\nACGU\n....\n>b\nACGU\n..)\n")
    told = fail("tune", "rna", tmp_path / "bad.dbn", *args)
    assert "bad.dbn:6: record 'b': the length of a structure is 3" in told
    test = ["--test", tmp_path / "bad.dbn"]
    assert "bad.dbn:6" in fail("train", "rna", files / "train.dbn", *test, *args)
    (tmp_path / "none.dbn").write_text("")
    assert "none.dbn: no sequences" in fail("train", "rna", tmp_path / "none.dbn", *args)


def test_evaluate(files, folder):
    args = ["evaluate", "rna", files / "m.structune"]
    out, told = (succeed(*args, files / "test.dbn", option) for option in ("--quiet", "--json"))
    shown = json.loads(told)
    known = [record.structure for record in TEST]
    exact, slipped = (base_pair_scores(known, folder.predict(SEQUENCES), slip) for slip in (0, 1))
    assert shown["pooled"] == pytest.approx(exact.pooled._asdict())
    assert shown["pooled_slip_1"] == pytest.approx(slipped.pooled._asdict())
    assert shown["mean_slip_1"]["ppv"] == pytest.approx(slipped.ppv.mean())
    assert (shown["sequences"], shown["bases"]) == (7, sum(map(len, known)))
    assert shown["pairs"] == exact.n_true.sum()
    assert (shown["pseudoknot_pairs"], shown["sequences_with_pseudoknots"]) == (3, 1)
    assert shown["curve"] is shown["roc_area"] is None
    for part in (f"{exact.pooled.sensitivity:.4f}", "3 pairs in 1 sequence", "Base pairs, gamma 4"):
        assert part in out
    shown = json.loads(succeed(*args, files / "test.dbn", files / "train.dbn", "--gamma", 0.25, "--json"))
    assert (shown["gamma"], shown["sequences"]) == (0.25, len(TEST) + len(TRAIN))


def test_evaluate_pseudoknots_and_the_predictions_of_others(files, folder, tmp_path):
    args = ["evaluate", "rna", files / "m.structune", files / "test.dbn", "--json"]
    knotted = folder.predict_knotted(SEQUENCES)
    expected = base_pair_scores([record.structure for record in TEST], knotted).pooled._asdict()
    assert json.loads(succeed(*args, "--pseudoknots"))["pooled"] == pytest.approx(expected)
    theirs = tmp_path / "theirs.dbn"
    records = [
        RNARecord(record.name, record.sequence, own) for record, own in zip(TEST, knotted, strict=True)
    ]
    write_dot_bracket(theirs, records[::-1])
    others = "evaluate", "rna", theirs, files / "test.dbn"
    told = json.loads(succeed(*others, "--json"))
    assert told["pooled"] == pytest.approx(expected)
    assert "model" not in told or not told["model"]
    assert "--gamma needs a model, but" in fail(*others, "--gamma", 2)
    write_dot_bracket(theirs, records[1:])
    assert "there is no predicted structure of this sequence" in fail(*others)
    write_dot_bracket(theirs, [*records, RNARecord(TEST[0].name, TEST[0].sequence, "." * TEST[0].n_bases)])
    assert "there are several predicted structures, the first in" in fail(*others)


def test_curve(files, folder, tmp_path):
    args = ["evaluate", "rna", files / "m.structune", files / "test.dbn", "--jobs", 2]
    out = succeed(*args, "--plot", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    shown = json.loads(succeed(*args, "--curve", "--json"))
    by_gamma = {gamma: folder.predict(SEQUENCES, gamma=gamma) for gamma in ROC_GAMMAS}
    curve = sensitivity_ppv_curve([record.structure for record in TEST], by_gamma)
    assert shown["curve"]["sensitivity"] == pytest.approx(curve.sensitivity)
    assert shown["curve"]["gamma"] == curve.gamma.tolist()
    area = roc_area(curve.sensitivity, curve.ppv)
    assert shown["roc_area"] == pytest.approx(area)
    assert f"area {area:.4f}" in out
    assert "1024" in out


def test_streams_are_what_the_folder_gives(files, fold):
    """However many structures there are, they are written one at a time, as JSON, too."""
    folder = structune.load(files / "m.structune")
    ranked = folder.predict_nbest(["GGGAAACCC"], 5)[0]
    found = json.loads(fold("--nbest", 5, "--format", "json", stdin="GGGAAACCC\n"))
    assert [(each["structure"], each["probability"]) for each in found["structures"]] == ranked
    assert [each["rank"] for each in found["structures"]] == [1, 2, 3, 4, 5]
    table = folder.pair_probabilities("GGGAAACCC")
    wanted = [[i + 1, j + 1, round(p, 6)] for (i, j), p in np.ndenumerate(table) if i < j and p >= 0.01]
    assert found["pairs"] == wanted
    limits = ["--max-span", 8, "--min-probability", 0.01]
    limited = json.loads(fold(*limits, "--format", "json", stdin="GGGAAACCC\n"))
    assert [pair[:2] for pair in limited["pairs"]] == [pair[:2] for pair in wanted]


def test_too_little_memory(files, refused, monkeypatch):
    """Others come before it; and circles have no span that could be less."""
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    args, long = ["fold", "-m", files / "m.structune", *QUIET], "ACGU" * 25_000
    result = run(*args, stdin=f">short\nGGGAAACCC\n>long\n{long}\n")
    assert result.exit_code == 2
    assert result.stdout.startswith(">short\n")
    message = (
        "<input>: record 'long': 100,000 bases need 140.7 GB of memory, but only 1.0 GB are available: try a "
        "shorter sequence, or a limit to the span of pairs (--max-span, max_span=)\n"
    )
    assert result.stderr == f"structune: {message}"
    assert fail(*args, "--circular", stdin=f">a\n{long}\n").endswith("try a shorter sequence\n")
    wanted = "record '1': 1,000,000,000 structures of 9 bases need 36.0 GB of memory, but only 1.0 GB"
    assert wanted in refused("--samples", 10**9, stdin="GGGAAACCC\n")


def test_sequences_of_very_many_structures_are_folded_one_at_a_time(files, monkeypatch):
    how = "--within", 1.0
    text = "".join(f">{k}\nGGGAAACCC\n" for k in range(4))
    sizes, fold_some = [], Recipe.fold

    def fold(self, batch):
        sizes.append(len(batch))
        return fold_some(self, batch)

    monkeypatch.setattr(Recipe, "fold", fold)
    whole = run("fold", "-m", files / "m.structune", *QUIET, *how, stdin=text).stdout
    sizes.clear()
    monkeypatch.setattr(examples, "batch_memory", lambda: 1)
    assert run("fold", "-m", files / "m.structune", *QUIET, *how, stdin=text).stdout == whole
    assert sizes == [1] * 4


# What RNAfold, RNAeval and RNAcofold write of a sequence, and RNAsubopt of its structures
RNAFOLD = re.compile(r">(\S+)(?: [^\n]+)?\n([ACGUN&]+)\n([.()&]+) \(\s*(-?\d+\.\d\d)\)\n")
RNASUBOPT = re.compile(r">\S+\n([ACGUN]+) +(-?\d+) +(\d+)\n((?:[.()]+ +-?\d+\.\d\d\n)+)")
SCORED = ">a b\nGGGGAAAACCCC\n((((....))))\n>c\nGGCC&GGCC\n((((&))))\n"


def parsed(grammar, text):
    """The fields of all records; nothing is left over."""
    assert grammar.sub("", text) == ""
    return grammar.findall(text)


def test_energies(files, tmp_path):
    found = parsed(RNAFOLD, succeed("energy", stdin=SCORED))
    assert [(name, energy) for name, *_, energy in found] == [("a", "-5.40"), ("c", "-5.90")]
    told = succeed("energy", "--loops", "--temperature", 20, "-o", tmp_path / "a.dbn", stdin=SCORED)
    assert told == ""
    first_lines = (tmp_path / "a.dbn").read_text().splitlines()[2:5]
    assert first_lines == [
        "((((....)))) (-7.32)",
        "# loop\tpairs\tbases\tenergy",
        "# exterior\t1-12\tGC\t0.00",
    ]
    assert parsed(RNAFOLD, succeed("energy", tmp_path / "a.dbn")) == found  # comments are skipped
    first, second = map(
        json.loads, succeed("energy", "--format", "json", "--loops", stdin=SCORED).splitlines()
    )
    assert (first["name"], first["energy"], first["temperature"]) == ("a", -5.4, 37.0)
    assert second["loops"][0] == {"loop": "initiation", "pairs": [], "bases": [], "energy": 4.1}
    assert second["loops"][2]["bases"] == ["GC", "GC"]
    assert sum(loop["energy"] for loop in second["loops"]) == pytest.approx(second["energy"])
    circle = ">a\nGGGGAAAACCCCAUA\n((((....))))...\n"
    assert succeed("energy", "--circular", stdin=circle).endswith(" (0.00)\n")


def test_structures_without_an_energy_are_told(files, tmp_path):
    text = ">knot\nGGGAAAGGGCCCCCC\n(((...[[[)))]]]\n>ok\nGGGGAAAACCCC\n((((....))))\n>tight\nGACG\n(.).\n"
    result = run("energy", stdin=text)
    assert (result.exit_code, result.stdout) == (0, text.replace("))))", ")))) (-5.40)"))
    assert result.stderr.count("\n") == 1
    assert (
        "structures without a score in 2 records: <input>: record 'knot' (the structure has a"
        in result.stderr
    )
    assert "record 'tight' (the hairpin loop 1-3 is impossible)" in result.stderr
    (told, *_) = run("energy", "--format", "json", stdin=text).stdout.splitlines()
    assert json.loads(told)["energy"] is None
    assert "record 'a': no structure" in fail("energy", stdin=">a\nACGU\n")
    assert "expected degrees Celsius above -273.15" in fail("energy", "--temperature", -300, stdin=text)
    assert "m.structune:" in fail("energy", "--parameters", files / "m.structune", stdin=text)
    (tmp_path / "a.dbn").write_text(text)
    assert "this file is also read" in fail("energy", tmp_path / "a.dbn", "-o", tmp_path / "a.dbn")


def test_output_as_vienna_rna_writes_it(files, folder, fold):
    energies = structune.rna.read_energies(temperature=25.0)
    out = fold(files / "test.fa", "--format", "vienna", "--temperature", 25)
    assert [(name, x, y) for name, x, y, _ in parsed(RNAFOLD, out)] == [
        (record.name, record.sequence, y) for record, y in zip(TEST, folder.predict(SEQUENCES), strict=True)
    ]
    for _, sequence, structure, energy in parsed(RNAFOLD, out):
        assert float(energy) == pytest.approx(energies.of(sequence, structure), abs=0.006)
    assert records(out)[0].header == "h0 some words"
    ((*_, structure, energy),) = parsed(RNAFOLD, fold("--format", "vienna", stdin=">a b\nGGCCGG&CCGGCC\n"))
    assert (structure, float(energy)) == ("(((((.&.)))))", -9.8)  # as ViennaRNA 2.8
    ((sequence, least, width, lines),) = parsed(
        RNASUBOPT, fold("--format", "vienna", "--nbest", 3, stdin=">a\nGGGGAAAACCCC\n")
    )
    rows = [line.split() for line in lines.splitlines()]
    assert [y for y, _ in rows] == [y for y, _ in folder.predict_nbest([sequence], 3)[0]]
    found = [structune.rna.read_energies().of(sequence, y) for y, _ in rows]
    assert [float(energy) for _, energy in rows] == pytest.approx(found)
    assert [int(least), int(width)] == pytest.approx([100 * min(found), 100 * (max(found) - min(found))])
    assert parsed(RNASUBOPT, fold("--format", "vienna", "--samples", 2, stdin=">a\nGGGGAAAACCCC\n"))


def test_log_odds_in_place_of_energies(files, folder, fold, monkeypatch):
    model, sequence, args = (
        files / "m.structune",
        "GGGGAAAACCCC",
        ["--format", "vienna", "--score", "log-odds"],
    )
    lines = fold(*args, "--nbest", 5, stdin=f"{sequence}\n").splitlines()[2:]
    structures, odds = zip(*(line.split() for line in lines), strict=True)
    losses = folder.log_loss([sequence] * 6, [*structures, "." * 12])
    assert [float(each) for each in odds] == pytest.approx(losses[5] - losses[:5], abs=0.006)
    monkeypatch.setattr(RNAFolder, "predict_knotted", lambda *_, **__: [KNOT.structure])
    for options, reason in (
        (args, "the model cannot produce it"),
        (args[:2], "the structure has a pseudoknot"),
    ):
        result = run("fold", "-m", model, *options, "--pseudoknots", *QUIET, stdin=f"{KNOT.sequence}\n")
        assert result.stdout == f">1\n{KNOT.sequence}\n{KNOT.structure}\n"
        assert f"structures without a score in 1 record: '1' ({reason}" in result.stderr


def test_options_of_scores_that_have_no_effect(refused):
    for args, message in (
        ("--temperature 20", "--temperature needs --format vienna."),
        ("--score energy", "--score needs --format vienna."),
        ("--format vienna --score log-odds --temperature 20", "cannot be combined with --score log-odds"),
        ("--format vienna --score log-odds --shape a", "--score log-odds cannot be combined with --shape"),
    ):
        assert message in refused(*args.split(), stdin="ACGU\n")
