"""Groups, example weights, even splits, and structures that can do nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from laws import Problem
from structune.errors import CapabilityError, DataError
from structune.structure import Groups, Structure, check_weights, split_evenly


class Mute(Structure):
    """A structure that answers nothing."""

    name, capabilities, n_weights = "mute", frozenset(), 2

    def weight_names(self):
        return ["a", "b"]

    def groups(self):
        return Groups.single(2)

    def encode(self, inputs, outputs=None, weights=None):
        return None

    def features(self, shard, out, weights=None, outputs=None):
        return None

    def feature_rows(self, shard, outputs=None):
        return None


def test_what_a_structure_cannot_do_is_refused():
    problem = Problem(Mute(), [], np.zeros(2), outputs=[], features=[])
    laws.missing_abilities_are_refused(problem)
    for question in (Mute().variance, Mute().cost):
        with pytest.raises(CapabilityError, match="'mute' does not support"):
            question(np.zeros(2), [])


def test_all_that_is_needed_is_checked():
    with pytest.raises(CapabilityError, match="MarginLoss needs 'best', which the structure 'mute'"):
        Mute().require(frozenset({"best", "cost"}), "MarginLoss")


def test_groups():
    groups = Groups.by_name(["x", "y", "x"])
    assert (groups.index.tolist(), groups.names, len(groups)) == ([0, 1, 0], ("x", "y"), 2)
    assert groups.sizes.tolist() == [2, 1]
    assert groups.sum(np.array([1.0, 10.0, 100.0])).tolist() == [101.0, 10.0]
    assert Groups.single(3).sizes.tolist() == [3]
    assert Groups.separate(["a", "b"]).sum(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_example_weights():
    assert check_weights(None, 2).tolist() == [1.0, 1.0]
    assert check_weights([0, 2], 2).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"shape \(2,\), not \(1,\)"),
        (1.0, r"shape \(2,\), not \(\)"),
        ([1.0, -1.0], "example 1 has the weight -1.0, expected a finite number >= 0"),
        ("a", "weights must be one number per example, not 'a'"),
        (["a", 1.0], r"weights must be one number per example, not \['a', 1.0\]"),
        ([[1.0], [1.0, 2.0]], "weights must be one number per example"),
        ([np.nan, 1.0], "example 0 has the weight nan"),
        ([1.0, np.inf], "example 1 has the weight inf"),
    ],
)
def test_wrong_example_weights(weights, message):
    with pytest.raises(DataError, match=message):
        check_weights(weights, 2)


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30).map(np.array), n_shards=st.integers(1, 40))
def test_splits_are_even(sizes, n_shards):
    pieces = split_evenly(sizes, n_shards)
    given = np.arange(sizes.size)
    assert np.concatenate([given[piece] for piece in pieces]).tolist() == given.tolist()
    assert 1 <= len(pieces) <= n_shards
    parts = [sizes[piece].sum() for piece in pieces]
    assert min(parts) > 0
    assert max(parts) <= sizes.sum() / min(n_shards, sizes.size) + sizes.max()


def test_nothing_to_split():
    assert split_evenly(np.empty(0, int), 3) == []
