"""The README: its code and commands run and print what it says; its numbers are those of the results."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pages import NO_SHELL, blocks, run

import simulated_genes
from structune.rna import RNARecord, write_fasta

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LABELLED = "the DT B-NP\ndog NN I-NP\nruns VB B-VP\n\ndogs NN B-NP\n\n" * 5


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with the files that the commands take for granted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    write_fasta("sequences.fa", [RNARecord("a", "GGGAAAACCC")])
    Path("bacterium.fa").write_text(">a\n" + "ATGGCATTAGCGTAA" * 40 + "\n")
    Path("insect.fa").write_text(">a\n" + "\n".join(each.sequence for each in simulated_genes.genome(0)))
    for name in ("train", "test", "new"):
        Path(f"{name}.txt").write_text(LABELLED)


@pytest.mark.skipif(NO_SHELL[0], reason=NO_SHELL[1])
@pytest.mark.slow
def test_all_blocks(reader):
    for block, printed in run(README):
        assert block.shows(printed), f"line {block.line}: printed\n{printed}"
    assert Path("structure.png").stat().st_size
    assert Path("chunker.html").stat().st_size
    assert Path("genes.gff3").read_text(encoding="utf-8").startswith("##gff-version 3")
    assert len(Path("tagged.txt").read_text(encoding="utf-8").splitlines()) == len(LABELLED.splitlines())


def test_all_blocks_are_shown():
    assert [block.kind for block in blocks(README)] == ["python", "output", "console", "python"]


def test_its_numbers_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sys.modules.pop("tables", None)
    import tables

    (shown,) = re.findall(r"<!-- numbers -->\n(.*?)\n<!-- /numbers -->", README, re.DOTALL)
    assert shown == tables.numbers(), "python benchmarks/tables.py writes them anew"
