"""Sums of numbers that are known by their logs."""

import numpy as np

from structune.kernels.jit import part_of_bare_kernel


@part_of_bare_kernel
def add_logs(a, b):
    """log(exp(a) + exp(b)), of complex numbers too."""
    high, low = (a, b) if a.real >= b.real else (b, a)
    if low.real == -np.inf:
        return high
    return high + np.log(1.0 + np.exp(low - high))
