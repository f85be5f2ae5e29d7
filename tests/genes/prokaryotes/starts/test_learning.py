"""Where genes begin, learned from their stops."""

import numpy as np
import pytest

import simulated_orfs as simulated
from structune.errors import ModelFileError
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.starts.choices import Choices
from structune.genes.prokaryotes.starts.learning import learn_starts
from structune.genes.prokaryotes.starts.model import pack, unpack
from structune.genes.prokaryotes.structure.candidates import OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

GRAPH = OrfGraph(OrfRules())


def encoded(seed, n_contigs):
    genome = simulated.genome(seed, n_contigs=n_contigs)
    genes = [[(t.start, t.end, t.strand) for t in each.transcripts] for each in genome]
    letters = [encode_letters(each.sequence, each.name) for each in genome]
    return GRAPH.encode([each.sequence for each in genome], genes), letters


def longest(shard):
    """The genes with the first candidate that each may have."""
    of, first = Choices.of(shard, GRAPH.weights, shard.chosen), np.zeros_like(shard.chosen)
    first[of.places[np.flatnonzero(np.diff(of.gene, prepend=-1))]] = 1
    return first


def share_right(found, shard):
    return np.count_nonzero(found & shard.chosen) / np.count_nonzero(shard.chosen)


@pytest.fixture(scope="module")
def learned():
    shard, letters = encoded(0, 60)
    model = learn_starts(GRAPH, shard, longest(shard), letters)
    assert model is not None
    return model


def test_starts_are_learned_from_stops(learned):
    shard, _ = encoded(1, 30)
    before = longest(shard)
    found, shares = learned.choose(GRAPH, shard, before, False)
    assert share_right(before, shard) < 0.8
    assert share_right(found, shard) > 0.97
    assert np.all(shares[found > 0] <= 1.0)
    assert shares[(found & shard.chosen) > 0].mean() > 0.9


def test_genes_stay(learned):
    """Each gene keeps its stop, and no two of them overlap by more than the rules allow."""
    shard, _ = encoded(2, 5)
    found, _ = learned.choose(GRAPH, shard, shard.chosen, False)
    ends = [
        np.where(shard.reverse, shard.bounds[:, 0], shard.bounds[:, 1])[of > 0]
        for of in (found, shard.chosen)
    ]
    np.testing.assert_array_equal(*map(np.sort, ends))
    GRAPH.features(shard, np.zeros(GRAPH.n_weights), outputs=found)


def test_genes_that_begin_before_their_sequence_stay(learned):
    text = "GCC" * 60 + "TAA" + "ACGT" * 10
    shard = GRAPH.encode([text], is_open=True)
    chosen = np.zeros(len(shard.bounds), np.int8)
    (place,) = np.flatnonzero((shard.bounds == [0, 183]).all(axis=1) & ~shard.reverse)
    chosen[place] = 1
    found, shares = learned.choose(GRAPH, shard, chosen, True)
    np.testing.assert_array_equal(found, chosen)
    assert shares[place] == 1.0


def test_few_genes_teach_nothing():
    shard, letters = encoded(0, 4)
    assert learn_starts(GRAPH, shard, shard.chosen, letters) is None


def test_what_it_starts_from_is_of_no_account(learned):
    """Only the stops of genes teach, but for the distances of neighbours."""
    shard, letters = encoded(0, 60)
    other = learn_starts(GRAPH, shard, shard.chosen, letters)
    np.testing.assert_allclose(other.codons, learned.codons, atol=0.05)
    np.testing.assert_allclose(other.site.bases, learned.site.bases, atol=0.05)


def test_files(learned):
    arrays = pack(learned, "start_")
    again = unpack(dict(arrays), "start_")
    for name, array in pack(again, "start_").items():
        np.testing.assert_array_equal(array, arrays[name])
    with pytest.raises(ModelFileError, match="found the arrays"):
        unpack({name: array for name, array in arrays.items() if name != "start_codons"}, "start_")
    with pytest.raises(ModelFileError, match="expected finite numbers"):
        unpack({**arrays, "start_words": arrays["start_words"][:5]}, "start_")
    for name in ("start_classes", "start_site_bases", "start_box_share"):
        with pytest.raises(ModelFileError, match="no probabilities"):
            unpack({**arrays, name: np.zeros_like(arrays[name])}, "start_")
    assert pack(None, "start_") == {}
    assert unpack({"coef": np.zeros(3)}, "start_") is None
