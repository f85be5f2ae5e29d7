"""The second layer of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnas import random_sequence
from structune import RNAFolder
from structune.errors import DataError
from structune.rna.formats.brackets import partners
from structune.rna.structure.decoding import knotted

H_TYPE = "(((....[[[[...)))....]]]]"


@pytest.fixture(scope="module")
def model():
    return RNAFolder(penalty=0.3).fit(["GGGAAAACCC", "GGCGAAAGCC"], ["(((....)))", "(((....)))"])


def table_of(structure, p):
    pairs = np.zeros((len(structure),) * 2)
    for i, j in enumerate(partners(structure)):
        if j >= 0:
            pairs[i, j] = p
    return pairs


def test_a_second_helix_that_crosses_the_first():
    pairs = table_of(H_TYPE, 0.4)
    nested = "(((...........)))........"
    assert knotted(nested, pairs, 3.0) == H_TYPE
    assert knotted(nested, pairs, 0.5) == nested  # less probable than no pair


def test_helices_do_not_go_on_across_the_end_of_a_strand():
    """Two pairs that would be stacked if the strands were one, whichever comes first."""
    for nested, pairs, expected in (
        ("..(..&...)....", [(4, 11), (5, 10)], "..(..&...)...."),
        ("...(....&..)..", [(6, 12), (0, 5)], "...(....&..).."),
        ("..(..&...)....", [(3, 12), (4, 11)], "..([[&...)..]]"),
        ("...(....&..)..", [(6, 12), (7, 11)], "...(..[[&..)]]"),
    ):
        table = np.zeros((13, 13))
        for i, j in pairs:
            table[i, j] = table[j, i] = 0.9
        assert knotted(nested, table, 3.0) == expected


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 60), gamma_knots=st.sampled_from([0.5, 3.0, 100.0]))
def test_the_first_layer_stays_and_others_cross_it(model, seed, n, gamma_knots):
    sequence = random_sequence(np.random.default_rng(seed), n)
    (nested,), (found,) = model.predict([sequence]), model.predict_knotted([sequence], None, gamma_knots)
    first, both = partners(nested), partners(found)
    assert np.all((first < 0) | (both == first))
    for i in np.flatnonzero((first < 0) & (both > np.arange(n))).tolist():
        j = both[i]
        inner = first[i + 1 : j]
        assert np.any((inner >= 0) & ((inner < i) | (inner > j)))


def test_pairs_of_limited_span_and_what_is_refused(model):
    sequence = "GGGAAACCCAAAGGGAAACCC" * 2
    local = model.set_params(max_span=12)
    try:
        pairs = partners(local.predict_knotted([sequence], gamma_knots=50.0)[0])
        assert 0 < max(j - i for i, j in enumerate(pairs.tolist())) <= 12
    finally:
        model.set_params(max_span=None)
    assert model.predict_knotted(iter([sequence])) == model.predict_knotted([sequence])
    with pytest.raises(DataError, match="gamma_knots=-1"):
        model.predict_knotted([sequence], gamma_knots=-1)
