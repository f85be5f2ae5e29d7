"""Stockholm files, and alignments in the formats that people have."""

import gzip
import io
import re
from functools import partial

import pytest

import structune
from structune.errors import DataError
from structune.rna import read_alignments
from structune.rna.formats.alignments import RNAAlignment, stockholm_text
from structune.rna.formats.any import read_rna
from structune.rna.formats.sequences import RNARecord

TEXT = """# STOCKHOLM 1.0
#=GF ID test

one/1-9       GGG-AAACCC
two           g.cUAAA-.C
#=GC SS_cons  <<(,___)>>
#=GC RF       GGGaAAACCC
//
"""
RECORDS = [RNARecord("one/1-9", "GGGAAACCC", "(((...)))"), RNARecord("two", "GCUAAAC", "(.....)")]

read_stockholm = partial(read_rna, format="stockholm")


def read(text):
    return list(read_stockholm(io.StringIO(text)))


def blocks(sequence, structure):
    return f"# STOCKHOLM 1.0\nx {sequence}\n#=GC SS_cons {structure}\n//\n"


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        "\ufeff\n" + TEXT,
        TEXT.replace("UAAA-.C", "TAAA~_C"),
        """# STOCKHOLM 1.0
one/1-9      GGG-A
two          gc--T
#=GC SS_cons <<(,_

one/1-9      AACCC
two          AAA.C
#=GC SS_cons __)>>
//
""".replace("gc--T", "g.cUA").replace("AAA.C", "AA-.C"),
    ],
)
def test_read(text):
    assert read(text) == RECORDS
    assert list(read_stockholm(io.BytesIO(gzip.compress(text.encode())))) == RECORDS


def test_several_alignments():
    other = "# STOCKHOLM 1.0\n#=GF AU caf\udce9\nz AC\n//\n"
    assert read(TEXT + other + TEXT) == [*RECORDS, RNARecord("z", "AC"), *RECORDS]


def test_pseudoknots_stay_letters():
    assert read(blocks("ACGUACGU", "<AB{}a>b"))[0].structure == "(AB()a)b"
    assert read(blocks("ACGU-CGU", "<AB{}a>b"))[0].structure == "(AB.a)b"
    assert read(blocks("ACGUA-GU", "<AB{}a>b"))[0].structure == "(.B())b"


def test_own_structures_come_first():
    text = TEXT.replace("two  ", "#=GR one/1-9 SS  (........)\n#=GR two SA 0123456789\ntwo  ", 1)
    assert [record.structure for record in read(text)] == ["(.......)", "(.....)"]
    found = read("# STOCKHOLM 1.0\nx A-C\n#=GR x SS <->\ny ACG\n//")
    assert found == [RNARecord("x", "AC", "()"), RNARecord("y", "ACG")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n>a\nACGU\n", "2: expected the line '# STOCKHOLM 1.0' here, not '>a'"),
        (TEXT + "x ACGU\n", "9: expected the line '# STOCKHOLM 1.0' here, not 'x ACGU'"),
        (TEXT.replace("//", ""), "7: the last line '//' is missing"),
        (TEXT.replace("GGG-", "!GZ-"), "4: position 1 (from 1): '!' is not one of"),
        (TEXT.replace("GGG-", "GG -"), "4: 'one/1-9       GG -AAACCC' is not a name and its aligned"),
        (TEXT.replace("GGG-", "GGG"), "5: the row has 10 columns, but the row in line 4 has 9"),
        (TEXT.replace("<<(", "<<(."), "6: the row has 11 columns, but the row in line 4 has 10"),
        (TEXT.replace("<<(,", "<<( "), "6: '#=GC SS_cons  <<( ___)>>': annotation of columns must not"),
        (blocks("ACG", "()>"), "3: column 3 (from 1): '>' has no matching '<'"),
        (blocks("ACGU", "(<)>"), "3: column 3 (from 1): ')' has no matching '('"),
        (blocks("ACG", "..a"), "3: column 3 (from 1): 'a' has no matching 'A'"),
        (blocks("ACG", ".B("), "3: column 2 (from 1): 'B' has no closing character"),
        (blocks("ACG", "..?"), "3: column 3 (from 1): '?' is not a character of the WUSS notation"),
        (
            "# STOCKHOLM 1.0\nx AC\n#=GC SS_cons ()\nx GU\n#=GC SS_cons .)\n//\n",
            "5: column 2 (from 1): ')' has no matching '('",
        ),
        ("# STOCKHOLM 1.0\n#=GR y SS ..\nx AC\n//\n", "2: 'y' has annotation, but no sequence"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(f"<input>:{message}")):
        read(text)


def test_names_must_be_text():
    with pytest.raises(DataError, match=r":2: the name '\\udcff'"):
        list(read_stockholm(io.BytesIO(b"# STOCKHOLM 1.0\n\xff A\n//\n")))


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
    text = stockholm_text(first, "((..))")
    assert text.splitlines()[2] == f"#=GF CC structune {structune.__version__}"
    assert next(read_alignments(io.StringIO(text))) == EXPECTED


def test_names_that_are_there_twice_can_be_read_back():
    (found,) = read_alignments(io.StringIO(">a\nGGA-CC\n>a\nGU-CCC\n>a_2\nGU-CCC\n"))
    (again,) = read_alignments(io.StringIO(stockholm_text(found, "((..))")))
    assert again.names == ("a", "a_3", "a_2")
    assert again.rows == found.rows


def test_an_alignment_without_rows_is_named():
    text = "# STOCKHOLM 1.0\n#=GF ID A\n//\n# STOCKHOLM 1.0\ns GGG\n//\n"
    with pytest.raises(DataError, match=r"<input>:1: alignment 'A' has no sequences"):
        list(read_alignments(io.StringIO(text)))


def test_clustal_and_fasta():
    rows = ("GGA-CC", "GU-CCC")
    clustal = "CLUSTAL W (1.83) multiple sequence alignment\n\na  GGA-\nb  GU-C\n   *\n\na  CC\nb  CC\n"
    for text in (clustal, f"\n{clustal}", ">a first\nGGA-\nCC\n>b\nGT.CCC\n"):
        assert list(read_alignments(io.StringIO(text))) == [RNAAlignment("1", ("a", "b"), rows)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<input>: the file is empty, expected an alignment"),
        (">a\nACG\n>b\nAC\n", "<input>: not an alignment in Fasta format"),
        ("# STOCKHOLM 1.0\na ACG\nb AC\n//\n", "<input>:3: the row has 2 columns, but the row in line 2"),
        ("ACGU\n", "<input>: not an alignment in Clustal format"),
        ("CLUSTAL W\n\n   *\n", "<input>: not an alignment in Clustal format"),
        (" x MSF: 4  Type: N  Check: 1 ..\n\n Name: a Len: 4\n", "no alignment. The file looks like MSF: "),
        (">a\nACGU\n....\n>b\nACCU\n....\n", "each sequence is followed by unpaired bases, as in dot-br"),
        (">a\nACG\n((.)\n", r"'\(' is not.* The file looks like dot-bracket: alignments are read from"),
        (">a\nAJG\n", "alignment '1': row 'a': position 2 .*'J' is not"),
    ],
)
def test_what_is_no_alignment(text, message):
    with pytest.raises(DataError, match=message):
        list(read_alignments(io.StringIO(text)))
