"""Genes as GFF3 and FASTA."""

import io
import re

import pytest
from Bio import SeqIO
from Bio.Seq import reverse_complement
from hypothesis import given
from hypothesis import strategies as st

from genes import transcripts
from structune.alignment.formats import read_proteins
from structune.errors import DataError
from structune.genes.formats.genbank_writer import genbank_text
from structune.genes.formats.gff3 import read_gff3
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.formats.writers import (
    gff3_text,
    proteins_text,
    write_coding_sequences,
    write_gff3,
    write_proteins,
)

T = Transcript("c", "-", ((2, 6), (15, 19)), "g1.t1", "g1", 0.25)
U = Transcript("c", "-", ((0, 3),), "g1.t2", "g1")


def test_gff3():
    target = io.StringIO()
    write_gff3(target, [T, U])
    assert target.getvalue().replace("\t", " ").splitlines() == [
        "##gff-version 3",
        "c structune gene 1 19 0.25 - . ID=gene:g1;Name=g1",
        "c structune mRNA 3 19 0.25 - . ID=transcript:g1.t1;Parent=gene:g1;Name=g1.t1",
        "c structune CDS 3 6 . - 2 ID=CDS:g1.t1;Parent=transcript:g1.t1",
        "c structune CDS 16 19 . - 0 ID=CDS:g1.t1;Parent=transcript:g1.t1",
        "c structune mRNA 1 3 . - . ID=transcript:g1.t2;Parent=gene:g1;Name=g1.t2",
        "c structune CDS 1 3 . - 0 ID=CDS:g1.t2;Parent=transcript:g1.t2",
    ]


def on_one_strand_each(found):
    """Whether names are used once, and genes lie on one strand of one contig."""
    places = {(t.gene, t.contig, t.strand) for t in found}
    return len(places) == len({t.gene for t in found}) and len({t.name for t in found}) == len(found)


contigs = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(contigs.flatmap(lambda c: st.lists(transcripts([c]), max_size=4)).filter(on_one_strand_each))
def test_round_trip(original):
    target = io.BytesIO()
    write_gff3(target, original)
    target.seek(0)
    found = read_gff3(target)
    assert not found.skipped
    assert sorted((t for of in found.transcripts.values() for t in of), key=repr) == sorted(
        original, key=repr
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([T, U, T], "transcript 'g1.t1': found the name again, expected another one"),
        ([T, Transcript("d", "-", ((0, 3),), "x", "g1")], "gene 'g1': found it on two contigs or strands"),
        ([T, Transcript("c", "+", ((0, 3),), "x", "g1")], "gene 'g1': found it on two contigs or strands"),
    ],
)
def test_what_cannot_be_written_is_named(written, message):
    with pytest.raises(DataError, match=re.escape(message)):
        write_gff3(io.StringIO(), written)


def test_fasta(tmp_path):
    sequence = "TTA" + "GCA" * 30 + "CAT"
    genome = AnnotatedSequence("c", sequence, (Transcript("c", "-", ((0, 96),), "a b", "g"),))
    write_proteins(tmp_path / "x.faa.gz", [genome])
    assert [protein[:2] for protein in read_proteins(tmp_path / "x.faa.gz")] == [("a_b", "M" + "C" * 30)]
    target = io.StringIO()
    write_coding_sequences(target, [genome])
    head, first, second = target.getvalue().splitlines()
    assert head == ">a_b gene=g c:1-96(-)"
    assert first + second == "ATG" + "TGC" * 30 + "TAA"
    assert len(first) == 60


@pytest.mark.parametrize("strand", "+-")
def test_parts_of_genes(strand):
    """Readers of GFF3, GenBank and FASTA find their frame; Biopython reads the last two."""
    coding = "gATGCCGGAAAGT"  # begins with the last base of a codon
    exons, sequence = ((0, 6), (10, 17)), f"{coding[:6]}GTAG{coding[6:]}"
    if strand == "-":
        exons, sequence = ((0, 7), (11, 17)), reverse_complement(sequence)
    partial = (True, False) if strand == "+" else (False, True)
    t = Transcript("c", strand, exons, "t", "g", partial=partial, phase=1)
    assert t.phases == (1, 1)
    genome = AnnotatedSequence("c", sequence, (t,))
    protein = "MPES"
    (record,) = SeqIO.parse(io.StringIO(genbank_text(genome)), "genbank")
    cds = record.features[-1]
    assert cds.qualifiers["codon_start"] == ["2"]
    assert cds.qualifiers["translation"] == [protein] == [str(cds.translate(record, cds=False).seq)]
    head, letters = proteins_text(genome).split("\n")[:2]
    assert (head.split(" ")[-2], letters) == ("partial=5-prime", protein)
    lines = [line.split("\t") for line in gff3_text([t]).splitlines()]
    assert [line[7] for line in lines if line[2] == "CDS"] == ["1", "1"]
    assert all(";partial=true;" in line[8] for line in lines)


def test_what_begins_before_its_contig_has_no_start_codon():
    genome = "GTGCCC"
    assert Transcript("c", "+", ((0, 6),), "t", "g").protein(genome, 11) == "MP"
    assert Transcript("c", "+", ((0, 6),), "t", "g", partial=(True, False)).protein(genome, 11) == "VP"


def test_transcripts_have_their_own_genetic_code():
    genome = AnnotatedSequence("c", "ATGTGATAA", (Transcript("c", "+", ((0, 9),), "t", "g", code=4),))
    assert proteins_text(genome).split("\n")[1] == "MW"
    assert "/transl_table=4" in genbank_text(genome)
