"""Checks of transcripts before a model learns from them."""

import pytest
from Bio.Seq import reverse_complement as complement

from genes import reverse_complement
from structune.genes.formats.record import CodingProblem, Transcript, coding_problems, overlapping_genes

#           0         1         2
#           012345678901234567890123456
SEQUENCE = "ccATGAAAgtaccagATTGAgtagTAA"


def problems(exons, sequence=SEQUENCE, **options):
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
    assert overlapping_genes(genes) == []
    assert overlapping_genes(genes, strands_apart=False) == [("a", "b")]
