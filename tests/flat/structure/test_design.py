"""Feature matrices, dense and sparse: what the laws of the models made of them do not reach."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.flat.structure.shard import Design

TOLERANCES = {"rtol": 1e-12, "atol": 1e-13}


def wide(density, n=60, p=70):
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((n, p)) < density, rng.normal(size=(n, p)), 0.0)
    return matrix, rng.uniform(size=n)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.01, 0.03, 0.2])
def test_gram_of_thin_and_thick_sparse_matrices(density, bias):
    """However the product is made, by the share of entries that are stored."""
    matrix, weights = wide(density)
    dense, sparse = (Design(form, bias) for form in (matrix, sp.csr_array(matrix)))
    assert_allclose(sparse.gram(weights), dense.gram(weights), **TOLERANCES)
    assert_allclose(
        sparse.squares_adjoint(weights[:, None]), dense.squares_adjoint(weights[:, None]), **TOLERANCES
    )


def test_entries_that_are_stored_zeros():
    matrix = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    design = Design.check(matrix, ["x", "y"], True)
    assert_array_equal(design.times(np.eye(3)), [[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    assert_array_equal(design.gram(np.ones(2)), [[0, 0, 0], [0, 4, 2], [0, 2, 2]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.lil_array])
def test_other_types_become_doubles(form, dtype):
    design = Design.check(form(np.array([[0, 1], [1, 1]], dtype=dtype)), ["x", "y"], False)
    assert design.matrix.dtype == np.float64
    assert_array_equal(design.times(np.eye(2)), [[0.0, 1.0], [1.0, 1.0]])


def test_doubles_are_not_copied():
    matrix = np.ones((3, 2))
    assert Design.check(matrix, ["x", "y"], True).matrix is matrix
    sparse = sp.csr_array(matrix)
    assert np.shares_memory(Design.check(sparse, ["x", "y"], True).matrix.data, sparse.data)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_values_that_are_refused(form):
    for bad in (np.nan, np.inf, -np.inf):
        matrix = np.ones((4, 3))
        matrix[2, 1] = matrix[2, 2] = matrix[3, 0] = bad
        with pytest.raises(DataError, match=f"example 2, feature 'b': {bad} is not a finite number"):
            Design.check(form(matrix), ["a", "b", "c"], True)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.empty((0, 1)), "there are no examples"),
        (sp.csr_array((0, 1)), "there are no examples"),
        (np.ones((2, 2)), "there must be 1 features, not 2"),
        (sp.csr_array((2, 0)), "there must be 1 features, not 0"),
        (np.ones(3), r"one row per example, not the shape \(3,\)"),
        (np.ones((1, 1, 1)), r"not the shape \(1, 1, 1\)"),
    ],
)
def test_shapes_that_are_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        Design.check(matrix, ["x"], True)
