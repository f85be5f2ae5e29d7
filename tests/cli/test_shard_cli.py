"""Folders of shards of all kinds, written and learned from by commands."""

from unittest import mock

import pytest
from numpy.testing import assert_allclose

import simulated_genes
import simulated_orfs
from commands import fail, succeed
from gene_files import write
from structune import load
from structune.files.shards import open_shards
from structune.genes.commands import sharding as gene_sharding

QUIET = ["--quiet", "--jobs", 1]
RNA = (
    ">a\nGGGAAAACCC\n(((....)))\n>b\nGGCGAAAGCC\n(((....)))\n>c\nAAAAAAAA\n........\n>d\nGCAAAAGC\n((....))\n"
)
FAMILIES = "a\tx\nb\ty\nc\tx\nd\ty\n"
ALIGNED = ">a\nACDEFGHIK\n>b\nACD-FGHIK\n>c\nAC--FGHWK\n"
OTHERS = ">a\nMK-V\n>b\nMKLV\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    (folder / "rna").mkdir()
    (folder / "rna" / "train.dbn").write_text(RNA)
    (folder / "families.tsv").write_text(FAMILIES)
    (folder / "a.fa").write_text(ALIGNED)
    (folder / "b.fa").write_text(OTHERS)
    write(folder, "genes", simulated_genes.genome(0, 3))
    write(folder, "orfs", simulated_orfs.genome(0, 3))
    return folder


SOURCES = {
    "rna": (["rna"], []),
    "align": (["a.fa", "b.fa"], []),
    "genes": (["genes.gb"], ["--flank", 20]),
    "prokaryotic-genes": (["orfs.gb"], []),
}


def sharded(files, kind, target, *more):
    sources, options = SOURCES[kind]
    given = [*([] if kind in ("rna", "align") else ["--quiet"]), *options, *more]
    return succeed("shard", kind, *(files / name for name in sources), target, "--folds", 2, *given)


@pytest.mark.parametrize("kind", SOURCES)
def test_shards_train_as_their_files(files, tmp_path, kind):
    sources, options = SOURCES[kind]
    with mock.patch.object(gene_sharding, "_MOST_BASES", 1):  # a sequence is a block
        out = sharded(files, kind, tmp_path / "shards")
    assert "Shards" in out
    data, source = open_shards(tmp_path / "shards"), [files / name for name in sources]
    assert set(data.fold) == {0, 1}
    told = succeed("train", kind, tmp_path / "shards", "-m", tmp_path / "a", *QUIET)
    assert f"{len(data)} examples, {sum(data.n_parts):,} " in told
    succeed("train", kind, *source, "-m", tmp_path / "b", *options, *QUIET)
    assert_allclose(load(tmp_path / "a").coef_, load(tmp_path / "b").coef_, atol=1e-3)


@pytest.mark.parametrize("kind", ["rna", "prokaryotic-genes"])
def test_tune(files, tmp_path, kind):
    sharded(files, kind, tmp_path / "shards")
    test = [] if kind == "rna" else ["--test", files / "orfs.gb"]
    succeed("tune", kind, tmp_path / "shards", "-m", tmp_path / "m", "--method", "grid", *test, *QUIET)
    assert load(tmp_path / "m").history_


def test_families_and_alignments_stay_together(files, tmp_path):
    sharded(files, "rna", tmp_path / "rna", "--families", files / "families.tsv")
    by_fold = [sorted(s.sizes().tolist()) for s in open_shards(tmp_path / "rna").shards]
    assert sorted(by_fold) == [[8, 10], [8, 10]]
    sharded(files, "align", tmp_path / "align")
    assert sorted(open_shards(tmp_path / "align").n_examples) == [1, 3]


def test_what_is_left_out_is_told(files, tmp_path):
    (tmp_path / "train.dbn").write_text(f"{RNA}>e\nGAAC\n(..)\n")
    out = succeed("shard", "rna", tmp_path / "train.dbn", tmp_path / "shards")
    assert "4 sequences, 36 bases" in out
    (tmp_path / "none.dbn").write_text(">e\nGAAC\n(..)\n")
    assert "all 1 structures are outside" in fail("shard", "rna", tmp_path / "none.dbn", tmp_path / "g")


def test_what_is_refused(files, tmp_path):
    sharded(files, "rna", tmp_path / "shards")
    target = ["-m", tmp_path / "m", *QUIET]
    assert "not empty" in fail("shard", "rna", files / "rna", tmp_path / "shards")
    said = fail("train", "rna", tmp_path / "shards", files / "rna", *target)
    assert "found a folder of shards beside other files, expected it alone" in said
    said = fail("tune", "rna", tmp_path / "shards", "--families", files / "families.tsv", *target)
    assert "found --families with a folder of shards, expected it at shard" in said
    said = fail("train", "rna", tmp_path / "shards", "--min-hairpin", 3, *target)  # even the default
    assert "found --min-hairpin with a folder of shards" in said
    said = fail("train", "genes", tmp_path / "shards", *target)
    assert "found examples of RNAFolder, expected GeneFinder" in said
    sharded(files, "align", tmp_path / "align")
    for option in (["--band", 3], ["--most-pairs", 2], ["--features", "affine"]):
        assert f"found {option[0]} with a folder" in fail(
            "train", "alignment", tmp_path / "align", *option, *target
        )
