"""What a quasi-Newton method has learned of the curvature, for one that goes on where it was cut short."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structune.structure import FloatArray

_LEAST_COSINE = 1e-10  # of a step and the change of the gradient along it


class Curvature:
    """Factor J of the inverse Hessian H = J J' that BFGS makes of steps and changes of the gradient.

    J is a product of a scale h and of one factor I + s r' for each step s, the last one leftmost (Brodlie,
    Gourlay & Greenstadt 1973). Along J v a quasi-Newton method begins with the Hessian I, and so with H.

    Parameters
    ----------
    steps, changes : iterables of ndarray, shape (n,)
        In the order in which they were taken; those without positive curvature are left out.
    """

    def __init__(self, steps: Iterable[FloatArray], changes: Iterable[FloatArray]) -> None:
        self._factors: list[tuple[FloatArray, FloatArray]] = []
        self._scale = 1.0
        pairs = [(s, y) for s, y in zip(steps, changes, strict=True) if is_curved(s, y)]
        if pairs:
            step, change = pairs[-1]
            self._scale = float(np.sqrt((step @ change) / (change @ change)))
        for step, change in pairs:
            curvature = float(step @ change)
            image = self._inverse(step)
            row = self._inverse_transposed(image) / (np.linalg.norm(image) * np.sqrt(curvature))
            self._factors.append((step, row - change / curvature))

    def times(self, v: FloatArray) -> FloatArray:
        """J v."""
        v = self._scale * v
        for step, row in self._factors:
            v = v + (row @ v) * step
        return v

    def transposed_times(self, g: FloatArray) -> FloatArray:
        """J' g."""
        for step, row in reversed(self._factors):
            g = g + (step @ g) * row
        return self._scale * g

    def _inverse(self, u: FloatArray) -> FloatArray:
        for step, row in reversed(self._factors):
            u = u - (row @ u) / (1.0 + row @ step) * step
        return u / self._scale

    def _inverse_transposed(self, v: FloatArray) -> FloatArray:
        v = v / self._scale
        for step, row in self._factors:
            v = v - (step @ v) / (1.0 + row @ step) * row
        return v


def is_curved(step: FloatArray, change: FloatArray) -> bool:
    """Whether a function curves upward along a step, by the change of its gradient."""
    least = _LEAST_COSINE * float(np.linalg.norm(step) * np.linalg.norm(change))
    return bool(float(step @ change) > least)
