"""RNA structures: the numbers of an established program."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from real_data import in_data_folder
from rnas import accuracy, partners
from structune.rna.formats.contrafold import read_contrafold
from structune.rna.structure.rna import RNA

pytestmark = pytest.mark.data


def oracle():
    found = json.loads(in_data_folder("rna/contrafold_oracle.json").read_text())
    parameters = read_contrafold(in_data_folder("rna/contrafold.params.complementary"))
    return RNA(), RNA().weights_from(parameters), found["examples"]


def test_log_partitions_of_the_oracle():
    rna, w, examples = oracle()
    log_z = rna.log_partition(w, rna.encode([example["sequence"] for example in examples]))
    for example, found in zip(examples, log_z, strict=True):
        assert found == pytest.approx(example["log_partition"], abs=5e-3)
        if "log_partition_exact" in example:
            assert found == pytest.approx(example["log_partition_exact"], rel=1e-9, abs=1e-9)


def test_pair_probabilities_of_the_oracle():
    rna, w, examples = oracle()
    shard = rna.encode([example["sequence"] for example in examples])
    for s, example in enumerate(examples):
        expected = np.zeros((len(example["sequence"]),) * 2)
        for i, j, p in example["pair_probabilities"]:
            expected[i, j] = p
        assert_allclose(rna.pair_probabilities(w, shard, s), expected, atol=5e-3)


def test_best_structures_of_the_oracle():
    rna, w, examples = oracle()
    sequences = [example["sequence"] for example in examples]
    _, best = rna.best(w, rna.encode(sequences))
    theirs = rna.score(w, rna.encode(sequences, [example["viterbi"] for example in examples]))
    assert_allclose(best, theirs, atol=5e-3)
    assert np.all(best >= theirs - 1e-9)


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
