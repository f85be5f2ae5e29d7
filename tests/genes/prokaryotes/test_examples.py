"""Training examples without introns: where genomes are cut, and what is left out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulated_orfs as simulated
from simulated_genes import flip
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript
from structune.genes.prokaryotes.examples import cut_genomes
from structune.genes.prokaryotes.structure.candidates import OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

RULES = OrfRules()
GENE = "ATG" + "GCC" * 30 + "TAA"  # 96 bases


def transcript(start, bases=96, strand="+", name="g"):
    return Transcript("c", strand, ((start, start + bases),), f"{name}{start}", f"{name}{start}")


def sequence_of(*parts):
    """Some bases, or a gene where a part is a strand."""
    text, found = "", []
    for part in parts:
        if part in ("+", "-"):
            found.append(transcript(len(text), strand=part))
            text += GENE if part == "+" else flip(GENE)
        else:
            text += part
    return AnnotatedSequence("c", text, tuple(found))


def reasons(found):
    return {(one.span, one.reason) for one in found.skipped}


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_all_genes_are_in_examples(seed, n_genes):
    genome = simulated.genome(seed, n_contigs=2, n_genes=n_genes)
    found = cut_genomes(genome, RULES)
    assert not found.skipped
    assert "".join(found.sequences) == "".join(each.sequence for each in genome)
    sizes = [5] * (n_genes // 5) + [n_genes % 5] * (n_genes % 5 > 0)
    assert [len(genes) for genes in found.genes] == 2 * sizes
    bases = [text[a:b] for text, genes in zip(found.sequences, found.genes, strict=True) for a, b, _ in genes]
    known = [(t, each.sequence) for each in genome for t in each.transcripts]
    assert bases == [text[t.start : t.end] for t, text in known]
    assert [gene[2] for genes in found.genes for gene in genes] == [t.strand for t, _ in known]
    OrfGraph(RULES).encode(found.sequences, found.genes)


def test_cuts_are_in_the_middle_between_genes():
    found = cut_genomes([sequence_of("CCCC", *["+", "CCC"] * 5, "-", "CCCCC")], RULES)
    assert [len(text) for text in found.sequences] == [4 + 5 * 96 + 4 * 3 + 1, 2 + 96 + 5]
    assert [len(genes) for genes in found.genes] == [5, 1]
    assert found.sources == [0, 0]


def test_genes_that_touch_stay_together():
    found = cut_genomes([sequence_of(*"+-+-+-+", "CC", "+")], RULES)
    assert [len(genes) for genes in found.genes] == [7, 1]


@pytest.mark.parametrize(("end", "kept"), [(193, [98, 198]), (197, [98, 98])])
def test_what_lies_around_a_bad_gene_is_left_out(end, kept):
    one = sequence_of("+", "CCCC", "+", "-", "CCCC", "+")
    bad = replace(one.transcripts[1], exons=((100, end),))
    found = cut_genomes([replace(one, transcripts=(one.transcripts[0], bad, *one.transcripts[2:]))], RULES)
    assert [len(text) for text in found.sequences] == kept
    expected = {((100, end), "no stop codon" if end == 193 else "length is not a multiple of three")}
    if end > 196:
        expected.add(((196, 292), "overlaps or touches a skipped gene"))
    assert reasons(found) == expected


@pytest.mark.parametrize(
    ("genes", "reason"),
    [
        ([Transcript("c", "+", ((0, 48), (49, 96)), "t", "g")], "in several parts"),
        ([transcript(6, 90)], "no start codon"),
        ([transcript(0, 93)], "no stop codon"),
        ([transcript(0, 95)], "length is not a multiple of three"),
        ([transcript(0, 9)], "shorter than 90 bases"),
        ([transcript(0, 198)], "an internal stop codon"),
    ],
)
def test_what_is_left_out(genes, reason):
    one = sequence_of("+", "CCCCCC", "+", "CCCC", "+")
    found = cut_genomes([replace(one, transcripts=(*genes, one.transcripts[2]))], RULES)
    assert len(found.genes) == 1
    assert reasons(found) == {((genes[0].start, genes[0].end), reason)}


def test_overlaps():
    first, second = "ATG" + "GCC" * 30 + "GCATGA", "ATG" + "AGC" * 30 + "TAA"
    genes = transcript(0, len(first)), transcript(len(first) - 4, len(second))
    both = AnnotatedSequence("c", first + second[4:], genes)
    assert cut_genomes([both], OrfRules(overlap=4)).genes == [[(0, 99, "+"), (95, 191, "+")]]
    found = cut_genomes([both], OrfRules(overlap=3))
    assert not found.genes
    assert {one.reason for one in found.skipped} == {"overlaps another gene by more than 3 bases"}


def test_several_starts_of_a_gene():
    """The longest that makes sense."""
    text = "CCC" + "ATG" + "GCC" * 10 + "ATG" + "GCC" * 30 + "TAA"
    starts = [Transcript("c", "+", ((a, len(text)),), f"t{a}", "g") for a in (0, 3, 36)]
    found = cut_genomes([AnnotatedSequence("c", text, tuple(starts))], RULES)
    assert found.genes == [[(3, len(text), "+")]]
    assert not found.skipped


def test_what_a_reader_skipped_across_the_origin():
    """Neither of its ends is taught as empty, nor is what was skipped within."""
    one = sequence_of("+", "CCCC" * 10, "+")
    found = cut_genomes([replace(one, skipped=(Skipped("c", "x", "odd", (110, 120)),))], RULES)
    assert [len(text) for text in found.sequences] == [96 + 7, 96 + 8]
    one = sequence_of("CCCCCC", "+", "CCCC" * 10, "+", "CC" * 10, "+", "CC")
    n = len(one.sequence)
    found = cut_genomes([replace(one, skipped=(Skipped("c", "x", "odd", (n - 1, n + 3)),))], RULES)
    cuts = ((3 + 6) // 2, (n - 2 + n - 1) // 2)
    assert found.sequences == [one.sequence[cuts[0] : cuts[1]]]
    assert len(found.genes[0]) == 3
