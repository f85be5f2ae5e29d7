"""Folders of shards of all kinds, written and learned from by commands."""

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose

import simulated_genes
import simulated_orfs
from commands import fail, run, succeed
from endless import written_before_the_next
from gene_files import write
from structune import RNAFolder, SequenceAligner, load
from structune.alignment import examples as align_data
from structune.alignment import task as align_task
from structune.errors import DataError
from structune.files.shards import ShardWriter, open_shards
from structune.genes import task as gene_task
from structune.rna import examples as rna_data
from structune.rna import task as rna_task
from structune.running import Run

QUIET = ["--quiet", "--jobs", 1]
RNA = (
    ">a\nGGGAAAACCC\n(((....)))\n>b\nGGCGAAAGCC\n(((....)))\n>c\nAAAAAAAA\n........\n>d\nGCAAAAGC\n((....))\n"
)
ALIGNED = ">a\nACDEFGHIK\n>b\nACD-FGHIK\n>c\nAC--FGHWK\n"
OTHERS = ">a\nMK-V\n>b\nMKLV\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    (folder / "rna").mkdir()
    (folder / "rna" / "train.dbn").write_text(RNA)
    (folder / "a.fa").write_text(ALIGNED)
    (folder / "b.fa").write_text(OTHERS)
    write(folder, "genes", simulated_genes.genome(0, 3))
    write(folder, "orfs", simulated_orfs.genome(0, 3))
    return folder


SOURCES = {
    "rna": (["rna"], []),
    "alignment": (["a.fa", "b.fa"], []),
    "genes": (["genes.gb"], ["--flank", 20]),
    "prokaryotic-genes": (["orfs.gb"], []),
}


def sharded(files, kind, target, *more):
    sources, options = SOURCES[kind]
    given = ["--folds", 2, "--quiet", *options, *more]
    return succeed("shard", kind, *(files / name for name in sources), target, *given)


@pytest.mark.parametrize("kind", SOURCES)
def test_shards_train_as_their_files(files, tmp_path, kind):
    sources, options = SOURCES[kind]
    with mock.patch.object(gene_task, "_MOST_BASES", 1):  # a sequence is a block
        out = sharded(files, kind, tmp_path / "shards")
    assert "Shards" in out
    data, source = open_shards(tmp_path / "shards"), [files / name for name in sources]
    assert set(data.fold) == {0, 1}
    told = succeed("train", kind, tmp_path / "shards", "-m", tmp_path / "a", "--penalty", 1, *QUIET)
    assert f"{len(data)} examples, {sum(data.n_parts):,} " in told
    succeed("train", kind, *source, "-m", tmp_path / "b", "--penalty", 1, *options, *QUIET)
    assert_allclose(load(tmp_path / "a").coef_, load(tmp_path / "b").coef_, atol=1e-3)


def test_rna_is_read_block_by_block(files, tmp_path):
    """Families are those of all blocks, and numbers run over all."""
    loops = ["A" * (4 + k % 3) for k in range(9)]
    text = "".join(f">{k}\nGGG{a}CCC\n((({len(a) * '.'})))\n" for k, a in enumerate(loops))
    (tmp_path / "train.dbn").write_text(text)
    (tmp_path / "families.tsv").write_text("".join(f"{k}\t{k % 3}\n" for k in range(9)))
    read = rna_data.read_rna

    def checked(path, *more, **options):
        return written_before_the_next(tmp_path / "f", read(path, *more, **options), 4)

    given = ["--families", tmp_path / "families.tsv", "--folds", 3, "--quiet"]
    with mock.patch.object(rna_task, "_MOST_SEQUENCES", 2), mock.patch.object(rna_data, "read_rna", checked):
        succeed("shard", "rna", tmp_path / "train.dbn", tmp_path / "f", *given)
    folder = open_shards(tmp_path / "f")
    assert len(folder) == 9
    for fold in range(3):
        of = {number % 3 for shard in folder.of_folds([fold]) for number in shard.numbers.tolist()}
        assert len(of) == 1
    found = RNAFolder(penalty=0.1, n_jobs=1, run=Run(tolerance=1e-8)).fit_shards(tmp_path / "f")
    records = list(read(tmp_path / "train.dbn"))
    expected = RNAFolder(penalty=0.1, n_jobs=1, run=Run(tolerance=1e-8)).fit(
        [record.sequence for record in records], [record.structure for record in records]
    )
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)


def test_what_is_left_out_is_counted_over_all_blocks(files, tmp_path):
    path = tmp_path / "train.dbn"
    path.write_text("".join(f"{RNA}>e{k}\nGAAC\n(..)\n" for k in range(3)))
    with mock.patch.object(rna_task, "_MOST_SEQUENCES", 2):
        done = run("shard", "rna", path, tmp_path / "f", "--quiet")
    assert "12 sequences, 108 bases" in done.stdout
    told = f"skipped 3 sequences: {path}: record 'e0' (bases 1 and 4 (from 1): they close a hairpin of 2"
    assert told in done.stderr
    assert f", {path}: record 'e1' (" in done.stderr
    assert [number for number, _ in open_shards(tmp_path / "f").model.skipped_] == [4, 9, 14]


def test_alignments_are_read_one_by_one(tmp_path):
    stockholm = "".join(
        f"# STOCKHOLM 1.0\na{k} ACDEFGHIK\nb{k} ACD-FGHIK\nc{k} A{'-' * (k % 3)}{'CDE'[k % 3 :]}FGHWK\n//\n"
        for k in range(8)
    )
    (tmp_path / "a.sto").write_text(stockholm)
    read = align_data.read_protein_alignments

    def checked(path):
        return written_before_the_next(tmp_path / "f", read(path), 3)

    with (
        mock.patch.object(align_task, "_MOST_PAIRS", 2),
        mock.patch.object(align_data, "read_protein_alignments", checked),
    ):
        succeed("shard", "alignment", tmp_path / "a.sto", tmp_path / "f", "--folds", 2, "--quiet")
    folder = open_shards(tmp_path / "f")
    assert len(folder) == 24
    pairs, rows, *_ = zip(*align_data.read_pairs([tmp_path / "a.sto"], "protein"), strict=True)
    options = {"penalty": 0.1, "n_jobs": 1, "run": Run(tolerance=1e-8)}
    found = SequenceAligner(**options).fit_shards(tmp_path / "f")
    expected = SequenceAligner(**options).fit(pairs, rows)
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)


def test_pairs_of_large_families_are_chosen_without_a_list_of_all():
    """Each as often as another, in the order of all."""
    rng = np.random.default_rng(0)
    assert list(align_data._chosen(5, None, rng)) == list(combinations(range(5), 2))
    assert list(align_data._chosen(7, 99, rng)) == list(combinations(range(7), 2))
    chosen = list(align_data._chosen(1_000_000, 3, rng))
    assert len(set(chosen)) == 3
    assert all(a < b < 1_000_000 for a, b in chosen)
    assert list(align_data._chosen(1, 3, rng)) == []


def test_blocks_that_are_refused(tmp_path):
    blocks = [(["GGGAAAACCC"], ["(((....)))"]), (["GGGAAAACCC"], ["((....))"])]
    with pytest.raises(DataError, match="block 1: sequence 0: "):
        RNAFolder().write_blocks(lambda: blocks, ShardWriter(tmp_path / "f"))
    pairs = [([("ACD", "AC")], [("ACD", "AC-")]), ([("ACD", "AC")], [("ACD", "A-D")])]
    with pytest.raises(DataError, match="block 1: pair 0"):
        SequenceAligner().write_blocks(lambda: pairs, ShardWriter(tmp_path / "g"))


def test_pairs_of_an_alignment_stay_together(files, tmp_path):
    sharded(files, "alignment", tmp_path / "alignment")
    assert sorted(open_shards(tmp_path / "alignment").n_examples) == [1, 3]


def test_what_is_refused(files, tmp_path):
    sharded(files, "rna", tmp_path / "shards")
    target = ["-m", tmp_path / "m", *QUIET]
    (tmp_path / "none.dbn").write_text(">e\nGAAC\n(..)\n")
    said = fail("shard", "rna", tmp_path / "none.dbn", tmp_path / "g")
    assert "the model cannot produce any of the 1 structures" in said
    said = fail("train", "genes", tmp_path / "shards", *target)
    assert "the examples are for RNAFolder, not for GeneFinder" in said
