"""Exponentials of many cells."""

import numpy as np

from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, load, store, width


@kernel
def to_exponentials(array, n, lanes):
    """The first `n` cells, in place."""
    c_array = cells(array)
    whole = n - n % width(lanes)
    for k in range(0, whole, width(lanes)):
        store(c_array, k, np.exp(load(c_array, k, lanes)))
    for k in range(whole, n):
        c_array[k] = np.exp(c_array[k])
