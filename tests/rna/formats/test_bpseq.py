"""BPSEQ files."""

import gzip
import io
import re

import pytest
from hypothesis import given

from rna_records import structured_records
from structune.errors import DataError
from structune.rna.formats.pair_tables import read_bpseq, write_bpseq
from structune.rna.formats.record import RNARecord

BASES = "1 G 4\n2 A 0\n3 A 0\n4 C 1\n"


def read(text):
    return read_bpseq(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        f"#Name: x\n{BASES}",
        f"# Name : x\n# Length: 4\n\n{BASES}\n# end\n",
        f"# File x.bpseq\n# External source: RCSB\n{BASES}",
        f"Filename: x.bpseq\nOrganism: E. coli\nAccession Number: X1\n"
        f"Citation and related information available at http://a.b\n{BASES}",
        f"\ufeff#Name: x\n{BASES}".replace("\n", "\r\n"),
        f"#Name: x\n{BASES}".replace("G", "g").replace(" ", "\t"),
    ],
)
def test_read(text):
    assert read(text) == [RNARecord("x", "GAAC", "(..)")]
    assert read_bpseq(io.BytesIO(gzip.compress(text.encode()))) == [RNARecord("x", "GAAC", "(..)")]


def test_names(tmp_path):
    assert read(BASES)[0].name == "1"
    assert read(f"#Name: two words\n{BASES}")[0].name == "two_words"
    for name in ("my rna.bpseq", "my rna.bpseq.gz"):
        path = tmp_path / name
        path.write_text(BASES)
        assert read_bpseq(path)[0].name == "my_rna"


def test_pseudoknots_take_further_brackets():
    assert read("1 G 4\n2 T 5\n3 N 6\n4 A 1\n5 r 2\n6 A 3\n") == [RNARecord("1", "GUNARA", "([{)]}")]


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
        ("1 AC 0\n", "1: found the base 'AC', expected one letter"),
        ("\n1 Z 0\n", "2: position 1 (from 1): found 'Z', expected one of"),
        ("1 A 0\n2 A 3\n", "2: found the partner 3, expected 0 to 2"),
        ("1 A 1\n", "1: found base 1 paired with itself"),
        ("# c\n1 A 2\n2 A 0\n", "2: found base 1 paired with 2, but base 2 with 0 in line 3"),
        ("1 A 2\n2 A 3\n3 A 2\n", "1: found base 1 paired with 2, but base 2 with 3 in line 2"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(f"<input>:{message}")):
        read(text)


def test_names_and_crossings_are_refused_at_the_line_of_the_name():
    with pytest.raises(DataError, match=r":2: found the name '\\udcff'"):
        read_bpseq(io.BytesIO(b"# c\n#Name: \xff\n1 A 0\n"))
    bases = "".join(f"{i + 1} A {(i + 31) % 62 + 1}\n" for i in range(62))
    with pytest.raises(DataError, match=":1: found pairs that cross too often"):
        read(f"#Name: x\n{bases}")


@given(structured_records())
def test_round_trip(original):
    file = io.StringIO()
    write_bpseq(file, [original])
    file.seek(0)
    assert read_bpseq(file) == [original]


def test_write():
    file = io.StringIO()
    write_bpseq(file, read(f"#Name: x\n{BASES}"))
    assert file.getvalue() == f"#Name: x\n{BASES}"
    with pytest.raises(DataError, match="found 2 records, expected 1: a BPSEQ file holds one structure"):
        write_bpseq(file, [RNARecord("a", "A", "."), RNARecord("b", "A", ".")])
    with pytest.raises(DataError, match="record 'd': found no structure"):
        write_bpseq(file, [RNARecord("d", "A")])
