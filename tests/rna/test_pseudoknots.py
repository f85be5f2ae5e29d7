"""Pseudoknots: helices that cross those of the predicted structure."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rnas import random_sequence
from structune import RNAFolder
from structune.errors import DataError
from structune.rna import Constraints
from structune.rna.formats.brackets import pairs_of, partners
from structune.rna.structure.knots import crossable, with_knots

H_TYPE = "(((....[[[[...)))....]]]]"
NESTED = "(((...........)))........"
FREE = np.zeros(100, bool)  # no base is required


def table_of(pairs, p, n):
    table = np.zeros((n, n))
    for i, j in pairs:
        table[i, j] = p
    return csr_array(table)


def layers(found):
    """The pairs in round and in square brackets."""
    marks = "()", "[]"
    parts = ("".join(c if c in own + "&" else "." for c in found) for own in marks)
    return [pairs_of(partners(part)) for part in parts]


def test_a_second_helix_that_crosses_the_first():
    n = len(H_TYPE)
    first, second = table_of(layers(H_TYPE)[0], 0.9, n), table_of(layers(H_TYPE)[1], 0.8, n)
    assert with_knots(NESTED, first, second, (0.4, 0.5), FREE[:n]) == H_TYPE
    assert with_knots(NESTED, first, second, (0.4, 0.6), FREE[:n]) == NESTED  # 0.7 * 0.8 is less


def test_helices_do_not_go_on_across_the_end_of_a_strand():
    """Two pairs that would be stacked if the strands were one, whichever comes first."""
    for nested, pairs, expected in (
        ("..(..&...)....", [(4, 11), (5, 10)], "..(..&...)...."),
        ("...(....&..)..", [(6, 12), (0, 5)], "...(....&..).."),
        ("..(..&...)....", [(3, 12), (4, 11)], "..([[&...)..]]"),
        ("...(....&..)..", [(6, 12), (7, 11)], "...(..[[&..)]]"),
    ):
        second = table_of(pairs, 0.9, 13)
        assert with_knots(nested, table_of([], 0.0, 13), second, (0.4, 0.5), ~FREE[:13]) == expected


def crosses(one, other):
    (i, j), (k, m) = sorted([one, other])
    return i < k < j < m


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_other_two_layers_gain_more(seed):
    rng, n = np.random.default_rng(seed), 12
    nested = "".join(rng.permutation(list("((..))......"))) if seed % 2 else "((.....))..."
    try:
        own = pairs_of(partners(nested))
    except DataError:
        return
    others = [(i, j) for i, j in combinations(range(n), 2) if rng.random() < 0.12]
    first, second = table_of(own, 0.8, n), csr_array((n, n))
    if others:
        values = rng.uniform(0.3, 1.0, len(others))
        second = csr_array((values, tuple(np.array(others).T)), (n, n))
    found = with_knots(nested, first, second, (0.4, 0.3), FREE[:n])
    table = (0.7 * second + 0.3 * first).toarray()
    gains = {pair: table[pair] - 0.3 for pair in others if table[pair] > 0.3}

    def gain(kept, crossing):
        bases = [base for pair in [*kept, *crossing] for base in pair]
        stacked = {(i + d, j - d) for i, j in crossing for d in (-1, 1)}
        allowed = (
            len(set(bases)) == len(bases)
            and not any(crosses(a, b) for a, b in combinations(crossing, 2))
            and all(any(crosses(a, b) for b in kept) and a in stacked for a in crossing)
        )
        return sum(0.8 - 0.4 for _ in kept) + sum(gains[pair] for pair in crossing) if allowed else -1.0

    best = max(
        gain(kept, crossing)
        for size in range(len(own) + 1)
        for kept in combinations(own, size)
        for number in range(min(len(gains), 4) + 1)
        for crossing in combinations(gains, number)
    )
    assert gain(*layers(found)) == pytest.approx(best)


def test_helices_that_may_be_crossed():
    structure = "((..))(((...)))..(((..)))"
    pairs = table_of(pairs_of(partners(structure))[:-3], 0.9, 25)
    assert np.flatnonzero(crossable(structure, pairs)).tolist() == [6, 7, 8, 12, 13, 14]
    assert not crossable("....", csr_array((4, 4))).any()


# BWYV, T2, SRV-1, MMTV and human telomerase: the helices are those of the solved structures, up to pairs at
# their ends.
KNOWN = {
    "GCGCGGCACCGUCCGCGGAACAAACGG": ".(((((..[[[.))))).......]]]",
    "GCUGACCAGCUAUGAGGUCAUACAUCGUCAUAGCAC": "..[[[[[.(((((((]]]]].......)))))))..",
    "GCGGCCAGCUCCAGGCCGCCAAACAAUAUGGAGCAC": "((((((.[[[[[[)))))).........]]]]]]..",
    "GGCGCAGUGGGCUAGCGCCACUCAAAAGGCCCAU": "(((((.[[[[[[[.)))))........]]]]]]]",
    "GGGCUGUUUUUCUCGCUGACUUUCAGCCCCAAACAAAAAAGUCAGCA": ("((((((........[[[[[[[[[))))))........]]]]]]]]]."),
}


def test_known_pseudoknots():
    assert RNAFolder.pretrained().predict_knotted(list(KNOWN)) == list(KNOWN.values())


@pytest.fixture(scope="module")
def model():
    return RNAFolder(penalty=0.3).fit(["GGGAAAACCC", "GGCGAAAGCC"], ["(((....)))", "(((....)))"])


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 60), threshold=st.sampled_from([0.1, 0.5]))
def test_crossing_helices_cross_what_is_kept(model, seed, n, threshold):
    sequence = random_sequence(np.random.default_rng(seed), n)
    (nested,), (found,) = model.predict([sequence]), model.predict_knotted([sequence], None, threshold)
    kept, crossing = layers(found)
    assert set(kept) <= set(pairs_of(partners(nested)))
    assert all(any(crosses(pair, other) for other in kept) for pair in crossing)
    partners(found)


def test_constraints_are_kept_and_spans_limited(model):
    folder, sequence = RNAFolder.pretrained(), next(iter(KNOWN))
    required = Constraints("." + "(" * 5 + "." * 6 + ")" * 5 + "." * 10)
    assert folder.predict_knotted([sequence], constraints=[required]) == [KNOWN[sequence]]
    assert folder.predict_knotted([sequence], constraints=["." * 24 + "xxx"]) == [
        ".(((((......)))))" + "." * 10
    ]
    local = folder.set_params(max_span=20)
    pairs = partners(local.predict_knotted([sequence + "A" * 30], threshold=0.1)[0])
    assert 0 < max(j - i for i, j in enumerate(pairs.tolist())) <= 20
    assert model.predict_knotted(iter([sequence])) == model.predict_knotted([sequence])
    with pytest.raises(DataError, match="threshold"):
        model.predict_knotted([sequence], threshold=-1)
