"""Genomes with known genes."""

import gzip
import hashlib

import pytest

from structune.errors import DataError
from structune.files.data_sets import DataFile, DatasetUnavailable
from structune.genes import data as genes
from structune.genes.data import load_genes, load_verified_genes
from structune.genes.formats.record import Skipped

GFF = (
    "NC_007426.1\tx\tCDS\t1\t6\t.\t+\t0\tid=1\n"
    "NC_007426.1\tx\tCDS\t9\t2\t.\t+\t0\tid=2\n"
    "NC_007426.1\tx\tCDS\t1\t6\t.\t+\t0\tid=1\n"
)


def place(folder, name, text):
    packed = gzip.compress(text.encode())
    (folder / name).write_bytes(packed)
    return DataFile(name, hashlib.sha256(packed).hexdigest())


def test_defects_of_the_files_are_mended(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    files = [place(tmp_path, "x.gff.gz", GFF), place(tmp_path, "x.fa.gz", ">NC_007426\nACGTACGTAC\n")]
    monkeypatch.setitem(genes._FILES, "n_pharaonis", files)
    (found,) = load_genes("n_pharaonis")
    assert [(t.contig, t.exons) for t in found.transcripts] == [("NC_007426", ((0, 6),))]
    assert found.skipped == (Skipped("NC_007426", "NC_007426.1:9-2(+)", "across the origin"),)


def test_verified_genes(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    text = "NC_000913\tx\tCDS\t1\t6\t.\t+\t0\tgene_id=thrA start_codon=ATG pub_id={}\n"
    monkeypatch.setitem(
        genes._VERIFIED, "e_coli", place(tmp_path, "x.gff.gz", text.format(1) + text.format(2))
    )
    ((name, contig, exons),) = [(t.name, t.contig, t.exons) for t in load_verified_genes("e_coli")]
    assert (name, contig, exons) == ("thrA", "NC_000913.3", ((0, 6),))


@pytest.mark.parametrize("load", [load_genes, load_verified_genes])
def test_sets_that_are_not_there(monkeypatch, tmp_path, load):
    with pytest.raises(DataError, match="found the data set 'human', expected one of"):
        load("human")
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailable, match="is not in the data folder"):
        load("e_coli")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_sequences", "n_transcripts", "n_genes", "n_skipped"),
    [
        ("fly_train", 392, 392, 392, 0),
        ("fly_test", 100, 100, 100, 0),
        ("a_thaliana", 7, 459, 343, 7),
        ("c_elegans", 7, 300, 156, 7),
        ("a_pernix", 1, 1700, 1700, 0),
        ("synechocystis", 5, 3570, 3570, 5),
        ("h_salinarum", 5, 2671, 2671, 73),
        ("n_pharaonis", 3, 2738, 2738, 30),
        ("p_furiosus", 1, 1980, 1980, 2),
        ("s_acidocaldarius", 1, 2267, 2267, 33),
        ("b_subtilis", 1, 4011, 4011, 0),
        ("c_crescentus", 1, 3737, 3737, 0),
        ("e_coli", 1, 4296, 4288, 19),
        ("e_coli_iai39", 1, 4725, 4725, 0),
        ("m_mazei", 1, 3366, 3366, 87),
        ("m_tuberculosis", 1, 3906, 3906, 0),
        ("p_aeruginosa", 1, 5586, 5586, 0),
        ("p_fluorescens", 1, 5178, 5178, 0),
    ],
)
def test_the_sets(name, n_sequences, n_transcripts, n_genes, n_skipped):
    found = load_genes(name)
    transcripts = [t for one in found for t in one.transcripts]
    assert len(found) == n_sequences
    assert len(transcripts) == n_transcripts
    assert len({t.gene for t in transcripts}) == n_genes
    assert sum(len(one.skipped) for one in found) == n_skipped


@pytest.mark.data
@pytest.mark.parametrize(("name", "n"), [("a_pernix", 130), ("h_salinarum", 530), ("synechocystis", 95)])
def test_verified_genes_end_in_stops(name, n):
    found, genome = load_verified_genes(name), load_genes(name)
    sequences = {one.name: one.sequence for one in genome}
    ends = {t.coding_sequence(sequences[t.contig])[-3:] for t in found}
    assert len(found) == n
    assert ends <= {"TAA", "TAG", "TGA"}
