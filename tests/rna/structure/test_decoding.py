"""RNA structures: the n best, the most accurate, centroids, samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from rnas import (
    accuracy,
    any_problems,
    enumerated_pairs,
    feature_vector,
    has_lonely_pairs,
    over_places,
    pair_probabilities,
    problems,
    random_sequence,
    structures,
)
from structune.rna.structure.inference import LogInference, ScaledInference
from structune.rna.structure.rna import RNA


@settings(max_examples=40)
@given(problem=any_problems(max_length=10))
def test_n_best_are_the_enumerated_top(problem):
    rna, w, shard = problem.structure, problem.w, problem.shard
    for n in (0, 1, 3, 10**4):
        for s, (outputs, values) in enumerate(rna.n_best(w, shard, n)):
            top = np.sort(problem.scores[s])[::-1][:n]
            assert_allclose(values, top, rtol=1e-10, atol=1e-10)
            assert outputs.shape == (top.size, shard.sizes()[s])
            assert len({tuple(y.tolist()) for y in outputs}) == top.size
            own = [rna.score(w, shard.take([s]), y)[0] for y in outputs[:20]]
            assert_allclose(own, values[:20], rtol=1e-10, atol=1e-10)
    best = rna.best(w, shard)[0]
    assert_array_equal(np.concatenate([outputs[0] for outputs, _ in rna.n_best(w, shard, 1)]), best)


@settings(max_examples=40)
@given(problem=any_problems(max_length=10), within=st.sampled_from([0.0, 0.5, 3.0, 1e9]))
def test_all_structures_within_a_range_of_the_best(problem, within):
    found = problem.structure.n_best(problem.w, problem.shard, 10**9, within)
    for (outputs, values), scores in zip(found, problem.scores, strict=True):
        close = np.sort(scores[scores >= scores.max() - within - 1e-9])[::-1]
        assert len(values) >= np.sum(close > scores.max() - within + 1e-9)
        assert_allclose(values, close[: len(values)], rtol=1e-10, atol=1e-10)
        assert len({tuple(y) for y in outputs.tolist()}) == len(values)


def test_the_best_structure_is_within_any_range():
    """Rounding of sums does not lose it."""
    rng, rna = np.random.default_rng(0), RNA()
    w = rng.normal(size=rna.n_weights)
    for _ in range(60):
        shard = rna.encode([random_sequence(rng, 25)])
        best, score = rna.best(w, shard)
        for within in (0.0, 1e-13):
            ((outputs, values),) = rna.n_best(w, shard, 3, within)
            assert_array_equal(outputs[0], best)
            assert_allclose(values[0], score[0], rtol=1e-12)


def test_n_best_without_any_preference():
    """All scores are equal: still every structure once."""
    rna, sequence = RNA(1), "GCGCAUGCGC"
    ((outputs, values),) = rna.n_best(np.zeros(rna.n_weights), rna.encode([sequence]), 10**4)
    assert_array_equal(values, 0.0)
    assert {tuple(y) for y in outputs.tolist()} == {tuple(y) for y in structures(sequence, 1)}
    assert len(outputs) == len(structures(sequence, 1))


@settings(max_examples=40)
@given(problem=any_problems(), gamma=st.sampled_from([0.1, 0.5, 1.0, 4.0, 100.0]))
def test_mea_is_the_enumerated_maximum(problem, gamma):
    rna, shard = problem.structure, problem.shard
    (found,) = rna.best_mea(problem.w, shard, [gamma])
    for s, outputs in enumerate(problem.outputs):
        probabilities = pair_probabilities(rna, problem.w, shard, s)
        mine = found[shard.offsets[s] : shard.offsets[s + 1]]
        best = max(accuracy(probabilities, partner, gamma) for partner in outputs)
        assert accuracy(probabilities, mine, gamma) >= best - 1e-9
        assert all(mine[j] == i for i, j in enumerate(mine) if j >= 0)


@settings(max_examples=50)
@given(problem=problems(max_length=15, noncanonical=True), gamma=st.sampled_from([0.5, 4.0, 100.0]))
def test_mea_without_lonely_pairs_is_the_enumerated_maximum(problem, gamma):
    rna, shard = problem.structure, problem.shard
    (found,) = rna.best_mea(problem.w, shard, [gamma], lonely=False)
    for s, outputs in enumerate(problem.outputs):
        probabilities = pair_probabilities(rna, problem.w, shard, s)
        mine = found[shard.offsets[s] : shard.offsets[s + 1]]
        rest = [partner for partner in outputs if not has_lonely_pairs(partner)]
        best = max(accuracy(probabilities, partner, gamma) for partner in rest)
        assert accuracy(probabilities, mine, gamma) == pytest.approx(best, abs=1e-9)
        assert not has_lonely_pairs(mine)


@settings(max_examples=40)
@given(problem=problems(), threshold=st.sampled_from([0.1, 0.5, 0.9]))
def test_centroids_are_the_enumerated_maximum(problem, threshold):
    rna, shard = problem.structure, problem.shard
    found = np.split(rna.best_centroid(problem.w, shard, threshold), shard.offsets[1:-1])
    for mine, outputs, scores in zip(found, problem.outputs, problem.scores, strict=True):
        gains = enumerated_pairs(outputs, scores) - threshold
        values = [gains[i, y[i]].sum() for y in outputs for i in [np.flatnonzero(y > np.arange(y.size))]]
        i = np.flatnonzero(mine > np.arange(mine.size))
        assert_array_equal(mine[mine[i]], i)
        assert gains[i, mine[i]].sum() == pytest.approx(max(values), abs=1e-9)
        assert np.all(gains[i, mine[i]] > -1e-9)


@settings(max_examples=40)
@given(problem=any_problems(features="extended"))
def test_pair_probabilities_are_enumerated(problem):
    for s, (outputs, scores) in enumerate(zip(problem.outputs, problem.scores, strict=True)):
        found = pair_probabilities(problem.structure, problem.w, problem.shard, s)
        assert_allclose(found, enumerated_pairs(outputs, scores), rtol=1e-9, atol=1e-12)


def p_value(drawn, outputs, scores):
    """Of a test that structures were drawn by their scores; rare ones are one class."""
    place = {tuple(y): k for k, y in enumerate(outputs)}
    counts = np.bincount([place[tuple(y)] for y in drawn.tolist()], minlength=len(outputs))
    expected = np.exp(scores - np.logaddexp.reduce(scores)) * len(drawn)
    rare = expected < 5.0
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return chisquare(counts, expected).pvalue if counts.size > 1 else 1.0


def inference_of(rna, w, shard):
    return rna._of_sums(w, shard, lambda _, inference: inference)[0]


@pytest.mark.parametrize("log_domain", [False, True])
@pytest.mark.parametrize(
    ("sequence", "min_hairpin", "circular"),
    [("GUGACAGAC", 1, False), ("GGCA&UGCAC", 1, False), ("GGCAAUGCAC", 1, True)],
)
def test_samples_follow_their_probabilities(sequence, min_hairpin, circular, log_domain):
    rng = np.random.default_rng(1)
    rna = RNA(min_hairpin, features="extended", circular=circular, initiation=0.0)
    w, shard = rng.normal(size=rna.n_weights) * 0.5, rna.encode(["", sequence, "GGAAAACC"])
    w[rna.weight_names().index("hairpin_length_at_least_30")] = 200.0 * log_domain  # far from these
    assert isinstance(inference_of(rna, w, shard), LogInference if log_domain else ScaledInference)
    outputs = structures(sequence, min_hairpin, circular=circular)
    scores = np.array([feature_vector(rna, sequence, y) for y in outputs]) @ w
    drawn = rna.sample(w, shard, 4000, rng)
    outputs = [over_places(sequence, y) for y in outputs]
    n = outputs[0].size
    assert drawn.shape == (4000, n + 8)
    assert p_value(drawn[:, :n], outputs, scores) > 1e-3


def test_samples_of_long_sequences():
    """The partition function needs to be scaled; some pairs are likely, others are not."""
    rng, rna = np.random.default_rng(5), RNA()
    w = rng.normal(size=rna.n_weights) * 0.2
    w[[name.startswith("helix_stacking") for name in rna.weight_names()]] += 3.0
    shard = rna.encode([random_sequence(rng, 400, "GC")])
    inference = inference_of(rna, w, shard)
    assert isinstance(inference, ScaledInference)
    assert inference.log_scale != 0.0
    drawn = rna.sample(w, shard, 1000, np.random.default_rng(0))
    share = np.zeros((shard.n_parts,) * 2)
    for y in drawn:
        i = np.flatnonzero(y > np.arange(y.size))
        share[i, y[i]] += 1 / len(drawn)
    p = rna.pair_probabilities(w, shard, 0)
    assert np.all(np.abs(share - p) < 6 * np.sqrt(p * (1 - p) / len(drawn)) + 0.01)
    scores = np.array([rna.score(w, shard, y)[0] for y in drawn[:100]])
    assert np.all(scores <= rna.best(w, shard)[1][0])
