"""Sequences with genes, from GenBank or from GFF3 with FASTA."""

import io
import re

import pytest

from simulated_genes import flip
from structune.errors import DataError
from structune.genes.formats.genomes import read_genomes, with_stop_codons
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript

GFF = "##gff-version 3\nc\tx\tCDS\t4\t9\t.\t+\t0\tID=p\nc\tx\tCDS\t10\t12\t.\t+\t.\tID=q;pseudo=true\n"
FASTA = ">b\nACGT\n>c 1..12\nACGTacgtNNNN\n"


def read(annotation, sequences=None):
    sources = [io.StringIO(text) for text in (annotation, sequences) if text is not None]
    return list(read_genomes(*sources))


def test_sequences_get_their_genes():
    b, c = read(GFF, FASTA)
    assert b == AnnotatedSequence("b", "ACGT")
    assert (c.name, c.sequence) == ("c", "ACGTacgtNNNN")
    assert [t.name for t in c.transcripts] == ["p"]
    assert c.skipped == (Skipped("c", "q", "a pseudogene", (9, 12)),)


def test_sequences_in_the_same_file(tmp_path):
    together = GFF + "##FASTA\n" + FASTA
    assert read(together) == read(GFF, FASTA)
    (tmp_path / "x.gff3").write_text(together)
    assert list(read_genomes(tmp_path / "x.gff3")) == read(GFF, FASTA)


def test_genes_across_the_origin():
    region = "c\tx\tregion\t1\t12\t.\t+\t.\tID=c;Is_circular=true\n"
    gene = "c\tx\tCDS\t10\t15\t.\t+\t0\tID=r\n"
    _, c = read(GFF + region + gene, FASTA)
    assert [t.name for t in c.transcripts] == ["p"]
    assert c.skipped[1] == Skipped("c", "r", "across the origin", (9, 15))


@pytest.mark.parametrize(
    ("annotation", "sequences", "message"),
    [
        (GFF, ">b\nACGT\n", "<input>: there is no sequence named 'c', which has 1 transcript (the first is"),
        (GFF, ">c\nACGT\n", "<input>: transcript 'p' ends at 9, but 'c' has only 4 bases"),
        (GFF, None, "<input>: the file has no sequences"),
        ("c\tx\tCDS\t1\t6\n//\n", None, "is not the LOCUS line"),
    ],
)
def test_what_is_wrong_is_named(annotation, sequences, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(annotation, sequences)


def test_sequences_come_one_by_one():
    stream = read_genomes(io.StringIO(GFF), io.StringIO(FASTA + ">d\n!"))
    assert [next(stream).name, next(stream).name] == ["b", "c"]
    with pytest.raises(DataError):
        next(stream)


@pytest.mark.parametrize(
    ("strand", "start", "end"), [("+", 1, 9), ("+", 2, 9), ("+", 4, 16), ("-", 1, 6), ("-", 4, 15)]
)
def test_genes_that_ends_of_sequences_cut_are_skipped(strand, start, end):
    """Whatever the file says of them; genes that end there are whole."""
    gff = f"##gff-version 3\nc\tx\tCDS\t{start}\t{end}\t.\t{strand}\t0\tID=p\n"
    (c,) = read(gff, ">c\nccATGccATGccATGc\n")
    reason = "incomplete: cut off by an end of its sequence"
    assert c.skipped == (Skipped("c", "p", reason, (start - 1, end)),)
    (c,) = read("##gff-version 3\nc\tx\tCDS\t1\t9\t.\t+\t0\tID=p\n", ">c\naugccauaa\n")
    assert [t.name for t in c.transcripts] == ["p"]


GENE = "CCC" + "ATGGCCGCC" + "TAA" + "GGTAAGG"
WHOLE = ((3, 15),)


def added(exons, stop_codon="auto", text=GENE):
    """The coding parts on both strands, told along the gene, and what is told."""
    found, told = [], []
    for strand in "+-":
        n = len(text)
        along = exons if strand == "+" else tuple((n - b, n - a) for a, b in reversed(exons))
        bases = text if strand == "+" else flip(text)
        genome = AnnotatedSequence("c", bases, (Transcript("c", strand, along, "t", "g"),))
        (each,) = with_stop_codons([genome], stop_codon, "x.gb", told.append)
        found.append(each.transcripts[0].exons)
    forward, reverse = found
    assert forward == tuple((len(text) - b, len(text) - a) for a, b in reversed(reverse))
    return forward, told


def test_stop_codons_are_added_where_one_follows():
    found, told = added(((3, 12),))
    assert found == WHOLE
    assert told[0] == "x.gb: 1 of 1 transcripts end directly before a stop codon, which was added to them"
    assert added(((3, 6), (9, 12)))[0] == ((3, 6), (9, 15))
    # there already, none follows, no whole codons, nothing follows
    for exons in (WHOLE, ((3, 9),), ((3, 11),), ((3, 22),)):
        assert added(exons) == (exons, [])
    exons, text = ((3, 13), (17, 19)), "CCC" + "ATGGCCGCC" + "T" + "GTAG" + "AATAA"
    assert added(exons, text=text) == (exons, [])  # an intron splits it


def test_files_whose_coding_parts_are_known():
    assert added(((3, 12),), "included") == (((3, 12),), [])
    assert added(((3, 9),), "excluded") == (((3, 12),), [])
    assert added(((3, 22),), "excluded") == (((3, 22),), [])
    with pytest.raises(DataError, match="expected one of"):
        added(WHOLE, "no")
