"""Genomes without annotation: which model is nearest, and what self-training gains."""

import numpy as np
import pytest

import simulated_orfs as simulated
from simulated_genes import CODONS, exons
from structune import MultitaskEstimator, ProkaryoticGeneFinder, SequenceTagger, adapt, nearest_node
from structune.errors import CapabilityError, DataError

OTHER = ["AAA", "GAA", "TTA", "ATT", "AAT", "TTT", "ACA", "TCA"]
HALF = [*CODONS[:4], *OTHER[:4]]
KNOWN, NEW = simulated.genome(0), simulated.genome(1, codons=HALF, n_contigs=20)
FAR = simulated.genome(2, codons=OTHER)


@pytest.fixture(scope="module")
def finder():
    return ProkaryoticGeneFinder(n_jobs=1).fit(KNOWN)


@pytest.fixture(scope="module")
def tree():
    data = {
        name: (genome, [each.transcripts for each in genome]) for name, genome in (("a", KNOWN), ("b", FAR))
    }
    options = {"gammas": [0.0], "factors": [1.0], "n_jobs": 1}
    return MultitaskEstimator(ProkaryoticGeneFinder(n_jobs=1), {"root": ["a", "b"]}, **options).fit(data)


def test_self_training_gains(finder):
    weights = finder.coef_.copy()
    before, after = finder.score(NEW), adapt(finder, [each.sequence for each in NEW]).score(NEW)
    assert after > before + 0.01
    np.testing.assert_array_equal(finder.coef_, weights)


def test_annotation_is_not_looked_at(finder):
    texts = [each.sequence for each in NEW]
    a, b = (adapt(finder, genome, rounds=1).predict(texts) for genome in (texts, NEW))
    assert [exons(of) for of in a] == [exons(of) for of in b]


@pytest.mark.parametrize(("codons", "far"), [(CODONS, "b"), (OTHER, "a")])
def test_the_nearest_node(tree, codons, far):
    genome = simulated.genome(3, codons=codons)
    scores = {node: tree.model(node).score(genome) for node in tree.nodes_}
    assert scores[nearest_node(tree, genome)] > 0.95
    assert scores[far] < 0.7


def test_wrong_input(finder, tree):
    with pytest.raises(DataError, match="found no gene to learn from"):
        adapt(finder, ["ACGT"])
    for rounds in (0, 1.5, True):
        with pytest.raises(DataError, match="expected a whole number > 0"):
            adapt(finder, ["ACGT"], rounds)
    with pytest.raises(CapabilityError, match="whose genes have probabilities"):
        adapt(ProkaryoticGeneFinder(loss="margin"), ["ACGT"])
    with pytest.raises(CapabilityError, match="expected a ProkaryoticGeneFinder"):
        adapt(SequenceTagger(), ["ACGT"])
