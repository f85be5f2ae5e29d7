"""Where genes begin: motifs against sums over all their places, candidate starts, and learning from stops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulated_orfs as simulated
from structune.errors import ModelFileError
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.starts import (
    DISTANCES,
    N_NEIGHBOURS,
    Choices,
    Motif,
    learn_starts,
    pack,
    unpack,
)
from structune.genes.prokaryotes.structure.candidates import CONTEXT, OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

BACKGROUND = np.array([0.3, 0.2, 0.2, 0.3])
BEGIN, RNG = -12, np.random.default_rng(0)
LETTERS = RNG.integers(0, 5, (30, 12)).astype(np.int8)
PRIOR = Motif.from_text("AGN", -9, -6, 0.4, BACKGROUND)


def odds(motif, row):
    """Of the motif at each of its places."""
    out = []
    for a in range(len(motif.places)):
        window = row[motif.first - BEGIN + a :][: len(motif.bases)]
        ratios = [motif.bases[j, b] / BACKGROUND[b] if b < 4 else 1.0 for j, b in enumerate(window)]
        out.append(np.prod(ratios))
    return motif.places * out


def test_scores():
    expected = [np.log(0.6 + 0.4 * odds(PRIOR, row).sum()) for row in LETTERS]
    np.testing.assert_allclose(PRIOR.scores(LETTERS.T, BACKGROUND), expected)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_step_of_learning(fixed):
    used = RNG.random(30)
    bases, places = np.zeros((3, 4)), np.zeros(4)
    for row, weight in zip(LETTERS, used, strict=True):
        found = 0.4 * odds(PRIOR, row)
        for a, share in enumerate(weight * found / (0.6 + found.sum())):
            places[a] += share
            for j, b in enumerate(row[PRIOR.first - BEGIN + a :][:3]):
                if b < 4:
                    bases[j, b] += share
    bases += 8.0 * BACKGROUND + 0.2 * places.sum() * PRIOR.bases
    found = PRIOR.learned(LETTERS.T, BACKGROUND, used, PRIOR, fixed)
    np.testing.assert_allclose(found.bases, bases / bases.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.places, (places + 1) / (places.sum() + 4))
    assert found.share == pytest.approx(0.4 if fixed else (places.sum() + 1) / (used.sum() + 2))


GRAPH = OrfGraph(OrfRules())


def encoded(seed, n_contigs=2):
    genome = simulated.genome(seed, n_contigs=n_contigs)
    genes = [[(t.start, t.end, t.strand) for t in each.transcripts] for each in genome]
    return genome, GRAPH.encode([each.sequence for each in genome], genes)


@given(st.integers(0, 10**6))
def test_candidates_that_end_as_the_genes_do(seed):
    genome, shard = encoded(seed)
    of = Choices.of(shard, shard.chosen)
    n_genes = sum(len(each.transcripts) for each in genome)
    assert of.gene.max() + 1 == n_genes
    assert np.bincount(of.gene, of.chosen).tolist() == [1] * n_genes
    stops = np.where(shard.reverse, shard.bounds[:, 0], -shard.bounds[:, 1])
    sequence = np.repeat(np.arange(len(shard)), np.diff(shard.offsets[2]))
    both = np.column_stack([sequence, stops, shard.reverse])
    is_gene = (both[:, None] == both[shard.chosen > 0]).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(of.places, np.flatnonzero(is_gene))
    for k in np.flatnonzero(of.chosen):  # how far the gene before is
        c = of.places[k]
        s, (start, end) = sequence[c], shard.bounds[c]
        if shard.reverse[c]:
            after = [(t.start - end, t.strand == "-") for t in genome[s].transcripts if t.start >= end]
        else:
            after = [(start - t.end, t.strand == "+") for t in genome[s].transcripts if t.end <= start]
        distance, same = min(after, default=(10_000, None))
        half = N_NEIGHBOURS // 2
        assert of.before[k] % half == np.searchsorted(DISTANCES, distance, side="right")
        assert (of.before[k] < half) == bool(same)  # of none it is on the other strand


def test_words_near_starts():
    """Those of the frame, from 16 before each start to 14 behind it; beyond it the unknown one."""
    _, shard = encoded(2)
    of = Choices.of(shard, shard.chosen)
    words = np.split(of.words.words, np.cumsum(of.words.n_words)[:-1])
    for gene, skipped, found in zip(of.gene, of.words.skipped, of.words_near.T, strict=True):
        padded = np.pad(words[gene], 16, constant_values=4096)
        assert found.tolist() == padded[skipped : skipped + 31].tolist()


def test_sums_and_counts_of_letters():
    """Starts that are improbable teach nothing."""
    _, shard = encoded(3)
    of, rng = Choices.of(shard, shard.chosen), np.random.default_rng(0)
    table = rng.normal(size=(CONTEXT.size, 5))
    each = np.take_along_axis(table, of.letters, axis=1)
    groups = np.split(each, np.searchsorted(CONTEXT, [-20, -3, 0, 6]))
    np.testing.assert_allclose(of.letter_scores(table), [group.sum(axis=0) for group in groups])
    used = np.where(rng.random(len(of)) < 0.5, rng.random(len(of)), 5e-5)
    counted = (used > 1e-4) * used
    counts = [[counted[letters == a].sum() for a in range(5)] for letters in of.letters]
    np.testing.assert_allclose(of.count_letters(used), counts)


def with_letters(seed, n_contigs):
    genome, shard = encoded(seed, n_contigs)
    return shard, [encode_letters(each.sequence, each.name) for each in genome]


def longest(shard):
    """The genes with the first candidate that each may have."""
    of, first = Choices.of(shard, shard.chosen), np.zeros_like(shard.chosen)
    first[of.places[np.flatnonzero(np.diff(of.gene, prepend=-1))]] = 1
    return first


def share_right(found, shard):
    return np.count_nonzero(found & shard.chosen) / np.count_nonzero(shard.chosen)


@pytest.fixture(scope="module")
def learned():
    shard, letters = with_letters(0, 60)
    model = learn_starts(shard, longest(shard), letters)
    assert model is not None
    return model


def test_starts_are_learned_from_stops(learned):
    shard, _ = with_letters(1, 30)
    before = longest(shard)
    found, shares = learned.found(GRAPH, shard, before, before, False)
    assert share_right(before, shard) < 0.8
    assert share_right(found, shard) > 0.97
    assert np.all(shares[found > 0] <= 1.0)
    assert shares[(found & shard.chosen) > 0].mean() > 0.9


def test_genes_stay(learned):
    """Each gene keeps its stop, and no two of them overlap by more than the rules allow."""
    shard, _ = with_letters(2, 5)
    found, _ = learned.found(GRAPH, shard, shard.chosen, None, False)
    ends = np.where(shard.reverse, shard.bounds[:, 0], shard.bounds[:, 1])
    np.testing.assert_array_equal(*(np.sort(ends[of > 0]) for of in (found, shard.chosen)))
    GRAPH.features(shard, np.zeros(GRAPH.n_weights), outputs=found)


def test_genes_that_begin_before_their_sequence_stay(learned):
    text = "GCC" * 60 + "TAA" + "ACGT" * 10
    shard = GRAPH.encode([text], is_open=True)
    chosen = np.zeros(len(shard.bounds), np.int8)
    (place,) = np.flatnonzero((shard.bounds == [0, 183]).all(axis=1) & ~shard.reverse)
    chosen[place] = 1
    found, shares = learned.found(GRAPH, shard, chosen, chosen, True)
    np.testing.assert_array_equal(found, chosen)
    assert shares[place] == 1.0


def test_what_it_starts_from_is_of_no_account(learned):
    """Only the stops of genes teach, but for the distances of neighbours."""
    shard, letters = with_letters(0, 60)
    other = learn_starts(shard, shard.chosen, letters)
    np.testing.assert_allclose(other.codons, learned.codons, atol=0.05)
    np.testing.assert_allclose(other.site.bases, learned.site.bases, atol=0.05)


def test_files(learned):
    arrays = pack(learned, "start_")
    again = unpack(dict(arrays), "start_")
    for name, array in pack(again, "start_").items():
        np.testing.assert_array_equal(array, arrays[name])
    with pytest.raises(ModelFileError, match="has arrays"):
        unpack({name: array for name, array in arrays.items() if name != "start_codons"}, "start_")
    with pytest.raises(ModelFileError, match="and finite numbers"):
        unpack({**arrays, "start_words": arrays["start_words"][:5]}, "start_")
    for name in ("start_classes", "start_site_bases", "start_box_share"):
        with pytest.raises(ModelFileError, match="not probabilities"):
            unpack({**arrays, name: np.zeros_like(arrays[name])}, "start_")
    assert pack(None, "start_") == {}
    assert unpack({"coef": np.zeros(3)}, "start_") is None
