"""FASTA files, and what all readers of lines share: sources, encodings, line ends."""

import gzip
import io
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.rna.formats.record import RNARecord
from structune.rna.formats.sequences import read_fasta, write_fasta

TEXT = ">a first one\nACGU\nNRYSWKMB\n\n>b\nDHVX\n"
RECORDS = [RNARecord("a", "ACGUNRYSWKMB"), RNARecord("b", "DHVX")]

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9).filter(
    lambda text: text.split() == [text]
)
records = st.builds(RNARecord, words, st.text("ACGUNRYSWKMBDHVX", max_size=30))


def read(text):
    return list(read_fasta(io.StringIO(text)))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\ufeff\n \n" + TEXT.strip(),
        TEXT.replace("\n", " \t\r\n"),
        TEXT.replace("ACGU", "acgt").replace("DHVX", "dhvx"),
    ],
)
def test_read(text):
    assert read(text) == RECORDS
    assert list(read_fasta(io.BytesIO(text.encode()))) == RECORDS


def test_sources(tmp_path):
    plain, packed = tmp_path / "a.fa", tmp_path / "a.fa.gz"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    for source in (plain, str(plain), packed, io.BytesIO(packed.read_bytes())):
        assert list(read_fasta(source)) == RECORDS
    with plain.open() as file:
        assert list(read_fasta(file)) == RECORDS
    with gzip.open(packed) as binary:
        assert list(read_fasta(binary)) == RECORDS
        assert not binary.closed
    assert list(read_fasta(io.StringIO(TEXT.replace("\n", "\r")))) == RECORDS
    carriage_returns = io.BytesIO(TEXT.replace("\n", "\r").encode())
    assert list(read_fasta(carriage_returns)) == RECORDS
    assert not carriage_returns.closed


def test_names():
    assert [record.name for record in read(">\nA\n> x y\nC\n>z\n")] == ["1", "x", "z"]
    assert list(read_fasta(io.BytesIO(b">x caf\xe9\nA\n"))) == [RNARecord("x", "A")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nACGU\n", ":2: found 'ACGU', expected a header '>name'"),
        (
            ">a\nAC\n\nGcuZA\n",
            ":4: position 4 (from 1): found 'Z', expected one of ACGUNRYSWKMBDHVX or T",
        ),
        (">a\r\nAC GU\r\n", ":2: position 3 (from 1): found ' ', expected one of"),
        (">a\nac\u00e9\n", ":2: position 3 (from 1): found '\u00e9', expected one of"),
        (">a\nAC-GU\n", ":2: position 3 (from 1): found '-', expected one of"),
        (b">a\nA\n>\xff\nA\n", ":3: found the name '\\udcff', expected one word of UTF-8 text"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-20], ": found a damaged gzip file"),
        (b"\x1f\x8bdamaged", ": found a damaged gzip file"),
        ("A" * 50, f":1: found '{'A' * 37}...', expected a header"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "x.fa"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=re.escape(f"x.fa{message}")):
        list(read_fasta(path))


@given(st.lists(records, max_size=4), st.integers(1, 40), st.sampled_from(["x.fa", "x.fa.gz"]))
def test_round_trip(tmp_path_factory, original, width, name):
    path = tmp_path_factory.getbasetemp() / name
    write_fasta(path, original, width)
    assert list(read_fasta(path)) == original


def test_write():
    for file in (io.StringIO(), io.BytesIO()):
        write_fasta(file, RECORDS, 8)
        text = file.getvalue()
        assert (text if isinstance(text, str) else text.decode()) == ">a\nACGUNRYS\nWKMB\n>b\nDHVX\n"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("a b", "A"), "found the name 'a b', expected one word"),
        (("", "A"), "found the name '', expected one word"),
        (("a", "AZ"), "record 'a': position 2 (from 1): found 'Z'"),
        (("a", "AC", "..."), "record 'a': found a structure of length 3 for 2 bases"),
        (("a", "AC", ".)"), "record 'a': position 2 (from 1): found ')' without its '('"),
    ],
)
def test_records_are_checked(fields, message):
    with pytest.raises(DataError, match=re.escape(message)):
        RNARecord(*fields)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(content):
    with suppress(DataError):
        list(read_fasta(io.BytesIO(content)))
