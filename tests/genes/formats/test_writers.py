"""Genes as GFF3, GenBank, tables and FASTA, as they are read again."""

import csv
import io
import re
from dataclasses import replace

import pytest
from Bio import SeqIO
from Bio.Seq import reverse_complement
from hypothesis import given
from hypothesis import strategies as st

import simulated_genes as simulated
import structune
from genes import transcripts
from structune.alignment.formats import read_proteins
from structune.errors import DataError
from structune.genes import read_genbank, write_genbank, write_table
from structune.genes.formats.gff import read_gff3
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.formats.writers import (
    genbank_text,
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
        f"# structune {structune.__version__}",
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
    again = [t for of in found.transcripts.values() for t in of]
    assert sorted(again, key=repr) == sorted(original, key=repr)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([T, U, T], "the name 'g1.t1' belongs to 2 transcripts"),
        ([T, replace(U, strand="+")], "transcripts of gene 'g1' lie on several contigs or strands"),
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


def test_transcripts_have_their_own_genetic_code():
    genome = AnnotatedSequence("c", "ATGTGATAA", (Transcript("c", "+", ((0, 9),), "t", "g", code=4),))
    assert proteins_text(genome).split("\n")[1] == "MW"
    assert "/transl_table=4" in genbank_text(genome)


GENOME = simulated.genome(3, n_contigs=3, most_introns=2)


def written(genomes, code=1):
    out = io.StringIO()
    write_genbank(out, genomes, code)
    return out.getvalue()


def test_what_is_written_is_read(tmp_path):
    write_genbank(tmp_path / "x.gb.gz", GENOME)
    for found, known in zip(read_genbank(tmp_path / "x.gb.gz"), GENOME, strict=True):
        assert (found.name, found.sequence.upper()) == (known.name, known.sequence)
        genes, expected = ([(t.strand, t.exons, t.gene) for t in of.transcripts] for of in (found, known))
        assert genes == expected


@pytest.mark.parametrize("model", ["", "pretrained, e_coli", "x y.structune", "w" * 150, "a\nb\t\x07"])
def test_the_version_and_the_model_are_in_comments(model):
    version = f"structune {structune.__version__}"
    told = f"{version}, model {' '.join(model.split())}".replace("\x07", "?") if model else version
    out = io.StringIO()
    write_gff3(out, GENOME[0].transcripts, model)
    assert out.getvalue().splitlines()[:2] == ["##gff-version 3", f"# {told}"]
    assert read_gff3(io.StringIO(out.getvalue())).transcripts == {GENOME[0].name: GENOME[0].transcripts}
    out = io.StringIO()
    write_genbank(out, GENOME, model=model)
    records = list(SeqIO.parse(io.StringIO(out.getvalue()), "genbank"))
    comments = [" ".join(record.annotations["comment"].split()) for record in records]  # in lines
    assert comments == [told] * len(GENOME)
    assert [each.sequence for each in read_genbank(io.StringIO(out.getvalue()))] == [
        g.sequence for g in GENOME
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
    text = written([AnnotatedSequence(contig, "ATGGCCTAA", (gene,))])
    (record,) = SeqIO.parse(io.StringIO(text), "genbank")
    assert record.id == contig
    assert [feature.qualifiers["gene"] for feature in record.features] == [["g1"], ["g1"]]


def test_odd_sequences():
    named = AnnotatedSequence("a name with spaces, and a long one " * 3, "acgtn")
    (record,) = SeqIO.parse(io.StringIO(written([named])), "genbank")
    assert str(record.seq).upper() == "ACGTN"
    two = [Transcript("c", strand, ((0, 9),), strand, "g") for strand in "+-"]
    with pytest.raises(DataError, match="transcripts of gene 'g' lie on both strands"):
        written([AnnotatedSequence("c", "ATGGCCTAA", tuple(two))])
    with pytest.raises(DataError, match="there is no genetic code 99"):
        written(GENOME, 99)
    assert written([]) == written([AnnotatedSequence("empty", "")]) == ""


ROWS = [
    Transcript("c\t1", "+", ((4, 12), (20, 26)), "t1", "g1", 0.5, (True, True), (("start_type", "Edge"),)),
    Transcript("d", "-", ((0, 9),), "t2", "g2"),
]


def test_tables(tmp_path):
    write_table(tmp_path / "x.tsv", ROWS)
    text = (tmp_path / "x.tsv").read_text()
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    columns = ["contig", "gene", "transcript", "start", "end", "strand", "score", "exons", "partial", "notes"]
    first = ["c\t1", "g1", "t1", "5", "26", "+", "0.5", "5-12,21-26", "before,behind", "start_type=Edge"]
    assert rows[0] == dict(zip(columns, first, strict=True))
    assert (rows[1]["start"], rows[1]["exons"], rows[1]["score"], rows[1]["partial"]) == ("1", "1-9", "", "")
