"""RNA structures: laws by enumeration, parameters, fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import laws
import loss_laws
from rnas import problem_of, problems
from structune.errors import DataError
from structune.rna.structure.rna import RNA

MODELS = {
    "as papers have it": {},
    "any two bases pair": {"noncanonical": True},
    "extended": {"features": "extended"},
    "long loops": {"spread": True},
    "extended, long loops": {"spread": True, "features": "extended"},
    "two strands": {"two_strands": 0.8, "features": "extended"},
    "circles": {"circular": True, "features": "extended"},
    "circles, long loops": {"circular": True, "spread": True},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(("max_length", "scale"), [(13, 1.0), (11, 50.0)], ids=["", "extreme weights"])
@settings(max_examples=10)
@given(data=st.data())
def test_laws(options, max_length, scale, data):
    laws.hold(data.draw(problems(max_length=max_length, scale=scale, **options)))


@settings(max_examples=10)
@given(problem=problems() | problems(max_length=11, scale=50.0, spread=True, features="extended"))
def test_laws_of_losses(problem):
    loss_laws.hold(problem)


SIDES = [(0, 30), (30, 0), (31, 0), (0, 31), (15, 15), (16, 15), (1, 29), (30, 1), (28, 2), (10, 11), (8, 8)]


@pytest.mark.parametrize("kind", ["contrafold", "extended"])
def test_laws_at_the_limits_of_loops(kind):
    """An inner pair at these distances from the outer one: up to 30 unpaired bases it may be there."""
    rng = np.random.default_rng(0)
    sequences = ["AG" + "A" * left + "GAAAC" + "A" * right + "CA" for left, right in SIDES]
    problem = problem_of(RNA(features=kind), rng, sequences, 1.0)
    assert [len(ys) for ys in problem.outputs] == [6 - (sum(sides) > 30) for sides in SIDES]
    laws.hold(problem)


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


def test_nothing_to_fold():
    """No sequences, and sequences without bases."""
    rna, rng = RNA(), np.random.default_rng(0)
    w, gradient = rng.normal(size=(2, rna.n_weights))
    for sequences in ([], ["", ""]):
        shard, before = rna.encode(sequences, sequences), gradient.copy()
        zeros = np.zeros(len(sequences))
        assert_array_equal(rna.log_partition(w, shard, gradient), zeros)
        assert_array_equal(gradient, before)
        assert_array_equal(rna.best(w, shard)[1], zeros)
        assert_array_equal(rna.best(w, shard, np.ones(len(sequences)))[1], zeros)
        assert_array_equal(rna.linearize(w, shard)(w), np.zeros(w.size))
        assert rna.sample(w, shard, 3, rng).shape == (3, 0)
        assert [scores.tolist() for _, scores in rna.n_best(w, shard, 3)] == [[0.0]] * len(sequences)
        assert rna.best_mea(w, shard, [1.0])[0].size == rna.best_centroid(w, shard).size == 0
        assert rna.feature_rows(shard).nnz == 0
        assert len(shard.take([])) == 0


def test_a_shard_without_structures_has_no_features():
    rna = RNA()
    with pytest.raises(DataError, match="no structures"):
        rna.feature_rows(rna.encode(["ACGU"]))


def test_settings_are_checked():
    for n in (-1, 2**63 - 1, 1.0, "3", None):
        with pytest.raises(DataError, match=r"min_hairpin=.*expected a whole number from 0"):
            RNA(n)
    with pytest.raises(DataError, match=r"features='all': expected one of \['contrafold', 'extended'\]"):
        RNA(features="all")
