"""Sequences of DNA in FASTA files."""

import gzip
import io
import re

import pytest

from structune.errors import DataError
from structune.genes.formats.dna import read_dna


def read(text):
    return list(read_dna(io.StringIO(text)))


def test_read(tmp_path):
    """U is read as T; headers of vsearch are not those of PIR."""
    text = ">a 1..4\nACgu\r\n\nNn\n>b\n>\nRYKU\n>F1;size=100;\nACGT\n"
    known = [("a", "ACgtNn"), ("b", ""), ("3", "RYKT"), ("F1;size=100;", "ACGT")]
    assert read(text) == known
    (tmp_path / "x.fa.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_dna(tmp_path / "x.fa.gz")) == known
    stream = read_dna(io.StringIO(">a\nA\n>b\nE\n"))  # one at a time
    assert next(stream) == ("a", "A")
    with pytest.raises(DataError):
        next(stream)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.fa: the file has no sequences"),
        ("\nACGT\n", "x.fa:2: 'ACGT' comes before the first header '>name'"),
        (">a\nAC\nACGEA\n", "x.fa:3: position 4 (from 1): 'E' is not one of ACGTUNRYSWKMBDHVX"),
        (">a\nMKL\n", "position 3 (from 1): 'L' is not one of ACGTUNRYSWKMBDHVX (is it a protein?)"),
        (">a\nAC-T\n>b\nACGT\n", "(is it an alignment?). The file looks like aligned FASTA: give FASTA"),
        (">DL;a\nCAT\nACGT\n", "x.fa:1: '>DL;a' is a PIR header; the format must be FASTA"),
        (">a\nA\n>b\n>a\nA\n", "x.fa:4: the name 'a' was already used in line 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "x.fa").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_dna(tmp_path / "x.fa"))
