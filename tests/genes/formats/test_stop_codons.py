"""Stop codons that files leave out of coding parts."""

import pytest

from simulated_genes import flip
from structune.errors import DataError
from structune.genes.formats.genomes import with_stop_codons
from structune.genes.formats.record import AnnotatedSequence, Transcript

GENE = "CCC" + "ATGGCCGCC" + "TAA" + "GGTAAGG"
WHOLE = ((3, 15),)


def transcript(exons, strand="+"):
    return Transcript("c", strand, exons, "t", "g")


def added(exons, stop_codon="auto", text=GENE):
    """The coding parts on both strands, told along the gene, and what is told."""
    found, told = [], []
    for strand in "+-":
        n = len(text)
        along = exons if strand == "+" else tuple((n - b, n - a) for a, b in reversed(exons))
        bases = text if strand == "+" else flip(text)
        genome = AnnotatedSequence("c", bases, (transcript(along, strand),))
        (each,) = with_stop_codons([genome], stop_codon, "x.gb", told.append)
        found.append(each.transcripts[0].exons)
    forward, reverse = found
    assert forward == tuple((len(text) - b, len(text) - a) for a, b in reversed(reverse))
    return forward, told


def test_they_are_added():
    found, told = added(((3, 12),))
    assert found == WHOLE
    assert told[0] == "x.gb: 1 of 1 transcripts end before a stop codon, which was added to them"
    assert added(((3, 6), (9, 12)))[0] == ((3, 6), (9, 15))


@pytest.mark.parametrize(
    "exons",
    [
        WHOLE,  # there already
        ((3, 9),),  # none follows
        ((3, 11),),  # no whole codons
        ((3, 22),),  # nothing follows
    ],
)
def test_they_are_not_added(exons):
    assert added(exons) == (exons, [])


def test_files_whose_coding_parts_are_known():
    assert added(((3, 12),), "included") == (((3, 12),), [])
    assert added(((3, 9),), "excluded") == (((3, 12),), [])
    assert added(((3, 22),), "excluded") == (((3, 22),), [])
    with pytest.raises(DataError, match="expected one of"):
        added(WHOLE, "no")


def test_a_stop_codon_that_an_intron_splits_is_there():
    exons, text = ((3, 13), (17, 19)), "CCC" + "ATGGCCGCC" + "T" + "GTAG" + "AATAA"
    assert added(exons, text=text) == (exons, [])
