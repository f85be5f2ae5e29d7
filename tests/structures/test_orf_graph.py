import numpy as np
import pytest
from hypothesis import given, settings

import orf_graphs
from laws import hold


@settings(max_examples=40)
@given(problem=orf_graphs.problems())
def test_laws(problem):
    hold(problem)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("rules", orf_graphs.RULES)
def test_laws_of_sequences_with_many_genes(rules, is_open):
    rng = np.random.default_rng(0)
    hold(orf_graphs.problem(rng, ["ATGGCCTTGCATTAATCATTACATGGATGACATTGATAA", ""], rules, is_open))
