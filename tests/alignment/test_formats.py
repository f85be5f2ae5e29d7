"""Protein alignments: what is read, what is written back, and what is refused, with the line named."""

import gzip
import io
import re

import pytest
from Bio import AlignIO
from hypothesis import given
from hypothesis import strategies as st

import structune
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
PHYLIP = """ 3 4
a  AC
b  A-
c  --
   -D
   cD
   CD
"""
MSF = """PileUp

 x.msf  MSF: 4  Type: P  Check: 0  ..

 Name: a  Len: 4  Check: 0  Weight: 1.00
 Name: b  oo  Len: 4  Check: 0  Weight: 1.00
 Name: c  Len: 4  Check: 0  Weight: 1.00

//

     1  2
a    A C
b    A.
c    ~~

a    -D
b    cD
c    CD
"""


def read(text):
    return list(read_protein_alignments(io.StringIO(text)))


@pytest.mark.parametrize("text", [FASTA, CLUSTAL, STOCKHOLM, PHYLIP, MSF], ids=lambda text: text.split()[0])
def test_read(text, tmp_path):
    gaps = {MSF: ["AC-D", "A.cD", "..CD"], PHYLIP: ["AC-D", "A-cD", "--CD"]}
    expected = [ROWS._replace(rows=gaps.get(text, ROWS.rows))]
    assert read(text) == expected
    (tmp_path / "x.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_protein_alignments(tmp_path / "x.gz")) == expected
    assert read(text.replace("\n", "\r\n")) == expected


def test_stockholm_files_may_hold_several():
    assert read(STOCKHOLM + STOCKHOLM) == [ROWS, ROWS]
    assert read("# STOCKHOLM 1.0\n") == []
    assert read(CLUSTAL + CLUSTAL) == [ROWS, ROWS]
    assert read(PHYLIP + PHYLIP) == read(PHYLIP) * 2


@pytest.mark.parametrize(
    "text",
    [
        "2 6\nfirst ACD\n-FG\nsecond ACD EFG\n",  # each is whole before the next
        "2 6 I\nfirst ACD\nsecond ACD\n\n-FG\nEFG\n",
        "2 6\nfirst     ACD-FG\nsecond    ACDEFG\n",
    ],
)
def test_phylip(text):
    assert read(text) == [ProteinAlignment(["first", "second"], ["ACD-FG", "ACDEFG"])]


def test_phylip_with_names_of_ten_characters():
    expected = [ProteinAlignment(["Homo sapie", "Homo erect"], ["ACD-FG", "ACDEFG"])]
    assert read("2 6\nHomo sapieACD -FG\nHomo erectACDEFG\n") == expected
    assert read("2 6\nHomo sapieACD\n-FG\nHomo erectACDEFG\n") == expected


def test_headers_of_other_programs():
    assert read(CLUSTAL.replace("CLUSTAL W (1.83)", "Kalign (2.0)")) == [ROWS]


def test_a_name_that_begins_as_a_program_does():
    given = ProteinAlignment(["muscle_actin", "b"], ["ACDE" * 20, "ACDF" * 20])
    assert read(alignment_text(given, "clustal") * 2) == [given] * 2


@pytest.mark.parametrize("format", ["clustal", "stockholm", "phylip", "msf"])
def test_names_that_are_there_twice_get_numbers(format):
    given = ProteinAlignment(["a b", "a_b", "a_b_2"], ["AC", "AD", "AE"])
    assert read(alignment_text(given, format)) == [given._replace(names=["a_b", "a_b_3", "a_b_2"])]


def test_pairs_have_no_columns_of_gaps_alone():
    assert ROWS.pair(0, 1) == ("AC-D", "A.cD")
    assert ROWS.pair(1, 2) == ("AcD", "-CD")
    assert ProteinAlignment(["a", "b"], ["", ""]).pair(0, 1) == ("", "")


@pytest.mark.parametrize("format", ["fasta", "clustal", "stockholm", "phylip", "msf"])
@given(
    rows=st.integers(1, 150).flatmap(
        lambda n: st.lists(st.text("ACDEF-", min_size=n, max_size=n), min_size=1, max_size=4)
    )
)
def test_round_trip(format, rows):
    given = ProteinAlignment([str(k) for k in range(len(rows))], rows)
    target = io.StringIO()
    write_protein_alignments(target, [given], format)
    gap = "." if format == "msf" else "-"
    assert read(target.getvalue()) == [given._replace(rows=[row.replace("-", gap) for row in rows])]


def test_write_to_a_path(tmp_path):
    write_protein_alignments(tmp_path / "x.fa", [ROWS, ROWS])
    assert (tmp_path / "x.fa").read_text().count(">a\nAC-D\n") == 2
    with pytest.raises(DataError, match="format='nexus': expected one of 'fasta', 'clustal', 'stockholm', "):
        write_protein_alignments(tmp_path / "x.nex", [ROWS], "nexus")


LONG = ProteinAlignment(["a b", "c"], ["AC-D" * 20, "ACDE" * 20])
A3M = "#A3M#\n>a\nACDE\n>b\nAgyC-E\n>c\n-CsDEk\n"


def test_a3m_becomes_a2m(tmp_path):
    expected = [ProteinAlignment(["a", "b", "c"], ["A..C.DE.", "AgyC.-E.", "-..CsDEk"])]
    assert read(A3M) == expected
    (tmp_path / "x.a3m").write_text(">a\nAcD\n>b\nADe\n")  # of as many letters: the name tells
    (found,) = read_protein_alignments(tmp_path / "x.a3m")
    assert found == ProteinAlignment(["a", "b"], ["AcD.", "A.De"])


def test_stockholm_with_confidence():
    text = alignment_text(LONG, "stockholm", [0.95, 1.0, float("nan"), 0.0] * 20)
    assert read(text) == [LONG._replace(names=["a_b", "c"])]
    assert "#=GC confidence " + "99.0" * 20 + "\n//\n" in text


@pytest.mark.parametrize("model", ["", "pretrained", "a\nb //"])
def test_stockholm_names_the_version_and_the_model(tmp_path, model):
    write_protein_alignments(tmp_path / "x.sto", [LONG, LONG], "stockholm", model=model)
    told = f"structune {structune.__version__}" + (f", model {' '.join(model.split())}" if model else "")
    assert (tmp_path / "x.sto").read_text().count(f"# STOCKHOLM 1.0\n#=GF CC {told}\n") == 2
    assert [each.rows for each in read_protein_alignments(tmp_path / "x.sto")] == [LONG.rows] * 2
    assert [len(each) for each in AlignIO.parse(tmp_path / "x.sto", "stockholm")] == [2, 2]


@pytest.mark.parametrize(
    "reader", ["phylip", "phylip-relaxed", "phylip-sequential", "clustal", "msf", "stockholm"]
)
def test_biopython_reads_what_is_written(reader):
    for names in (["a b", "b/1-20"], ["sp|P1|X", "a:b,c"], ["#a", "//"], ["CLUSTAL", "MUSCLE"], ["", "1"]):
        text = alignment_text(LONG._replace(names=names), reader.partition("-")[0])
        (found,) = AlignIO.parse(io.StringIO(text), reader)
        assert [str(record.seq).replace(".", "-") for record in found] == LONG.rows
        (own,) = read(text)
        assert [record.id for record in found] == own.names
        if "b" in "".join(names):
            assert own.names == [name.replace(" ", "_") for name in names]


def test_phylip_is_padded_and_split_by_white_space_alike():
    rows = alignment_text(LONG, "phylip").splitlines()[1:]
    assert [row.split() for row in rows] == [["a_b", LONG.rows[0]], ["c", LONG.rows[1]]]
    with pytest.warns(UserWarning, match="more than 10 letters need a reader of relaxed PHYLIP"):
        text = alignment_text(LONG._replace(names=["eleven_lett", "b"]), "phylip")
    assert text.splitlines()[1].split() == ["eleven_lett", LONG.rows[0]]


def test_what_other_programs_ask_of_headers():
    first = alignment_text(LONG, "clustal").splitlines()[0]
    assert first.startswith("CLUSTAL")
    assert first.endswith("multiple sequence alignment")  # HMMER, Clustal Omega
    dna = ProteinAlignment(["a", "b"], ["ACGTRACGT-ACGT", "ACGT-ACGTUACGT"])
    assert ("Type: N" in alignment_text(dna, "msf"), "Type: P" in alignment_text(LONG, "msf")) == (True, True)


def test_proteins(tmp_path):
    with gzip.open(tmp_path / "x.fa.gz", "wt") as file:
        file.write(">a first one\nACDE\nfg*\n>a\nAC\n\n>\n>d\n*\n")
    assert read_proteins(tmp_path / "x.fa.gz") == [
        ("a", "ACDEfg", "a first one"),
        ("a", "AC", "a"),
        ("3", "", ""),
        ("d", "", "d"),
    ]
    with pytest.raises(DataError, match=re.escape(":1: 'AC' should be a header such as '>name'")):
        read_proteins(io.StringIO("AC\n>a\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty. It should be an alignment in FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP"),
        ("ACDE\n", "the file begins with 'ACDE'. It should be an alignment"),
        (">a\nAC\n>b\nA\n", ":3: the row of 'b' has 1 column, but should have 2 like all rows. Are"),
        (">a\nAC\n>a\nAC\n", ":3: the name 'a' is already used in line 1"),
        ("CLUSTAL\n", "there are no rows after the header"),
        ("CLUSTAL\n\na AC\nb A C\n", ":4: 'b A C' should be a name and residues, optionally"),
        ("# STOCKHOLM 1.0\na AC\n", ":2: the file ends without '//'"),
        ("# STOCKHOLM 1.0\na\n//\n", ":2: 'a' should be a name and residues"),
        ("2 3\na ACD\nb AC\n", ":3: the row of 'b' has 2 columns, but should have 3"),
        ("2 3\na ACD\n", ":1: expected 2 sequences of 3 columns from here on"),
        (PHYLIP.replace("A-", "A."), ":1: '.' in PHYLIP is ambiguous"),
        (">P1;a\nan actin\nMKV*\n", ":1: '>P1;a' is a header of PIR: convert the file to FASTA first"),
        (">a\nMKV\n>ss_pred PSIPRED\nCHC\n", ":3: '>ss_pred PSIPRED' is annotation of residues: remove"),
        ("#NEXUS\nbegin data;\n", "or MSF. The file looks like NEXUS: convert it first"),
        ("CLUSTAL\n\na AC\na AC\n", ":4: the name 'a' occurs twice in a block"),
        ("MSF: 4 ..\n//\n", "there are no names before '//'"),
        (MSF.replace("MSF: 4", "MSF: 40"), ":5: the row of 'a' has 4 columns, but should have 40"),
        (MSF.replace("//", ""), ":18: the file ends without '//' after the names"),
        (MSF.replace("c    CD", "d    CD"), "18: 'd    CD' does not begin with a name listed above '//'"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(text)
