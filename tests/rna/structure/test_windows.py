"""Windows of unpaired bases, by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from rnas import problems, random_sequence
from structune.errors import CapabilityError, DataError
from structune.rna.structure.rna import RNA


def enumerated(problem, s, size):
    free, scores = np.array(problem.outputs[s]) < 0, problem.scores[s]
    shares = np.exp(scores - scores.max())
    starts = range(problem.shard.sizes()[s] - size + 1)
    return np.array([shares[free[:, a : a + size].all(axis=1)].sum() for a in starts]) / shares.sum()


@settings(max_examples=25)
@given(problem=problems(noncanonical=True, features="extended") | problems(spread=True))
def test_windows_are_enumerated(problem):
    for s in range(len(problem.shard)):
        for size in (1, 2, 3, 4, 6, 30):
            found = problem.structure.unpaired_windows(problem.w, problem.shard, s, size)
            assert_allclose(found, enumerated(problem, s, size), atol=1e-9)


def test_windows_of_long_sequences_are_what_no_pair_covers():
    rng, rna = np.random.default_rng(0), RNA(max_span=40)
    w, shard = rng.normal(size=rna.n_weights), rna.encode([random_sequence(rng, 3000)])
    pairs = rna.pair_probabilities(w, shard, 0)
    free = 1.0 - (pairs + pairs.T).sum(axis=1)
    assert_allclose(rna.unpaired_windows(w, shard, 0, 1), free, atol=1e-9)


def test_windows_beside_pairs_that_must_be_are_refused():
    rna = RNA()
    shard = rna.encode(["GGGAAACCC"], constraints=["(.......)"])
    with pytest.raises(DataError, match="sequence 0: found bases that must pair"):
        rna.unpaired_windows(np.zeros(rna.n_weights), shard, 0, 2)
    shard = rna.encode(["GGGAAACCC"])
    with pytest.raises(CapabilityError, match="weights as large as these"):
        rna.unpaired_windows(np.full(rna.n_weights, 1e3), shard, 0, 2)


def test_windows_of_sequences_whose_halves_differ():
    """Suffixes are raised often, and windows go over many of them."""
    rng, rna = np.random.default_rng(0), RNA(max_span=60)
    w = np.where([name.startswith("helix_stacking") for name in rna.weight_names()], 2.0, 0.0)
    shard = rna.encode([random_sequence(rng, 800, "GC") + "A" * 2500])
    for size in (900, 1500):
        found = rna.unpaired_windows(w, shard, 0, size)
        assert_allclose(found[800:], 1.0, rtol=1e-9)
        assert np.all((found >= 0.0) & (found <= 1.0))
    assert rna.unpaired_windows(w, shard, 0, 10**15).shape == (0,)
