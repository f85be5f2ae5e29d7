"""Training examples: where sequences are cut, which transcript of a gene is taken, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulated_genes as simulated
from simulated_genes import flip
from structune.errors import DataError
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.weights import ExonWeights, GeneRules
from structune.genes.eukaryotes.training import encoded
from structune.genes.examples import SkippedGenesWarning, cut_examples
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, coding_problems

CODING = "ATGGCCTAA"


def cut(annotated, flank=10, strands="+-", donors=("GT",)):
    return cut_examples(annotated, flank, strands, donors)


def sequence_of(*parts):
    """Some bases, or a gene where a part is a strand."""
    text, found = "", []
    for part in parts:
        if part in ("+", "-"):
            name = f"g{len(found)}"
            found.append(Transcript("c", part, ((len(text), len(text) + 9),), name, name))
            text += CODING if part == "+" else flip(CODING)
        else:
            text += part
    return AnnotatedSequence("c", text, tuple(found))


@given(st.integers(0, 10**6), st.integers(0, 120))
def test_examples_are_whole_genes_apart(seed, flank):
    genome = simulated.genome(seed, n_contigs=2)
    found = cut(genome, flank)
    genes = [t for each in genome for t in each.transcripts if all(b - a > 2 for a, b in t.exons[1:-1])]
    assert len(found.skipped) == sum(len(each.transcripts) for each in genome) - len(genes)
    assert len(found.sequences) == len(genes)
    for text, t, (s, start, end), gene in zip(
        found.sequences, found.transcripts, found.spans, genes, strict=True
    ):
        assert text == genome[s].sequence[start:end]
        assert max(t.start, len(text) - t.end) <= flank
        assert replace(t, exons=tuple((a + start, b + start) for a, b in t.exons)) == gene
        assert not coding_problems(t, text)
    for (s, _, end), (r, start, _) in zip(found.spans, found.spans[1:], strict=False):
        assert s != r or end <= start


@pytest.mark.parametrize(("flank", "spans"), [(0, [(4, 13), (17, 26)]), (10, [(0, 15), (15, 31)])])
def test_cuts_are_half_of_the_way_between_genes(flank, spans):
    found = cut([sequence_of("CCCC", "+", "CCCC", "-", "CCCCC")], flank)
    assert [(start, end) for _, start, end in found.spans] == spans


@pytest.mark.parametrize(
    ("skipped", "spans"),
    [
        ([(14, 16)], [(0, 13), (17, 31)]),
        ([(2, 6), (28, 40)], [(4, 15), (15, 27)]),
        ([(0, 31)], [(4, 13), (17, 26)]),
        ([None], [(0, 15), (15, 31)]),
    ],
)
def test_flanks_keep_away_from_what_was_skipped(skipped, spans):
    sequence = sequence_of("CCCC", "+", "CCCC", "-", "CCCCC")
    left_out = tuple(Skipped("c", "p", "incomplete", one) for one in skipped)
    found = cut([replace(sequence, skipped=left_out)], 99)
    assert [(start, end) for _, start, end in found.spans] == spans


def test_genes_that_touch_or_overlap():
    touching = sequence_of("+", "-", "C", "+", "C", "+")
    found = cut([touching])
    assert [one.name for one in found.skipped] == ["g0", "g1"]
    assert [(start, end) for _, start, end in found.spans] == [(19, 28), (29, 38)]  # a base is in none
    inner = Transcript("c", "-", ((12, 18),), "inner", "inner")
    outer = Transcript("c", "+", ((0, 3), (20, 26)), "outer", "outer")
    found = cut([AnnotatedSequence("c", "C" * 40, (outer, inner))])
    assert [one.reason for one in found.skipped] == ["overlaps or touches another gene"] * 2


def test_the_longest_transcript_that_makes_sense():
    text = "CCATGGCCGCCTAACC"
    whole = Transcript("c", "+", ((2, 14),), "whole", "g")
    longer = Transcript("c", "+", ((0, 14),), "longer", "g")
    text2 = text[:5] + "ATG" + text[8:]
    shorter = Transcript("c", "+", ((5, 14),), "shorter", "g")
    assert cut([AnnotatedSequence("c", text, (whole, longer))]).transcripts[0].name == "whole"
    assert cut([AnnotatedSequence("c", text2, (shorter, whole))]).transcripts[0].name == "whole"
    found = cut([AnnotatedSequence("c", text, (longer,))])
    assert found.skipped == [Skipped("c", "g", "length is not a multiple of three", (0, 14))]


def test_strands_and_what_files_left_out():
    sequence = replace(sequence_of("C", "+", "C", "-", "C"), skipped=(Skipped("c", "p", "a pseudogene"),))
    found = cut([sequence], strands="+")
    reverse = Skipped("c", "g1", "on the - strand", (11, 20))
    assert found.skipped == [Skipped("c", "p", "a pseudogene"), reverse]
    with pytest.warns(
        SkippedGenesWarning, match=r"training skipped 2 genes: 1: a pseudogene \(p\); 1: on the - st"
    ):
        found.report()
    with pytest.raises(DataError, match=r"there are no genes to train on; skipped 1: on the - strand \(g0\)"):
        cut([sequence_of("-")], strands="+").report()


@given(st.integers(0, 10**6))
def test_examples_have_paths(seed):
    """Genes with introns near their ends are learned from, but for exons that are too short between them."""
    sequence = simulated.annotated(np.random.default_rng(seed), most_introns=20, whole=1)
    found, graph = cut([sequence]), ExonGraph(ExonWeights.of("full", GeneRules()))
    encoded(graph, found)  # refuses what is no path
    short = [t for t in sequence.transcripts if any(b - a < 3 for a, b in t.exons[1:-1])]
    reason = "an exon of less than three bases between introns"
    assert found.skipped == [Skipped("c", t.gene, reason, (t.start, t.end)) for t in short]
