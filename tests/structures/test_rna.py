"""RNA structures: laws by enumeration, and the numbers of an established program."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import laws
from rnas import features, partners, problems
from structune.datasets._files import data_folder
from structune.errors import DataError
from structune.formats import read_contrafold
from structune.losses import LogLoss
from structune.risk import Risk
from structune.solvers.lbfgs import fit_l2
from structune.structures.rna import RNA


@settings(max_examples=60)
@given(problem=problems())
def test_laws(problem):
    laws.hold(problem)


@settings(max_examples=40)
@given(problem=problems(max_length=11, scale=50.0))
def test_laws_with_extreme_weights(problem):
    laws.hold(problem)


def oracle():
    folder = data_folder()
    if folder is None or not (folder / "rna").is_dir():
        pytest.skip("needs the data folder (STRUCTUNE_DATA)")
    found = json.loads((folder / "rna" / "contrafold_oracle.json").read_text())
    parameters = read_contrafold(folder / "rna" / "contrafold.params.complementary")
    return RNA(), RNA().weights_from(parameters), found["examples"]


@pytest.mark.data
def test_log_partitions_of_the_oracle():
    rna, w, examples = oracle()
    log_z = rna.log_partition(w, rna.encode([example["sequence"] for example in examples]))
    for example, found in zip(examples, log_z, strict=True):
        assert found == pytest.approx(example["log_partition"], abs=5e-3)
        if "log_partition_exact" in example:
            assert found == pytest.approx(example["log_partition_exact"], rel=1e-9, abs=1e-9)


@pytest.mark.data
def test_pair_probabilities_of_the_oracle():
    rna, w, examples = oracle()
    shard = rna.encode([example["sequence"] for example in examples])
    for s, example in enumerate(examples):
        expected = np.zeros((len(example["sequence"]),) * 2)
        for i, j, p in example["pair_probabilities"]:
            expected[i, j] = p
        assert_allclose(rna.pair_probabilities(w, shard, s), expected, atol=5e-3)


@pytest.mark.data
def test_best_structures_of_the_oracle():
    rna, w, examples = oracle()
    sequences = [example["sequence"] for example in examples]
    _, best = rna.best(w, rna.encode(sequences))
    theirs = rna.score(w, rna.encode(sequences, [example["viterbi"] for example in examples]))
    assert_allclose(best, theirs, atol=5e-3)
    assert np.all(best >= theirs - 1e-9)


def accuracy(probabilities, partner, gamma):
    """Expected accuracy of a structure, by its definition."""
    both = probabilities + probabilities.T
    return sum(
        1.0 - both[i].sum() if j < 0 else gamma * both[i, j]  # each pair is met twice
        for i, j in enumerate(partner)
    )


@settings(max_examples=60)
@given(problem=problems(), gamma=st.sampled_from([0.1, 0.5, 1.0, 4.0, 100.0]))
def test_mea_is_the_enumerated_maximum(problem, gamma):
    rna, shard = problem.structure, problem.shard
    (found,) = rna.best_mea(problem.w, shard, [gamma])
    for s, outputs in enumerate(problem.outputs):
        probabilities = rna.pair_probabilities(problem.w, shard, s)
        mine = found[shard.offsets[s] : shard.offsets[s + 1]]
        best = max(accuracy(probabilities, partner, gamma) for partner in outputs)
        assert accuracy(probabilities, mine, gamma) >= best - 1e-9
        assert all(mine[j] == i for i, j in enumerate(mine) if j >= 0)


@settings(max_examples=40)
@given(problem=problems())
def test_pair_probabilities_are_enumerated(problem):
    for s, (outputs, scores) in enumerate(zip(problem.outputs, problem.scores, strict=True)):
        p, n = np.exp(scores - logsumexp(scores)), outputs[0].size
        expected = np.zeros((n, n))
        for share, partner in zip(p, outputs, strict=True):
            opens = np.flatnonzero(partner > np.arange(n))
            expected[opens, partner[opens]] += share
        found = problem.structure.pair_probabilities(problem.w, problem.shard, s)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.data
def test_mea_structures_of_the_oracle():
    rna, w, examples = oracle()
    sequences = [example["sequence"] for example in examples]
    shard = rna.encode(sequences)
    for gamma in (1, 6, 16):
        (found,) = rna.best_mea(w, shard, [gamma])
        for s, example in enumerate(examples):
            theirs = partners(example["mea"][str(gamma)])
            probabilities = rna.pair_probabilities(w, shard, s)
            mine = accuracy(probabilities, found[shard.offsets[s] : shard.offsets[s + 1]], gamma)
            other = accuracy(probabilities, theirs, gamma)
            assert other - 1e-9 <= mine <= other + 5e-3 * len(sequences[s])


@settings(max_examples=30)
@given(problem=problems(scale=50.0))
def test_best_with_extreme_weights(problem):
    laws.best_is_the_enumerated_maximum(problem)
    laws.best_with_cost_is_the_enumerated_maximum(problem)


@pytest.mark.parametrize("n", [200, 700])
def test_long_sequences_are_scaled(n):
    """Weights at which no double holds the partition function itself; the slope is a check of the counts."""
    rng = np.random.default_rng(n)
    rna = RNA()
    shard = rna.encode(["".join(rng.choice(list("ACGU"), n))])
    w, v = rng.normal(size=(2, rna.n_weights))
    w[[name.startswith(("external_unpaired", "helix_stacking")) for name in rna.weight_names()]] += 2.0
    gradient = np.zeros(w.size)
    log_z = rna.log_partition(w, shard, gradient)
    assert log_z[0] > 300.0
    ahead, behind = (rna.log_partition(w + step * v, shard)[0] for step in (1e-5, -1e-5))
    assert gradient @ v == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_features_of_a_known_structure():
    rna, sequence, structure = RNA(), "GGGAAAACCCAGGAAAACC", "(((....))).((....))"
    shard = rna.encode([sequence], [structure])
    partner = shard.partners.tolist()
    found = dict(zip(rna.weight_names(), rna.feature_rows(shard).toarray()[0], strict=True))
    expected = features(sequence, partner)
    assert {name: count for name, count in found.items() if count} == dict(expected)
    assert found["external_paired"] == 2
    assert found["hairpin_length_at_least_4"] == 2


def test_parameters_by_name():
    rna = RNA()
    w = np.random.default_rng(0).normal(size=rna.n_weights)
    parameters = dict(zip(rna.weight_names()[::-1], w[::-1].tolist(), strict=True))
    assert_array_equal(rna.weights_from(parameters), w)
    del parameters["multi_base"]
    with pytest.raises(
        DataError, match=r"1 unknown parameters \['colour'\] and 1 missing ones \['multi_base'\]"
    ):
        rna.weights_from({**parameters, "colour": 1.0})


def test_a_fit_lowers_the_loss_and_converges():
    rng, rna = np.random.default_rng(0), RNA()
    stems = ["".join(rng.choice(list("ACGU"), 4)) for _ in range(12)]
    sequences = [s + "GAAA" + s[::-1].translate(str.maketrans("ACGU", "UGCA")) for s in stems]
    shard = rna.encode(sequences, ["((((....))))"] * 12, rng.uniform(0.5, 1.5, 12))
    risk = Risk.over(rna, LogLoss(), shard)
    fit = fit_l2(risk, np.ones(rna.n_weights))
    assert fit.status == "converged"
    assert fit.objective < 0.5 * risk.at_zero.value
    assert np.all(risk.at_zero.variance >= 0.0)
    assert_array_equal(rna.best(fit.w, shard)[0], shard.partners)


def test_groups_are_those_of_the_papers():
    groups = RNA().groups()
    assert len(groups) == 15
    assert dict(zip(groups.names, groups.sizes.tolist(), strict=True))["helix stacking"] == 136


def test_letters():
    rna = RNA()
    same = rna.encode(["ACGUACGU", "acguacgu", "ACGTacgt"]).letters.reshape(3, 8)
    assert np.all(same == same[0])
    assert rna.encode(["NRY"]).letters.tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("sequence", "structure", "message"),
    [
        ("AC-GU", ".....", "sequence 0, base 2 .*'-', expected a nucleotide"),
        ("ACĀGU", ".....", "sequence 0, base 2"),
        ("ACGU", ".....", "sequence 0 has 4 bases: found a structure of length 5"),
        ("ACGU", ".)..", r"sequence 0, base 1 .* '\)' without its '\('"),
        ("ACGU", ".(..", r"sequence 0, base 1 .* '\(' without its '\)'"),
        ("ACGU", ".[].", r"sequence 0, base 1 .* '\['"),
        ("AAAAA", "(...)", "bases 0 and 4 .*cannot pair"),
        ("NAAAU", "(...)", "bases 0 and 4 .*cannot pair"),
        ("GAAC", "(..)", "hairpin of 2, expected at least 3"),
        ("G" + "A" * 31 + "GAAACC", "(" + "." * 31 + "(...))", "loop of 31 unpaired"),
    ],
)
def test_what_is_refused(sequence, structure, message):
    with pytest.raises(DataError, match=message):
        RNA().encode([sequence], [structure])


def test_structures_must_be_as_many_as_sequences():
    with pytest.raises(DataError, match="1 structures for 2 sequences"):
        RNA().encode(["A", "C"], ["."])


def test_a_shard_without_structures_has_no_features():
    rna = RNA()
    with pytest.raises(DataError, match="no structures"):
        rna.feature_rows(rna.encode(["ACGU"]))
