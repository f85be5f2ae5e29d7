"""Two strands and circles: what they have beside the laws that all sequences pass (see test_rna.py)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rnas import cut, feature_vector, over_places, random_sequence, structures
from structune.errors import CapabilityError, DataError
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), initiation=st.sampled_from([-30.0, -4.0, 0.0, 5.0]))
def test_dimers_are_enumerated(seed, initiation):
    rng = np.random.default_rng(seed)
    rna = RNA(1, features="extended", initiation=initiation)
    sequence = cut(rng, random_sequence(rng, 9, "GCAU"))
    shard, w = rna.encode([sequence]), rng.normal(size=rna.n_weights)
    ys = structures(sequence, 1)
    bound = np.array([any(i < sequence.index("&") < j for i, j in enumerate(y)) for y in ys])
    scores = np.array([feature_vector(rna, sequence, y) for y in ys]) @ w + initiation * bound
    log_z = np.logaddexp.reduce(scores)
    assert_allclose(rna.log_partition(w, shard), [log_z], rtol=1e-10, atol=1e-10)
    assert_allclose(
        rna.dimer_probabilities(w, shard), [np.exp(scores[bound] - log_z).sum()], rtol=1e-9, atol=1e-12
    )
    best = int(np.argmax(scores))
    assert_allclose(rna.best(w, shard)[1], [scores[best]], rtol=1e-10, atol=1e-10)
    own = np.concatenate([over_places(sequence, y) for y in ys[:5]])
    several = rna.encode([sequence] * len(ys[:5]))
    assert_allclose(rna.score(w, several, own), scores[:5], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("initiation", [0.0, -3.0])
def test_what_two_strands_cost_is_in_the_loss(initiation):
    """Whether or not other structures are known in part only."""
    rna = RNA(initiation=initiation)
    w = np.random.default_rng(0).normal(size=rna.n_weights)
    sequences, structures = ["GGGA&ACCC", "GGGAAAACCC", "GG&CC"], ["(((.&.)))", "(((....)))", "..&.."]
    shard = rna.encode(sequences, structures)
    losses = rna.log_partition(w, shard) - rna.score(w, shard)
    assert Risk(rna, LogLoss(), [shard]).value(w) == pytest.approx(losses.sum(), rel=1e-12)
    more = rna.encode([*sequences, "GGGAAAACCC"], [*structures, Constraints()])
    assert Risk(rna, LogLoss(), [more]).value(w) == pytest.approx(losses.sum(), rel=1e-12)


def test_costs_beside_what_two_strands_cost_are_refused():
    rna, w = RNA(initiation=-1.0), np.zeros(708)
    with pytest.raises(DataError, match="two strands with a margin or ramp loss need initiation=0, not -1"):
        rna.best(w, rna.encode(["GGGA&ACCC"], ["(((.&.)))"]), np.ones(1))
    free = RNA(initiation=0.0)
    assert free.best(w, free.encode(["GGGA&ACCC"], ["(((.&.)))"]), np.ones(1))[1] == 1.0


def test_strands_without_a_pair_between_them_fold_alone():
    rng, rna = np.random.default_rng(0), RNA(features="extended", initiation=-1000.0)
    w, a, b = rng.normal(size=rna.n_weights), random_sequence(rng, 40), random_sequence(rng, 30)
    one, other, both = rna.log_partition(w, rna.encode([a, b, f"{a}&{b}"]))
    assert both == pytest.approx(one + other, rel=1e-12)
    p = [rna.pair_probabilities(w, rna.encode([s]), 0) for s in (a, b, f"{a}&{b}")]
    assert_allclose(p[2][:40, :40], p[0], atol=1e-12)
    assert_allclose(p[2][40:, 40:], p[1], atol=1e-12)


def turned(sequence, first):
    """The sequence that begins at a base, or behind the nick, and the old place of each of its bases."""
    n = len(sequence)
    order = [*range(first, n), *([first - 1] if "&" in sequence else []), *range(first - ("&" in sequence))]
    return "".join(sequence[k] for k in order), order


def in_order(partner, order):
    place = {k: new for new, k in enumerate(order)}
    return [place.get(partner[k], -1) for k in order]


def all_answers(rna, w, sequence):
    shard = rna.encode([sequence])
    pairs = rna.pair_probabilities(w, shard, 0)
    expected = np.zeros(w.size)
    log_z = rna.log_partition(w, shard, expected)[0]
    bases = np.flatnonzero(shard.letters < 5)
    gains = []
    for gamma in (0.3, 4.0):
        for decoding in ("mea", "centroid"):
            (found,) = rna.best_mea(w, shard, [gamma], decoding=decoding)
            i = np.flatnonzero(found > np.arange(found.size))
            p = pairs[np.searchsorted(bases, i), np.searchsorted(bases, found[i])]
            gains.append(2 * gamma * p.sum() if decoding == "mea" else np.sum((gamma + 1) * p - 1))
            free = 1.0 - pairs.sum(axis=0) - pairs.sum(axis=1)
            gains[-1] += free[found[bases] < 0].sum() * (decoding == "mea")
    best = [values[:5] for _, values in rna.n_best(w, shard, 5)]
    dimer = rna.dimer_probabilities(w, shard) if "&" in sequence else [0.0]
    return pairs + pairs.T, np.concatenate([[log_z], expected, gains, *best, dimer])


@pytest.mark.parametrize("circular", [False, True])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_either_strand_may_come_first_and_a_circle_begins_anywhere(circular, seed):
    """Every structure keeps its score, and all that is computed from them its value."""
    rng = np.random.default_rng(seed)
    rna = RNA(int(rng.choice([0, 1, 3])), bool(rng.random() < 0.3), "extended", circular=circular)
    sequence = random_sequence(rng, int(rng.integers(2, 11)), "GCGCGCAUN")
    sequence = sequence if circular else cut(rng, sequence)
    w = rng.normal(size=rna.n_weights)
    first = int(rng.integers(len(sequence))) if circular else sequence.index("&") + 1
    other, order = turned(sequence, first)
    ys = structures(sequence, rna.min_hairpin, rna.noncanonical, circular=circular)
    scores = [
        rna.score(w, rna.encode([text] * len(ys)), np.concatenate([over_places(text, y) for y in found]))
        for text, found in ((sequence, ys), (other, [in_order(y, order) for y in ys]))
    ]
    assert_allclose(scores[1], scores[0], rtol=1e-12, atol=1e-12)
    (pairs, values), (other_pairs, other_values) = (all_answers(rna, w, text) for text in (sequence, other))
    assert_allclose(other_values, values, rtol=1e-9, atol=1e-9)
    bases = [k - (0 <= sequence.find("&") < k) for k in order if sequence[k] != "&"]
    assert_allclose(other_pairs, pairs[np.ix_(bases, bases)], rtol=1e-9, atol=1e-12)


def test_constraints_of_two_strands():
    rna, w = RNA(), np.zeros(708)
    sequence = "GGGAAA&UUUCCC"
    known = Constraints("(((...&xxx)))", prohibited=[(3, 8)], paired=np.arange(12.0))
    scores = known.scores(rna.encode([sequence]).letters)
    assert_array_equal(scores.pairs, [[2, 40], [1, 41], [0, 42], [3, 39]])
    assert_array_equal(scores.bases[[3, 5, 42], 0], [3.0, 5.0, 11.0])
    best = rna.best(w, rna.encode([sequence], constraints=[known]))[0]
    assert_array_equal(best, over_places(sequence, [12, 11, 10, -1, -1, -1, -1, -1, -1, -1, 2, 1, 0]))
    with pytest.raises(DataError, match=r"constraints: & at 8 \(from 1\), but the sequence has it at 7"):
        rna.encode([sequence], constraints=["(((....&xx)))"])
    with pytest.raises(DataError, match="constraints: no &, but the sequence has it at 7"):
        rna.encode([sequence], constraints=["............"])
    with pytest.raises(DataError, match="the length of constraints is 5, but there are 12 bases"):
        rna.encode([sequence], constraints=["....."])


@pytest.mark.parametrize(
    ("options", "sequence", "message"),
    [
        ({}, "GG&CC&GG", "may occur only once"),
        ({}, "&GGCC", "between two strands"),
        ({"max_span": 20}, "GG&CC", "max_span"),
        ({"circular": True}, "GG&CC", "circular"),
        ({"min_hairpin": 31}, "GG&CC", "min_hairpin"),
    ],
)
def test_what_two_strands_cannot_be(options, sequence, message):
    with pytest.raises(DataError, match=message):
        RNA(**options).encode([sequence])


def test_structures_of_two_strands_are_checked():
    rna = RNA()
    with pytest.raises(DataError, match=r"& at 3 \(from 1\), but the sequence has it at 4"):
        rna.encode(["GGG&CCC"], ["((&.)))"])
    with pytest.raises(DataError, match="the length of a structure is 5, but there are 6 bases"):
        rna.encode(["GGG&CCC"], ["((&))."])
    with pytest.raises(DataError, match=r"base 5 \(from 0\): '\)' has no matching"):
        rna.encode(["GGG&CCC"], ["((.&)))"])
    with pytest.raises(DataError, match=r"base 4 \(from 0\): 'Z' is not"):
        rna.encode(["GGG&CZC"])
    assert rna.offences("GGG&CCC", "(((&)))") == []
    found = rna.offences("GGAA&ACCC", "((..&()))")
    assert [(o.i, o.j) for o in found] == [(4, 5)]  # counted through
    assert "cannot pair" in found[0].reason


def test_windows_are_of_one_strand():
    rna = RNA()
    with pytest.raises(DataError, match="two strands"):
        rna.unpaired_windows(np.zeros(708), rna.encode(["GG&CC"]), 0, 2)
    with pytest.raises(CapabilityError, match="circular sequences"):
        RNA(circular=True).unpaired_windows(np.zeros(708), RNA(circular=True).encode(["GGCC"]), 0, 2)
    with pytest.raises(DataError, match=r"as .A&B."):
        rna.dimer_probabilities(np.zeros(708), rna.encode(["GGCC"]))
