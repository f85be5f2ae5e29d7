"""Softmax over classes, and its derivative."""

import numpy as np

from structune.kernels.exponentials import to_exponentials
from structune.kernels.jit import kernel


@kernel
def softmax(scores, log_z, lanes):
    """Turn each row of scores into probabilities; ``log_z`` gets the log of the row's sum of exponentials."""
    # log sum exp(s) = m + log sum exp(s - m) with the largest score m: no exponential overflows, and the sum
    # is at least 1. Scores may be complex, for complex steps; the shift is by a real part, so the imaginary
    # parts, which carry the derivative, stay as they are.
    for i in range(scores.shape[0]):
        row = scores[i]
        high = -np.inf
        for y in range(row.size):
            high = max(high, row[y].real)
        for y in range(row.size):
            row[y] -= high
        log_z[i] = high
    to_exponentials(scores, scores.size, lanes)
    for i in range(scores.shape[0]):
        row = scores[i]
        total = row[0] * 0.0  # of the type of the scores, real or complex
        for y in range(row.size):
            total += row[y]
        share = 1.0 / total
        for y in range(row.size):
            row[y] *= share
        log_z[i] += np.log(total)


@kernel
def tangent(p, weights, scores):
    """scores[i] <- weight * (diag(p) - p p') scores[i]."""
    # The derivative of the softmax along v is p_y (v_y - sum_z p_z v_z): diag(p) - p p' is never formed.
    for i in range(p.shape[0]):
        row, q = scores[i], p[i]
        mean = 0.0
        for y in range(row.size):
            mean += q[y] * row[y]
        for y in range(row.size):
            row[y] = weights[i] * q[y] * (row[y] - mean)
