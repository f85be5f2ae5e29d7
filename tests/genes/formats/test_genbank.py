"""Sequences with genes in GenBank files."""

import gzip
import io
import re

import pytest

from structune.errors import DataError
from structune.genes.formats.genbank import read_genbank
from structune.genes.formats.genomes import read_sequences
from structune.genes.formats.record import Transcript

BASES = "acgtacgtac" * 6


def record(*features, name="r1", n=60, bases=BASES):
    origin = [f"{k + 1:>9} {bases[k : k + 10]}\n" for k in range(0, len(bases), 10)]
    head = f"LOCUS       {name}   {n} bp  DNA\nFEATURES             Location/Qualifiers\n"
    return "".join([head, *features, "BASE COUNT     15 a   15 c  15 g   15 t\nORIGIN\n", *origin, "//\n"])


def cds(location, *qualifiers):
    return "".join([f"     CDS             {location}\n", *(f"{' ' * 21}/{q}\n" for q in qualifiers)])


def read(*features):
    (found,) = read_genbank(io.StringIO(record(*features)))
    return list(found.transcripts), list(found.skipped)


def test_transcripts():
    second = cds("complement(join(5..10,21\n                     ..23))", 'locus_tag="b1"', 'gene="thrA"')
    first = cds("join(3..8,15..17)", 'gene="g5.t1"', "transl_table=4")
    found, skipped = read(first, "     gene            3..17\n", second)
    assert found == [
        Transcript("r1", "+", ((2, 8), (14, 17)), "g5.t1", "g5.t1"),
        Transcript("r1", "-", ((4, 10), (20, 23)), "b1", "b1"),
    ]
    assert [t.code for t in found] == [4, None]
    assert not skipped


def test_copies_of_a_gene():
    """They are genes of their own, such as those of inverted repeats."""
    places = ("30..35", "3..8", "5..11", "complement(33..38)", "40..45")
    found, _ = read(*(cds(place, 'gene="a"') for place in places), cds("50..52", 'gene=""'))
    genes = {"a-2": "a", "a-3": "a", "a": "a:30", "a-4": "a:33", "a-5": "a:40", "r1:50-52(+)": "r1:50-52(+)"}
    assert [(t.name, t.gene) for t in found] == list(genes.items())


def test_records_come_one_by_one(tmp_path):
    versioned = record().replace("FEATURES", "ACCESSION   AB1\nVERSION     r2\nFEATURES", 1)
    text = "\n" + record() + versioned.replace("t\n", "u\n") + "\n"
    found = list(read_genbank(io.StringIO(text)))
    assert [(one.name, one.sequence) for one in found] == [("r1", BASES.upper()), ("r2", BASES.upper())]
    (tmp_path / "x.gb.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_genbank(tmp_path / "x.gb.gz")) == found
    stream = read_genbank(io.StringIO(record() + "no record\n//\n"))
    assert next(stream).name == "r1"
    with pytest.raises(DataError):
        next(stream)


@pytest.mark.parametrize(
    ("location", "qualifier", "reason", "span"),
    [
        ("3..8", "pseudo", "a pseudogene", (2, 8)),
        ("3..8", "trans_splicing", "trans-splicing", None),
        ("<3..8", "note", "incomplete", (2, 8)),
        ("3..8", "codon_start=2", "incomplete: codon_start=2", (2, 8)),
        ("join(3..8,complement(11..13))", "note", "parts on two strands", None),
        ("join(3..8,AB1.1:1..6)", "note", "parts on two sequences", None),
        ("join(51..60,1..8)", "note", "parts in another order than on the strand", (50, 68)),
        ("join(51..59,1..8)", "note", "parts in another order than on the strand", None),
        ("join(3..8,8..13)", "note", "parts overlap (a programmed frameshift?)", (2, 13)),
        ("order(3..8,12..14)", "note", "parts that are not joined", (2, 14)),
        ("3..x", "note", "a location that cannot be read", None),
    ],
)
def test_what_is_skipped_is_named(location, qualifier, reason, span):
    found, (skipped,) = read(cds(location, 'gene="a"', qualifier), cds("30..35", 'gene="b"'))
    assert [t.name for t in found] == ["b"]
    assert (skipped.contig, skipped.name, skipped.span) == ("r1", "a", span)
    assert skipped.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.gb: the file has no records"),
        (">c\nACGT\n", "x.gb:1: '>c' is not the LOCUS line"),
        (record() + "c\tx\tCDS\n", r"x.gb:12: 'c\tx\tCDS' is not the LOCUS line of a record (GFF3 must"),
        ("\n" + record()[:-4], "x.gb:11: the last record is cut off"),
        (record(n=61), "x.gb:1: the record has 60 bases, but its LOCUS line says 61"),
        (record() + record(n=0, bases=""), "x.gb:12: record 'r1' has no sequence"),
        (record(bases="acgeu" * 12), "x.gb:1: position 4 (from 1): 'E' is not one of"),
        (record() + record(), "x.gb:12: the name 'r1' was already used in line 1"),
        ("LOCUS\n//\n", "x.gb:1: the record cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "x.gb").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_genbank(tmp_path / "x.gb"))


@pytest.mark.parametrize(("location", "end"), [("55..61", "\n"), ("join(1..", "\r\n"), ("3..x", "\n")])
def test_sequences_alone_need_no_sound_features(location, end):
    text = (record(cds(location, 'gene="a"'), "\n") + record(name="r2")).replace("\n", end)
    found = list(read_sequences(io.BytesIO(text.encode())))
    assert [(x.sequence, x.transcripts, x.skipped) for x in found] == 2 * [(BASES.upper(), (), ())]
