"""Multiclass models against their definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

import laws
import loss_laws
from laws import Problem
from structune.errors import DataError
from structune.flat.structure.classes import Classes


def feature_vector(ids, names, row, label):
    """F(x, y) by the names of the weights."""
    out = np.zeros(len(ids))
    for name, value in zip(names, row, strict=True):
        if f"{name} : {label}" in ids:  # not of the reference class
            out[ids[f"{name} : {label}"]] += value
    if f"(bias) : {label}" in ids:
        out[ids[f"(bias) : {label}"]] += 1.0
    return out


FORMS = {  # of a feature matrix
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda matrix: matrix.astype(np.float32),
    "lists": np.ndarray.tolist,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
}


@st.composite
def classes_problems(draw, scale=2.0):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    reference = draw(st.booleans())
    labels = list("ABCDE"[: draw(st.integers(1 + reference, 5))])
    names = ["size=1", "size=2", "bias", "colour"][: draw(st.integers(0, 4))]
    structure = Classes(labels, names, bias=draw(st.booleans()), reference=reference)
    n = draw(st.integers(1, 4))
    matrix = np.where(rng.random((n, len(names))) < 0.6, rng.normal(size=(n, len(names))), 0.0)
    if draw(st.booleans()):
        matrix = (matrix != 0).astype(float)
    matrix = matrix.astype(np.float32).astype(float)  # what every form can hold
    own = rng.integers(len(labels), size=n) if draw(st.booleans()) else None
    weights = rng.uniform(0.0, 2.0, n) if draw(st.booleans()) else None
    inputs = FORMS[draw(st.sampled_from(sorted(FORMS)))](matrix)
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


@settings(max_examples=40)
@given(problem=classes_problems() | classes_problems(scale=1e3))
def test_laws_of_losses(problem):
    loss_laws.hold(problem)


@settings(max_examples=20)
@given(problem=classes_problems())
def test_marginals_and_variance(problem):
    p = softmax(np.array(problem.scores), axis=1)
    assert_allclose(problem.structure.marginals(problem.w, problem.shard), p, rtol=1e-10, atol=1e-14)
    product = problem.structure.linearize(problem.w, problem.shard)
    diagonal = [product(unit) @ unit for unit in np.eye(problem.w.size)]
    assert_allclose(problem.structure.variance(problem.w, problem.shard), diagonal, rtol=1e-9, atol=1e-12)


def test_groups_are_prefixes_and_the_bias():
    structure = Classes(["a", "b"], ["size=1", "size=2", "colour"])
    groups = structure.groups()
    assert groups.names == ("size", "colour", "bias")
    assert groups.sizes.tolist() == [4, 2, 2]
    assert Classes(["a", "b"], ["x"], bias=False).groups().names == ("x",)
    assert Classes([3, 1], ["x"]).encode([[1.0], [2.0]], np.array([1, 3])).outputs.tolist() == [1, 0]


def test_the_reference_class_has_no_weights():
    structure = Classes(["no", "yes"], ["size=1", "colour"], reference=True)
    assert structure.weight_names() == ["size=1 : yes", "colour : yes", "(bias) : yes"]
    assert structure.groups().names == ("size", "colour", "bias")
    assert structure.groups().sizes.tolist() == [1, 1, 1]
    shard, w = structure.encode([[2.0, -1.0]]), np.array([0.5, 1.0, 0.25])
    assert_allclose(structure.marginals(w, shard), [[expit(-0.25), expit(0.25)]])


def test_one_class_that_is_the_reference():
    structure = Classes(["A"], ["x"], reference=True)
    shard, w = structure.encode(np.ones((2, 1)), ["A", "A"]), np.empty(0)
    assert_array_equal(structure.log_partition(w, shard, np.empty(0)), [0.0, 0.0])
    assert structure.hessian(w, shard).shape == (0, 0)
    assert structure.feature_rows(shard).shape == (2, 0)


def test_repeated_entries_add_up():
    """Of [[0, 3], [3, 4]], the first of which is stored as 1 + 2, and stays so where it was given."""
    parts = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])
    structure, given = Classes(["a", "b"], ["x", "y"]), sp.csr_array(parts, shape=(2, 2))
    shard, w = structure.encode(given, ["a", "b"]), np.zeros(6)
    dense = structure.encode(given.toarray(), ["a", "b"])
    assert_allclose(structure.hessian(w, shard), structure.hessian(w, dense), rtol=1e-14)
    assert_allclose(structure.feature_rows(shard).toarray(), structure.feature_rows(dense).toarray())
    assert_allclose(structure.variance(w, shard), structure.variance(w, dense), rtol=1e-14)
    assert_array_equal(given.data, [1.0, 2.0, 3.0, 4.0])


def test_wrong_classes():
    for labels in ([], ["a", "a"]):
        with pytest.raises(DataError, match="at least one class, and each class once"):
            Classes(labels, ["x"])


@pytest.mark.parametrize(
    ("inputs", "outputs", "weights", "message"),
    [
        ([[1.0]], None, None, "there must be 2 features, not 1"),
        ([[1.0, 0.0], [0.0, np.nan]], None, None, "example 1, feature 'y': nan is not a finite"),
        ([[1.0, 0.0]], ["a", "b"], None, "there are 2 labels, but 1 examples"),
        ([[1.0, 0.0]] * 2, ["a", "z"], None, r"example 1: unknown class 'z', expected one of \['a', 'b'\]"),
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
        lambda: structure.best_rescaled(w, shard),
    ):
        with pytest.raises(DataError, match="no labels"):
            question()
