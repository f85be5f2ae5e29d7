"""Sums and products of potentials, or maxima and sums of scores.

The same recursion serves for both (semirings: Goodman, Computational Linguistics 25:573, 1999).

``scores`` is None for potentials and True for scores. It is known when kernels are compiled: the other branch
is not there.
"""

import numpy as np

from structune.kernels.jit import part_of_bare_kernel
from structune.kernels.vectors import larger


@part_of_bare_kernel
def both(a, b, scores):
    if scores is None:
        return a * b
    return a + b


@part_of_bare_kernel
def either(a, b, scores):
    if scores is None:
        return a + b
    return max(a, b)


@part_of_bare_kernel
def either_run(a, b, scores):
    if scores is None:
        return a + b
    return larger(a, b)


@part_of_bare_kernel
def impossible(like, scores):
    """Zero or its logarithm, of the type of a potential."""
    if scores is None:
        return like * 0.0
    return -np.inf


@part_of_bare_kernel
def certain(like, scores):
    """One or its logarithm, likewise."""
    if scores is None:
        return like * 0.0 + 1.0
    return 0.0
