"""Genes as paths, and back; every best path is a set of genes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import gene_graphs as genes
from structune.errors import DataError
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import gene_path, path_genes
from structune.genes.formats.record import Transcript, coding_problems

BOTH = genes.exon_weights("both")


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from(["forward", "both"]))
def test_round_trip_of_all_genes(seed, n, strands):
    """Also those whose introns split start and stop codons."""
    text = genes.gene_text(np.random.default_rng(seed), n)
    weights = genes.exon_weights(strands, donors=("GT", "GC"))
    for known in genes.genes_of(text, strands, ("GT", "GC"), 4):
        path = gene_path(weights, len(text), genes.transcripts([known]))
        assert path_genes(weights, path) == [known]
        ExonGraph(weights).encode([text], [path])  # refuses what is no path


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(0, 400),
    st.sampled_from(genes.ALL_SHAPES),
    st.sampled_from([("GT",), ("GT", "GC")]),
)
def test_every_best_path_is_of_genes(seed, n, shape, donors):
    strands, introns, tied = shape
    rng = np.random.default_rng(seed)
    weights = genes.exon_weights(strands, introns, tied, (0, 2), True, donors=donors)
    structure = ExonGraph(weights)
    text = "".join("N" if rng.random() < 0.02 else a for a in genes.gene_text(rng, n))
    w = rng.normal(size=structure.n_weights) * rng.choice([0.1, 1.0, 10.0])
    path, _ = structure.best(w, structure.encode([text]))
    found = genes.transcripts(path_genes(weights, path))
    for t in found:
        assert not coding_problems(t, text, donors=donors, min_intron=weights.rules.introns[0])
        assert strands == "both" or t.strand == "+"
    assert all(a.end < b.start for a, b in pairwise(found))
    assert_array_equal(gene_path(weights, len(text), found), path)
    structure.encode([text], [path])


def test_genes_that_have_no_path():
    a, b = (Transcript("c", "+", (part,), name, name) for name, part in (("a", (0, 9)), ("b", (9, 18))))
    with pytest.raises(DataError, match="transcripts a and b overlap or touch"):
        gene_path(BOTH, 18, [b, a])
    with pytest.raises(DataError, match="transcript a ends at 9, beyond the sequence of 8"):
        gene_path(BOTH, 8, [a])
    reverse = Transcript("c", "-", ((0, 9),), "r", "r")
    with pytest.raises(DataError, match="transcript r is on the strand '-', which the model does not have"):
        gene_path(genes.exon_weights("forward"), 9, [reverse])
