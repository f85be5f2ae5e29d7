"""Contigs of many organisms: a model for each, by its share of G and C."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import simulated_orfs as simulated
from simulated_genes import exons
from structune import MultitaskEstimator, ProkaryoticGeneFinder, SequenceTagger, TaskTree, adapt, load
from structune.errors import CapabilityError
from structune.genes import AnnotatedSequence, MetagenomeFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import gc_content

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
    for contigs, own in ((NEAR, found[::2]), (FAR, found[1::2])):
        for contig, genes in zip(contigs, own, strict=True):
            expected = finder.model(round(gc_content([contig]), 2)).predict([contig])[0]
            assert exons(genes) == exons(expected)
    assert finder.score(mixed) > 0.9
    assert all(0 <= t.score <= 1 for genes in found for t in genes)
    assert finder.set_params(n_jobs=2).predict(mixed) == found
    assert finder.predict(mixed[:1], avoid=[[(10**6, 10**6 + 9)]]) == found[:1]
    clear = finder.predict(mixed, avoid=[[(0, len(each.sequence))] for each in mixed])
    assert clear == [()] * len(mixed)


def test_models_of_leaves_count_by_how_near_they_are(tree):
    finder = MetagenomeFinder.of(tree)
    a, b = (tree.nodes_[name]["GC content"] for name in "ab")
    middle = finder.model((a + b) / 2)
    assert_allclose(middle.coef_, (tree.weights_["a"] + tree.weights_["b"]) / 2)
    near, far = (np.abs(finder.model(a).coef_ - tree.weights_[name]).sum() for name in "ab")
    assert near < far


def test_shares_of_g_and_c(tree, tmp_path):
    assert gc_content([AnnotatedSequence("a", "GCgcATNNu"), AnnotatedSequence("b", "C")]) == 5 / 8
    assert gc_content([AnnotatedSequence("a", "NN")]) == gc_content([]) == 0.5
    assert tree.nodes_["b"]["GC content"] < tree.nodes_["a"]["GC content"]
    assert "GC content" not in tree.nodes_["root"]
    tree.save(tmp_path / "tree")
    assert load(tmp_path / "tree").nodes_["a"]["GC content"] == tree.nodes_["a"]["GC content"]


def test_odd_contigs(tree):
    finder = MetagenomeFinder.of(tree)
    assert finder.predict([]) == []
    assert finder.predict(["", "A", "N" * 500]) == [(), (), ()]
    assert finder.with_code(4).model(0.5).code == 4


def test_what_is_no_tree_of_finders(tree):
    with pytest.raises(CapabilityError, match="expected a MultitaskEstimator"):
        MetagenomeFinder.of(ProkaryoticGeneFinder())
    words = {"a": ([[["x"], ["y"]]], [["A", "B"]]), "b": ([[["x"]]], [["A"]])}
    options = {"gammas": [0.5], "factors": [1.0], "n_jobs": 1}
    tagger = MultitaskEstimator(SequenceTagger(n_jobs=1), TaskTree.from_nested(["a", "b"]), **options)
    with pytest.raises(CapabilityError, match="expected a ProkaryoticGeneFinder"):
        MetagenomeFinder.of(tagger.fit(words))


def test_trees_of_earlier_releases(tree, tmp_path):
    tree.save(tmp_path / "tree")
    old = load(tmp_path / "tree")
    for about in old.nodes_.values():
        about.pop("GC content", None)
    with pytest.raises(CapabilityError, match="found a tree without the GC content of its leaves"):
        MetagenomeFinder.of(old)


def test_it_learns_nothing_and_is_not_saved(tree, tmp_path):
    for learn in (
        lambda: MetagenomeFinder().fit(NEAR),
        lambda: adapt(MetagenomeFinder.of(tree), NEAR, 1),
    ):
        with pytest.raises(CapabilityError, match="learns nothing"):
            learn()
    with pytest.raises(NotFittedError):
        MetagenomeFinder().predict(NEAR)
    with pytest.raises(CapabilityError, match="save the tree"):
        MetagenomeFinder.of(tree).save(tmp_path / "m.structune")
