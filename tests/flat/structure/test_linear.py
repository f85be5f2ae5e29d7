"""Linear models against their definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import CapabilityError, DataError
from structune.flat.structure.linear import Linear
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk

TOLERANCES = {"rtol": 1e-10, "atol": 1e-12}


@st.composite
def linear_problems(draw):
    """A structure and a shard, with the matrix, outputs and weights that they stand for, and a point."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, bias = draw(st.integers(1, 6)), draw(st.integers(0, 4)), draw(st.booleans())
    x, y = rng.normal(size=(n, p)), 3.0 * rng.normal(size=n)
    x[rng.random((n, p)) < 0.3] = 0.0
    weights = rng.uniform(0.0, 2.0, n) if draw(st.booleans()) else np.ones(n)
    form = draw(st.sampled_from([np.ascontiguousarray, np.asfortranarray, sp.csr_array]))
    structure = Linear([f"x={k}" for k in range(p)], bias)
    shard = structure.encode(form(x), y, weights)
    whole = np.hstack([x, np.ones((n, 1))]) if bias else x
    return structure, shard, whole, y, weights, rng.normal(size=p + bias)


@settings(max_examples=60)
@given(problem=linear_problems())
def test_squared_errors_and_their_slope(problem):
    structure, shard, x, y, weights, w = problem
    before = np.cos(np.arange(w.size))
    gradient = before.copy()
    assert_allclose(structure.squared_error(w, shard, gradient), (y - x @ w) ** 2, **TOLERANCES)
    assert_allclose(gradient - before, x.T @ (weights * (x @ w - y)), **TOLERANCES)
    assert_array_equal(structure.squared_error(w, shard), structure.squared_error(w, shard, np.zeros_like(w)))
    v, step = np.sin(1.0 + np.arange(w.size)), 1e-5
    ahead, behind = (0.5 * weights @ structure.squared_error(w + s * v, shard) for s in (step, -step))
    assert_allclose((gradient - before) @ v, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)


@settings(max_examples=40)
@given(problem=linear_problems())
def test_complex_step(problem):
    structure, shard, x, y, weights, w = problem
    v, step = np.sin(1.0 + np.arange(w.size)), 1e-20
    gradient = np.zeros(w.size, complex)
    errors = structure.squared_error(w + 1j * step * v, shard, gradient)
    assert_allclose(errors.imag / step, 2 * (x @ w - y) * (x @ v), **TOLERANCES)
    assert_allclose(gradient.imag / step, x.T @ (weights * (x @ v)), **TOLERANCES)
    assert_allclose(gradient.real, x.T @ (weights * (x @ w - y)), **TOLERANCES)


@settings(max_examples=40)
@given(problem=linear_problems())
def test_second_derivatives(problem):
    structure, shard, x, _, weights, w = problem
    hessian = x.T @ (weights[:, None] * x)
    found = structure.hessian(w, shard)
    assert_allclose(found, hessian.reshape(found.shape), **TOLERANCES)
    assert found.shape == (w.size, w.size)
    product = structure.linearize(w, shard)
    for v in (w, np.zeros_like(w), np.sin(np.arange(w.size))):
        assert_allclose(product(v), hessian @ v, **TOLERANCES)
    assert_allclose(structure.variance(w, shard), np.diag(hessian), **TOLERANCES)


@settings(max_examples=40)
@given(problem=linear_problems())
def test_features_and_scores(problem):
    structure, shard, x, y, weights, w = problem
    others = y[::-1] - 1.0
    for outputs, values in ((None, y), (others, others)):
        rows = values[:, None] * x
        assert_allclose(structure.feature_rows(shard, outputs).toarray(), rows, **TOLERANCES)
        assert_allclose(structure.score(w, shard, outputs), rows @ w, **TOLERANCES)
        for given_weights in (None, weights + 1.0):
            out = np.ones(w.size)
            structure.features(shard, out, given_weights, outputs)
            expected = (weights if given_weights is None else given_weights) @ rows
            assert_allclose(out - 1.0, expected, **TOLERANCES)
    best, score = structure.best(w, shard)
    assert_allclose(best, x @ w, **TOLERANCES)
    assert_array_equal(best, score)


def test_names_and_groups():
    structure = Linear(["size=1", "size=2", "colour"])
    assert structure.weight_names() == ["size=1", "size=2", "colour", "(bias)"]
    assert structure.groups().names == ("size", "colour", "bias")
    assert structure.groups().sizes.tolist() == [2, 1, 1]
    assert Linear(["x"], bias=False).weight_names() == ["x"]
    assert Linear([], bias=True).n_weights == 1


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([1.0], r"the outputs must have the shape \(2,\), not \(1,\)"),
        ([[1.0], [2.0]], r"the outputs must have the shape"),
        ([1.0, np.nan], "example 1: the output nan is not a finite number"),
        ([np.inf, np.nan], "example 0: the output inf"),
    ],
)
def test_outputs_that_are_refused(outputs, message):
    with pytest.raises(DataError, match=message):
        Linear(["x"]).encode([[1.0], [2.0]], outputs)


def test_unknown_outputs():
    structure = Linear(["x"])
    shard, w = structure.encode([[1.0]]), np.zeros(2)
    assert structure.best(w, shard)[0].tolist() == [0.0]
    for question in (
        lambda: structure.squared_error(w, shard),
        lambda: structure.score(w, shard),
        lambda: structure.features(shard, w),
    ):
        with pytest.raises(DataError, match="the shard has no outputs"):
            question()


def test_what_it_cannot_answer():
    structure = Linear(["x"])
    shard, w = structure.encode([[1.0]], [1.0]), np.zeros(2)
    for ability, question in {
        "log_partition": lambda: structure.log_partition(w, shard),
        "cost": lambda: structure.best(w, shard, np.ones(1)),
        "within": lambda: structure.linearize(w, shard, within=True),
    }.items():
        with pytest.raises(CapabilityError, match=f"'linear' does not support '{ability}'"):
            question()
    with pytest.raises(CapabilityError, match="LogLoss needs 'log_partition'"):
        Risk.over(structure, LogLoss(), shard)
