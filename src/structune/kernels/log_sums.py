"""Sums of numbers that are known by their logs."""

import numpy as np

from structune.kernels.jit import part_of_bare_kernel

_FAR = 40.0


@part_of_bare_kernel
def add_logs(a, b):
    """log(exp(a) + exp(b)), of complex numbers too."""
    high, low = (a, b) if a.real >= b.real else (b, a)
    if not low.real > high.real - _FAR:  # nothing, or too little to change a digit
        return high
    return high + np.log(1.0 + np.exp(low - high))
