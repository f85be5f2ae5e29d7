"""Sums over RNA structures in the linear and in the log domain, and which weights each can take."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import laws
from rnas import enumerated_pairs, problems, random_sequence
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.features import N_CELLS, Potentials
from structune.rna.structure.inference import Counts, LogInference, ScaledInference, infer
from structune.rna.structure.rna import RNA
from structune.rna.structure.space import n_cells

MODELS = {
    "as papers have it": {},
    "extended": {"features": "extended"},
    "spans with a limit": {"features": "extended", "max_span": 21},
    "any two bases pair": {"noncanonical": True, "features": "extended", "min_hairpin": 0},
    "circles": {"circular": True, "features": "extended"},
}


def answers(how, rna, w, shard):
    """Log-partition, expected features, and pair probabilities of the only sequence of a shard."""
    potentials, reach = Potentials(rna._features.cells(w), rna._allowed), rna._space.reach(shard.n_parts)
    inference = how(potentials, shard.letters, rna._space, shard.known(0).table(reach))
    assert isinstance(inference, how)
    counts = Counts(shard.n_parts, w.dtype)
    inference.count(counts, 0.7)
    assert counts.gather().shape == (N_CELLS,)
    pairs = inference.pairs[: n_cells(shard.n_parts, reach)]
    return inference.log_partition, rna._features.matrix.T @ counts.gather(), pairs


def both_agree(rna, w, shard):
    both = [answers(how, rna, w, shard) for how in (ScaledInference, LogInference)]
    for one, other in zip(*both, strict=True):
        for part in (np.real, lambda values: np.imag(values) / laws._STEP):
            assert_allclose(part(one), part(other), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [0.0, laws._STEP])
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 50), letters=st.sampled_from(["ACGU", "GC", "ACGUN"]))
def test_both_domains_agree(options, step, seed, n, letters):
    rng, rna = np.random.default_rng(seed), RNA(**options)
    w, v = rng.normal(size=(2, rna.n_weights))
    known = None
    if n > 1 and rng.random() < 0.5:
        known = Constraints(prohibited=[(0, n - 1)], paired=rng.normal(size=n))
    sequence = random_sequence(rng, n, letters)
    if rna.max_span is None and not rna.circular and n > 1 and rng.random() < 0.4:
        k = int(rng.integers(1, n))
        sequence = f"{sequence[:k]}&{sequence[k:]}"
    shard = rna.encode([sequence], constraints=[known])
    both_agree(rna, w + 1j * step * v if step else w, shard)


def scaled_problem(n, letters="ACGU", nick=None, **options):
    """Weights at which no double holds the partition function itself."""
    rng, rna = np.random.default_rng(n), RNA(**options)
    w = rng.normal(size=rna.n_weights) * 0.3
    w[[name.startswith("helix_stacking") for name in rna.weight_names()]] += 5.0
    sequence = random_sequence(rng, n, letters)
    shard = rna.encode([f"{sequence[:nick]}&{sequence[nick:]}" if nick else sequence])
    inference = infer(Potentials(rna._features.cells(w), rna._allowed), shard.letters, rna._space)
    assert isinstance(inference, ScaledInference)
    assert inference.log_scale != 0.0 or inference._raised.any()
    return rna, w, shard


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_both_domains_agree_on_long_sequences(options):
    both_agree(*scaled_problem(200, "GC", **options))


def test_both_domains_agree_on_long_strands():
    both_agree(*scaled_problem(200, "GC", nick=80, features="extended"))


@pytest.mark.parametrize("tail", [0, 300])
def test_pairs_of_limited_span_are_scaled(tail):
    sequence, rna = "G" * 120 + "AAAA" + "C" * 120 + "A" * tail, RNA(max_span=242)
    w = np.where([name.startswith("helix_stacking") for name in rna.weight_names()], 5.0, 0.0)
    shard = rna.encode([sequence])
    assert isinstance(
        infer(Potentials(rna._features.cells(w), rna._allowed), shard.letters, rna._space), ScaledInference
    )
    both_agree(rna, w, shard)


@pytest.mark.parametrize("rate", [-400.0, 140.0])
def test_suffixes_that_one_step_does_not_raise(rate):
    rna = RNA(max_span=5)
    w = np.where([name == "external_unpaired" for name in rna.weight_names()], rate, 0.0)
    assert rna.log_partition(w, rna.encode(["A" * 12]))[0] == pytest.approx(12 * rate)


def test_counts_of_long_sequences_are_the_slope():
    rna, w, shard = scaled_problem(900)
    v, gradient = np.random.default_rng(1).normal(size=w.size), np.zeros(w.size)
    assert rna.log_partition(w, shard, gradient)[0] > 330.0
    ahead, behind = (rna.log_partition(w + step * v, shard)[0] for step in (1e-5, -1e-5))
    assert gradient @ v == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


@settings(max_examples=30)
@given(problem=problems(features="extended"))
def test_sums_in_the_log_domain_are_enumerated(problem):
    rna, w, shard = problem.structure, problem.w, problem.shard
    for s, (outputs, scores) in enumerate(zip(problem.outputs, problem.scores, strict=True)):
        log_z, counts, pairs = answers(LogInference, rna, w, shard.take([s]))
        assert_allclose(log_z, np.logaddexp.reduce(scores), rtol=1e-12, atol=1e-12)
        p = np.exp(scores - log_z)
        assert_allclose(counts, 0.7 * p @ problem.features[s], rtol=1e-9, atol=1e-12)
        rows, columns = np.triu_indices(outputs[0].size)
        near = columns - rows <= rna._space.reach(outputs[0].size)
        expected = enumerated_pairs(outputs, scores)[rows[near], columns[near]]
        assert_allclose(pairs, 0.7 * expected, rtol=1e-9, atol=1e-12)


def one_huge(rng, rna):
    w = rng.normal(size=rna.n_weights)
    w[rng.integers(w.size)] = rng.choice([-1, 1]) * 1e3
    return w


def few_large(rng, rna):
    """Every potential is in range, but products of many are not."""
    w = rng.normal(size=rna.n_weights)
    names = rna.weight_names()
    kinds = [f"{loop}_{what}" for loop in ("multi", "external") for what in ("unpaired", "paired")]
    for name in rng.choice([*kinds, "hairpin_length_at_least_3"], 2, replace=False):
        w[names.index(name)] = rng.choice([-1, 1]) * rng.uniform(60, 140)
    return w


WEIGHTS = {
    "50 times": lambda rng, rna: rng.normal(size=rna.n_weights) * 50.0,
    "1000 times": lambda rng, rna: rng.normal(size=rna.n_weights) * 1e3,
    "one": one_huge,
    "few": few_large,
    "all high": lambda rng, rna: np.full(rna.n_weights, 1e3),
    "all low": lambda rng, rna: np.full(rna.n_weights, -1e3),
    "all beyond the range of a potential": lambda rng, rna: rng.normal(size=rna.n_weights) + 800.0,
}


@pytest.mark.parametrize("kind", WEIGHTS)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_weights(kind, seed):
    rng = np.random.default_rng(seed)
    rna = RNA(int(rng.integers(4)), features=rng.choice(["contrafold", "extended"]))
    shard = rna.encode([random_sequence(rng, int(n), "GCGCAU") for n in rng.integers(1, 45, 2)])
    w, u, v = WEIGHTS[kind](rng, rna), *rng.normal(size=(2, rna.n_weights))
    gradient = np.zeros(w.size)
    log_z = rna.log_partition(w, shard, gradient)
    assert np.all(np.isfinite(log_z))
    assert np.all(np.isfinite(gradient))
    step = 1e-4
    ahead, behind = (rna.log_partition(w + s * v, shard).sum() for s in (step, -step))
    size = 1.0 + np.abs(log_z).sum()
    assert gradient @ v == pytest.approx(
        (ahead - behind) / (2 * step), rel=1e-4, abs=1e-10 * size / step + 1e-4
    )
    product = rna.linearize(w, shard)
    assert np.all(np.isfinite(product(v)))
    assert v @ product(v) >= -1e-7
    assert u @ product(v) == pytest.approx(v @ product(u), rel=1e-6, abs=1e-6)
    for s in range(2):
        p = rna.pair_probabilities(w, shard, s)
        assert np.all((p >= 0.0) & (p <= 1.0 + 1e-9))
        assert np.all(p.sum(axis=0) + p.sum(axis=1) <= 1.0 + 1e-9)
    best, values = rna.best(w, shard)
    assert np.all(values <= log_z + 1e-9 * size)
    assert_allclose(rna.score(w, shard, best), values, rtol=1e-9, atol=1e-9)
    assert np.all(np.isfinite(rna.variance(w, shard)))
    drawn = rna.sample(w, shard, 2, rng)
    assert np.all([rna.score(w, shard, y) <= values + 1e-9 * size for y in drawn])


@pytest.mark.parametrize(
    ("sequence", "large"),
    [
        ("AUACAUACUACCC", {"multi_unpaired": 88.0}),
        ("GGGGCGCGCCCCGCCGCGGGGGG", {"multi_unpaired": 90.0, "internal_length_at_least_29": 49.0}),
    ],
)
def test_pairs_whose_sums_leave_the_range(sequence, large):
    """Stretches of multi-branch loops overflow where nothing closes them."""
    rng, rna = np.random.default_rng(0), RNA(0 if len(sequence) < 20 else 3)
    w = np.zeros(rna.n_weights)
    for name, value in large.items():
        w[rna.weight_names().index(name)] = value
    shard = rna.encode([sequence])
    expected = answers(LogInference, rna, w, shard)[2] / 0.7
    found = rna.pair_probabilities(w, shard, 0)[np.triu_indices(len(sequence))]
    assert_allclose(found, expected, atol=1e-9)
    both = rna.encode([sequence] * 2)
    assert_allclose(rna.best_mea(w, both, [1.0])[0][: len(sequence)], rna.best_mea(w, shard, [1.0])[0])
    assert np.all(np.isfinite(rna.score(w, both, np.concatenate(list(rna.sample(w, both, 1, rng))))))
