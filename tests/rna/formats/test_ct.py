"""CT files."""

import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rna_records import structured_records
from structune.errors import DataError
from structune.rna.formats.pair_tables import read_ct, write_ct
from structune.rna.formats.record import RNARecord

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
