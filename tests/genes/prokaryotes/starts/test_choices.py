"""The candidate starts of genes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulated_orfs as simulated
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.starts.choices import DISTANCES, N_NEIGHBOURS, Choices, open_ends
from structune.genes.prokaryotes.structure.candidates import CONTEXT, STARTS, OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

GRAPH = OrfGraph(OrfRules())


def encoded(seed, n_contigs=2):
    genome = simulated.genome(seed, n_contigs=n_contigs)
    genes = [[(t.start, t.end, t.strand) for t in each.transcripts] for each in genome]
    return genome, GRAPH.encode([each.sequence for each in genome], genes)


@given(st.integers(0, 10**6))
def test_all_that_end_as_the_genes_do(seed):
    genome, shard = encoded(seed)
    of = Choices.of(shard, GRAPH.weights, shard.chosen)
    n_genes = sum(len(each.transcripts) for each in genome)
    assert of.gene.max() + 1 == n_genes
    assert np.bincount(of.gene, of.chosen).tolist() == [1] * n_genes
    stops = np.where(shard.reverse, shard.bounds[:, 0], -shard.bounds[:, 1])
    sequence = np.repeat(np.arange(len(shard)), np.diff(shard.offsets[2]))
    both = np.column_stack([sequence, stops, shard.reverse])
    is_gene = (both[:, None] == both[shard.chosen > 0]).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(of.places, np.flatnonzero(is_gene))


def test_letters_and_codons():
    genome, shard = encoded(0)
    of, texts = Choices.of(shard, GRAPH.weights, shard.chosen), [each.sequence for each in genome]
    for k in np.flatnonzero(of.chosen):
        c = of.places[k]
        s = int(np.searchsorted(shard.offsets[2], c, side="right")) - 1
        t = next(t for t in genome[s].transcripts if (t.start, t.end) == tuple(shard.bounds[c]))
        assert STARTS[of.kinds[k]] == t.coding_sequence(texts[s])[:3]
        if t.strand == "+" and t.start >= 40:
            around = encode_letters(texts[s], "x")[t.start + CONTEXT]
            np.testing.assert_array_equal(of.letters[k], around)


@given(st.integers(0, 10**6))
def test_distances_from_genes_before(seed):
    genome, shard = encoded(seed, n_contigs=2)
    of = Choices.of(shard, GRAPH.weights, shard.chosen)
    for k in np.flatnonzero(of.chosen):
        c = of.places[k]
        s = int(np.searchsorted(shard.offsets[2], c, side="right")) - 1
        start, end = shard.bounds[c]
        if shard.reverse[c]:
            after = [(t.start - end, t.strand == "-") for t in genome[s].transcripts if t.start >= end]
        else:
            after = [(start - t.end, t.strand == "+") for t in genome[s].transcripts if t.end <= start]
        distance, same = min(after, default=(10_000, None))
        half = N_NEIGHBOURS // 2
        assert of.before[k] % half == np.searchsorted(DISTANCES, distance, side="right")
        assert (of.before[k] < half) == bool(same)  # of none it is on the other strand


def test_shares_are_of_genes():
    _, shard = encoded(1)
    of = Choices.of(shard, GRAPH.weights, shard.chosen)
    scores = np.random.default_rng(0).normal(size=len(of)) * 1e3
    np.testing.assert_allclose(np.bincount(of.gene, of.shares(scores)), 1.0)


def test_sums_of_words():
    first, last = -16, 3
    _, shard = encoded(2)
    of = Choices.of(shard, GRAPH.weights, shard.chosen)
    table, begin, c = np.random.default_rng(0).normal(size=4097), 0, 0
    found = of.words_near(table, first, last)
    for n_candidates, n_words in zip(of.words.n_candidates, of.words.n_words, strict=True):
        words = of.words.words[begin : begin + n_words]
        for skipped in of.words.skipped[c : c + n_candidates]:
            inside = [table[words[skipped + k]] for k in range(first, last) if 0 <= skipped + k < n_words]
            assert found[c] == pytest.approx(sum(inside))
            c += 1
        begin += n_words


def test_sums_and_counts_of_letters():
    """Starts that are improbable teach nothing."""
    _, shard = encoded(3)
    of, rng = Choices.of(shard, GRAPH.weights, shard.chosen), np.random.default_rng(0)
    table, group = rng.normal(size=(CONTEXT.size, 5)), rng.integers(0, 3, CONTEXT.size)
    each = table[np.arange(CONTEXT.size), of.letters]
    expected = [each[:, group == g].sum(axis=1) for g in range(3)]
    np.testing.assert_allclose(of.letter_scores(table, group), expected)
    used = np.where(rng.random(len(of)) < 0.5, rng.random(len(of)), 5e-5)
    counted = (used > 1e-4) * used
    counts = [[counted[of.letters[:, j] == a].sum() for a in range(5)] for j in range(CONTEXT.size)]
    np.testing.assert_allclose(of.count_letters(used), counts)


def test_open_ends():
    shard = GRAPH.encode(["GCC" * 40 + "ATG" + "GCC" * 40], is_open=True)
    assert open_ends(shard).any()
    assert not open_ends(GRAPH.encode(["GCC" * 40 + "ATG" + "GCC" * 40 + "TAA"])).any()
