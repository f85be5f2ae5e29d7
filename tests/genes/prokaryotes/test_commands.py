"""The commands for genes of bacteria and archaea, alone and along a tree, and wrong input."""

import io
import json
import re
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

import simulated_orfs as simulated
import structune
from commands import fail, run, succeed
from gene_files import write
from simulated_genes import flip
from structune import MultitaskEstimator, ProkaryoticGeneFinder, SequenceTagger, load, open_shards
from structune.genes import MetagenomeFinder
from structune.genes.formats import genomes
from structune.genes.formats.gff import read_gff3
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.metrics import gene_scores, stop_codons
from structune.running.monitor import Monitor

QUIET = ["--quiet", "--jobs", "1"]
TRAIN, TEST = simulated.genome(0), simulated.genome(1, n_contigs=3)
TREE = "((a:1,b:2)ab:1,(c,d)cd)all;"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prokaryotes")
    write(folder, "a", TRAIN)
    write(folder, "b", simulated.genome(2, n_contigs=1))
    write(folder, "c", simulated.genome(3, n_contigs=1))
    write(folder, "test", TEST)
    (folder / "tree.nwk").write_text(TREE)
    return folder


@pytest.fixture(scope="module")
def model(files):
    path = files / "m.structune"
    succeed("train", "prokaryotic-genes", files / "a.gb", "-m", path, "--penalty", "gaps=5", *QUIET)
    return path


@pytest.fixture(scope="module")
def along_tree(files):
    """Model file of several tasks, and what its training told; a file of each leaf, two of one."""
    path = files / "t.structune"
    given = [files / "a.gb", f"b={files / 'b-whole.gff3.gz'}", files / "c.gb", f"c={files / 'test.gb'}"]
    return path, succeed(*train_tree(files, *given), "-m", path, *QUIET)


def train_tree(files, *given):
    return ["train", "prokaryotic-genes", *given, "--tree", files / "tree.nwk"]


def predicted(finder):
    return {each.name: genes for each, genes in zip(TEST, finder.predict(TEST), strict=True)}


def proteins(path):
    """Letters by the place of the gene."""
    records = path.read_text().split(">")[1:]
    return {head.split()[-1]: "".join(rows) for head, *rows in (record.splitlines() for record in records)}


def test_train(files, tmp_path):
    path = tmp_path / "m.structune"
    args = ["--sequences", files / "a.fa", "--test", files / "test.gb", "--penalty", "gaps=5"]
    out = succeed("train", "prokaryotic-genes", files / "a.gff3", "-m", path, *args, *QUIET)
    assert "32 annotated genes on 4 sequences" in out
    assert re.search("hexamers +4,096 +1000 ", out)
    assert "stop codon (24 annotated, " in out
    found = structune.load(path)
    assert isinstance(found, ProkaryoticGeneFinder)
    assert (found.penalty, found.tuning, found.code, found.loss) == ({"gaps": 5.0}, "auto", 11, "log")


@pytest.fixture(scope="module")
def without_tga(tmp_path_factory):
    """Genes of the genetic code 4, with transl_table, and without."""
    folder = tmp_path_factory.mktemp("mycoplasma")
    genome = [recoded(each) if k % 2 else each for k, each in enumerate(TRAIN)]
    coded = [replace(x, transcripts=tuple(replace(t, code=4) for t in x.transcripts)) for x in genome]
    write(folder, "a", coded)
    (folder / "none.gff3").write_text((folder / "a.gff3").read_text().replace(";transl_table=4", ""))
    return folder


def test_the_genetic_code_of_genes_is_learned_by(without_tga, files, tmp_path, monkeypatch):
    """As their file has it, unless another one is given; without either the code is hinted at."""
    folder, fa, path = without_tga, ["-s", without_tga / "a.fa"], tmp_path / "m.structune"
    told = "a.gff3: training uses the genetic code of 32 genes with transl_table=4"
    result = run("train", "prokaryotic-genes", folder / "a.gff3", *fa, "-m", path, "--penalty", 1, *QUIET)
    assert told in result.stderr
    assert load(path).code == 4
    args = ["train", "prokaryotic-genes", "-m", path, "--penalty", 1, *QUIET, *fa]
    for given in ([folder / "a.gff3", "--code", 11], [folder / "none.gff3"]):
        result = run(*args, *given)
        assert "so training uses" not in result.stderr
        assert "an internal stop codon, but none with genetic code 4" in result.stderr
        n_skipped = int(re.search(r"skipped (\d+) genes", result.stderr)[1])
        assert re.search(f"skipped +{n_skipped} of these genes", result.stdout)
        assert load(path).code == 11
    shards = ["shard", "prokaryotic-genes", folder / "a.gff3", tmp_path / "shards", *fa, "--quiet"]
    n_read, read = [], genomes.read_annotated
    monkeypatch.setattr(genomes, "read_annotated", lambda *files: n_read.append(files) or read(*files))
    assert told in run(*shards).stderr
    assert len(n_read) == 1  # files may be pipes
    assert open_shards(tmp_path / "shards").model.code == 4
    tree = [*train_tree(files, f"a={folder / 'a-whole.gff3.gz'}"), "-m", path, *QUIET]
    assert "of 32 genes with transl_table=4" in run(*tree).stderr
    assert load(path).model("a").code == 4


def test_long_sequences_without_genes_are_told(files, tmp_path):
    rest = "".join(f">x{k}\n{'ACGT' * 2500}\n" for k in range(3))
    (tmp_path / "b.fa").write_text((files / "b.fa").read_text() + rest)
    args = ["train", "prokaryotic-genes", files / "b.gff3", "-m", tmp_path / "m", "--penalty", 1, *QUIET]
    result = run(*args, "-s", tmp_path / "b.fa")
    assert result.exit_code == 0
    assert "b.gff3: 3 of 3 sequences of 10,000 bases or more have no annotated gene" in result.stderr
    assert run(*args, "-s", files / "b.fa").stderr == ""


def recoded(each, places=(30,)):
    """With TGA within genes, and no stop codon TGA, as in Mycoplasma."""
    text = each.sequence
    for t in each.transcripts:
        gene = t.coding_sequence(text)
        for place in places:
            gene = f"{gene[:place]}TGA{gene[place + 3 : -3]}TAA"
        text = text[: t.start] + (gene if t.strand == "+" else flip(gene)) + text[t.end :]
    return AnnotatedSequence(each.name, text, each.transcripts)


@pytest.fixture(scope="module")
def mycoplasma(tmp_path_factory):
    folder = tmp_path_factory.mktemp("code")
    genome = [recoded(each, (30, 60, 90)) for each in simulated.genome(3, n_contigs=40)]
    write(folder, "x", genome)
    return folder, genome


def test_a_wrong_genetic_code_is_found(model, mycoplasma):
    folder, genome = mycoplasma
    args = ["genes", folder / "x.fa", "-m", model, "--adapt", 1, *QUIET]
    result, wrong = run(*args), run(*args, "--code", 11)
    assert "TGA is not a stop codon here, so genetic code 4 is used" in result.stderr
    assert "more bases than with code 11" in wrong.stderr
    known = {t.exons for each in genome for t in each.transcripts}
    found = [read_gff3(io.StringIO(told.stdout)).transcripts.values() for told in (result, wrong)]
    right = [np.mean([t.exons in known for of in some for t in of]) for some in found]
    assert right[0] > 0.9 > 0.5 > right[1]


def test_the_code_is_told_by_all_commands(model, mycoplasma):
    """It is found for one genome by what comes with structune, and only told of else."""
    tmp_path, _ = mycoplasma
    genes, found, told = ["genes", tmp_path / "x.fa", *QUIET, "-m"], "so genetic code 4", "--code 4 may suit"
    for args, expected in (
        ([*genes, "pretrained", "--task", "b_subtilis"], found),
        ([*genes, "pretrained", "--meta"], told),
        ([*genes, model], told),
        (["evaluate", "genes", "pretrained", tmp_path / "x.gb"], found),
        (["evaluate", "genes", "pretrained", tmp_path / "x.gb", "--code", 4], None),
    ):
        result = run(*args)
        assert result.exit_code == 0
        assert "code" not in result.stderr if expected is None else expected in result.stderr
    known = tmp_path / "x.gb", "--code", 4
    assert "--task and --code need a model" in fail("evaluate", "genes", tmp_path / "x-whole.gff3.gz", *known)
    shown = (succeed("evaluate", "genes", model, *given, "--json") for given in (known, known[:1]))
    genes, default = (json.loads(text)["gene"]["f1"] for text in shown)
    assert genes > 0.9 > 0.5 > default
    args = ["genes", tmp_path / "x.fa", "-m", model, "--code", 4, "--proteins", tmp_path / "p.faa", *QUIET]
    parts = [line for line in succeed(*args).splitlines() if "\tCDS\t" in line]
    assert all(line.endswith(";transl_table=4") for line in parts)
    found = proteins(tmp_path / "p.faa").values()  # TGA is a codon of tryptophan
    assert np.mean([letters[10] == "W" and "*" not in letters for letters in found]) > 0.8


def test_closed_ends_and_gaps(model, tmp_path):
    """Nothing is found in what is not known; genes go on in it, unless ends are closed."""
    text, gene = TEST[0].sequence, TEST[0].transcripts[1]
    middle = (gene.start + gene.end) // 2
    cut = f">a\n{text[:middle]}{'N' * 3000}{text[middle:]}\n>b\n{'N' * 2000}\n"
    (tmp_path / "x.fa").write_text(cut)
    lines = succeed("genes", tmp_path / "x.fa", "-m", model, *QUIET).splitlines()
    found = [line.split("\t") for line in lines if "\tmRNA\t" in line]
    spans = [(int(start), int(end)) for _, _, _, start, end, *_ in found]
    assert not any(start <= middle + 3000 and end > middle for start, end in spans)
    assert {columns[0] for columns in found} == {"a"}
    assert sum("partial=true" in columns[8] for columns in found) >= 1
    assert "partial" not in succeed("genes", tmp_path / "x.fa", "-m", model, "--closed", *QUIET)


def test_bad_sequences_are_skipped(files, model, tmp_path):
    text = (files / "test.fa").read_text()
    (tmp_path / "x.fa").write_text(f">bad\nACGT!\n{text}>{TEST[0].name}\nACGT\n")
    assert "'!' is not one of" in fail("genes", tmp_path / "x.fa", "-m", model)
    result = run("genes", tmp_path / "x.fa", "-m", model, "--skip-bad", *QUIET)
    assert result.exit_code == 1
    assert result.stdout == succeed("genes", files / "test.fa", "-m", model, *QUIET)
    assert "x.fa:2: position 5 (from 1): '!' is not" in result.stderr
    assert "skipped 2 sequences" in result.stderr


def test_evaluate(files, model, tmp_path):
    shown = json.loads(succeed("evaluate", "genes", model, files / "test.gb", "--json"))
    assert shown.pop("model") == model.name
    succeed("genes", files / "test.fa", "-m", model, "-o", tmp_path / "found.gff3", *QUIET)
    args = ["evaluate", "genes", tmp_path / "found.gff3", files / "test.gff3", "--json"]
    assert json.loads(succeed(*args)) == shown
    true, found = {each.name: each.transcripts for each in TEST}, predicted(structune.load(model))
    expected = gene_scores(stop_codons(true), stop_codons(found)).exon._asdict()
    assert list(shown) == ["nucleotide", "exon", "transcript", "gene", "stop codon", "structune"]
    assert {name: shown["stop codon"][name] for name in expected} == expected


def test_training_along_a_tree(files, along_tree):
    path, out = along_tree
    found = structune.load(path)
    assert isinstance(found, MultitaskEstimator)
    assert found.tree_.nodes == ("all", "ab", "a", "b", "cd", "c", "d")
    assert set(found.nodes_) == {"all", "ab", "a", "b", "cd", "c"}
    assert re.search("data of a +32 annotated genes on 4 sequences", out)
    assert re.search("data of c +32 annotated genes on 4 sequences", out)  # of both its files
    assert out.index("all") < out.index("ab ") < out.index(" cd ")
    for node, told in found.nodes_.items():
        gamma = "" if node == "all" else f" +{told['gamma']:g}"
        assert re.search(f" {node} +{told['n_examples']}{gamma} +{told['factor']:g} +converged", out)


def test_genes_of_a_task(files, along_tree):
    path = along_tree[0]
    for task, node in (("ab", "ab"), ("d", "cd")):
        out = succeed("genes", files / "test.fa", "-m", path, "--task", task, *QUIET)
        assert read_gff3(io.StringIO(out)).transcripts == predicted(structune.load(path).model(node))
    shown = json.loads(succeed("evaluate", "genes", path, files / "test.gb", "--task", "c", "--json"))
    assert shown["stop codon"]["f1"] > 0.9


def test_genes_by_the_nearest_node(files, along_tree, tmp_path):
    result = run("genes", files / "test.fa", "-m", along_tree[0], "-o", tmp_path / "x.gff3", *QUIET)
    assert result.exit_code == 0
    node = result.stderr.split("nearest node, '")[1].split("'")[0]
    args = ["genes", files / "test.fa", "-m", along_tree[0], *QUIET]
    assert (tmp_path / "x.gff3").read_text() == succeed(*args, "--task", node)
    assert f", model {along_tree[0].name}, {node}\n" in (tmp_path / "x.gff3").read_text()


def test_genes_by_the_pretrained_tree(files):
    args = ["genes", files / "test.fa", "-m", "pretrained", *QUIET]
    finder = MetagenomeFinder.pretrained(TEST)
    assert read_gff3(io.StringIO(succeed(*args))).transcripts == predicted(finder)
    assert succeed(*args, "--task", "e_coli") != succeed(*args, "--task", "h_salinarum")
    assert "pretrained: " in fail(*args, "--task", "x")


def test_evaluate_the_pretrained_tree(files):
    args = ["evaluate", "genes", "pretrained", files / "test.gb"]
    for finder, more in [(MetagenomeFinder, []), (ProkaryoticGeneFinder, ["--task", "life"])]:
        shown = json.loads(succeed(*args, *more, "--json"))
        expected = [t for genes in finder.pretrained().predict(TEST) for t in genes if not any(t.partial)]
        assert shown["gene"]["predicted"] == len(expected)


def test_without_probabilities_no_node_is_nearest(files, tmp_path):
    path = tmp_path / "m"
    args = train_tree(files, files / "b.gb"), ["--loss", "margin", "-m", path, *QUIET]
    assert run(*args[0], *args[1]).exit_code == 0
    message = fail("genes", files / "test.fa", "-m", path, *QUIET)
    assert f"{path}: choosing a node or a genetic code needs a model with loss='log'" in message
    assert "Or give --task with one of " in message
    assert succeed("genes", files / "test.fa", "-m", path, "--task", "b", *QUIET)


def test_names_of_tasks(files, tmp_path):
    for given in ("x.gb", "in/x.gbk", "x.GBFF.gz", "x.gff3.gz", "x.gz", "x", "x=a.gb", "x=in/a=b.gb"):
        message = fail(*train_tree(files, given), "-m", files / "n.structune")
        assert "no leaf of the tree is called 'x'. The leaves are a, b, c, d. Write NAME=FILE" in message
    (tmp_path / "tree.json").write_text('{"ab": {"a": null, "b": {}}, "cd": ["c", "e"]}')
    args = ["train", "prokaryotic-genes", files / "test.gb", "-m", tmp_path / "m"]
    assert "The leaves are a, b, c, e." in fail(*args, "--tree", tmp_path / "tree.json")
    for name, text, message in (("nwk", b"\xff(a,b);", "'utf-8'"), ("json", b"((a,b)", "Expecting value")):
        (tmp_path / f"t.{name}").write_bytes(text)
        assert f"t.{name}: {message}" in fail(*args, "--tree", tmp_path / f"t.{name}")


def test_ctrl_c_saves_nothing_of_a_tree(files, tmp_path, monkeypatch):
    monkeypatch.setattr(Monitor, "check", Mock(side_effect=KeyboardInterrupt))
    result = run(*train_tree(files, files / "b.gb"), "-m", tmp_path / "m", *QUIET)
    assert (result.exit_code, result.stderr) == (130, "structune: interrupted\n")
    assert not (tmp_path / "m").exists()


def test_what_is_wrong_is_named(files, model, along_tree, tmp_path):
    both = [files / "a.gff3", files / "b.gff3", "--sequences", files / "a.fa"]
    message = fail(*train_tree(files, *both), "-m", tmp_path / "m.structune", *QUIET)
    assert "--sequences is given 1 time, for 2 training files." in message
    assert not (tmp_path / "m.structune").exists()
    path = along_tree[0]
    message = fail("evaluate", "genes", path, files / "test.gb")
    assert "t.structune: the model has several tasks. Give --task with one of all, ab, a" in message
    for command in (["genes", files / "test.fa", "-m"], ["evaluate", "genes"]):
        behind = [] if command[-1] == "-m" else [files / "test.gb"]
        assert "t.structune: the tree has no node 'x'" in fail(*command, path, *behind, "--task", "x")
        alone = fail(*command, model, *behind, "--task", "a")
        assert "m.structune: --task needs a model with a tree of tasks; this one has none" in alone
    message = fail("evaluate", "genes", files / "test.gff3", files / "test.gb", "--task", "a")
    assert "test.gff3: --task and --code need a model" in message


def test_models_of_other_tasks(files, tmp_path):
    tagger = MultitaskEstimator(SequenceTagger(), ["a"], gammas=[1.0], factors=[1.0])
    tagger.fit({"a": ([[["x"], ["z"]]], [["y", "n"]])}).save(tmp_path / "m")
    message = fail("genes", files / "test.fa", "-m", tmp_path / "m", "--task", "a")
    assert "the model is of class SequenceTagger, but a gene finder is needed" in message


def test_metagenomes(files, model, tmp_path):
    args = ["genes", files / "test.fa", "-m", "pretrained", "--meta", *QUIET]
    expected = MetagenomeFinder.pretrained().predict(TEST)
    (tmp_path / "x.gff3").write_text(succeed(*args))
    found = read_gff3(tmp_path / "x.gff3").transcripts
    assert sum(map(len, found.values())) == sum(not any(t.partial) for genes in expected for t in genes)
    message = fail("genes", files / "test.fa", "-m", model, "--meta", *QUIET)
    assert "the model is of class ProkaryoticGeneFinder, but one for metagenomes is needed" in message
    MetagenomeFinder.pretrained().save(tmp_path / "meta.structune")
    own = ["genes", files / "test.fa", "-m", tmp_path / "meta.structune", *QUIET]
    known = (tmp_path / "x.gff3").read_text().replace("model pretrained", "model meta.structune")
    assert succeed(*own) == succeed(*own, "--meta") == known
