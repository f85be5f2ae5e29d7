"""Multiclass models against their definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

import laws
from laws import Problem
from structune.errors import CapabilityError, DataError
from structune.structures.classes import Classes


def feature_vector(ids, names, row, label):
    """F(x, y) by the names of the weights."""
    out = np.zeros(len(ids))
    for name, value in zip(names, row, strict=True):
        out[ids[f"{name} : {label}"]] += value
    if f"(bias) : {label}" in ids:
        out[ids[f"(bias) : {label}"]] += 1.0
    return out


@st.composite
def classes_problems(draw, scale=2.0):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels, names = list("ABCDE"[: draw(st.integers(1, 5))]), ["size=1", "size=2", "bias", "colour"]
    names = names[: draw(st.integers(0, 4))]
    structure = Classes(labels, names, bias=draw(st.booleans()))
    n = draw(st.integers(1, 4))
    matrix = np.where(rng.random((n, len(names))) < 0.6, rng.normal(size=(n, len(names))), 0.0)
    if draw(st.booleans()):
        matrix = (matrix != 0).astype(float)
    own = rng.integers(len(labels), size=n) if draw(st.booleans()) else None
    weights = rng.uniform(0.0, 2.0, n) if draw(st.booleans()) else None
    inputs = sp.csr_array(matrix) if draw(st.booleans()) else matrix
    shard = structure.encode(inputs, None if own is None else [labels[y] for y in own], weights)
    ids = {name: k for k, name in enumerate(structure.weight_names())}
    return Problem(
        structure,
        shard,
        rng.normal(scale=scale, size=structure.n_weights),
        outputs=[[np.array([y]) for y in range(len(labels))] for _ in range(n)],
        features=[np.array([feature_vector(ids, names, row, label) for label in labels]) for row in matrix],
        own=None if own is None else own.tolist(),
        costs=None if own is None else [(np.arange(len(labels)) != y).astype(float) for y in own],
    )


@settings(max_examples=60)
@given(problem=classes_problems())
def test_laws(problem):
    laws.hold(problem)


@settings(max_examples=30)
@given(problem=classes_problems(scale=1e3))
def test_laws_under_huge_weights(problem):
    laws.hold(problem, (laws.expected_features_are_the_slope, laws.hessian_products_are_gradient_differences))


@settings(max_examples=20)
@given(problem=classes_problems())
def test_marginals_and_variance(problem):
    p = softmax(np.array(problem.scores), axis=1)
    assert_allclose(problem.structure.marginals(problem.w, problem.shard), p, rtol=1e-10, atol=1e-14)
    product = problem.structure.linearize(problem.w, problem.shard)
    diagonal = [product(unit) @ unit for unit in np.eye(problem.w.size)]
    assert_allclose(problem.structure.variance(problem.w, problem.shard), diagonal, rtol=1e-9, atol=1e-12)


def test_weights_that_overflow_without_a_shift():
    structure = Classes(["a", "b"], ["x"], bias=False)
    shard = structure.encode([[1.0]], ["a"])
    for w in (np.array([1e5, -1e5]), np.array([-1e5, -1e5 + 1.0])):
        assert_allclose(structure.log_partition(w, shard), [logsumexp(w)], rtol=1e-14)


def test_repeated_entries_add_up():
    structure = Classes(["a", "b"], ["x", "y"])
    matrix = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    w = np.random.default_rng(0).normal(size=structure.n_weights)
    found = structure.log_partition(w, structure.encode(matrix))
    assert_allclose(found, structure.log_partition(w, structure.encode([[0.0, 3.0]])), rtol=1e-14)


def test_groups_are_prefixes_and_the_bias():
    structure = Classes(["a", "b"], ["size=1", "size=2", "colour"])
    groups = structure.groups()
    assert groups.names == ("size", "colour", "bias")
    assert groups.sizes.tolist() == [4, 2, 2]
    assert Classes(["a", "b"], ["x"], bias=False).groups().names == ("x",)


def test_labels_may_be_numbers():
    structure = Classes([3, 1], ["x"])
    assert structure.encode([[1.0], [2.0]], np.array([1, 3])).outputs.tolist() == [1, 0]


def test_partial_labels_are_refused():
    structure = Classes(["a", "b"], ["x"])
    shard, w = structure.encode([[1.0]], ["a"]), np.zeros(4)
    for question in (structure.log_partition, structure.linearize):
        with pytest.raises(CapabilityError, match="'classes' has no exact 'within'"):
            question(w, shard, within=True)


@pytest.mark.parametrize("labels", [[], ["a", "a"]])
def test_wrong_classes(labels):
    with pytest.raises(DataError, match="expected at least one and no two alike"):
        Classes(labels, ["x"])


@pytest.mark.parametrize(
    ("inputs", "outputs", "weights", "message"),
    [
        (np.empty((0, 2)), None, None, "found no examples"),
        ([[1.0]], None, None, "found 1 features, expected 2"),
        ([[1.0, 0.0], [0.0, np.nan]], None, None, "example 1, feature 'y': found nan"),
        ([[1.0, -np.inf]], None, None, "example 0, feature 'y': found -inf"),
        ([[1.0, 0.0]], ["a", "b"], None, "found 2 labels for 1 examples"),
        ([[1.0, 0.0]] * 2, ["a", "z"], None, r"example 1: found the class 'z', expected one of \['a', 'b'\]"),
        ([[1.0, 0.0]] * 2, None, [1.0, -2.0], "example 1 has the weight -2.0"),
    ],
)
def test_encode_refuses(inputs, outputs, weights, message):
    with pytest.raises(DataError, match=message):
        Classes(["a", "b"], ["x", "y"]).encode(inputs, outputs, weights)


def test_scores_of_unknown_outputs():
    structure = Classes(["a", "b"], ["x"])
    shard, w = structure.encode([[1.0]]), np.zeros(4)
    for question in (
        lambda: structure.score(w, shard),
        lambda: structure.features(shard, w),
        lambda: structure.cost(shard, np.array([0])),
        lambda: structure.best(w, shard, np.ones(1)),
    ):
        with pytest.raises(DataError, match="no labels"):
            question()
