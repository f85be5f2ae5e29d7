import numpy as np
import pytest
from hypothesis import given, settings

import gene_graphs as genes
from laws import hold

SHAPES = list(enumerate(genes.ALL_SHAPES))


@settings(max_examples=30)
@given(problem=genes.problems())
def test_laws(problem):
    hold(problem)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3])
@pytest.mark.parametrize(("seed", "shape"), SHAPES)
def test_laws_of_sequences_with_many_structures(seed, shape, scale):
    hold(rich_problem(seed, shape, scale))


def rich_problem(seed, shape, scale=1.0):
    strands, introns, tied = shape
    rng = np.random.default_rng(seed)
    weights = genes.exon_weights(strands, introns, tied, (0, 1), True, 1)
    texts = [
        genes.gene_text(rng, 30),
        "CCATGGTCAGCTAACCTTACATG",
        "ATGGTGTACAGGTAAGCATGTAA",
        "TTACTGACACATCATATGTAAC",
        "CAGTCCAGTGCCTGTAAAGAGCC",
        "GGCTCTTTACAGGCACTGGACTG",
    ]
    return genes.problem(rng, texts, weights, scale=scale)
