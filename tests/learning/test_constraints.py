"""Validation sets as constraints: how they are drawn, and what is bounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from chains import chain_problems
from maxima import enumerated, maxima
from structune.errors import CapabilityError, DataError
from structune.learning.constraints import _partition, validation_constraints
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.solvers.saddle_point import fit_constrained
from structune.running.executors import ThreadExecutor
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


def test_other_seeds_draw_other_sets():
    ones = np.ones(30, int)
    assert not np.array_equal(_partition(ones, 3, 0)[0], _partition(ones, 3, 1)[0])


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


def test_threads_change_nothing():
    structure, shard = small("chain")
    w = np.cos(np.arange(structure.n_weights))
    one, two = (
        [
            h.value_and_gradient(w)
            for h in validation_constraints(structure, shard, executor=ThreadExecutor(n))
        ]
        for n in (1, 2)
    )
    for (a, slope_a), (b, slope_b) in zip(one, two, strict=True):
        assert a == b
        assert_array_equal(slope_a, slope_b)


@pytest.mark.parametrize("n_sets", [0, -1, 17, 1.5, "3"])
def test_bad_numbers_of_sets(n_sets):
    structure, shard = small("chain")
    with pytest.raises(DataError, match=rf"found 16 examples and validation_sets={n_sets!r}, expected"):
        validation_constraints(structure, shard, n_sets)


def test_partial_labels_are_refused():
    structure, shard = small("partial")
    with pytest.raises(DataError, match="found outputs known in part, expected complete ones"):
        validation_constraints(structure, shard)


# --- the paper's approximation of the gradient ------------------------------------------------------------


def terms(structure, shard, w, subgradient, clip):
    """What the approximation adds to the exact subgradient of a single validation set; the value is exact."""
    (exact,), (h,) = (
        validation_constraints(structure, shard, 1, subgradient=name, clip=clip)
        for name in ("exact", subgradient)
    )
    (value, slope), (same, approximate) = exact.value_and_gradient(w), h.value_and_gradient(w)
    assert same == value
    return approximate - slope


@given(problem=chain_problems(partial=None), clip=st.sampled_from([0.5, 1e9]))
def test_terms_of_the_approximation(problem, clip):
    """Equation 14: sums of counts over the change; with weights -1 for rises and 1 for falls."""
    if problem.own is None:
        return
    chain, shard, w = problem.structure, problem.shard, problem.w
    by_number = chain.flips(w, shard, np.ones_like(w))
    sequences = np.searchsorted(shard.offsets, by_number.tokens, side="right") - 1
    for subgradient, slopes in (
        ("printed", by_number.gains / by_number.changes),
        ("weighted", -np.sign(by_number.changes)),
    ):
        expected = np.zeros_like(w)
        expected[by_number.weights] = np.clip(shard.weights[sequences] * slopes, -clip, clip)
        found = terms(chain, shard, w, subgradient, clip)
        # the smallest changes are differences of larger scores
        assert_allclose(found, expected, atol=1e-6, rtol=1e-6)


def test_printed_terms_vanish_where_all_labellings_have_the_same_number_of_features():
    structure, shard = small("chain")
    w = np.cos(np.arange(structure.n_weights))
    assert not terms(structure, shard, w, "printed", 1.0).any()
    assert terms(structure, shard, w, "weighted", 1.0).any()


@pytest.mark.parametrize("subgradient", ["printed", "weighted"])
def test_constraints_are_met_with_the_approximation(subgradient):
    structure, shard = small("chain")
    risk = Risk(structure, LogLoss(), [shard])
    precision = np.ones(structure.n_weights)
    constraints = validation_constraints(structure, shard, subgradient=subgradient)
    fit = fit_constrained(risk, precision, constraints, fit_l2(risk, precision).w, gamma=0.1)
    assert fit.n_rounds > 1
    assert fit.constraint_values.max() <= 1.01 * 0.1


def test_the_approximation_is_for_chains():
    structure, shard = small("classes")
    with pytest.raises(CapabilityError, match="approximate gradient of constraints needs 'flips'"):
        validation_constraints(structure, shard, subgradient="printed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subgradient": "paper"}, "subgradient='paper': expected one of"),
        ({"subgradient": "printed", "clip": 0.0}, "clip=0.0: expected a finite number > 0"),
        ({"subgradient": "weighted", "clip": "1"}, "clip='1': expected a finite number > 0"),
    ],
)
def test_bad_approximations(options, message):
    structure, shard = small("chain")
    with pytest.raises(DataError, match=message):
        validation_constraints(structure, shard, **options)
