"""Weights to begin with where a loss has several minima, and the loss along them."""

from __future__ import annotations

from typing import Any

from structune.structure import FloatArray


class Ray:
    """Multiples of some weights, at which a risk is asked once for all fits that begin there.

    Attributes
    ----------
    w : ndarray, shape (n_weights,)
        Their outputs are good ones; their scale does not matter.
    """

    def __init__(self, w: FloatArray) -> None:
        self.w = w
        self._points: dict[float, tuple[float, FloatArray]] = {}
        self._tangent: FloatArray | None = None

    def at(self, bound: Any, t: float) -> tuple[float, FloatArray]:
        """Value and gradient of the nonlinear part of the risk's convex bound, at t times the weights."""
        if t not in self._points:
            self._points[t] = bound.nonlinear(t * self.w)
        return self._points[t]

    def tangent(self, risk: Any) -> FloatArray:
        """A subgradient of the convex function that the risk subtracts."""
        if self._tangent is None:
            self._tangent = risk.concave(self.w)[1]
        return self._tangent
