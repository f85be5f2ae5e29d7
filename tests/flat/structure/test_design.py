"""Products of feature matrices, dense and sparse, against those of NumPy on the whole matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.flat.structure.design import Design


@st.composite
def designs(draw):
    """A design of some form, and its matrix with the column of ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, bias = draw(st.integers(1, 6)), draw(st.integers(0, 5)), draw(st.booleans())
    density = draw(st.sampled_from([0.0, 0.2, 1.0]))
    matrix = np.where(rng.random((n, p)) < density, rng.normal(size=(n, p)), 0.0)
    form = draw(st.sampled_from([np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.coo_array]))
    whole = np.hstack([matrix, np.ones((n, 1))]) if bias else matrix
    return Design.check(form(matrix), [f"x{k}" for k in range(p)], bias), whole, rng


TOLERANCES = {"rtol": 1e-12, "atol": 1e-13}


@settings(max_examples=80)
@given(case=designs(), n_outputs=st.integers(1, 3), imaginary=st.booleans())
def test_products(case, n_outputs, imaginary):
    design, whole, rng = case
    w, rows = rng.normal(size=(whole.shape[1], n_outputs)), rng.normal(size=(len(design), n_outputs))
    if imaginary:
        w, rows = w + 1e-20j * rng.normal(size=w.shape), rows + 1e-20j * rng.normal(size=rows.shape)
    times, adjoint = design.times(w), design.adjoint(rows)
    assert times.dtype == adjoint.dtype == w.dtype
    assert_allclose(times.real, (whole @ w).real, **TOLERANCES)
    assert_allclose(adjoint.real, (whole.T @ rows).real, **TOLERANCES)
    assert_allclose(times.imag * 1e20, (whole @ w).imag * 1e20, **TOLERANCES)
    assert_allclose(adjoint.imag * 1e20, (whole.T @ rows).imag * 1e20, **TOLERANCES)


@settings(max_examples=80)
@given(case=designs())
def test_squares_and_gram(case):
    design, whole, rng = case
    weights = rng.uniform(0.0, 2.0, len(design)) * (rng.random(len(design)) < 0.8)
    squares = design.squares_adjoint(weights[:, None])
    assert_allclose(squares[:, 0], (whole**2).T @ weights, **TOLERANCES)
    gram = design.gram(weights)
    assert_allclose(gram, whole.T @ (weights[:, None] * whole), **TOLERANCES)
    assert_array_equal(gram, gram.T)
    assert_allclose(np.diag(gram), squares[:, 0], **TOLERANCES)


@settings(max_examples=60)
@given(case=designs(), n_outputs=st.integers(1, 3))
def test_outer_rows(case, n_outputs):
    design, whole, rng = case
    columns, values = rng.integers(0, n_outputs, len(design)), rng.normal(size=len(design))
    expected = np.zeros((len(design), whole.shape[1], n_outputs))
    expected[np.arange(len(design)), :, columns] = values[:, None] * whole
    found = design.outer_rows(columns, n_outputs, values)
    assert_allclose(found.toarray(), expected.reshape(len(design), -1), **TOLERANCES)


@settings(max_examples=60)
@given(case=designs(), data=st.data())
def test_rows_taken(case, data):
    design, whole, rng = case
    n = len(design)
    rows = data.draw(st.sampled_from([slice(None), slice(n // 2, n), slice(0, 0), rng.integers(0, n, 2 * n)]))
    part = design.take(rows)
    assert len(part) == len(whole[rows])
    assert part.n_columns == design.n_columns == whole.shape[1]
    assert_array_equal(part.times(np.eye(whole.shape[1])), whole[rows])


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
        with pytest.raises(DataError, match=f"example 2, feature 'b': found {bad}, expected a finite number"):
            Design.check(form(matrix), ["a", "b", "c"], True)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.empty((0, 1)), "found no examples"),
        (sp.csr_array((0, 1)), "found no examples"),
        (np.ones((2, 2)), "found 2 features, expected 1"),
        (sp.csr_array((2, 0)), "found 0 features, expected 1"),
        (np.ones(3), r"found inputs of shape \(3,\), expected a row an example"),
        (np.ones((1, 1, 1)), r"found inputs of shape \(1, 1, 1\)"),
    ],
)
def test_shapes_that_are_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        Design.check(matrix, ["x"], True)
