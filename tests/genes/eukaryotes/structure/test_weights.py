"""Which weights a gene model has, how lengths are binned, and what scales of tables stand for."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gene_graphs as genes
from structune.errors import DataError
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import gene_path
from structune.genes.eukaryotes.structure.weights import (
    WINDOWS,
    ExonWeights,
    GeneRules,
    Scaling,
    intron_lengths,
    length_bins,
    log_odds,
)
from structune.genes.eukaryotes.training import FOLDS, Tally, drawn_parts

TEXTS = ["CCATGGTCAGCTAACCTTACATG", "ATGGTGTACAGGTAAGCATGTAA", "TTACTGACACATCATATGTAAC"]


@pytest.mark.parametrize("strands", ["both", "forward"])
@pytest.mark.parametrize("features", ["full", "paper"])
def test_names(features, strands):
    weights = ExonWeights.of(features, GeneRules(strands, introns=(30, 90)), n_tracks=1)
    names = weights.names()
    assert len(names) == len(set(names)) == len(weights)
    lengths = (1, 6) if features == "paper" else (1, 3, 6)
    expected = {f"{family} {k}-mer" for family in ("NC", "C", "I") for k in lengths} | {"edges", "tracks"}
    if features == "full":
        expected |= {*WINDOWS, "start flank", "stop flank", "intron lengths", "exon lengths"}
    families = [name.partition(":")[0] for name in names]
    assert set(families) == expected
    n_introns = 3 if features == "paper" else 1  # by phase, or all alike
    assert families.count("I 6-mer") == n_introns * 4**6
    assert {"edges: gene", "edges: intron after 0", "edges: split stop"} < set(names)


@given(st.integers(4, 1000), st.integers(0, 1000))
def test_bins_of_lengths(shortest, more):
    longest = shortest + more
    bins = length_bins(shortest, longest)
    assert bins[0] == shortest
    assert bins[-1] <= longest
    assert all(a < b for a, b in pairwise(bins))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], (4, 4)),
        ([2], (4, 4)),
        ([50], (45, 100)),
        ([50, 60, 70, 80, 5000], (45, 148)),
        ([12_000], (10_000, 10_000)),  # the longest that files may have
    ],
)
def test_lengths_of_introns(lengths, expected):
    assert intron_lengths(lengths) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strands": "+"}, "strands='\\+': expected one of"),
        ({"donors": ("AT",)}, "donors=.*expected a list with 'GT', 'GC' or both"),
        ({"donors": ()}, "donors=.*expected a list"),
        ({"introns": (3, 9)}, "a shortest length of at least 4"),
        ({"introns": (9, 8)}, "a shortest length of at least 4"),
    ],
)
def test_wrong_rules(options, message):
    with pytest.raises(DataError, match=message):
        GeneRules(**options)


# --- scales of tables ---------------------------------------------------------------------------------------


@pytest.fixture
def weights():
    return genes.exon_weights("both", (4, 6), True, (0, 1), True, 1)


def shard_of(weights, texts=TEXTS):
    rng = np.random.default_rng(0)
    inputs = [(text, rng.normal(size=(len(text), 1))) for text in texts]
    known = [genes.transcripts(genes.genes_of(text, "both", ("GT",), 4)[:1]) for text in texts]
    paths = [gene_path(weights, len(text), some) for text, some in zip(texts, known, strict=True)]
    return ExonGraph(weights).encode(inputs, paths)


def test_sums_are_those_of_the_weights_that_scales_stand_for(weights):
    rng = np.random.default_rng(1)
    scaling = Scaling(weights, rng.normal(size=(3, len(weights))))
    graph, plain, shard = ExonGraph(weights, scaling), ExonGraph(weights), shard_of(weights)
    shard, w = replace(shard, tables=np.array([0, 2, 1], np.int8)), rng.normal(size=len(scaling))
    found, expected = np.zeros(len(scaling)), np.zeros(len(scaling))
    values = graph.log_partition(w, shard, found)
    for s, table in enumerate(shard.tables):
        own, sums = replace(shard.take([s]), tables=np.zeros(1, np.int8)), np.zeros((3, len(weights)))
        full = scaling.spread(w)[table]
        assert_allclose(values[s], plain.log_partition(full, own, sums[table])[0])
        scaling.gather(sums, expected)
        assert_array_equal(graph.best(w, shard.take([s]))[0], plain.best(full, own)[0])
        assert_allclose(graph.score(w, shard)[s], plain.score(full, own)[0])
    assert_allclose(found, expected)
    assert scaling.names()[0] == "scales: C 1-mer"
    assert len(set(scaling.names())) == len(scaling) == graph.n_weights


def test_log_odds_of_words_windows_and_flanks():
    """Many of one kind: log odds come near to those of the shares."""
    weights = genes.exon_weights("forward", (4, 6), True, (0,), True)
    counts, decoys = np.zeros((2, len(weights)))
    weights.part(counts, "order 0")[:] = 1e6 * np.array([[1, 1, 1, 1]] + [[4, 2, 1, 1]] * 4)
    weights.part(counts, "donor")[:] = 1e6 * np.tile([4, 2, 1, 1], 4)
    weights.part(decoys, "donor")[:] = 1e6
    weights.part(counts, "stop flank")[:] = 1e6 * np.array([4, 2, 1, 1])
    weights.part(decoys, "stop flank")[:] = 1e6
    found = log_odds(weights, counts, decoys)
    odds = np.log(np.array([4, 2, 1, 1]) / 2)
    assert_allclose(weights.part(found, "order 0"), [np.zeros(4), *[odds] * 4], atol=1e-3)
    assert_allclose(weights.part(found, "donor"), np.tile(np.tile(odds, 4), (5, 1)), atol=1e-3)
    assert_allclose(weights.part(found, "stop flank"), [odds], atol=1e-2)
    assert_array_equal(weights.part(found, "start flank"), 0.0)  # nothing was counted


def test_log_odds_of_lengths_and_edges():
    """Densities: of introns, and of exons by kind, those that begin a gene and others apart."""
    weights = genes.exon_weights("forward", (4, 8), True, (0,), True)
    counts, decoys = np.zeros((2, len(weights)))
    bins, kinds = np.array(weights.exon_bins), np.array([6e6, 2e6, 3e6, 1e6])
    weights.part(counts, "exon lengths")[:, 0] = kinds
    weights.part(counts, "intron lengths")[:2] = 3e6, 1e6
    weights.part(counts, "edges")[:3] = 2e6, 1e6, 1e6
    found = log_odds(weights, counts, decoys)
    width = bins[1] - bins[0]
    shares = np.array([6 / 8, 2 / 8, 3 / 4, 1 / 4])
    assert_allclose(np.exp(weights.part(found, "exon lengths")[:, 0]), shares / width, rtol=1e-3)
    widths = np.diff(weights.intron_bins)[:2]
    assert_allclose(np.exp(weights.part(found, "intron lengths")[:2]), [3 / 4, 1 / 4] / widths, rtol=1e-3)
    edges = weights.part(found, "edges")
    assert_allclose(np.exp(edges[:3]), [1 / 2, 1 / 4, 1 / 4], rtol=1e-3)
    assert (edges[3:] < -5).all()  # genes, and codons that introns split, are rare


def test_squares_of_scales(weights):
    """Of one use each of some weights."""
    scaling = Scaling(weights, np.random.default_rng(4).normal(size=(1, len(weights))))
    used = np.zeros((1, len(weights)))
    used[0, ::7] = 1.0
    found, n = np.zeros(len(scaling)), len(scaling.scales)
    scaling.gather(used, found, squared=True)
    families = np.array([name.partition(":")[0] for name in weights.names()[::7]])
    of_scales = [np.sum(scaling.tables[0, ::7][families == name] ** 2) for name in scaling.scales]
    assert_allclose(found[:n], of_scales)
    assert set(found[n:]) == {0.0, 1.0}


def scaled(shard, weights, parts):
    tally = Tally(ExonGraph(weights))
    return tally.counted(shard, parts), tally.scaled_graph().scaling.tables


def test_tables_leave_out_the_examples_that_they_score(weights):
    shard, parts = shard_of(weights, TEXTS * 4), drawn_parts(12, None, 0)
    parted, tables = scaled(shard, weights, parts)
    assert_array_equal(parted.tables, parts)
    assert len(tables) == 1 + FOLDS
    assert sorted(np.bincount(parts)[1:]) == [1] * 8 + [2] * 2
    for table in (1, FOLDS):
        others = shard.take(parts != table)
        assert_allclose(scaled(others, weights, others.tables)[1], tables[[table]])
    grouped = drawn_parts(12, [*range(FOLDS), 0, 1], 0)
    assert grouped[:2].tolist() == grouped[FOLDS:].tolist()
    assert_array_equal(drawn_parts(12, ["a"] * 12, 0), parts)  # no parts to leave out
    one = drawn_parts(1, None, 0)
    assert one.tolist() == [1]
    assert_array_equal(*scaled(shard.take([0]), weights, one)[1])  # is scored by its own table
