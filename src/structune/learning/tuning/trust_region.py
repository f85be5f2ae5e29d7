"""A quadratic model of a held-out loss in the hyperparameters, and where it is lowest in a box."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy.optimize import Bounds, minimize

from structune.structure import FloatArray

_MOST_MOVES = 20
_DAMPED = 0.2  # of the curvature that is expected: the least that a move may tell
_LEAST = 1e-4, 1e-3  # of the largest entry of the diagonal, of the gradient: so that steps are bounded


class TrustModel:
    """Slope and curvature at a point: a diagonal, and what BFGS makes of the last moves.

    Parameters
    ----------
    gradient, diagonal : ndarray, shape (n_hyperparameters,)
    moves : sequence of (step, change of the gradient)
    """

    def __init__(
        self,
        gradient: FloatArray,
        diagonal: FloatArray,
        moves: deque[tuple[FloatArray, FloatArray]],
    ) -> None:
        self.gradient = gradient
        least = (np.max(np.abs(v), initial=0.0) for v in (diagonal, gradient))
        self.diagonal = np.maximum(diagonal, np.dot(_LEAST, list(least)) + 1e-100)
        self._terms: list[tuple[FloatArray, FloatArray]] = []
        for step, change in moves:
            expected = self.times(step)
            inner, told = float(step @ expected), float(step @ change)
            if told < _DAMPED * inner:  # Powell's damping: no curvature below zero
                share = (1.0 - _DAMPED) * inner / (inner - told)
                change = share * change + (1.0 - share) * expected
                told = _DAMPED * inner
            self._terms.append((change / np.sqrt(told), expected / np.sqrt(inner)))

    def times(self, step: FloatArray) -> FloatArray:
        """The Hessian of the model times a step."""
        product: FloatArray = self.diagonal * step
        for more, less in self._terms:
            product = product + (more @ step) * more - (less @ step) * less
        return product

    def lowest(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, float]:
        """The step between `low` <= 0 and `high` >= 0 where the model is lowest, and how far it falls."""
        scale = self.diagonal**-0.5

        def model(v: FloatArray) -> tuple[float, FloatArray]:
            step = scale * v
            product = self.times(step)
            return float(self.gradient @ step + 0.5 * step @ product), scale * (self.gradient + product)

        found = minimize(
            model,
            np.zeros(scale.size),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low / scale, high / scale),
            options={"maxiter": 200, "ftol": 1e-10, "gtol": 0.0},
        )
        return np.clip(scale * found.x, low, high), max(0.0, -float(found.fun))


def no_moves() -> deque[tuple[FloatArray, FloatArray]]:
    """Where the last moves are kept."""
    return deque(maxlen=_MOST_MOVES)
