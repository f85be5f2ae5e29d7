"""Validation sets as constraints: how they are drawn, and what is bounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from chains import chain_problems
from maxima import enumerated, maxima
from structune.errors import DataError
from structune.learning.constraints import _partition, validation_constraints
from tiny import small

sizes = st.lists(st.integers(1, 50), min_size=1, max_size=20).map(np.array)


@given(sizes=sizes, n_sets=st.integers(1, 5), seed=st.integers(0, 3))
def test_sets_share_out_the_data(sizes, n_sets, seed):
    """Every example is in one set, no set is empty, and lengths differ by an example at most."""
    n_sets = min(n_sets, sizes.size)
    parts = _partition(sizes, n_sets, seed)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(sizes.size))
    filled = np.array([sizes[part].sum() for part in parts])
    assert filled.min() > 0
    assert np.ptp(filled) <= sizes.max()
    again = _partition(sizes, n_sets, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_values_by_definition(kind):
    """Best score minus that of the annotated outputs, by enumeration, at several weights."""
    problem = enumerated(kind)
    parts = _partition(problem.shard.sizes(), 3, 7)
    for w in np.random.default_rng(0).normal(size=(5, problem.w.size)):
        each = problem.shard.weights * maxima(problem, w, augmented=False)
        for h, part in zip(
            validation_constraints(problem.structure, problem.shard, 3, 7), parts, strict=True
        ):
            value, slope = h.value_and_gradient(w)
            assert_allclose(value, each[part].sum(), atol=1e-10)
            assert_allclose(slope @ w, value, atol=1e-10)  # homogeneous


@given(problem=chain_problems(partial=None), seed=st.integers(0, 9))
def test_convex_homogeneous_and_zero_at_zero(problem, seed):
    if problem.own is None:
        return
    (h,) = validation_constraints(problem.structure, problem.shard, 1)
    w, rng = problem.w, np.random.default_rng(seed)
    value, slope = h.value_and_gradient(w)
    scale = 1e-9 * (1.0 + np.abs(slope) @ np.abs(w))
    assert h.value_and_gradient(np.zeros_like(w))[0] == 0.0
    assert value >= -scale
    assert_allclose(h.value(3.0 * w), 3.0 * value, atol=10 * scale)
    other = rng.normal(size=w.size)
    assert h.value(other) >= value + slope @ (other - w) - 10 * scale * (1.0 + np.abs(other).max())


@pytest.mark.parametrize("n_sets", [0, 17, 1.5])
def test_bad_numbers_of_sets(n_sets):
    structure, shard = small("chain")
    with pytest.raises(DataError, match=rf"found 16 examples for {n_sets!r} validation sets, expected"):
        validation_constraints(structure, shard, n_sets)


def test_partial_labels_are_refused():
    structure, shard = small("partial")
    with pytest.raises(DataError, match="found outputs known in part, expected complete ones"):
        validation_constraints(structure, shard)
