"""Sets of genes without introns, and those of contigs: the laws, by enumeration; pieces; what is refused."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orf_graphs
import simulated_orfs as simulated
from laws import hold
from structune.errors import DataError
from structune.genes.prokaryotes.examples import cut_between, cut_genomes
from structune.genes.prokaryotes.structure import candidates
from structune.genes.prokaryotes.structure.candidates import OrfRules, site_notes
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

GRAPH = OrfGraph(OrfRules())
TEXT = "ATGGCCTTGCATTAATCATTACATGGATGACATTGATAA"


@settings(max_examples=25)
@given(problem=orf_graphs.problems())
def test_laws(problem):
    hold(problem)


@pytest.mark.parametrize(("is_open", "scale"), [(False, 1.0), (True, 30.0)])
@pytest.mark.parametrize("rules", orf_graphs.RULES)
def test_laws_of_sequences_with_many_genes(rules, is_open, scale):
    hold(orf_graphs.problem(np.random.default_rng(0), [TEXT, ""], rules, is_open, scale))
    texts = [TEXT, "", "CCNATGGGCTGACCATTA", "ATGGCC"]
    hold(orf_graphs.contig_problem(np.random.default_rng(0), texts, rules, is_open, scale))


@pytest.mark.parametrize("seed", range(6))
def test_laws_of_random_contigs(seed):
    rng = np.random.default_rng(seed)
    texts = [orf_graphs.gene_text(rng, int(rng.integers(1, 40))) for _ in range(2)]
    hold(orf_graphs.contig_problem(rng, texts, orf_graphs.RULES[seed % 3]))


def test_weights_of_a_thousand():
    """Sums are those of the best set alone, and probabilities 0 or 1."""
    problem = orf_graphs.problem(np.random.default_rng(1), [TEXT], orf_graphs.RULES[0], scale=1e3)
    structure, shard, w = problem.structure, problem.shard, problem.w
    chosen, best = structure.best(w, shard)
    assert_array_equal(structure.log_partition(w, shard), best)
    assert_allclose(structure.marginals(w, shard), chosen, atol=1e-100)


def test_probabilities_of_candidates():
    problem = orf_graphs.problem(np.random.default_rng(2), [TEXT, TEXT[::-1]], orf_graphs.RULES[0])
    found = problem.structure.marginals(problem.w, problem.shard)
    known = zip(problem.scores, problem.log_partition(), problem.outputs, strict=True)
    expected = [np.exp(scores - total) @ np.array(outputs) for scores, total, outputs in known]
    assert_allclose(found, np.concatenate(expected), rtol=1e-10)


def test_long_sequences_without_stops():
    shard, w = GRAPH.encode(["ATG" * 20_000, "N" * 10_000, ""], is_open=True), np.full(GRAPH.n_weights, -1e-3)
    assert np.isfinite(GRAPH.log_partition(w, shard)).all()
    assert GRAPH.best(w, shard)[1].tolist() == [0.0, 0.0, 0.0]


def test_memory_of_many_candidates():
    text = "ATG" * 30_000
    GRAPH.encode([text], is_open=True)
    tracemalloc.start()
    GRAPH.encode([text], is_open=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * len(text)


def test_candidates_of_genomes_take_little_memory(monkeypatch):
    """Words of frames are looked up some at a time."""
    letters = np.random.default_rng(0).integers(0, 4, 300_000).astype(np.int8)
    tracemalloc.start()
    found = GRAPH.of_letters([letters], is_open=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * letters.size
    monkeypatch.setattr(candidates, "_AT_ONCE", 7)
    assert_array_equal(GRAPH.of_letters([letters], is_open=True).words, found.words)


@pytest.mark.parametrize(
    ("genes", "message"),
    [
        ([(0, 10, "+")], r"sequence 0: the gene 0-10\(\+\) is not an open reading frame"),
        ([(0, 39, "-")], "is not an open reading frame"),
        ([(0, 15, "+"), (6, 15, "+")], "at 6-15 overlaps the one before it by more than 5 bases"),
    ],
)
def test_genes_that_are_not_there(genes, message):
    with pytest.raises(DataError, match=message):
        OrfGraph(orf_graphs.RULES[0]).encode([TEXT], [genes])


def test_wrong_rules_and_letters():
    wrong = {"code": 1000}, {"overlap": 90}, {"overlap": -1}, {"shortest": 5, "overlap": 0}, {"far": 0}
    for options in wrong:
        with pytest.raises(DataError):
            OrfRules(**options)
    with pytest.raises(DataError, match="sequence 1, position 2: 'J' is not a nucleotide"):
        GRAPH.encode(["ACGT", "AJ"])


def test_what_is_told_of_ribosome_sites():
    """Of a start as predictions have it: AGGAGG seven bases before it, and nothing that matches."""
    gene = "ATG" + "GCC" * 40 + "TAA"
    for before, expected in [
        ("CCAGGAGGCCCCCCC", (("rbs_match", "6bp"), ("rbs_spacer", "7-8bp"))),
        ("C" * 15, (("rbs_match", "none"),)),
    ]:
        shard = GRAPH.encode(["C" * 20 + before + gene])
        (place,) = np.flatnonzero((shard.bounds[:, 0] == 35) & ~shard.reverse)
        assert site_notes(shard.signals[place]) == expected


@given(st.integers(0, 10**6), st.integers(0, 12))
def test_pieces_are_as_if_encoded(seed, n_genes):
    """But for bases around starts, which are known beyond the pieces."""
    genome = simulated.genome(seed, n_contigs=3, n_genes=n_genes)
    examples = cut_genomes(genome, GRAPH.rules)
    expected = GRAPH.encode(examples.sequences, examples.genes)
    genes = [[(t.start, t.end, t.strand) for t in each.transcripts] for each in genome]
    found = cut_between(GRAPH.encode([each.sequence for each in genome], genes))
    for each in fields(expected):
        if each.name != "signals":
            np.testing.assert_array_equal(getattr(found, each.name), getattr(expected, each.name), each.name)
    GRAPH.check_shard(found)
    differs = found.signals != expected.signals
    assert not differs[:, [0, 2]].any()
    assert differs.sum() <= 0.05 * differs.size
