"""Genes in GFF3 and GTF files."""

import io
import re

import pytest

from structune.errors import DataError
from structune.genes.formats.gff import read_annotation, read_gff3, read_gtf
from structune.genes.formats.record import Skipped, Transcript

HEADER = "##gff-version 3\n"


def line(kind="CDS", start=1, end=9, strand="+", phase=".", attributes="", contig="c", score="."):
    columns = (contig, "x", kind, start, end, score, strand, phase, attributes)
    return "\t".join(map(str, columns)) + "\n"


GENE = line("gene", 1, 90, attributes="ID=g")
MRNA = line("mRNA", 1, 90, attributes="ID=t;Parent=g", score="0.5")


def read_any(text, reader=read_gtf):
    found = reader(io.StringIO(text))
    return [t for of in found.transcripts.values() for t in of], list(found.skipped)


def read(*lines):
    return read_any(HEADER + "".join(lines), read_gff3)


def cds(start, end, phase=".", strand="+", attributes="Parent=t"):
    return line("CDS", start, end, strand, phase, attributes)


def test_transcripts_of_genes():
    second = line("mRNA", 1, 90, attributes="Parent=g;ID=u")
    shared = cds(1, 4, 0, attributes="Parent=t,u")
    first, last = cds(11, 15, 2), cds(21, 22, 2, attributes="Parent=u")
    found, skipped = read(first, second, shared, "# a comment\n", "###\n", MRNA, GENE, last)
    assert found == [
        Transcript("c", "+", ((0, 4), (10, 15)), "t", "g", 0.5),
        Transcript("c", "+", ((0, 4), (20, 22)), "u", "g"),
    ]
    assert not skipped


def test_whole_transcripts_have_the_codons_that_others_have():
    lines = [GENE, MRNA, line("mRNA", 1, 90, attributes="ID=u;Parent=g")]
    lines += [cds(1, 9), cds(11, 19, attributes="Parent=u")]
    for kind in ("start_codon", "stop_codon"):
        assert [t.name for t in read(*lines, line(kind, 7, 9, attributes="Parent=g"))[0]] == ["t", "u"]
        (found,), skipped = read(*lines, line(kind, 7, 9, attributes="Parent=t"))
        assert found.name == "t"
        assert skipped == [Skipped("c", "u", "incomplete", (10, 19))]


def test_genes_without_transcripts():
    parts = cds(1, 3, 0, attributes="ID=p;Parent=g"), cds(7, 9, 0, attributes="ID=q;Parent=g")
    found, _ = read(GENE, *parts)
    assert [(t.name, t.gene, t.exons) for t in found] == [("p", "g", ((0, 3),)), ("q", "g", ((6, 9),))]
    assert read(*parts)[0] == found  # the gene is not in the file
    (joined,), _ = read(GENE, parts[0], cds(7, 9, 0, attributes="ID=p;Parent=g"))
    assert joined.exons == ((0, 3), (6, 9))


def test_parents_that_are_not_in_the_file():
    cut = cds(21, 29, attributes="ID=p;Parent=u")
    found, skipped = read(GENE, MRNA, cds(1, 3), cut)
    assert [t.name for t in found] == ["t"]
    assert skipped == [Skipped("c", "u", "its parent is not in the file", (20, 29))]
    assert [t.name for t in read(GENE, MRNA, cut)[0]] == ["p"]  # none is there


def test_genes_without_names():
    found, _ = read(cds(1, 3, attributes=""), cds(7, 9, strand="-", attributes="ID=p"))
    assert [(t.name, t.gene, t.strand) for t in found] == [("c:1-3(+)", "c:1-3(+)", "+"), ("p", "p", "-")]
    assert read("c\tx\tCDS\t1\t3\t.\t+\t.\n")[0] == found[:1]


def test_names_are_unescaped_and_lose_prefixes():
    """Parts of an mRNA without a gene belong together, whatever their IDs."""
    above = line("mRNA", attributes="ID=transcript:a%3Bb;Parent=Gene:caf%C3%A9", score="0.5")
    of_parts = "ID=p{};Parent=transcript:a%3Bb"
    parts = [line(start=a, end=a + 2, attributes=of_parts.format(a), contig="c%20d") for a in (1, 7)]
    protein = line("protein", attributes="ID=t-Protein;Derives_from=t")  # is no parent
    parts[1] = parts[1].replace("%3Bb\n", "%3Bb,t-Protein;\n")
    (found,), _ = read(above, protein, *parts)
    assert (found.name, found.gene, found.contig) == ("a;b", "caf\u00e9", "c d")
    assert (found.exons, found.score) == (((0, 3), (6, 9)), 0.5)
    (found,), _ = read(above.replace(";Parent=Gene:caf%C3%A9", ""), *parts)
    assert (found.name, found.gene, found.exons) == ("a;b", "a;b", ((0, 3), (6, 9)))


def test_what_is_let_pass():
    odd = line("SO:0000316", attributes="id=1; - some words\twith a tab")
    whole = line(attributes="ID=1_1;partial=00;start_type=ATG;conf=99.98", score=35.3)  # of Prodigal
    found, _ = read("# Sequence Data: seqnum=1\n", odd, whole, "##FASTA\n>c\n")
    assert [t.score for t in found] == [None, 35.3]
    parts = [cds(*span, 1, attributes="ID=p;codon_start=1") for span in ((1, 10), (21, 29))]
    (found,), _ = read(*parts)  # phases as bp_genbank2gff3 writes them
    assert found.phases == (0, 2)
    _, skipped = read(cds(1, 9, 2, attributes="ID=p;codon_start=2"))
    assert skipped == [Skipped("c", "p", "incomplete: phase 1 at its start", (0, 9))]
    for text, code in (("4", 4), ("x", None), ("", None), ("7", None), ("1111", None)):
        (found,), _ = read(cds(1, 9, attributes=f"ID=p;transl_table={text}"))
        assert found.code == code


def part(start, end, phase=".", strand="+"):
    return cds(start, end, phase, strand, "ID=p")


@pytest.mark.parametrize(
    ("lines", "reason", "span"),
    [
        ([cds(1, 9, attributes="ID=p;pseudo=true")], "a pseudogene", (0, 9)),
        ([cds(1, 9, attributes="ID=p;partial=true")], "incomplete", (0, 9)),
        ([cds(1, 9, attributes="ID=p;start_range=.,1")], "incomplete", (0, 9)),
        ([part(1, 9, 2, "-"), part(21, 29, 1, "-")], "incomplete: phase 1 at its start", (0, 29)),
        ([cds(1, 9, attributes="ID=p;exception=trans-splicing")], "trans-splicing", None),
        ([part(1, 9, 0, "-"), part(21, 29, 0)], "parts on two contigs or strands", None),
        ([part(1, 9), line(attributes="ID=p", contig="d")], "parts on two contigs or strands", None),
        ([part(1, 9), part(9, 29)], "parts overlap (a programmed frameshift?)", (0, 29)),
        ([part(1, 10, 0), part(21, 29, 0)], "phase 0, but 2 by the lengths of the parts", (0, 29)),
    ],
)
def test_what_is_skipped_is_named(lines, reason, span):
    assert read(*lines, cds(41, 49, attributes="ID=q"))[1] == [Skipped("c", "p", reason, span)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (cds(1, 9, attributes='gene_id "g";'), "the attributes 'gene_id \"g\";' are GTF"),
        (line(start=0), "the start must be at least 1 and at most the end; here they are 0 and 9"),
        (line(end="9" * 5000), "start and end must be whole numbers from 1, not '1' and '9999"),
        (line(strand="."), "the strand of a CDS must be '+' or '-', not '.'"),
        (line(phase="x"), "the phase of a CDS must be 0, 1, 2 or '.', not 'x'"),
        (line(score="high"), "the score must be a number or '.', not 'high'"),
        ("c x CDS 1 9 . + 0 ID=p\n", "a line must have 9 columns between tabs, not 1"),
        (">c\nACGT\n", "'>c' is a sequence: ##FASTA must come before"),
        (line(attributes="ID=p") * 2, "the part of a CDS was already given in line 2"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "x.gff3"
    path.write_text(HEADER + text)
    number = 1 + (text.count("\n") if "already" in message else 1)
    with pytest.raises(DataError, match=re.escape(f"x.gff3:{number}: {message}")):
        read_gff3(path)
    with pytest.raises(DataError, match=r"<input>:1: the name '\\udcff' is empty or not UTF-8 text"):
        read_gff3(io.BytesIO(line(attributes="ID=\xff").encode("latin-1")))


def test_marks_of_parents():
    """As in RefSeq's yeast, parents may lack ends that are not coding; those of pseudogenes count."""
    cut = (each.replace("ID=", "partial=true;start_range=.,1;ID=") for each in (GENE, MRNA))
    (found,), _ = read(*cut, cds(1, 9))
    assert found.exons == ((0, 9),)
    for gene, mrna in ((GENE.replace("ID=", "pseudo=true;ID="), MRNA), (GENE, MRNA + ";pseudogene=unknown")):
        found, (skipped,) = read(gene, mrna.replace("\n;", ";") + "\n", cds(1, 9))
        assert (found, skipped.name, skipped.reason) == ([], "t", "a pseudogene")


def test_files_without_coding_parts_are_told():
    """Such as those of assemblers of transcripts."""
    with pytest.warns(
        UserWarning, match="there are no genes, since none of 3 features is a CDS: 2 exon, 1 mRNA"
    ):
        assert read(MRNA, line("exon", 1, 9), line("exon", 21, 29)) == ([], [])


AUGUSTUS = """# This output was generated with AUGUSTUS (version 3.5.0).
# start gene g1
Chr1\tAUGUSTUS\tgene\t11\t60\t0.08\t+\t.\tg1
Chr1\tAUGUSTUS\ttranscript\t11\t60\t0.75\t+\t.\tg1.t1
Chr1\tAUGUSTUS\tstart_codon\t11\t13\t.\t+\t0\ttranscript_id "g1.t1"; gene_id "g1";
Chr1\tAUGUSTUS\tintron\t21\t40\t1\t+\t.\ttranscript_id "g1.t1"; gene_id "g1";
Chr1\tAUGUSTUS\tCDS\t11\t20\t1\t+\t0\ttranscript_id "g1.t1"; gene_id "g1";
Chr1\tAUGUSTUS\texon\t11\t20\t.\t+\t.\ttranscript_id "g1.t1"; gene_id "g1";
Chr1\tAUGUSTUS\tCDS\t41\t60\t1\t+\t2\ttranscript_id "g1.t1"; gene_id "g1";
Chr1\tAUGUSTUS\tstop_codon\t58\t60\t.\t+\t0\ttranscript_id "g1.t1"; gene_id "g1";
# protein sequence = [MEDQVGF]
Chr1\tAUGUSTUS\ttranscript\t71\t90\t0.5\t-\t.\tg2.t1
Chr1\tAUGUSTUS\tCDS\t71\t90\t1\t-\t2\ttranscript_id "g2.t1"; gene_id "g2";
Chr1\tAUGUSTUS\tstop_codon\t71\t73\t.\t-\t0\ttranscript_id "g2.t1"; gene_id "g2";
"""
ENSEMBL = """#!genome-build BDGP6
2L\tFlyBase\tgene\t1\t99\t.\t-\t.\tgene_id "FBgn1"; gene_name "x; y"; gene_source "FlyBase";
2L\tFlyBase\ttranscript\t1\t99\t.\t-\t.\tgene_id "FBgn1"; transcript_id "FBtr1"; gene_name "x; y";
2L\tFlyBase\tCDS\t31\t39\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr1"; exon_number "1"; tag "basic";
2L\tFlyBase\tstart_codon\t37\t39\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr1"; exon_number "1";
2L\tFlyBase\tCDS\t14\t19\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr1"; exon_number "2";
2L\tFlyBase\tstop_codon\t11\t13\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr1"; exon_number "2";
2L\tFlyBase\tCDS\t14\t19\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr2"; tag "cds_start_NF"; tag "basic";
2L\tFlyBase\tstart_codon\t17\t19\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr2"; exon_number "1";
2L\tFlyBase\tstop_codon\t11\t13\t.\t-\t0\tgene_id "FBgn1"; transcript_id "FBtr2"; exon_number "1";
"""


@pytest.mark.parametrize("reader", [read_gtf, read_annotation])
def test_augustus(reader):
    """Its stop codons lie within coding parts; genes without a start codon are parts of genes."""
    (found,), (cut,) = read_any(AUGUSTUS, reader)
    assert (found.contig, found.strand, found.exons) == ("Chr1", "+", ((10, 20), (40, 60)))
    assert (found.name, found.gene, found.score) == ("g1.t1", "g1", 0.75)
    assert (cut.name, cut.reason, cut.span) == ("g2.t1", "incomplete", (70, 90))


def test_ensembl():
    """Stop codons are beside the coding parts, which they belong to."""
    (found,), (cut,) = read_any(ENSEMBL, read_annotation)
    assert (found.name, found.gene, found.exons) == ("FBtr1", "FBgn1", ((10, 19), (30, 39)))
    assert found.phases == (0, 0)
    assert (cut.name, cut.reason) == ("FBtr2", "incomplete")


def test_stop_codons_that_introns_cut_off():
    split = ENSEMBL.replace("stop_codon\t11\t13", "stop_codon\t5\t6").replace("CDS\t14\t19", "CDS\t13\t19")
    split += split.splitlines()[6].replace("\t5\t6", "\t12\t12") + "\n"
    (found,), _ = read_any(split)
    assert found.exons == ((4, 6), (11, 19), (30, 39))


def test_attributes_may_be_anything():
    """GTF with the names of transcript and gene; and GFF3 with quotes."""
    for before in ("", "a" * 50_000 + ";", 'a "b c";', "a b c;"):
        (found,), _ = read_any(line(end=6, phase=0, attributes=f'{before}gene_id "g"transcript_id t;'))
        assert (found.name, found.gene) == ("t", "g")
    with pytest.raises(DataError, match=r"1: 'gene_id .*lacks transcript_id"):
        read_any(line(phase=0, attributes='gene_id "g";'))
    (found,), _ = read_any(line(phase=0, attributes='ID=g;Note=the "best" gene'), read_annotation)
    assert found.name == "g"
