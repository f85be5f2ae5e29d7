"""Transcripts, sequences with transcripts, and checks before a model learns from them."""

import re

import pytest
from Bio.Seq import reverse_complement as complement
from hypothesis import given
from hypothesis import strategies as st

from genes import reverse_complement, transcripts
from structune.errors import DataError
from structune.genes.formats.record import (
    AnnotatedSequence,
    CodingProblem,
    Skipped,
    Transcript,
    coding_problems,
    overlapping_genes,
    skipped_text,
)

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
        with pytest.raises(DataError, match=r"there is no genetic code .*. Codes: 1, 2"):
            protein("ATG", code)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("c", "x", ((0, 3),), "t", "g"), "transcript 't': the strand must be '+' or '-', not 'x'"),
        (("c", "+", (), "t", "g"), "transcript 't': there are no coding parts"),
        (("c", "+", ((-1, 3),), "t", "g"), "transcript 't': the start must be 0 or more, not -1"),
        (("c", "+", ((3, 3),), "t", "g"), "'t': the start of each part must be below its end, not 3 and 3"),
        (("c", "+", ((0, 3), (2, 5)), "t", "g"), "'t': parts must be in order without overlap, but one ends"),
        (("", "+", ((0, 3),), "t", "g"), "the name '' is empty or not UTF-8 text"),
        (("c", "+", ((0, 3),), "\udcff", "g"), "the name '\\udcff' is empty or not UTF-8 text"),
    ],
)
def test_transcripts_are_checked(fields, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Transcript(*fields)


def test_transcripts_lie_within_their_sequence():
    assert AnnotatedSequence("c", SEQUENCE, (FORWARD,)).skipped == ()
    message = "transcript 't' ends at 26, but 'c' has only 25 bases"
    with pytest.raises(DataError, match=message):
        AnnotatedSequence("c", SEQUENCE[:25], (FORWARD,))


def test_what_was_skipped_is_told_by_reason():
    skipped = [Skipped("c", name, "incomplete") for name in "abcd"] + [Skipped("c", "x", "a pseudogene")]
    assert skipped_text(skipped) == "4: incomplete (a, b, c, and 1 more); 1: a pseudogene (x)"
    assert skipped_text([]) == ""


# --- whether they make sense as genes ----------------------------------------------------------------------

#           0         1         2
#           012345678901234567890123456
CONTIG = "ccATGAAAgtaccagATTGAgtagTAA"


def problems(exons, sequence=CONTIG, **options):
    forward = Transcript("c", "+", exons, "t", "g")
    found = coding_problems(forward, sequence, **options)
    other = reverse_complement(forward, len(sequence))
    assert coding_problems(other, complement(sequence), **options) == found
    return found


@pytest.mark.parametrize(
    ("exons", "expected"),
    [
        (((2, 8), (15, 20), (24, 27)), ["LENGTH"]),
        (((2, 8), (15, 18), (24, 27)), ["SPLICE_SITES"]),
        (((3, 9), (24, 27)), ["START", "STOP_WITHIN", "SPLICE_SITES"]),  # TGA
        (((2, 8), (15, 18)), ["STOP"]),
        (((2, 8), (24, 27)), []),
        (((2, 8), (17, 23), (24, 27)), ["STOP_WITHIN", "SHORT_INTRON", "SPLICE_SITES"]),
        (((2, 3),), ["LENGTH", "START", "STOP"]),
    ],
)
def test_problems(exons, expected):
    assert [problem.name for problem in problems(exons)] == expected


def test_options():
    sequence = "GTGtgaggcccagTAA"
    exons = ((0, 6), (7, 7 + 3), (13, 16))
    assert CodingProblem.START not in problems(exons, sequence, starts=("GTG",))
    assert CodingProblem.STOP_WITHIN in problems(exons, sequence)
    assert CodingProblem.STOP_WITHIN not in problems(exons, sequence, code=4)
    assert problems(((2, 8), (24, 27)), donors=("GC",)) == [CodingProblem.SPLICE_SITES]
    assert problems(((2, 8), (24, 27)), min_intron=17) == [CodingProblem.SHORT_INTRON]


def gene(name, start, end, strand="+", contig="c"):
    return Transcript(contig, strand, ((start, start + 1), (end - 1, end)), name + str(start), name)


def test_overlaps():
    genes = [gene("d", 30, 40), gene("a", 0, 10), gene("b", 9, 20), gene("c", 12, 15), gene("e", 20, 30)]
    assert overlapping_genes(genes) == [("a", "b"), ("b", "c")]
    assert overlapping_genes([gene("a", 0, 10), gene("a", 3, 25), gene("b", 20, 30)]) == [("a", "b")]
    assert overlapping_genes([gene("a", 0, 10), gene("b", 5, 15, contig="d")]) == []
    assert overlapping_genes([]) == []
    genes = [gene("a", 0, 10), gene("b", 5, 15, "-")]
    assert (overlapping_genes(genes), overlapping_genes(genes, strands_apart=False)) == ([], [("a", "b")])
