"""Features of RNA structures, on structures too long to write all out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rnas import dot_bracket, feature_vector, features, further_features, may_pair, random_sequence
from structune.rna.structure.rna import RNA


def test_further_features_of_a_known_structure():
    rna, sequence, structure = RNA(features="extended"), "GGGAAAACCCAGCAAAGCN", "(((....))).((...))."
    shard = rna.encode([sequence], [structure])
    counts = dict(zip(rna.weight_names(), rna.feature_rows(shard).toarray()[0], strict=True))
    found = {name: count for name, count in counts.items() if count}
    expected = {
        "tetraloop_AAAA": 1,
        "triloop_AAA": 1,
        "hairpin_closing_GC": 1,
        "hairpin_closing_CG": 1,
        "hairpin_mismatch_GCAA": 1,
        "hairpin_mismatch_CGAA": 1,
        "external_closing_CG": 2,
        "stack_context_GCGCGC": 1,
        "span_at_least_8": 1,
    }
    assert further_features(sequence, shard.partners.tolist()) == expected
    assert found == {**features(sequence, shard.partners.tolist()), **expected}


def random_structure(rng, sequence, rna):
    """Pairs one after another at random, wherever they cross none and leave the hairpins long enough."""
    partner = [-1] * len(sequence)

    def fill(i, j):
        while i < j:
            ends = range(i + rna.min_hairpin + 1, j + 1)
            ends = [k for k in ends if may_pair(sequence[i], sequence[k], rna.noncanonical)]
            if not ends or rng.random() < 0.3:
                i += 1
                continue
            k = ends[-1] if rng.random() < 0.7 else rng.choice(ends)
            partner[i], partner[k] = int(k), i
            fill(i + 1, k - 1)
            i = k + 1

    fill(0, len(sequence) - 1)
    return partner


@pytest.mark.parametrize("noncanonical", [False, True])
@pytest.mark.parametrize("kind", ["contrafold", "extended"])
def test_features_of_long_structures(kind, noncanonical):
    rng = np.random.default_rng(0)
    for letters in ["ACGU", "GC", "ACGUN", "AAAAAACGUN"] * 3:
        rna = RNA(int(rng.integers(4)), noncanonical, kind)
        sequence = random_sequence(rng, int(rng.integers(30, 600)), letters)
        partner = random_structure(rng, sequence, rna)
        for i, j, *_ in rna.offences(sequence, dot_bracket(partner)):  # loops that are too long
            partner[i] = partner[j] = -1
        if rna.offences(sequence, dot_bracket(partner)):
            continue
        found = rna.feature_rows(rna.encode([sequence], [dot_bracket(partner)])).toarray()[0]
        assert_allclose(found, feature_vector(rna, sequence, partner))
