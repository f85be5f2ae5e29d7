"""Files of hints, as several programs write them."""

import io

import pytest

from field_formats import FORMATS
from structune.errors import DataError
from structune.genes import Hint, UnusedEvidenceWarning, read_hints, read_regions

AUGUSTUS = """# hints
chr1\tb2h\tintron\t101\t200\t0\t+\t.\tmult=12;pri=4;src=E
chr1\tb2h\texon\t1\t100\t0\t+\t.\tsrc=E
chr1\tb2h\tCDSpart\t301\t400\t0\t-\t.\tpri=4;src=P
chr2\tw2h\tdss\t7\t7\t0\t-\t.\tsrc=E
chr2\tw2h\tass\t9\t9\t.\t.\t.\tsrc=E
"""
PROTHINT = "chr2\tProtHint\tIntron\t11\t50\t4\t+\t.\tmult=4;al_score=0.3;\n"
MINIPROT = """##gff-version 3
chr1\tminiprot\tmRNA\t1001\t1900\t500\t+\t.\tID=MP1;Rank=1;Identity=0.9;Target=P1 1 200
chr1\tminiprot\tCDS\t1701\t1900\t200\t+\t0\tParent=MP1;Rank=1
chr1\tminiprot\tCDS\t1001\t1200\t300\t+\t0\tParent=MP1;Rank=1
chr1\tminiprot\tCDS\t1211\t1400\t300\t+\t0\tParent=MP1;Rank=1
chr1\tminiprot\tstop_codon\t1898\t1900\t0\t+\t0\tParent=MP1;Rank=1
"""
STAR = "chr1\t101\t200\t1\t1\t0\t7\t2\t30\nchr1\t301\t400\t2\t2\t1\t0\t5\t30\nchr2\t1\t50\t0\t0\t0\t1\t0\t9\n"


def read(text):
    return read_hints(io.StringIO(text))


def test_augustus_prothint_and_star():
    assert read(AUGUSTUS + PROTHINT + "##FASTA\n>chr1\nACGT\n") == {
        "chr1": [Hint("chr1", "intron", 100, 200, "+", 12.0), Hint("chr1", "CDS", 300, 400, "-", 1.0)],
        "chr2": [
            Hint("chr2", "donor", 6, 7, "-", 1.0),
            Hint("chr2", "acceptor", 8, 9, ".", 1.0),
            Hint("chr2", "intron", 10, 50, "+", 4.0),
        ],
    }
    assert read("") == read("# nothing\n") == {}
    assert read(STAR) == {
        "chr1": [Hint("chr1", "intron", 100, 200, "+", 9.0), Hint("chr1", "intron", 300, 400, "-", 5.0)],
        "chr2": [Hint("chr2", "intron", 0, 50, ".", 1.0)],
    }


def test_introns_lie_between_the_parts_of_an_alignment():
    """Gaps of a few bases are none."""
    (found,) = read(MINIPROT).values()
    assert [hint.kind for hint in found] == ["CDS"] * 3 + ["stop", "intron"]
    assert found[-1] == Hint("chr1", "intron", 1400, 1700, "+", 1.0)


def test_introns_of_several_alignments():
    """Of one parent or transcript each; what alignments share counts once."""
    line = "chr1\tx\tCDS\t{}\t{}\t.\t+\t0\tParent={}\n"
    parts = (1, 30, "a,b"), (101, 130, "a,b"), (201, 230, "a")
    (found,) = read("".join(line.format(*part) for part in parts)).values()
    assert [hint[2:4] for hint in found if hint.kind == "intron"] == [(30, 100), (130, 200)]
    line = 'chr1\tx\tCDS\t{}\t{}\t.\t-\t0\tgene_id "g"; transcript_id "{}";\n'
    parts = (1, 50, "a"), (101, 150, "a"), (301, 350, "b")
    (found,) = read("".join(line.format(*part) for part in parts)).values()
    assert [hint.kind for hint in found] == ["CDS"] * 3 + ["intron"]
    assert found[-1][2:5] == (50, 100, "-")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\tx\n", "1: a line must have 9 columns between tabs, not 2"),
        (AUGUSTUS.replace("101\t200", "201\t200"), "2: the start must be .* 201 and 200"),
        (AUGUSTUS.replace("mult=12", "mult=many"), "2: the support must be a number >= 0, not 'many'"),
        (PROTHINT.replace("\t+\t", "\t?\t", 1), r"1: the strand must be .*, not '\?'"),
        ("chr1\t100\t200\t1\t5\t+\t100\t200\t0\n", "1: the score must be"),  # BED is no table of STAR
        ("chr1\tx\texon\t1\t9\t.\t+\t.\tID=e\n", "none of 1 features is a hint: 1 exon .x.. Hints must have"),
    ],
)
def test_wrong_files(text, message):
    with pytest.raises(DataError, match=message):
        read(text)


BARRNAP = """##gff-version 3
chr1\tbarrnap:0.9\trRNA\t101\t1600\t0\t+\t.\tName=16S_rRNA;product=16S ribosomal RNA
chr1\ttRNAscan-SE\ttRNA\t1701\t1776\t70.1\t-\t.\tID=chr1.trna1
chr1\tx\tgene\t1701\t1776\t.\t-\t.\tID=g
chr2\tx\tmrna\t1\t99\t.\t-\t.\tID=m
chr2\tx\tlincRNA\t1\t99\t.\t-\t.\tID=l
chr2\tx\tantisense_lncRNA\t1\t99\t.\t-\t.\tID=a
chr2\tx\trepeat_region\t5\t9\t.\t.\t.\tID=r
"""


def test_regions_to_avoid():
    found = read_regions(io.StringIO(BARRNAP))
    assert found == {"chr1": [(100, 1600), (1700, 1776)], "chr2": [(4, 9)]}
    assert read_regions(io.StringIO("##gff-version 3\n")) == {}
    with pytest.raises(DataError, match=r"none of 5 features is a region to avoid: 3 CDS .miniprot."):
        read_regions(io.StringIO(MINIPROT))
    told = r"2 of 3 lines are not used: 1 similarity \(blastn\), 1 mRNA"
    text = gff("similarity", source="blastn") + gff("mRNA", "tRNA")
    with pytest.warns(UnusedEvidenceWarning, match=told):
        assert read_regions(io.StringIO(text)) == {"c": [(1, 10)]}
    with pytest.warns(UnusedEvidenceWarning, match="1 of 2 lines are not used: 1 BED features of length 0"):
        assert read_regions(io.StringIO("tracks\t0\t9\nc\t7\t7\n")) == {"tracks": [(0, 9)]}
    with pytest.raises(DataError, match="here they are 8 and 6"):
        read_regions(io.StringIO("c\t7\t6\n"))


def gff(*kinds, source="x"):
    line = "c\t{}\t{}\t{}\t{}\t.\t+\t.\tmult=2\n"
    return "".join(line.format(source, kind, k + 1, k + 9) for k, kind in enumerate(kinds))


def test_hints_that_are_not_used_are_told():
    """By type and source, once a file; a file of nothing else is refused."""
    text = gff(*["ep"] * 3, "exonpart", "intron", source="w2h") + gff("nonexonpart", source="repmask")
    with pytest.warns(UnusedEvidenceWarning) as told:
        assert [hint.kind for hint in read(text)["c"]] == ["intron"]
    assert [str(one.message) for one in told] == [
        "<input>: 5 of 6 lines are not used: 3 ep (w2h), 1 exonpart (w2h), 1 nonexonpart (repmask). "
        "Used: intron."
    ]
    with pytest.raises(DataError, match=r"none of 2 features is a hint: 1 ep \(x\), 1 exonpart \(x\)"):
        read(gff("ep", "exonpart"))
    with pytest.warns(UnusedEvidenceWarning, match="the file has no features"):
        assert read("##gff-version 3\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        gff("dispersed_repeat"),
        gff("similarity", source="RepeatMasker"),
        "track name=x\nc\t0\t9\n",
        "c\t0\t9\tAluY\t12\t+\t0\t9\t0\t1\t9,\t0,\n",
        "browser position c\nc 0 9  AluY 0 +\n",
    ],
)
def test_repeats_and_all_of_bed_are_regions(text):
    assert read_regions(io.StringIO(text)) == {"c": [(0, 9)]}


@pytest.mark.parametrize(
    ("sample", "advice"),
    [
        ("SJ.out.tab", "SJ.out.tab of STAR: junctions are read by --hints"),
        ("RepeatMasker .out", r"a table of RepeatMasker \(.out\): run RepeatMasker -gff, which writes GFF"),
        ("rmsk of UCSC", "a table of RepeatMasker at UCSC: convert it to BED with `cut -f 6-8`"),
        ("EMBL", "EMBL: convert it to GFF3 first"),
    ],
)
def test_what_to_do_with_other_files_of_regions_is_told(sample, advice):
    with pytest.raises(DataError, match=f"The file looks like {advice}"):
        read_regions(io.BytesIO(FORMATS[sample].data))
