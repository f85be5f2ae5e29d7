"""Runs of cells against whole rows in NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.testing import assert_allclose, assert_array_equal

from structune.kernels.jit import kernel
from structune.kernels.vectors import all_lanes, cells, fresh, lanes_for, load, splat, store, total, width


@kernel
def combine(a, b, factor, lanes, out):
    """out = (a + b) * a * factor, row by row; the sum of all of it."""
    n = a.shape[1]
    c_a, c_b, c_out, result = cells(a), cells(b), cells(out), a.dtype.type(0.0)
    for t in range(a.shape[0]):
        for step in range(0, n, width(lanes)):
            k = t * n + min(step, n - width(lanes))
            run = load(c_a, k, lanes)
            run = (run + load(c_b, k, lanes)) * run * splat(factor, lanes)
            store(c_out, k, run)
            result += total(fresh(run, n - step))
    return result


@kernel
def exponentials(a, lanes, out):
    c_a, c_out = cells(a), cells(out)
    for k in range(0, a.size, width(lanes)):
        store(c_out, k, np.exp(load(c_a, k, lanes)))


@kernel
def add_by_cell(a, out):
    c_a, c_out = cells(a), cells(out)
    for k in range(a.size):
        c_out[k] = c_out[k] + c_a[k]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 17])
def test_runs_do_what_rows_do(n, dtype):
    check_runs(n, dtype, lanes_for(dtype, n))
    if n >= all_lanes(dtype).width:
        check_runs(n, dtype, all_lanes(dtype))


def check_runs(n, dtype, lanes):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, 3, n)).astype(dtype)
    if dtype is np.complex128:
        a += 1j * rng.normal(size=a.shape)
    out = np.full((3, n), np.nan, dtype)
    found = combine(a, b, dtype(0.5), lanes, out)
    expected = (a + b) * a * 0.5
    assert_allclose(out, expected, rtol=1e-14)
    assert_allclose(found, expected.sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_exponentials(n):
    rng = np.random.default_rng(0)
    odd = [0.0, -0.0, 1.0, 1e-300, -1e-17, np.log(2) / 2, -np.log(2) / 2, -708.0]
    x = np.concatenate((rng.uniform(-708, 700, 20_000), rng.normal(size=20_000), odd))
    found = np.empty_like(x)
    exponentials(x, lanes_for(float, n), found)
    assert np.all(np.abs(found - np.exp(x)) <= 2 * np.spacing(np.exp(x)))
    x = np.array([-np.inf, -1e300, -750.0, np.nan, -np.inf, -1e300, -750.0, np.nan])
    found = np.empty_like(x)
    exponentials(x, lanes_for(float, n), found)
    assert_array_equal(found, [0.0, 0.0, 0.0, np.nan] * 2)


def test_runs_are_as_wide_as_rows_allow():
    assert [lanes_for(np.float64, n).width for n in (0, 1, 2, 3, 4, 7, 8, 100)] == [1, 1, 2, 2, 4, 4, 8, 8]
    assert lanes_for(np.complex128, 100).width == 1


def test_cells_are_read_and_written():
    a, out = np.arange(6.0).reshape(2, 3), np.ones(6)
    add_by_cell(a, out)
    assert_array_equal(out, np.arange(6.0) + 1)


def test_only_doubles_come_in_runs():
    a = np.ones((1, 8), np.float32)
    with pytest.raises(TypingError, match="expected doubles"):
        combine(a, a, 1.0, lanes_for(np.float64, 8), a)
    with pytest.raises(TypingError, match="C-contiguous"):
        add_by_cell(np.ones((4, 2))[:, 0], np.ones(4))


def test_bounds_are_checked_when_numba_is_asked_to():
    program = """
import numpy as np
from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, lanes_for, load, total

@kernel
def read(a, at, lanes):
    return total(load(cells(a), at, lanes))

for at in (-1, 3):
    try: read(np.ones(6), at, lanes_for(float, 4))
    except IndexError: print("refused")
"""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "STRUCTUNE_CACHE": "off"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.stdout == "refused\n" * 2, run.stderr
