"""Accuracy of predicted genes, by hand and by the sets that it counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genes import transcripts
from structune.errors import DataError
from structune.genes.formats.record import Transcript
from structune.genes.metrics import counted, gene_difference, gene_regions, gene_scores, stop_codons


def transcript(exons, gene="g", strand="+", contig="c"):
    return Transcript(contig, strand, tuple(exons), f"{gene}{exons}", gene)


TWO = transcript([(0, 10), (20, 30)])
genes = st.lists(transcripts(), max_size=5)
regions = st.none() | st.dictionaries(
    st.sampled_from("ab"), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3)
)


def counts(annotated, predicted, regions=None):
    """Annotated, predicted, found, right at each level."""
    return gene_scores(annotated, predicted, regions).counts.sum(axis=0).tolist()


def test_ratios():
    scores = gene_scores([TWO, transcript([(50, 60)], "h")], [TWO, transcript([(40, 80)], "p")])
    assert scores.nucleotide == pytest.approx((1.0, 0.5, 2 / 3))
    assert scores.exon == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert scores.transcript == scores.gene == scores.pooled("gene") == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.parametrize(("strand", "exon"), [("+", (27, 30)), ("-", (0, 3))])
def test_stop_codons(strand, exon):
    found = stop_codons([transcript(TWO.exons, strand=strand)])
    assert [(t.strand, t.exons, t.gene) for t in found["c"]] == [(strand, (exon,), "g")]
    longer = transcript([(0, 10), (20, 30)] if strand == "-" else [(5, 30)], "p", strand)
    assert gene_scores(found, stop_codons([longer])).exon == (1.0, 1.0, 1.0)
    assert stop_codons({"c": []}) == {"c": []}
    assert stop_codons([transcript([(0, 2)])])["c"][0].exons == ((0, 2),)  # less than a codon


def test_nothing():
    assert gene_scores([], []).gene == gene_scores({"c": []}, {"c": []}).exon == (1.0, 1.0, 1.0)
    assert gene_scores([TWO], []).nucleotide == (0.0, 0.0, 0.0)
    assert gene_scores([], [TWO]).transcript == (0.0, 0.0, 0.0)
    assert gene_scores([], []).counts.shape == (0, 4, 4)
    assert gene_scores({"c": [], "d": []}, [TWO]).contigs == ("c", "d")


def test_regions():
    assert gene_regions([TWO, transcript([(5, 8)], "h", "-")], 5) == {"c": [(0, 35)]}


def expected(annotated, predicted, regions):
    """Counts from sets of bases, exons, transcripts and genes."""

    def is_in(contig, k):
        return regions is None or any(a <= k < b for a, b in regions.get(contig, []))

    def touches(t, exons):
        return any(is_in(t.contig, k) for a, b in exons for k in range(a, b))

    def sets(transcripts):
        kept = [t for t in transcripts if touches(t, t.exons)]
        places = [(t, (t.contig, t.strand)) for t in kept]
        bases = {(*p, k) for t, p in places for a, b in t.exons for k in range(a, b) if is_in(t.contig, k)}
        exons = {(*p, exon) for t, p in places for exon in t.exons if touches(t, [exon])}
        return bases, exons, {(*p, t.exons) for t, p in places}, {(*p, t.gene, t.exons) for t, p in places}

    (*sets_a, genes_a), (*sets_b, genes_b) = sets(annotated), sets(predicted)
    rows = [[len(a), len(b), len(a & b), len(a & b)] for a, b in zip(sets_a, sets_b, strict=True)]
    exact = sets_a[2] & sets_b[2]
    found, right = ({g[:3] for g in of if (*g[:2], g[3]) in exact} for of in (genes_a, genes_b))
    return [*rows, [len({g[:3] for g in genes_a}), len({g[:3] for g in genes_b}), len(found), len(right)]]


@given(genes, genes, regions)
def test_counts_are_those_of_sets(annotated, predicted, regions):
    assert counts(annotated, predicted, regions) == expected(annotated, predicted, regions)


@given(genes, genes, regions)
def test_counted_transcripts_are_those_of_scores(annotated, predicted, regions):
    kept = [[t for of in counted(some, regions).values() for t in of] for some in (annotated, predicted)]
    rows = gene_scores(annotated, predicted, regions).counts[:, -1].sum(axis=0)
    genes = [len({(t.contig, t.strand, t.gene) for t in some}) for some in kept]
    assert genes == rows[:2].tolist()


def test_differences():
    annotated = {name: [transcript(TWO.exons, contig=name)] for name in "cdefgh"}
    nothing, some = {}, {name: annotated[name] for name in "cde"}
    a, b = gene_scores(annotated, nothing), gene_scores(annotated, some)
    found = gene_difference(a, b, "gene", "sensitivity")
    assert found.value == 0.5
    assert 0 < found.low < 0.5 < found.high <= 1
    assert gene_difference(b, a, "exon", "f1").value == -2 / 3
    same = gene_difference(b, b, "nucleotide", "precision")
    assert (same.value, same.low, same.high) == (0, 0, 0)


@pytest.mark.parametrize(
    ("annotated", "level", "measure", "message"),
    [
        ([TWO], "codon", "f1", "there is no level 'codon'"),
        ([TWO], "gene", "specificity", "there is no measure 'specificity'"),
        ([], "gene", "f1", "a and b must be against the same annotation"),
    ],
)
def test_what_is_wrong_is_named(annotated, level, measure, message):
    with pytest.raises(DataError, match=message):
        gene_difference(gene_scores([TWO], []), gene_scores(annotated, []), level, measure)
