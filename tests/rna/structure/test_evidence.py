"""Structures that are only partly known: sums over those that agree, as enumeration gives them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import laws
from rnas import constrained, dot_bracket, feature_vector, sequences_of
from structune.errors import DataError
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA

CLOSE = {"rtol": 1e-7, "atol": 1e-7}  # forced pairs cost digits


@st.composite
def partly_known(draw):
    """Of the same examples what there is, and what agrees with the evidence of some and is that of others."""
    problem, rng = draw(constrained(max_length=10)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rna, sequences, n = problem.structure, sequences_of(problem.shard), len(problem.free)
    own = [ys[k] for ys, k in zip(problem.outputs, problem.own, strict=True)]
    whole = rng.random(n) < 0.4
    outputs = [dot_bracket(own[s]) if whole[s] else problem.given[s] for s in range(n)]
    shard = rna.encode(sequences, outputs, problem.shard.weights)
    features = [
        np.array([feature_vector(rna, x, y) for y in ys])
        for x, ys in zip(sequences, problem.free, strict=True)
    ]
    nothing = [np.zeros(len(ys)) for ys in problem.free]
    everything = replace(problem, shard=shard, outputs=problem.free, features=features, beside=nothing)
    places = [[k] if is_whole else slice(None) for k, is_whole in zip(problem.own, whole, strict=True)]
    agreeing = replace(
        problem,
        shard=shard,
        features=[rows[place] for rows, place in zip(problem.features, places, strict=True)],
        beside=[
            more[place] * (not is_whole)
            for more, place, is_whole in zip(problem.beside, places, whole, strict=True)
        ],
    )
    return everything, agreeing


@settings(max_examples=40)
@given(both=partly_known())
def test_sums(both):
    for problem, within in zip(both, (False, True), strict=True):
        log_z, expected = laws.log_partition_and_gradient(problem, within=within)
        assert_allclose(log_z, problem.log_partition(), **CLOSE)
        assert_allclose(expected, problem.expected(problem.shard.weights), **CLOSE)
        v = laws.direction(problem)
        found = problem.structure.linearize(problem.w, problem.shard, within)(v)
        product = problem.covariance(v)
        assert_allclose(found, product, rtol=1e-6, atol=1e-6 * (1 + np.abs(product).max()))


@settings(max_examples=25)
@given(both=partly_known())
def test_parts_of_shards(both):
    problem, _ = both
    rna, w, shard = problem.structure, problem.w, problem.shard
    rna.check_shard(shard)
    whole = rna.log_partition(w, shard, within=True)
    order = problem.rng.permutation(len(shard))
    assert_array_equal(rna.log_partition(w, shard.take(order), within=True), whole[order])
    assert_array_equal(rna.best(w, shard)[0], rna.best(w, shard.free())[0])


def test_what_is_no_evidence():
    rna, known = RNA(), Constraints("(...)x")
    with pytest.raises(DataError, match="sequence 0: the length of constraints is 6, but there are 4 bases"):
        rna.encode(["ACGU"], [known])
    told = r"sequence 1: bases 0 and 4 \(from 0\) are constrained to pair, but they cannot"
    with pytest.raises(DataError, match=told):
        rna.encode(["ACGU", "AACGAA"], ["....", known])
    told = "sequence 0: constraints cannot be combined with a partly known structure"
    with pytest.raises(DataError, match=told):
        rna.encode(["GAAACA"], [known], constraints=["......"])
    shard = rna.encode(["GAAACA"], [known])
    with pytest.raises(DataError, match="only partly known"):
        rna.best(np.zeros(rna.n_weights), shard, np.ones(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"whole": np.array([True])}, "sequences with a structure have forced scores"),
        ({"whole": np.array([True]), "forced": np.zeros(1)}, "2 offsets, which begin with 0, never decrease"),
        ({"base_scores": np.full((6, 2), np.nan)}, "scores of bases that are not finite"),
        ({"pairs": np.array([[4, 0]])}, "not pairs of two bases"),
        ({"pairs": np.array([[0, 6]])}, "from 0 to 6, expected 0 to 5"),
        ({"pair_values": np.array([np.inf])}, "scores of pairs that are not finite"),
        ({"forced": np.array([np.nan])}, "forced scores that are not finite"),
    ],
)
def test_damaged_evidence_is_refused(change, message):
    rna = RNA()
    shard = rna.encode(["GAAACA"], [Constraints("(...)x", paired=np.ones(6))])
    rna.check_shard(shard)
    with pytest.raises(DataError, match=message):
        rna.check_shard(replace(shard, **change))
