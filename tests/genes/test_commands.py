"""The gene commands from files to files, and what they say to wrong input."""

import gzip
import io
import json
import os
import re
from base64 import b64encode
from dataclasses import replace

import numpy as np
import pytest

import simulated_genes as simulated
import structune
from commands import fail, run, succeed
from gene_files import fasta, write
from simulated_genes import exons
from structune.cli import terminal
from structune.cli.samples import write_sample
from structune.genes import finding
from structune.genes import task as gene_task
from structune.genes.eukaryotes.prediction import within
from structune.genes.formats.gff import read_gff3
from structune.genes.formats.hints import Hint
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.formats.writers import genbank_text, write_gff3, write_proteins
from structune.genes.metrics import gene_regions, gene_scores
from structune.running import Run

QUIET = ["--quiet", "--jobs", "1"]
TRAIN, TEST = simulated.genome(0), simulated.genome(1, n_contigs=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("genes")
    write(folder, "train", TRAIN)
    write(folder, "test", TEST)
    succeed("train", "genes", folder / "train.gb", "-m", folder / "m.structune", "--penalty", 0.1, *QUIET)
    return folder


def test_train(files, tmp_path):
    args = ["--features", "paper", "--strands", "forward", "--donors", "GT", "--donors", "GC"]
    args += ["--flank", 30, "--loss", "ramp"]
    test = ["--test", files / "test.gff3", "--test-sequences", files / "test.fa"]
    result = run("train", "genes", files / "train.gb", "-m", tmp_path / "m.structune", *args, *test, *QUIET)
    assert result.exit_code == 0
    assert "18 annotated genes on 6 sequences" in result.stdout
    assert "sensitivity" in result.stdout
    assert result.stderr.startswith(
        "structune: training skipped 12 genes: 12: on the - strand (c0.1, c0.3, c1.1, and 9 more)\n"
    )
    model = structune.load(tmp_path / "m.structune")
    assert (model.features, model.strands, model.donors) == ("paper", "forward", ("GT", "GC"))
    assert (model.flank, model.loss, model.tuning) == (30, "ramp", "auto")


def test_genes(files, tmp_path):
    args = ["-m", files / "m.structune", *QUIET]
    out = succeed("genes", files / "test.fa", *args)
    found = read_gff3(io.StringIO(out)).transcripts
    model = structune.load(files / "m.structune")
    assert found == {each.name: genes for each, genes in zip(TEST, model.predict(TEST), strict=True)}
    assert out.count("##gff-version") == 1
    assert out.count("##sequence-region") == len(found)
    assert succeed("genes", "-", *args, stdin=fasta(TEST)) == out
    more = ["-o", tmp_path / "out.gff3.gz", "--proteins", tmp_path / "out.faa"]
    assert succeed("genes", files / "test.fa", *args, *more) == ""
    assert gzip.decompress((tmp_path / "out.gff3.gz").read_bytes()).decode() == out
    predicted = [replace(each, transcripts=found.get(each.name, ())) for each in TEST]
    write_proteins(tmp_path / "expected.faa", predicted)
    assert (tmp_path / "out.faa").read_text() == (tmp_path / "expected.faa").read_text()
    none = succeed("genes", "-", *args, stdin=">a\nACGTNNN\n>b\n>c\nnnn\n")
    assert none == f"##gff-version 3\n# structune {structune.__version__}, model m.structune\n"


@pytest.mark.parametrize("format", ["gff3", "genbank", "tsv"])
def test_a_report_leaves_the_output_as_it_is(files, tmp_path, format):
    pytest.importorskip("matplotlib")
    page, args = tmp_path / "page.html", ["-m", files / "m.structune", "--format", format, *QUIET]
    out = succeed("genes", files / "test.fa", *args)
    assert succeed("genes", files / "test.fa", *args, "--report", page) == out
    text = page.read_text()
    assert "9 genes on 3 sequences, mean coding probability" in text
    assert b64encode(out.encode()).decode() in text
    told = f"structune {structune.__version__}, model m.structune"
    assert told in text
    assert (told in out) == (format != "tsv")


def test_a_report_of_what_comes_before_an_error(files, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "x.fa").write_text(fasta(TEST[:1]) + ">x\nACGT-\n")
    page, args = tmp_path / "page.html", ["-m", files / "m.structune", *QUIET]
    assert "position 5" in fail("genes", tmp_path / "x.fa", *args, "--report", page)
    assert "on 1 sequence, mean coding probability 1.00; incomplete" in page.read_text()
    assert run("genes", tmp_path / "x.fa", *args, "--skip-bad", "--report", page).exit_code == 1
    assert "(1 sequence skipped)" in page.read_text()


def test_a_report_is_bounded(files, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from structune.cli import reports
    from structune.genes import report

    monkeypatch.setattr(report, "_MOST_DRAWN", 2)
    monkeypatch.setattr(report, "_MOST_GENES", 2)
    monkeypatch.setattr(report, "_MOST_ROWS", 4)
    monkeypatch.setattr(reports, "_MOST_KEPT", 100)
    page = tmp_path / "page.html"
    succeed("genes", files / "test.fa", "-m", files / "m.structune", "--report", page, *QUIET)
    text = page.read_text()
    assert "The table has the first 4 of 9 genes." in text
    assert re.search(r"The first [34] of 9 genes are drawn.", text)
    assert text.count("predicted genes of") == 2
    assert "The results are in standard output." in text


def test_a_file_that_does_not_exist_is_told_before_a_model_is_chosen(tmp_path):
    assert "none.fa: No such file" in fail("genes", tmp_path / "none.fa")


def test_the_sequences_choose_a_model(tmp_path):
    write_sample("genes", tmp_path)
    bacterium, other = tmp_path / "bacterium.fa", tmp_path / "other.fa"
    result = run("genes", bacterium, *QUIET)
    assert result.stdout == succeed("genes", bacterium, "-m", "pretrained", *QUIET)
    assert "as in bacteria and archaea; using --model pretrained" in result.stderr
    letters = np.random.default_rng(0).choice(list("ACGT"), 12_000)
    for n, reason in ((9_000, "too short"), (12_000, r"cover \d+% of the bases")):
        other.write_text(f">a\n{''.join(letters[:n])}\n")
        message = fail("genes", other)
        assert re.search(rf"cannot choose a model, because .*{reason}.*--model: pretrained", message)


def test_ctrl_c_leaves_what_was_written(files, tmp_path, monkeypatch):
    predict, names = structune.GeneFinder.predict, []

    def interrupted(self, X):
        if names:
            raise KeyboardInterrupt
        names.append(X[0].name)
        return predict(self, X)

    monkeypatch.setattr(finding, "_MOST_BASES", 1)
    monkeypatch.setattr(structune.GeneFinder, "predict", interrupted)
    args = ["-m", files / "m.structune", "-o", tmp_path / "out.gff3", *QUIET]
    result = run("genes", files / "test.fa", *args)
    assert (result.exit_code, result.stderr) == (130, "structune: interrupted\n")
    assert list(read_gff3(tmp_path / "out.gff3").transcripts) == names == ["c0"]


def test_what_comes_before_an_error_is_written(files, tmp_path, monkeypatch):
    """Contigs come one after the other, in their order."""
    args = ["-m", files / "m.structune", "--quiet", "--jobs"]
    expected = succeed("genes", files / "test.fa", *args, 1)
    monkeypatch.setattr(finding, "_MOST_BASES", 1)
    (tmp_path / "x.fa").write_text(fasta(TEST) + ">x\nACGT-\n")
    result = run("genes", tmp_path / "x.fa", *args, 2)
    assert (result.exit_code, result.stdout) == (2, expected)
    assert "position 5 (from 1): '-' is not" in result.stderr


def test_proteins_are_not_written_over_other_files(files, tmp_path):
    args = ["genes", files / "test.fa", "-m", files / "m.structune"]
    for option in ("--proteins", "--nucleotides"):
        assert "this file is also read; write to another file" in fail(*args, option, files / "test.fa")
        assert "two outputs have this path" in fail(*args, "-o", tmp_path / "x", option, tmp_path / "x")
    assert succeed(*args, "--output", os.devnull, "--proteins", os.devnull, *QUIET) == ""


def test_evaluate(files):
    shown = json.loads(succeed("evaluate", "genes", files / "m.structune", files / "test.gb", "--json"))
    model = structune.load(files / "m.structune")
    true = {each.name: each.transcripts for each in TEST}
    found = {each.name: genes for each, genes in zip(TEST, model.predict(TEST), strict=True)}
    scores = gene_scores(true, found)
    assert shown["exon"]["annotated"] == sum(len(t.exons) for genes in true.values() for t in genes)
    for level in ("nucleotide", "exon", "transcript", "gene"):
        expected = scores.pooled(level)._asdict()
        assert {name: shown[level][name] for name in expected} == expected
    table = succeed("evaluate", "genes", files / "m.structune", files / "test.gb")
    assert "gene (9 annotated, 9 predicted)" in table


def test_margin(files, tmp_path):
    part = [type(each)(each.name, each.sequence, each.transcripts[:1]) for each in TEST]
    (tmp_path / "part.gb").write_text("".join(map(genbank_text, part)))
    args = ["evaluate", "genes", files / "test.gff3", tmp_path / "part.gb", "--json"]
    assert json.loads(succeed(*args))["gene"]["precision"] == pytest.approx(1 / 3)
    true = {each.name: each.transcripts for each in part}
    regions = gene_regions(true, 5)
    assert all(len(of) == 1 for of in regions.values())
    assert json.loads(succeed(*args, "--margin", 5))["gene"]["precision"] == 1


def test_what_is_left_out_is_told(files, tmp_path):
    lines = (files / "test.gff3").read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace("\n", ";partial=true\n")
    (tmp_path / "x.gff3").write_text("".join(lines))
    told = f"structune: {tmp_path / 'x.gff3'}: skipped 1 transcript: 1: incomplete (c0.t1)\n"
    for both in ((tmp_path / "x.gff3", files / "test.gff3"), (files / "test.gff3", tmp_path / "x.gff3")):
        assert run("evaluate", "genes", *both).stderr == told


def test_sequences_that_the_annotation_lacks(files, tmp_path):
    text = (files / "test.gff3").read_text()
    (tmp_path / "some.gff3").write_text(text.replace("c1\tstructune", "d\tstructune"))
    result = run("evaluate", "genes", tmp_path / "some.gff3", files / "test.gb")
    assert result.exit_code == 0
    assert "the annotation lacks the sequences of 3 transcripts, the first on 'd'" in result.stderr
    (tmp_path / "all.gff3").write_text(text.replace("\nc", "\nchr"))
    message = fail("evaluate", "genes", tmp_path / "all.gff3", files / "test.gb")
    assert "the first on 'chr0'; its sequences are named 'c0'" in message
    (tmp_path / "none.gff3").write_text("##gff-version 3\n")
    message = fail("evaluate", "genes", tmp_path / "all.gff3", tmp_path / "none.gff3")
    assert "the first on 'chr0'; it has no genes" in message


def test_what_is_wrong_is_named(files, tmp_path):
    def refused(*args):
        return fail(*args, *(["-m", tmp_path / "m.structune"] if args[0] != "evaluate" else []))

    both = [files / "train.gff3", files / "train.gff3", "--sequences", files / "train.fa"]
    assert "there are 1 sequence files, but 2 annotations" in refused("train", "genes", *both)
    assert "the file has no sequences: give them" in refused("train", "genes", files / "train.gff3")
    (tmp_path / "few.fa").write_text(fasta(TRAIN[:3]))
    few = [files / "train.gff3", "--sequences", tmp_path / "few.fa"]
    assert "train.gff3: there is no sequence named 'c3'" in refused("train", "genes", *few)
    twice = [files / "test.gff3", files / "test.gb", files / "test.gff3"]
    assert "test.gff3: the sequence 'c0' was already read" in refused("evaluate", "genes", *twice)
    assert not (tmp_path / "m.structune").exists()


def test_models_that_are_none(files, tmp_path):
    structune.Regressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).save(tmp_path / "r.structune")
    message = fail("genes", files / "test.fa", "-m", tmp_path / "r.structune")
    assert "the model is of class Regressor, but a gene finder is needed" in message
    message = fail("genes", files / "test.fa", "-m", tmp_path / "yeast")
    assert "yeast: no such file. Included models: pretrained, fly, a_thaliana" in message
    tracks = [[[1.0]] * len(each.sequence) for each in TEST]
    finder = structune.GeneFinder(tuning=None, flank=5, run=Run(max_iterations=1), n_jobs=1)
    finder.fit(TEST, tracks=tracks).save(tmp_path / "t.structune")
    message = fail("evaluate", "genes", tmp_path / "t.structune", files / "test.gb")
    assert "the model needs tracks" in message


def test_annotations_without_stop_codons(files, tmp_path):
    """Of predicted genes that have them, and the other way round; and in files to learn from."""

    def shorter(t):
        ends = t.start + 3 * (t.strand == "-"), t.end - 3 * (t.strand == "+")
        return replace(t, exons=within(t.exons, *ends))

    true = [t for each in TEST for t in each.transcripts]
    write_gff3(tmp_path / "with.gff3", true)
    write_gff3(tmp_path / "without.gff3", map(shorter, true))
    both = ["with.gff3", "without.gff3"]
    for a, b in (both, both[::-1]):
        result = run("evaluate", "genes", tmp_path / a, tmp_path / b, "--json")
        assert json.loads(result.stdout)["gene"]["f1"] == 1.0
        assert "genes end before their stop codons" in result.stderr
    args = ["train", "genes", tmp_path / "without.gff3", "-s", files / "test.fa", "--penalty", 1, "-m"]
    result = run(*args, tmp_path / "m", *QUIET)
    assert "transcripts end directly before a stop codon" in result.stderr
    assert result.exit_code == 0
    assert "no stop codon" in run(*args, tmp_path / "n", "--stop-codon", "included", *QUIET).stderr


def test_pretrained_finders_and_adapting(files, tmp_path):
    args = ["genes", files / "test.fa", *QUIET]
    by_fly = structune.GeneFinder.pretrained("fly").predict(TEST)
    assert succeed(*args, "-m", "fly").count("\tgene\t") == sum(map(len, by_fly))
    expected = structune.adapt(structune.load(files / "m.structune"), TEST, 1).predict(TEST)
    succeed(*args, "-m", files / "m.structune", "--adapt", 1, "-o", tmp_path / "found.gff3")
    found = read_gff3(tmp_path / "found.gff3").transcripts
    assert [exons(genes) for genes in found.values()] == [exons(genes) for genes in expected]
    told = "must first be adapted to a genome. Run structune genes with --adapt 20"
    assert told in fail(*args, "-m", "eukaryotes")
    assert "this model must first be adapted" in fail("evaluate", "genes", "eukaryotes", files / "test.gb")
    assert "sensitivity" in succeed("evaluate", "genes", "fly", files / "test.gb", "--jobs", 1)


def test_dense_genes_without_introns_are_told(files, tmp_path, monkeypatch):
    args = ["genes", files / "test.fa", "-m", files / "m.structune", "--adapt", 1, *QUIET]
    assert run(*args).stderr == ""
    monkeypatch.setattr(finding, "sure_share", lambda finder, genome: 0.697)
    assert "genes without introns cover 70% of the bases, as in bacteria" in run(*args).stderr


def test_genes_that_have_no_introns_are_told(monkeypatch):
    """Not if one in a hundred has some."""
    said = []
    monkeypatch.setattr(terminal, "say", said.append)
    for n_with in (3, 2):
        parts = [((0, 4), (8, 12)) if k < n_with else ((0, 12),) for k in range(300)]
        genes = [Transcript("c", "+", exons, f"t{k}", f"g{k}") for k, exons in enumerate(parts)]
        gene_task.GENES.advise([AnnotatedSequence("c", "A" * 12, tuple(genes))], "x.gb")
    (told,) = said
    assert told.startswith("x.gb: only 2 of 300 genes have introns. For bacteria and archaea use prok")


def test_hints_and_regions_to_avoid(files, tmp_path):
    """Half of the hints are false."""
    path, model = tmp_path / "hints.gff", structune.load(files / "m.structune")
    hints = [Hint(each.name, "CDS", 10, 200, "+", 10.0) for each in TEST]
    true = [t for each in TEST for t in each.transcripts]
    hints += [Hint(t.contig, "intron", a, b, t.strand, 3.0) for t in true for a, b in t.introns]
    path.write_text(
        "".join(
            f"{h.contig}\tx\t{h.kind}\t{h.start + 1}\t{h.end}\t.\t{h.strand}\t.\tmult={h.support}\n"
            for h in (*hints, Hint("elsewhere", "intron", 1, 50))
        )
    )
    of_each, (a, b) = [[h for h in hints if h.contig == each.name] for each in TEST], true[0].exons[0]
    (tmp_path / "rna.gff").write_text(f"{TEST[0].name}\tx\ttRNA\t{a + 1}\t{b}\t.\t+\t.\tID=r\n")
    args = ["genes", files / "test.fa", "-m", files / "m.structune", "-o", tmp_path / "x.gff3", *QUIET]
    result = run(*args, "--hints", path, "--hint-weight", 20, "--avoid", tmp_path / "rna.gff")
    assert result.exit_code == 0
    told = f"{path}: ignored 1 hint, because their sequences are not in the input: elsewhere"
    assert told in result.stderr
    expected = model.predict(TEST, hints=of_each, hint_weight=20.0, avoid=[[(a, b)], [], []])
    found = read_gff3(tmp_path / "x.gff3").transcripts
    assert [exons(found.get(each.name, ())) for each in TEST] == [exons(genes) for genes in expected]
    path.with_suffix(".gtf").write_text(path.read_text().replace("c", "chr"))
    stderr = run(*args, "--hints", path.with_suffix(".gtf")).stderr
    assert "ignored 11 hints, that is all, because they are on chr0, chr1, chr2, and 1 more, but" in stderr
    assert "the sequences are named c0, c1, c2" in stderr
    tree = ["genes", files / "test.fa", "-m", "pretrained", "--task", "e_coli", *QUIET]
    assert "--hints needs a model of genes with introns, such as fly" in fail(*tree, "--hints", path)


def test_evidence_without_effect_is_told_once(files, tmp_path, monkeypatch):
    """Of all sequences together, however many at a time are worked off."""
    monkeypatch.setattr(finding, "_MOST_SEQUENCES", 1)
    lines = [f"{each.name}\tx\tintron\t3\t5\t.\t+\t.\tmult=1\n" for each in TEST]
    (tmp_path / "hints.gff").write_text("".join(lines))
    (tmp_path / "a.bed").write_text("".join(f"{each.name}\t1\t{len(each.sequence) + 5}\n" for each in TEST))
    args = ["genes", files / "test.fa", "-m", files / "m.structune", *QUIET]
    told = run(*args, "--hints", tmp_path / "hints.gff", "--avoid", tmp_path / "a.bed").stderr.splitlines()
    n = len(TEST)
    assert f"hints.gff: {n} of {n} have no effect: {n} introns shorter than" in told[0]
    assert f"a.bed: {n} of {n} reach beyond the end of their sequence, and are used" in told[1]
    assert len(told) == 2


def test_parts_of_genes_are_told_and_marked(files, tmp_path):
    t = max(TEST[0].transcripts, key=lambda t: t.length * bool(t.introns))
    (tmp_path / "cut.fa").write_text(f">cut\n{TEST[0].sequence[sum(t.exons[0]) // 2 :]}\n")
    args = ["genes", tmp_path / "cut.fa", "-m", files / "m.structune", *QUIET]
    result = run(*args)
    assert "cut.fa: marked 1 gene as partial" in result.stderr
    assert ";partial=true;start_range=.,1" in result.stdout
    closed = run(*args, "--closed")
    assert (closed.stderr, "partial" in closed.stdout) == ("", False)


def test_nothing_to_compare_with(files, tmp_path):
    (tmp_path / "x.gff3").write_text("##gff-version 3\nc0\tx\ttRNA\t1\t9\t.\t+\t.\tID=r\n")
    args = ["evaluate", "genes", files / "m.structune", tmp_path / "x.gff3", "-s", files / "test.fa"]
    result = run(*args)
    assert result.exit_code == 2
    assert "there are no genes, since none of 1 features is a CDS: 1 tRNA" in result.stderr
    assert "structune: the annotation has no genes to compare with" in result.stderr
