"""Dot-bracket notation and files, FASTA, and what all readers of lines share."""

import gzip
import io
import re
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from endless import Pipe
from rnas import partner_arrays
from structune.errors import DataError
from structune.rna.formats.any import read_rna
from structune.rna.formats.brackets import drop_pseudoknots, largest_nested, partners, to_dot_bracket
from structune.rna.formats.sequences import (
    RNARecord,
    write_dot_bracket,
    write_fasta,
)
from structune.running import memory

TEXT = ">a\nGGGAAACCC\n(((...)))\n>b some words\nacgt\n(..)\n"
RECORDS = [RNARecord("a", "GGGAAACCC", "(((...)))"), RNARecord("b", "ACGU", "(..)")]

read_fasta, read_dot_bracket = (partial(read_rna, format=name) for name in ("fasta", "dot_bracket"))


def pair_set(array):
    return {(i, j) for i, j in enumerate(array.tolist()) if j > i}


def cross(one, other):
    (i, j), (p, q) = sorted([one, other])
    return i < p < j < q


def is_nested(pairs):
    return not any(cross(*two) for two in combinations(pairs, 2))


def read(text):
    return list(read_dot_bracket(io.StringIO(text)))


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ("", []),
        ("..", [-1, -1]),
        ("(())", [3, 2, 1, 0]),
        ("([)]", [2, 3, 0, 1]),
        ("{<A}>a", [3, 4, 5, 0, 1, 2]),
        ("ZzZz", [1, 0, 3, 2]),
        ("(.[&)]", [3, -1, 4, 0, 2]),
    ],
)
def test_partners(structure, expected):
    found = partners(structure)
    assert found.tolist() == expected
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ("())", "position 3 (from 1): ')' has no matching '('"),
        ("(]", "position 2 (from 1): ']' has no matching '['"),
        (".B(", "position 2 (from 1): 'B' has no matching 'b'"),
        ("()[([]", "position 3 (from 1): '[' has no matching ']'"),
        ("..-", "position 3 (from 1): '-' is not '.', a bracket or a letter"),
    ],
)
def test_structures_are_checked(structure, message):
    with pytest.raises(DataError, match=re.escape(message)):
        partners(structure)
    with pytest.raises(DataError, match=re.escape(message)):
        drop_pseudoknots(structure)


@given(partner_arrays())
def test_dot_bracket_round_trip(array):
    text = to_dot_bracket(array)
    assert partners(text).tolist() == array.tolist()
    nested, n_dropped = drop_pseudoknots(text)
    assert set(nested) <= set("(.)")
    assert partners(nested).tolist() == largest_nested(array).tolist()
    assert n_dropped == len(pair_set(array)) - len(pair_set(partners(nested)))


@given(partner_arrays())
def test_largest_nested_is_largest(array):
    pairs = pair_set(array)
    kept = pair_set(largest_nested(array))
    assert kept <= pairs
    assert is_nested(kept)
    assert not any(is_nested(some) for some in combinations(pairs, len(kept) + 1))
    if is_nested(pairs):
        assert kept == pairs


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ("[[..((..]]..))", "((..[[..))..]]"),  # of two as large, the left one
        ("(..[[)..]]", "[..((]..))"),  # the larger one
        ("[[(({{..]]))}}", "(([[{{..))]]}}"),
        ("(([[))((]]))", "(([[))((]]))"),
        ("([)[](])", "([)()(])"),  # what crosses nothing is nested
        ("A(B[C{)a]b}c", "(([[{{))]]}}"),
    ],
)
def test_layers(structure, expected):
    assert to_dot_bracket(partners(structure)) == expected


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1, -1], "base 0 (from 0): the partner 1 is neither -1 nor a base paired with 0"),
        ([-1, 1], "base 1 (from 0): the partner 1"),
        ([5], "base 0 (from 0): the partner 5"),
        ([-2], "base 0 (from 0): the partner -2"),
        ([0.5], "array of integers, not of shape (1,) and type float64"),
        ([[1, 0]], "not of shape (1, 2) and type int64"),
    ],
)
def test_partners_are_checked(array, message):
    with pytest.raises(DataError, match=re.escape(message)):
        to_dot_bracket(array)


def test_there_are_30_kinds_of_bracket():
    def all_crossing(n):
        return np.roll(np.arange(2 * n), n)

    text = to_dot_bracket(all_crossing(30))
    assert text.startswith("([{<ABC")
    assert partners(text).tolist() == all_crossing(30).tolist()
    with pytest.raises(DataError, match="cross each other: 30 types of brackets do not suffice"):
        to_dot_bracket(all_crossing(31))


@pytest.mark.parametrize(
    ("structure", "expected", "n_dropped"),
    [
        ("", "", 0),
        ("((..))", "((..))", 0),
        ("(.[[[.).]]]", "(.....)....", 3),  # the authors' choice stays, though smaller
        ("([]Aa)", "(....)", 2),
        ("[[.<.]].>", "((...))..", 1),  # no () to go by
    ],
)
def test_drop_pseudoknots(structure, expected, n_dropped):
    assert drop_pseudoknots(structure) == (expected, n_dropped)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n\n"),
        "\ufeff# a comment\n" + TEXT.strip(),
        TEXT.replace("(..)", "(..) ( -1.20)").replace(")))", "))) (0)"),
        TEXT.replace("AAACCC", "\nAAACCC").replace("(...", "(.\n.."),
        TEXT.replace("AAACCC", "\nAA\nACCC"),
    ],
)
def test_read(text):
    assert read(text) == RECORDS
    assert list(read_dot_bracket(io.BytesIO(gzip.compress(text.encode())))) == RECORDS


def test_headers_may_be_missing():
    assert read("AC\nGU\n(..)\nAAA\n...\n>\nC\n.\n>x\nG\n.\n") == [
        RNARecord("1", "ACGU", "(..)"),
        RNARecord("2", "AAA", "..."),
        RNARecord("3", "C", "."),
        RNARecord("x", "G", "."),
    ]


def test_write():
    file = io.BytesIO()
    write_dot_bracket(file, [*RECORDS, RNARecord("c", "AUAU", "AAaa")])
    assert file.getvalue() == TEXT.replace(" some words\nacgt", "\nACGU").encode() + b">c\nAUAU\n(())\n"


def test_too_many_pairs_that_cross_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(DataError, match="1,000,000 pairs that cross others need"):
        largest_nested(np.arange(2_000_000) ^ 2)


@pytest.mark.parametrize("header", ["", ">a\n"])
def test_records_come_as_soon_as_they_are_whole(header):
    """Who writes to a pipe may wait for the answer before the next record."""

    def pipe():
        yield from f"{header}GGGAAA\nCCC\n(((...\n)))\n".splitlines(True)
        raise AssertionError("more was asked for than the record")

    found = next(read_dot_bracket(io.BufferedReader(Pipe(pipe()))))
    assert (found.sequence, found.structure) == ("GGGAAACCC", "(((...)))")


@pytest.mark.parametrize(
    ("structure", "is_told"),
    [("((.)", False), ("....", False), ("<.x>", True), ("<<.>", True), ("||.", True)],
)
def test_constraints_are_told_by_their_marks(structure, is_told):
    with pytest.raises(DataError) as told:
        list(read_dot_bracket(io.StringIO(f">a\nGGGAAACCC\n{structure}\n")))
    assert ("--constraints" in str(told.value)) == is_told


FASTA = ">a first one\nACGU\nNRYSWKMB\n\n>b\nDHVX\n"
OF_FASTA = [RNARecord("a", "ACGUNRYSWKMB"), RNARecord("b", "DHVX")]


def parsed(text):
    return list(read_fasta(io.StringIO(text)))


@pytest.mark.parametrize(
    "text",
    [
        FASTA,
        "\ufeff\n \n" + FASTA.strip(),
        FASTA.replace("\n", " \t\r\n"),
        FASTA.replace("ACGU", "acgt").replace("DHVX", "dhvx"),
    ],
)
def test_read_fasta(text):
    assert parsed(text) == OF_FASTA
    assert list(read_fasta(io.BytesIO(text.encode()))) == OF_FASTA


def test_line_ends_of_old_and_files_that_stay_open():
    assert list(read_fasta(io.StringIO(FASTA.replace("\n", "\r")))) == OF_FASTA
    carriage_returns = io.BytesIO(FASTA.replace("\n", "\r").encode())
    assert list(read_fasta(carriage_returns)) == OF_FASTA
    assert not carriage_returns.closed


def test_names():
    assert [record.name for record in parsed(">\nA\n> x y\nC\n>z\n")] == ["1", "x", "z"]
    assert list(read_fasta(io.BytesIO(b">x caf\xe9\nA\n"))) == [RNARecord("x", "A")]


def test_write_fasta():
    for file in (io.StringIO(), io.BytesIO()):
        write_fasta(file, OF_FASTA, 8)
        text = file.getvalue()
        assert (text if isinstance(text, str) else text.decode()) == ">a\nACGUNRYS\nWKMB\n>b\nDHVX\n"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("a b", "A"), "the name 'a b' is not one word"),
        (("", "A"), "the name '' is not one word"),
        (("a", "AZ"), "record 'a': position 2 (from 1): 'Z' is not"),
        (("a", "AC", "..."), "record 'a': the length of a structure is 3, but there are 2 bases"),
        (("a", "AC", ".)"), "record 'a': position 2 (from 1): ')' has no matching '('"),
    ],
)
def test_records_are_checked(fields, message):
    with pytest.raises(DataError, match=re.escape(message)):
        RNARecord(*fields)
