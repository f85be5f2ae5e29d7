"""RNA structures: laws by enumeration, and the numbers of an established program."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import laws
from rnas import features, problems
from structune.datasets._files import data_folder
from structune.errors import DataError
from structune.structures.rna import RNA
from structune.structures.rna_potentials import RangeError


@settings(max_examples=60)
@given(problem=problems())
def test_laws(problem):
    laws.hold(problem)


def test_weights_beyond_the_range_of_a_double_are_refused():
    rna = RNA()
    shard = rna.encode(["GGGGAAAACCCC"])
    with pytest.raises(RangeError, match="12 bases"):
        rna.log_partition(np.full(rna.n_weights, 1e3), shard)


def oracle():
    folder = data_folder()
    if folder is None or not (folder / "rna").is_dir():
        pytest.skip("needs the data folder (STRUCTUNE_DATA)")
    found = json.loads((folder / "rna" / "contrafold_oracle.json").read_text())
    lines = (folder / "rna" / "contrafold.params.complementary").read_text().split("\n")
    values = dict(line.split() for line in lines if line)
    rna = RNA()
    assert sorted(values) == sorted(rna.weight_names())
    return rna, np.array([float(values[name]) for name in rna.weight_names()]), found["examples"]


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
