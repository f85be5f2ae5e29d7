"""Protein alignments: what is read, what is written back, and what is refused, with the line named."""

import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.alignment.formats import (
    ProteinAlignment,
    alignment_text,
    read_protein_alignments,
    read_proteins,
    write_protein_alignments,
)
from structune.errors import DataError

ROWS = ProteinAlignment(["a", "b", "c"], ["AC-D", "A.cD", "--CD"])
FASTA = ">a first\nAC\n-D\n\n>b\nA.cD\n>c\n--CD\n"
CLUSTAL = """CLUSTAL W (1.83) multiple sequence alignment

a   AC 2
b   A. 1
c   --

a   -D 3
b   cD 3
c   CD 2
     *
"""
STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID x
a  AC
b  A.
c  --

a  -D
b  cD
c  CD
#=GC SS_cons HHHH
//
"""


def read(text):
    return list(read_protein_alignments(io.StringIO(text)))


@pytest.mark.parametrize("text", [FASTA, CLUSTAL, STOCKHOLM], ids=["fasta", "clustal", "stockholm"])
def test_read(text, tmp_path):
    assert read(text) == [ROWS]
    (tmp_path / "x.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_protein_alignments(tmp_path / "x.gz")) == [ROWS]
    assert read(text.replace("\n", "\r\n")) == [ROWS]


def test_stockholm_files_may_hold_several():
    assert read(STOCKHOLM + STOCKHOLM) == [ROWS, ROWS]
    assert read("# STOCKHOLM 1.0\n") == []
    assert read(CLUSTAL + CLUSTAL) == [ROWS, ROWS]


def test_headers_of_other_programs():
    assert read(CLUSTAL.replace("CLUSTAL W (1.83)", "MUSCLE (3.8)")) == [ROWS]


def test_pairs_have_no_columns_of_gaps_alone():
    assert ROWS.pair(0, 1) == ("AC-D", "A.cD")
    assert ROWS.pair(1, 2) == ("AcD", "-CD")
    assert ProteinAlignment(["a", "b"], ["", ""]).pair(0, 1) == ("", "")


@pytest.mark.parametrize("format", ["fasta", "clustal"])
@given(
    rows=st.integers(1, 150).flatmap(
        lambda n: st.lists(st.text("ACDEF-", min_size=n, max_size=n), min_size=1, max_size=4)
    )
)
def test_round_trip(format, rows):
    given = ProteinAlignment([f"n{k}" for k in range(len(rows))], rows)
    target = io.StringIO()
    write_protein_alignments(target, [given], format)
    assert read(target.getvalue()) == [given]


def test_write_to_a_path(tmp_path):
    write_protein_alignments(tmp_path / "x.fa", [ROWS, ROWS])
    assert (tmp_path / "x.fa").read_text().count(">a\nAC-D\n") == 2
    with pytest.raises(DataError, match="format='nexus': expected one of 'fasta', 'clustal', 'stockholm', "):
        write_protein_alignments(tmp_path / "x.nex", [ROWS], "nexus")


LONG = ProteinAlignment(["a b", "c"], ["AC-D" * 20, "ACDE" * 20])


def test_stockholm_with_confidence():
    text = alignment_text(LONG, "stockholm", [0.95, 1.0, float("nan"), 0.0] * 20)
    assert read(text) == [LONG._replace(names=["a_b", "c"])]
    assert "#=GC confidence " + "99.0" * 20 + "\n//\n" in text


@pytest.mark.parametrize(("format", "name"), [("phylip", "phylip-relaxed"), ("msf", "msf")])
def test_biopython_reads_what_is_written(format, name):
    AlignIO = pytest.importorskip("Bio.AlignIO")
    found = AlignIO.read(io.StringIO(alignment_text(LONG, format)), name)
    assert [(record.id, str(record.seq).replace(".", "-")) for record in found] == [
        ("a_b", LONG.rows[0]),
        ("c", LONG.rows[1]),
    ]


def test_proteins(tmp_path):
    with gzip.open(tmp_path / "x.fa.gz", "wt") as file:
        file.write(">a first one\nACDE\nfg*\n>a\nAC\n\n>\n>d\n*\n")
    assert read_proteins(tmp_path / "x.fa.gz") == [
        ("a", "ACDEfg", "a first one"),
        ("a", "AC", "a"),
        ("3", "", ""),
        ("d", "", "d"),
    ]
    with pytest.raises(DataError, match=re.escape(":1: found 'AC', expected a header '>name'")):
        read_proteins(io.StringIO("AC\n>a\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found '', expected an alignment in FASTA, Clustal or Stockholm"),
        ("ACDE\n", "found 'ACDE', expected an alignment"),
        (">a\nAC\n>b\nA\n", ":3: found a row of 1 columns for 'b', expected 2"),
        (">a\nAC\n>a\nAC\n", ":3: found the name 'a' again, first in 1"),
        ("CLUSTAL\n", "found no rows after the header"),
        ("CLUSTAL\n\na AC\nb A C\n", ":4: found 'b A C', expected a name, residues, and maybe their number"),
        ("CLUSTAL\n\na AC\nb ACD\n", ":4: found a row of 3 columns for 'b', expected 2"),
        ("# STOCKHOLM 1.0\na AC\n", ":2: found the end of the file, expected '//'"),
        ("# STOCKHOLM 1.0\na\n//\n", ":2: found 'a', expected a name and residues"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(text)


@given(
    st.text(st.sampled_from(list(">#AC-. \n/*1")), max_size=60),
    st.sampled_from(["", ">a\n", "CLUSTAL\n", "# STOCKHOLM 1.0\n"]),
)
def test_any_text_is_read_or_refused(text, head):
    try:
        for alignment in read(head + text):
            assert len({len(row) for row in alignment.rows}) <= 1
    except DataError:
        pass
