"""Alignments of RNAs in the formats that people have."""

import gzip
import io

import pytest

from structune.errors import DataError
from structune.rna import read_alignments
from structune.rna.formats.alignments import RNAAlignment, stockholm_text

STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID fam one
a/1-5 GGA.
b     GT~C

a/1-5 cc
b     CC
#=GC SS_cons ((..
#=GC SS_cons ))
//
# STOCKHOLM 1.0
x AC
//
"""
EXPECTED = RNAAlignment("fam_one", ("a/1-5", "b"), ("GGA-CC", "GU-CCC"), "((..))")


def test_stockholm(tmp_path):
    first, second = read_alignments(io.StringIO(STOCKHOLM))
    assert first == EXPECTED
    assert second == RNAAlignment("2", ("x",), ("AC",))
    (tmp_path / "a.sto.gz").write_bytes(gzip.compress(STOCKHOLM.encode()))
    assert list(read_alignments(tmp_path / "a.sto.gz")) == [first, second]
    assert next(read_alignments(io.StringIO(stockholm_text(first, "((..))")))) == EXPECTED


def test_names_that_are_there_twice_can_be_read_back():
    (found,) = read_alignments(io.StringIO(">a\nGGA-CC\n>a\nGU-CCC\n>a_2\nGU-CCC\n"))
    (again,) = read_alignments(io.StringIO(stockholm_text(found, "((..))")))
    assert again.names == ("a", "a_3", "a_2")
    assert again.rows == found.rows


def test_an_alignment_without_rows_is_named():
    text = "# STOCKHOLM 1.0\n#=GF ID A\n//\n# STOCKHOLM 1.0\ns GGG\n//\n"
    with pytest.raises(DataError, match="found no alignment in Stockholm format"):
        list(read_alignments(io.StringIO(text)))


def test_clustal_and_fasta():
    rows = ("GGA-CC", "GU-CCC")
    clustal = "CLUSTAL W (1.83) multiple sequence alignment\n\na  GGA-\nb  GU-C\n   *\n\na  CC\nb  CC\n"
    for text in (clustal, ">a first\nGGA-\nCC\n>b\nGT.CCC\n"):
        assert list(read_alignments(io.StringIO(text))) == [RNAAlignment("1", ("a", "b"), rows)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<input>: found no text, expected an alignment"),
        (">a\nACG\n>b\nAC\n", "<input>: found no alignment in Fasta format"),
        ("# STOCKHOLM 1.0\na ACG\nb AC\n//\n", "<input>: found no alignment in Stockholm format"),
        ("ACGU\n", "<input>: found no alignment in Clustal format"),
        (
            " x MSF: 4  Type: N  Check: 1 ..\n\n Name: a Len: 4\n",
            "found no alignment. The file looks like MSF: ",
        ),
        (">a\nACGU\n....\n>b\nACCU\n....\n", "found unpaired bases below each sequence, as in dot-bracket"),
        (
            ">a\nACG\n((.)\n",
            r"found '\('.* The file looks like dot-bracket: alignments are read from Stockholm",
        ),
        (">a\nAJG\n", "alignment '1': row 'a': position 2 .*found 'J'"),
    ],
)
def test_what_is_none(text, message):
    with pytest.raises(DataError, match=message):
        list(read_alignments(io.StringIO(text)))
