"""Transcripts, and sequences with transcripts."""

import re

import pytest
from Bio.Seq import reverse_complement as complement
from hypothesis import given
from hypothesis import strategies as st

from genes import reverse_complement, transcripts
from structune.errors import DataError
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, skipped_text

#                   0         1         2
#           012345678901234567890123456
SEQUENCE = "ccATGAaagttccagAATTtagGTGAc"
FORWARD = Transcript("c", "+", ((2, 6), (15, 19), (22, 26)), "t", "g")


def test_what_follows_from_the_parts():
    assert (FORWARD.start, FORWARD.end, FORWARD.length) == (2, 26, 12)
    assert FORWARD.introns == ((6, 15), (19, 22))
    assert FORWARD.phases == (0, 2, 1)
    assert FORWARD.coding_sequence(SEQUENCE) == "ATGAAATTGTGA"
    assert FORWARD.protein(SEQUENCE) == "MKL"
    assert reverse_complement(FORWARD).phases == (1, 2, 0)


@given(transcripts(), st.text("ACGTNacgtn", min_size=60, max_size=60))
def test_both_strands_give_the_same(transcript, sequence):
    other, reverse = reverse_complement(transcript), complement(sequence)
    assert other.coding_sequence(reverse) == transcript.coding_sequence(sequence)
    assert other.protein(reverse) == transcript.protein(sequence)
    assert other.phases == transcript.phases[::-1]
    assert other.length == transcript.length == len(transcript.coding_sequence(sequence))


def test_proteins():
    def protein(bases, code=1, starts=None):
        return Transcript("c", "+", ((0, len(bases)),), "t", "g").protein(bases, code, starts)

    assert protein("ctgAAA") == "MK"  # a start codon of the standard code
    assert protein("gtgAAA") == "VK"
    assert protein("gtgAAA", 11) == "MK"
    assert protein("ctgAAA", 11, ["ATG", "GTG"]) == "LK"
    assert protein("gtgAAA", 11, ["ATG", "GTG"]) == "MK"
    assert protein("ATGTGATAA") == "M*"
    assert protein("ATGNNNGCNAA") == "MXA"
    assert protein("A") == ""
    assert Transcript("c", "+", ((0, 6),), "t", "g", partial=(True, False)).protein("GTGCCC", 11) == "VP"
    for code in (7, "11", True):
        with pytest.raises(DataError, match=r"found the genetic code .*, expected one of 1, 2"):
            protein("ATG", code)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("c", "x", ((0, 3),), "t", "g"), "transcript 't': found the strand 'x', expected '+' or '-'"),
        (("c", "+", (), "t", "g"), "transcript 't': found no coding parts"),
        (("c", "+", ((-1, 3),), "t", "g"), "transcript 't': found its start at -1, expected 0 or more"),
        (
            ("c", "+", ((3, 3),), "t", "g"),
            "transcript 't': found a part from 3 to 3, expected its start below",
        ),
        (
            ("c", "+", ((0, 3), (2, 5)), "t", "g"),
            "'t': found a part that starts at 2 after one that ends at 3",
        ),
        (("", "+", ((0, 3),), "t", "g"), "found the name '', expected UTF-8 text"),
        (("c", "+", ((0, 3),), "\udcff", "g"), "found the name '\\udcff', expected UTF-8 text"),
    ],
)
def test_transcripts_are_checked(fields, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Transcript(*fields)


def test_transcripts_lie_within_their_sequence():
    assert AnnotatedSequence("c", SEQUENCE, (FORWARD,)).skipped == ()
    message = "transcript 't': found its end at 26, expected it within the 25 bases of 'c'"
    with pytest.raises(DataError, match=message):
        AnnotatedSequence("c", SEQUENCE[:25], (FORWARD,))


def test_what_was_skipped_is_told_by_reason():
    skipped = [Skipped("c", name, "not whole") for name in "abcd"] + [Skipped("c", "x", "a pseudogene")]
    assert skipped_text(skipped) == "4: not whole (a, b, c, and 1 more); 1: a pseudogene (x)"
    assert skipped_text([]) == ""
