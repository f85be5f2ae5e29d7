"""Frames of sequences, and pieces of them."""

from dataclasses import fields

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import simulated_orfs as simulated
from structune.genes.prokaryotes.examples import cut_between, cut_genomes
from structune.genes.prokaryotes.structure.candidates import OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

GRAPH = OrfGraph(OrfRules())


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


@given(st.lists(st.text("ACGTN", max_size=300), max_size=5), st.booleans())
def test_sequences_are_encoded_each_by_itself(texts, is_open):
    whole = GRAPH.encode(texts, is_open=is_open)
    for s, text in enumerate(texts):
        alone = GRAPH.encode([text], is_open=is_open)
        for name, array in alone.arrays(0).items():
            np.testing.assert_array_equal(whole.arrays(s)[name], array, name)
