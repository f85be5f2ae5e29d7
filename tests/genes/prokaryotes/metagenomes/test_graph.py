"""Sets of genes of contigs: the laws, by enumeration."""

import numpy as np
import pytest

import orf_graphs
from laws import hold

TEXTS = ["ATGGCCTTGCATTAATCATTACATGGATGACATTGATAA", "", "CCNATGGGCTGACCATTA", "ATGGCC"]


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("rules", orf_graphs.RULES)
def test_laws(rules, is_open, scale):
    hold(orf_graphs.contig_problem(np.random.default_rng(0), TEXTS, rules, is_open, scale))


@pytest.mark.parametrize("seed", range(10))
def test_laws_of_random_contigs(seed):
    rng = np.random.default_rng(seed)
    texts = [orf_graphs.gene_text(rng, int(rng.integers(1, 40))) for _ in range(2)]
    hold(orf_graphs.contig_problem(rng, texts, orf_graphs.RULES[seed % 3]))
