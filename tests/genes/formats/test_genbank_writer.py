"""GenBank that is written, as it is read again."""

import io
from dataclasses import replace

import pytest
from Bio import SeqIO

import simulated_genes as simulated
from structune.errors import DataError
from structune.genes import AnnotatedSequence, Transcript, read_genbank, write_genbank

GENOME = simulated.genome(3, n_contigs=3, most_introns=2)


def written(genomes, code=1):
    out = io.StringIO()
    write_genbank(out, genomes, code)
    return out.getvalue()


def test_what_is_written_is_read(tmp_path):
    write_genbank(tmp_path / "x.gb.gz", GENOME)
    for found, known in zip(read_genbank(tmp_path / "x.gb.gz"), GENOME, strict=True):
        assert (found.name, found.sequence.upper()) == (known.name, known.sequence)
        assert [(t.strand, t.exons, t.gene) for t in found.transcripts] == [
            (t.strand, t.exons, t.gene) for t in known.transcripts
        ]


def test_proteins_scores_and_notes():
    t = replace(GENOME[0].transcripts[0], score=0.25, notes=(("start_type", "ATG"),))
    (record,) = SeqIO.parse(io.StringIO(written([replace(GENOME[0], transcripts=(t,))], 11)), "genbank")
    gene, cds = record.features
    assert (gene.type, gene.qualifiers) == ("gene", {"gene": [t.gene]})
    assert (gene.location.start, gene.location.end) == (t.start, t.end)
    assert cds.qualifiers["translation"] == [t.protein(GENOME[0].sequence, 11)]
    assert cds.qualifiers["note"] == ["start_type: ATG", "score: 0.25"]
    assert cds.qualifiers["transl_table"] == ["11"]


def test_isoforms_and_what_goes_on():
    a = Transcript("c", "-", ((3, 9), (12, 15)), "t1", "g", partial=(True, False))
    b = Transcript("c", "-", ((6, 21),), "t2", "g", partial=(False, True))
    text = written([AnnotatedSequence("c", "ACGT" * 6, (a, b))])
    assert text.count("     gene  ") == 1
    assert "complement(<4..>21)" in text
    assert "complement(join(<4..9,13..15))" in text
    assert "complement(7..>21)" in text


def test_long_names_are_not_broken():
    contig = "NODE_1000_length_1234567_cov_12.345678_and_more_of_it"
    gene = Transcript(contig, "+", ((0, 9),), f"{contig}.g1.t1", f"{contig}.g1")
    (record,) = SeqIO.parse(
        io.StringIO(written([AnnotatedSequence(contig, "ATGGCCTAA", (gene,))])), "genbank"
    )
    assert record.id == contig
    assert [feature.qualifiers["gene"] for feature in record.features] == [["g1"], ["g1"]]


def test_genes_on_two_strands():
    two = [Transcript("c", strand, ((0, 9),), strand, "g") for strand in "+-"]
    with pytest.raises(DataError, match="gene 'g': found it on two strands"):
        written([AnnotatedSequence("c", "ATGGCCTAA", tuple(two))])


def test_odd_sequences():
    named = AnnotatedSequence("a name with spaces, and a long one " * 3, "acgtn")
    (record,) = SeqIO.parse(io.StringIO(written([named])), "genbank")
    assert str(record.seq).upper() == "ACGTN"
    with pytest.raises(DataError, match="found the genetic code 99"):
        written(GENOME, 99)
    assert written([]) == written([AnnotatedSequence("empty", "")]) == ""
