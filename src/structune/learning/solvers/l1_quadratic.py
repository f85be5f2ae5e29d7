"""The minimum of a quadratic plus a weighted sum of absolute values."""

from __future__ import annotations

import numpy as np

from structune.learning.solvers.quadratics import Quadratic
from structune.structure import FloatArray

_MOST_STEPS, _MOST_HALVINGS = 50, 40


def least_subgradient(gradient: FloatArray, w: FloatArray, l1: FloatArray) -> FloatArray:
    """Of all subgradients of ``f(w) + l1 @ |w|`` that of least norm; 0 at a minimum.

    Parameters
    ----------
    gradient : ndarray, shape (n,)
        Of f at `w`.
    w, l1 : ndarray, shape (n,)
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.asarray(np.where(w != 0.0, gradient + l1 * np.sign(w), at_zero))


def minimize_l1_quadratic(
    quadratic: Quadratic, gradient: FloatArray, w: FloatArray, l1: FloatArray, tolerance: float
) -> FloatArray:
    """Go from `w` toward the minimum over z of ``g @ (z - w) + 1/2 (z - w)' B (z - w) + l1 @ |z|``.

    Each step ends at the minimum of the orthant that z is in, or that its zeros are drawn to, but what would
    leave the orthant stays at zero; zeros that would be drawn out of it are left where they are (as in the
    feature-sign search of Lee et al. 2006, with many zeros at a time). Every step falls. Ends when the norm
    of the least subgradient is at most `tolerance`.
    """
    z, slope, value = w, gradient, 0.0
    before = float(l1 @ np.abs(w))
    for _ in range(_MOST_STEPS):
        pull = least_subgradient(slope, z, l1)
        if float(np.linalg.norm(pull)) <= tolerance:
            break
        orthant = np.where(z != 0.0, np.sign(z), -np.sign(pull))
        step = _step(quadratic, z, slope + l1 * orthant, orthant)
        for halvings in range(_MOST_HALVINGS):
            end = z + 0.5**halvings * step
            end[end * orthant < 0.0] = 0.0
            image = quadratic.product(end - w)
            reached = float((gradient + 0.5 * image) @ (end - w) + l1 @ np.abs(end)) - before
            if reached < value:
                break
        else:
            break
        z, slope, value = end, gradient + image, reached
    return z


def _step(quadratic: Quadratic, z: FloatArray, slope: FloatArray, orthant: FloatArray) -> FloatArray:
    """To the minimum in an orthant, of all weights but of zeros that it would draw out of it."""
    free = np.flatnonzero(orthant)
    while True:
        step = np.zeros_like(z)
        step[free] = quadratic.solve(free, -slope[free])
        inward = (z[free] != 0.0) | (step[free] * orthant[free] >= 0.0)  # never all zeros are drawn out
        if inward.all():
            return step
        free = free[inward]
