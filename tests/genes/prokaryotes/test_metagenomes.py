"""Contigs of many organisms: a model for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import simulated_orfs as simulated
from simulated_genes import exons
from structune import MultitaskEstimator, ProkaryoticGeneFinder, SequenceTagger, TaskTree
from structune.errors import CapabilityError
from structune.genes import MetagenomeFinder
from structune.genes.prokaryotes.structure.shard import CANDIDATES

OTHER = ["AAA", "GAA", "TTA", "ATT", "AAT", "TTT", "ACA", "TCA"]
NEAR, FAR = simulated.genome(1, n_contigs=3), simulated.genome(2, codons=OTHER, n_contigs=3)


@pytest.fixture(scope="module")
def tree():
    genomes = {"a": simulated.genome(0), "b": simulated.genome(3, codons=OTHER)}
    data = {name: (genome, [each.transcripts for each in genome]) for name, genome in genomes.items()}
    options = {"gammas": [0.0], "factors": [1.0], "n_jobs": 1}
    return MultitaskEstimator(ProkaryoticGeneFinder(n_jobs=1), {"root": ["a", "b"]}, **options).fit(data)


def test_each_contig_has_its_model(tree):
    finder = MetagenomeFinder.of(tree)
    mixed = [contig for pair in zip(NEAR, FAR, strict=True) for contig in pair]
    found = finder.predict(mixed)
    for contigs, own, leaf in ((NEAR, found[::2], "a"), (FAR, found[1::2], "b")):
        expected = tree.model(leaf).predict(contigs)
        assert [exons(genes) for genes in own] == [exons(genes) for genes in expected]
    assert all(0 <= t.score <= 1 for genes in found for t in genes)


def test_models_count_by_their_probabilities(tree):
    """The best genes and their scores are those of the mean of the weights."""
    finder, texts = MetagenomeFinder.of(tree), [NEAR[0].sequence[:300], FAR[0].sequence[:300]]
    graph, nodes = finder.graph_, list(tree.weights_.values())
    shard = graph.encode(texts, is_open=True)
    chosen, scores = finder._found(shard)
    for s in range(2):
        alone, part = shard.take([s]), shard.part(s, CANDIDATES)
        logs = np.array([graph.log_partition(w, alone)[0] for w in nodes])
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        w = sum(share * each for share, each in zip(shares, nodes, strict=True))
        assert_allclose(chosen[part], graph.best(w, alone)[0])
        assert_allclose(scores[part], graph.marginals(w, alone), atol=1e-12)


def test_odd_contigs(tree):
    finder = MetagenomeFinder.of(tree)
    assert finder.predict([]) == []
    assert finder.predict(["", "A", "N" * 500]) == [(), (), ()]
    assert finder.with_code(4).code == 4


def test_what_is_no_tree_of_finders():
    with pytest.raises(CapabilityError, match="expected a MultitaskEstimator"):
        MetagenomeFinder.of(ProkaryoticGeneFinder())
    words = {"a": ([[["x"], ["y"]]], [["A", "B"]]), "b": ([[["x"]]], [["A"]])}
    options = {"gammas": [0.5], "factors": [1.0], "n_jobs": 1}
    tagger = MultitaskEstimator(SequenceTagger(n_jobs=1), TaskTree.from_nested(["a", "b"]), **options)
    with pytest.raises(CapabilityError, match="expected a ProkaryoticGeneFinder"):
        MetagenomeFinder.of(tagger.fit(words))


def test_it_is_not_saved(tree, tmp_path):
    with pytest.raises(CapabilityError, match="save the tree"):
        MetagenomeFinder.of(tree).save(tmp_path / "m.structune")
