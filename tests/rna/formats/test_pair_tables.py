"""CT and BPSEQ files."""

import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnas import structured_records
from structune.errors import DataError
from structune.rna.formats.pair_tables import read_bpseq, read_ct, write_bpseq, write_ct
from structune.rna.formats.sequences import RNARecord

BASES = "1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n"


def read(text):
    return read_ct(io.StringIO(text))


@pytest.mark.parametrize(
    "header",
    [
        "4 x",
        "4 ENERGY = -1.2 [initially -1.5] x",
        "4\tdG = -0.3\tx",
        "4 Energy= -0.3 x",
        "# comment\nFilename: x.ct\nOrganism: E. coli\n4 ENERGY = 0",
    ],
)
def test_read(header):
    text = f"\ufeff{header}\n{BASES}".replace("\n", "\r\n")
    assert read(text) == [RNARecord("x", "GAAC", "(..)")]
    assert read_ct(io.BytesIO(gzip.compress(text.encode()))) == [RNARecord("x", "GAAC", "(..)")]


def test_several_structures_and_their_names():
    text = f"4\n{BASES}\n4 two words\n{BASES.lower()}# end\n0 none\n4 dG=-1\n{BASES}"
    assert read(text) == [
        RNARecord("1", "GAAC", "(..)"),
        RNARecord("two_words", "GAAC", "(..)"),
        RNARecord("none", "", ""),
        RNARecord("dG=-1", "GAAC", "(..)"),
    ]


def test_further_and_missing_columns():
    assert read("2 x\n1 A 0 2 2 1 0 0\n2 t 1 0 1\n") == [RNARecord("x", "AU", "()")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nsome text\n", "2: found 'some text', expected a header: the number of bases and a name"),
        ("1 x\n1 A 0 2 0 1\n2 C 1 0 0 2\n", "3: found '2 C 1 0 0 2', expected a header"),
        (f"5 x\n{BASES}", "1: found the end of the file after 4 bases, expected 5"),
        (f"5 x\n{BASES}{BASES}", "6: found the index 1, expected 5"),
        ("1 x\n1 A 0 0\n", "2: found 4 columns, expected 6: index, base, before, after, partner, index"),
        ("1 x\n1 A 0 b 0 1\n", "2: found 'b', expected a number from 0"),
        ("1 x\n1 AC 0 0 0 1\n", "2: found the base 'AC', expected one letter"),
        ("1 x\n1 - 0 0 0 1\n", "2: position 1 (from 1): found '-', expected one of"),
        ("1 x\n1 A 0 0 2 1\n", "2: found the partner 2, expected 0 to 1"),
        ("1 x\n1 A 0 0 1 1\n", "2: found base 1 paired with itself"),
        (
            f"4 x\n{BASES}".replace("3 0 1", "3 0 0"),
            "2: found base 1 paired with 4, but base 4 with 0 in line 5",
        ),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(f"<input>:{message}")):
        read(text)


@given(st.lists(structured_records(), max_size=3))
def test_round_trip(original):
    file = io.StringIO()
    write_ct(file, original)
    file.seek(0)
    assert read_ct(file) == original


def test_write(tmp_path):
    path = tmp_path / "x.ct.gz"
    write_ct(path, [RNARecord("x", "GAAC", "(..)")])
    assert gzip.decompress(path.read_bytes()).decode() == f"4 x\n{BASES}"
    with pytest.raises(DataError, match="record 'd': found no structure"):
        write_ct(path, [RNARecord("d", "A")])


def test_two_strands():
    """The first ends where no base is after one, and none before the next; files of zeros tell nothing."""
    text = "4 x\n1 G 0 2 4 1\n2 A 1 0 0 2\n3 A 0 4 0 3\n4 C 3 0 1 4\n"
    assert read(text) == [RNARecord("x", "GA&AC", "(.&.)")]
    with pytest.raises(DataError, match="expected it once, between two strands"):
        read(text.replace("3 A 0 4", "3 A 0 0").replace("4 C 3 0", "4 C 0 0"))
    zeros = "4 x\n1 G 0 0 4 1\n2 A 0 0 0 2\n3 A 0 0 0 3\n4 C 0 0 1 4\n"
    assert read(zeros) == [RNARecord("x", "GAAC", "(..)")]


ROWS = "1 G 4\n2 A 0\n3 A 0\n4 C 1\n"


def read_rows(text):
    return read_bpseq(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        f"#Name: x\n{ROWS}",
        f"# Name : x\n# Length: 4\n\n{ROWS}\n# end\n",
        f"# File x.bpseq\n# External source: RCSB\n{ROWS}",
        f"Filename: x.bpseq\nOrganism: E. coli\nAccession Number: X1\n"
        f"Citation and related information available at http://a.b\n{ROWS}",
        f"\ufeff#Name: x\n{ROWS}".replace("\n", "\r\n"),
        f"#Name: x\n{ROWS}".replace("G", "g").replace(" ", "\t"),
    ],
)
def test_read_bpseq(text):
    assert read_rows(text) == [RNARecord("x", "GAAC", "(..)")]
    assert read_bpseq(io.BytesIO(gzip.compress(text.encode()))) == [RNARecord("x", "GAAC", "(..)")]


def test_names(tmp_path):
    assert read_rows(ROWS)[0].name == "1"
    assert read_rows(f"#Name: two words\n{ROWS}")[0].name == "two_words"
    for name in ("my rna.bpseq", "my rna.bpseq.gz"):
        path = tmp_path / name
        path.write_text(ROWS)
        assert read_bpseq(path)[0].name == "my_rna"


def test_pseudoknots_take_further_brackets():
    assert read_rows("1 G 4\n2 T 5\n3 N 6\n4 A 1\n5 r 2\n6 A 3\n") == [RNARecord("1", "GUNARA", "([{)]}")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#\n1 A 0\n3 A 0\n", "3: found the index 3, expected 2"),
        ("1 A 0\nx A 0\n", "2: found 'x', expected a number from 0"),
        ("1 A -1\n", "1: found '-1', expected a number from 0"),
        ("1 A 1234567890\n", "1: found '1234567890', expected a number from 0"),
        ("1 A\n", "1: found '1 A', expected three columns: index, base, partner"),
        ("some text\n1 A 0\n", "1: found 'some text', expected three columns"),
        ("1 A 0\nOrganism: x\n", "2: found 'Organism: x', expected three columns"),
        ("1 A 0\n2 A 3\n", "2: found the partner 3, expected 0 to 2"),
        ("1 A 2\n2 A 3\n3 A 2\n", "1: found base 1 paired with 2, but base 2 with 3 in line 2"),
    ],
)
def test_what_is_wrong_in_bpseq_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(f"<input>:{message}")):
        read_rows(text)


def test_names_and_crossings_are_refused_at_the_line_of_the_name():
    with pytest.raises(DataError, match=r":2: found the name '\\udcff'"):
        read_bpseq(io.BytesIO(b"# c\n#Name: \xff\n1 A 0\n"))
    bases = "".join(f"{i + 1} A {(i + 31) % 62 + 1}\n" for i in range(62))
    with pytest.raises(DataError, match=":1: found pairs that cross too often"):
        read_rows(f"#Name: x\n{bases}")


@given(structured_records())
def test_bpseq_round_trip(original):
    file = io.StringIO()
    write_bpseq(file, [original])
    file.seek(0)
    assert read_bpseq(file) == [original]


def test_write_bpseq():
    file = io.StringIO()
    write_bpseq(file, read_rows(f"#Name: x\n{ROWS}"))
    assert file.getvalue() == f"#Name: x\n{ROWS}"
    with pytest.raises(DataError, match="found 2 records, expected 1: a BPSEQ file holds one structure"):
        write_bpseq(file, [RNARecord("a", "A", "."), RNARecord("b", "A", ".")])
    with pytest.raises(DataError, match="record 'd': found no structure"):
        write_bpseq(file, [RNARecord("d", "A")])
