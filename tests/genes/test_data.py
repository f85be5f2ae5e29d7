"""Genomes with known genes."""

import pytest

from structune.errors import DataError
from structune.files.data_sets import DatasetUnavailable
from structune.genes.data import load_genes, load_verified_genes
from structune.genes.formats.record import Skipped

GFF = (
    "NC_007426.1\tx\tCDS\t1\t6\t.\t+\t0\tid=1\n"
    "NC_007426.1\tx\tCDS\t9\t2\t.\t+\t0\tid=2\n"
    "NC_007426.1\tx\tCDS\t1\t6\t.\t+\t0\tid=1\n"
)


def test_defects_of_the_files_are_mended(put_data):
    put_data("genes/bacteria/mgm2_Natronomonas_pharaonis_DSM_2160.gff.gz", GFF)
    put_data("genes/bacteria/mgm2_Natronomonas_pharaonis_DSM_2160.fasta.gz", ">NC_007426\nACGTACGTAC\n")
    (found,) = load_genes("n_pharaonis")
    assert [(t.contig, t.exons) for t in found.transcripts] == [("NC_007426", ((0, 6),))]
    assert found.skipped == (Skipped("NC_007426", "NC_007426.1:9-2(+)", "across the origin"),)


def test_verified_genes(put_data):
    text = "NC_000913\tx\tCDS\t1\t6\t.\t+\t0\tgene_id=thrA start_codon=ATG pub_id={}\n"
    path = "genes/verified/Escherichia_coli_K_12_substr__MG1655_uid57779.verified.gff.gz"
    put_data(path, text.format(1) + text.format(2))
    (found,) = load_verified_genes("e_coli")
    assert (found.name, found.contig, found.exons) == ("thrA", "NC_000913.3", ((0, 6),))


@pytest.mark.parametrize("load", [load_genes, load_verified_genes])
def test_sets_that_are_not_there(monkeypatch, tmp_path, load):
    with pytest.raises(DataError, match="there is no data set 'human'"):
        load("human")
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailable, match="is not in the data folder"):
        load("e_coli")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_sequences", "n_transcripts", "n_genes", "n_skipped"),
    [
        ("fly_train", 392, 392, 392, 0),
        ("a_thaliana", 7, 459, 343, 7),
        ("c_elegans", 7, 300, 156, 7),
        ("h_salinarum", 5, 2671, 2671, 73),
        ("n_pharaonis", 3, 2738, 2738, 30),
        ("b_subtilis", 1, 4011, 4011, 0),
        ("e_coli", 1, 4296, 4288, 19),
        ("m_mazei", 1, 3366, 3366, 87),
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
def test_verified_genes_end_in_stops():
    found, genome = load_verified_genes("h_salinarum"), load_genes("h_salinarum")
    sequences = {one.name: one.sequence for one in genome}
    ends = {t.coding_sequence(sequences[t.contig])[-3:] for t in found}
    assert len(found) == 530
    assert ends <= {"TAA", "TAG", "TGA"}
