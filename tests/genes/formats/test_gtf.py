"""Genes in GTF files."""

import io

import pytest

from structune.errors import DataError
from structune.genes.formats.gff import read_annotation, read_gtf

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


def read(text, reader=read_gtf):
    found = reader(io.StringIO(text))
    return [t for of in found.transcripts.values() for t in of], list(found.skipped)


@pytest.mark.parametrize("reader", [read_gtf, read_annotation])
def test_augustus(reader):
    """Its stop codons lie within coding parts; genes without a start codon are parts of genes."""
    (found,), (cut,) = read(AUGUSTUS, reader)
    assert (found.contig, found.strand, found.exons) == ("Chr1", "+", ((10, 20), (40, 60)))
    assert (found.name, found.gene, found.score) == ("g1.t1", "g1", 0.75)
    assert (cut.name, cut.reason, cut.span) == ("g2.t1", "not whole", (70, 90))


def test_braker():
    """The same with other programs in the second column, and features that count for nothing."""
    text = AUGUSTUS.replace("AUGUSTUS\tCDS", "GeneMark.hmm3\tCDS").replace("AUGUSTUS\tgene", "gmst\tgene")
    assert read(text, read_annotation) == read(AUGUSTUS)


@pytest.mark.parametrize("reader", [read_gtf, read_annotation])
def test_ensembl(reader):
    """Stop codons are beside the coding parts, which they belong to."""
    (found,), (cut,) = read(ENSEMBL, reader)
    assert (found.name, found.gene, found.exons) == ("FBtr1", "FBgn1", ((10, 19), (30, 39)))
    assert found.phases == (0, 0)
    assert (cut.name, cut.reason) == ("FBtr2", "not whole")


def test_stop_codons_that_introns_cut_off():
    split = ENSEMBL.replace("stop_codon\t11\t13", "stop_codon\t5\t6").replace("CDS\t14\t19", "CDS\t13\t19")
    split += split.splitlines()[6].replace("\t5\t6", "\t12\t12") + "\n"
    (found,), _ = read(split)
    assert found.exons == ((4, 6), (11, 19), (30, 39))


def test_no_features():
    assert read("# nothing\n") == read("# nothing\n", read_annotation) == ([], [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('c\tx\tCDS\t1\t3\t.\t+\t0\tgene_id "g";', "1: found 'gene_id .*expected transcript_id"),
        ('c\tx\tCDS\t1\t3\t.\t.\t0\tgene_id "g"; transcript_id "t";', "1: found the strand"),
        ("c\tx\tCDS\t1", "1: found 4 columns"),
    ],
)
def test_malformed_lines(line, message):
    with pytest.raises(DataError, match=message):
        read(line + "\n")


def test_attributes_may_be_anything():
    line = 'c\tx\tCDS\t1\t6\t.\t+\t0\t{}gene_id "g"transcript_id t;\n'
    for before in ("", "a" * 50_000 + ";", 'a "b c";', "a b c;"):
        (found,), _ = read(line.format(before))
        assert (found.name, found.gene) == ("t", "g")


def test_gff3_with_quotes_is_gff3():
    text = 'c\tx\tCDS\t1\t6\t.\t+\t0\tID=g;Note=the "best" gene\n'
    (found,), _ = read(text, read_annotation)
    assert found.name == "g"
