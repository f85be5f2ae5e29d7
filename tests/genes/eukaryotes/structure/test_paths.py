"""Genes as paths of the machine, and back; every best path is a sequence of genes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import gene_machines as genes
import simulated_genes as simulated
from simulated_genes import exons
from structune.errors import DataError
from structune.genes.eukaryotes.machine.state_machine import StateMachine
from structune.genes.eukaryotes.structure.gene_machine import gene_machine
from structune.genes.eukaryotes.structure.paths import gene_path, path_genes
from structune.genes.formats.checks import coding_problems
from structune.genes.formats.record import Transcript

BOTH = gene_machine("both")


@given(st.integers(0, 10**6), st.booleans())
def test_round_trip(seed, tied):
    sequence = simulated.annotated(np.random.default_rng(seed))
    machine = gene_machine("both", tie_introns=tied)
    path = gene_path(machine, sequence.sequence, sequence.transcripts)
    assert path_genes(machine, path) == exons(sequence.transcripts)
    assert_array_equal(path, gene_path(machine, sequence.sequence.lower(), sequence.transcripts[::-1]))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from(["forward", "both"]))
def test_round_trip_of_all_genes(seed, n, strands):
    """Also those whose introns come right after a start codon, or before a stop codon."""
    text = genes.gene_text(np.random.default_rng(seed), n)
    weights = genes.machine_weights(strands, None, True, (0,), False, donors=("GT", "GC"))
    for known in genes.genes_of(text, strands, ("GT", "GC"), 4):
        path = gene_path(weights.machine, text, genes.transcripts([known]))
        assert path_genes(weights.machine, path) == [known]
        StateMachine(weights).encode([text], [path])  # refuses what is no path


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
    weights = genes.machine_weights(strands, introns, tied, (0, 2), True, donors=donors)
    structure = StateMachine(weights)
    text = "".join("N" if rng.random() < 0.02 else a for a in genes.gene_text(rng, n))
    w = rng.normal(size=structure.n_weights) * rng.choice([0.1, 1.0, 10.0])
    path, _ = structure.best(w, structure.encode([text]))
    found = genes.transcripts(path_genes(weights.machine, path))
    for t in found:
        assert not coding_problems(t, text, donors=donors, min_intron=weights.machine.lengths[0])
        assert strands == "both" or t.strand == "+"
    assert all(a.end < b.start for a, b in pairwise(found))
    assert_array_equal(gene_path(weights.machine, text, found), path)


def test_nothing():
    assert path_genes(BOTH, gene_path(BOTH, "", [])) == []
    assert path_genes(BOTH, gene_path(BOTH, "ACGT", [])) == []


def test_states_by_name():
    machine = gene_machine("forward")
    gene = Transcript("c", "+", ((1, 5), (10, 15)), "t", "t")
    path = gene_path(machine, "CATGTGTAAGACTAAC", [gene])
    names = [machine.states[s].name for s in path]
    assert names == [
        "NC",
        "B0+",
        "B1+",
        "C2+",
        "C0T+",
        *["I0T+"] * 5,
        "C1TA+",
        "C2+",
        "C0T+",
        "C1TA+",
        "E2+",
        "NC",
    ]


def test_uracil_is_thymine():
    gene = Transcript("c", "+", ((0, 12),), "t", "t")
    dna = gene_path(BOTH, "ATGTATTGGTAA", [gene])
    assert_array_equal(gene_path(BOTH, "AUGuauUGGUAA", [gene]), dna)


def test_genes_that_have_no_path():
    a, b = (Transcript("c", "+", (part,), name, name) for name, part in (("a", (0, 9)), ("b", (9, 18))))
    with pytest.raises(DataError, match="transcripts a and b overlap or touch"):
        gene_path(BOTH, "ATGGCCTAA" * 2, [b, a])
    with pytest.raises(DataError, match="transcript a ends at 9, beyond the sequence of 8"):
        gene_path(BOTH, "ATGGCCTA", [a])
    reverse = Transcript("c", "-", ((0, 9),), "r", "r")
    with pytest.raises(DataError, match="transcript r is on the strand '-', which the model does not have"):
        gene_path(gene_machine("forward"), "TTAGGCCAT", [reverse])
