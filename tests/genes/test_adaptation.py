"""Genomes without annotation: what is expected there is counted, and what that gains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import simulated_genes as simulated
from simulated_genes import CODONS
from structune import GeneFinder, SequenceTagger, adapt
from structune.errors import CapabilityError, DataError
from structune.genes import adaptation
from structune.genes.eukaryotes import gene_finder
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.weights import log_odds
from structune.running import Run

OTHER = ["AAA", "GAA", "TTA", "ATT", "AAT", "TTT", "ACA", "TCA"]
NEW = simulated.genome(1, codons=[*CODONS[:3], *OTHER[:5]], n_contigs=15)
TEXTS = [each.sequence for each in NEW]


def test_it_gains_and_ends_when_nothing_is_new(finder):
    weights, tables = finder.coef_.copy(), finder.graph_.scaling.tables
    adapted = adapt(finder, NEW)
    assert adapted.score(NEW) > finder.score(NEW) + 0.05
    again = adapt(adapted, TEXTS, 1)
    assert np.abs(adapted.graph_.scaling.tables - again.graph_.scaling.tables).mean() < 0.01
    assert_array_equal(adapted.coef_, weights)
    assert finder.graph_.scaling.tables is tables


def test_a_round_counts_what_is_expected(finder):
    graph = finder.graph_
    plain = ExonGraph(graph.weights)
    shard, counts = plain.encode(TEXTS), np.zeros(len(graph.weights))
    plain.log_partition(graph.scaling.spread(finder.coef_)[0], shard, counts)
    expected = log_odds(graph.weights, counts, plain.decoys(shard))
    assert_allclose(adapt(finder, TEXTS, 1).graph_.scaling.tables, expected[None])


def test_rounds_go_on_from_each_other(finder, monkeypatch):
    monkeypatch.setattr(adaptation, "_SETTLED", 0.0)
    once = adapt(adapt(finder, TEXTS, 1), TEXTS, 1)
    assert_array_equal(adapt(finder, TEXTS, 2).graph_.scaling.tables, once.graph_.scaling.tables)


def test_some_at_a_time_on_threads(finder, monkeypatch):
    expected = adapt(finder, TEXTS, 2).graph_.scaling.tables
    monkeypatch.setattr(adaptation, "_AT_ONCE", 1000)
    two = GeneFinder(n_jobs=2).set_params(**finder.get_params()).set_params(n_jobs=2)
    two._import(finder.coef_)
    two._keep_graph(finder.graph_, finder.introns_)
    assert_allclose(adapt(two, TEXTS, 2).graph_.scaling.tables, expected)


def test_parts_of_large_genomes(finder, monkeypatch):
    whole = adapt(finder, TEXTS[::2], 1)
    monkeypatch.setattr(adaptation, "_ENOUGH", sum(map(len, TEXTS)) - 1)
    assert_array_equal(adapt(finder, TEXTS, 1).graph_.scaling.tables, whole.graph_.scaling.tables)


def test_what_is_refused(finder):
    for texts in ([], ["ACGT" * 5], ["N" * 100]):
        with pytest.raises(DataError, match="the model finds no genes"):
            adapt(finder, texts)
    for rounds in (0, 1.5, True):
        with pytest.raises(DataError, match="expected a whole number > 0"):
            adapt(finder, TEXTS, rounds)
    with pytest.raises(DataError, match="organism='yeast': expected one of"):
        GeneFinder.pretrained("yeast")


def test_models_that_cannot_be_adapted():
    some = simulated.genome(0)[:1]
    options = {"n_jobs": 1, "tuning": None, "run": Run(max_iterations=1)}
    tracks = [np.ones((len(each.sequence), 1)) for each in some]
    for model in (
        GeneFinder(features="paper", **options).fit(some),
        GeneFinder(loss="margin", **options).fit(some),
        GeneFinder(**options).fit(some, tracks=tracks),
    ):
        with pytest.raises(CapabilityError, match="adapting needs a GeneFinder with features='full'"):
            adapt(model, TEXTS)
    with pytest.raises(CapabilityError, match="cannot adapt SequenceTagger: use a GeneFinder"):
        adapt(SequenceTagger(), TEXTS)
    with pytest.raises(NotFittedError):
        adapt(GeneFinder(), TEXTS)


@pytest.mark.parametrize("organism", gene_finder.ORGANISMS)
def test_pretrained_models(organism):
    model = GeneFinder.pretrained(organism)
    assert model.features == "full"
    assert model.predict(["", "ACGT" * 20]) == [(), ()]
    assert adapt(model, TEXTS, 1).introns_ == model.introns_
