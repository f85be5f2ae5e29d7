"""How a held-out loss changes with the log precisions, near a point and far from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import Bounds, minimize

from structune.structure import FloatArray, Groups

FARTHEST = 3.0  # that a log precision may be moved
GRID = np.linspace(-FARTHEST, FARTHEST, 13)


def positive_part(matrix: FloatArray) -> FloatArray:
    """The symmetric matrix without its negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True)
class Response:
    """A model of the change of a held-out loss: ``sum_j l_j(s_j) + 1/2 t(s)' G t(s)`` of a step s.

    Attributes
    ----------
    linear : ndarray, shape (n_hyperparameters, n_grid)
        l_j on `GRID`: the first-order change.
    length : ndarray, shape (n_hyperparameters, n_grid)
        t_j on `GRID`: how far the weights go, where a small step takes them as far as it is long.
    coupling : ndarray, shape (n_hyperparameters, n_hyperparameters) or (n_hyperparameters,)
        G, with no curvature below zero; or its diagonal.
    """

    linear: FloatArray
    length: FloatArray
    coupling: FloatArray

    def change(self, step: FloatArray, rest: FloatArray | float = 0.0) -> tuple[float, FloatArray]:
        """Of the held-out loss by a step, and its gradient there; `rest` as for `lowest`."""
        return self._value_and_gradient(rest)(step)

    def lowest(
        self, low: FloatArray, high: FloatArray, rest: FloatArray | float = 0.0
    ) -> tuple[FloatArray, float]:
        """The step between `low` <= 0 and `high` >= 0 where the model is lowest, and how far it falls.

        Parameters
        ----------
        rest : ndarray, shape (n_hyperparameters, n_hyperparameters)
            Curvature that the model has not.
        """
        found = minimize(
            self._value_and_gradient(rest),
            np.zeros(low.size),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": 200, "ftol": 1e-10, "gtol": 0.0},
        )
        return np.clip(found.x, low, high), max(0.0, -float(found.fun))

    @property
    def curvature(self) -> FloatArray:
        """The Hessian at a step of zero, of a `coupling` that is a matrix."""
        linear, length = self._curves
        zero = np.zeros(len(self.linear))
        speed = length.at(zero)[1]
        return speed[:, None] * self.coupling * speed + np.diag(linear.bend(zero))

    @cached_property
    def _curves(self) -> tuple[_Curves, _Curves]:
        """Of both, for every model of the same point."""
        return _Curves(self.linear), _Curves(self.length)

    def _value_and_gradient(
        self, rest: FloatArray | float
    ) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        linear, length = self._curves

        def model(step: FloatArray) -> tuple[float, FloatArray]:
            (first, slope), (way, speed) = linear.at(step), length.at(step)
            pull = self.coupling @ way if self.coupling.ndim == 2 else self.coupling * way
            more = np.dot(rest, step)
            return float(first.sum() + 0.5 * (way @ pull + step @ more)), slope + speed * pull + more

        return model


class _Curves:
    """Splines, each at a point of its own."""

    def __init__(self, rows: FloatArray) -> None:
        self._pieces = CubicSpline(GRID, rows.T).c

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and slopes."""
        (a, b, c, d), x = self._pieces_at(points)
        return ((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c

    def bend(self, points: FloatArray) -> FloatArray:
        """Second derivatives."""
        (a, b, _, _), x = self._pieces_at(points)
        return np.asarray(6.0 * a * x + 2.0 * b)

    def _pieces_at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cubics, the highest power first, and where on them the points lie."""
        k = np.clip(np.searchsorted(GRID, points, "right") - 1, 0, GRID.size - 2)
        return self._pieces[:, k, np.arange(points.size)], points - GRID[k]


def of_precisions(
    groups: Groups,
    precision: FloatArray,
    hessian: FloatArray,
    away: FloatArray,
    slope: FloatArray,
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The curves of log precisions, if the Hessian on the training part is diagonal.

    A weight that is `away` from the mean of its prior is then b / (c + h) away, and goes with c.

    Parameters
    ----------
    precision, hessian : ndarray, shape (n_weights,)
        c and h.
    slope : ndarray, shape (n_weights,)
        Of the held-out loss, by which the weight goes.
    weight : ndarray, shape (n_weights,)
        The diagonal of the Hessian on the held-out part.
    """
    total = precision + hessian
    unit = groups.sum(weight * (precision * away / total) ** 2)
    linear, length = np.empty((2, len(groups), GRID.size))
    for k, s in enumerate(GRID):
        moves = -away * precision * np.expm1(s) / (precision * np.exp(s) + hessian)
        linear[:, k] = groups.sum(slope * moves)
        square = groups.sum(weight * moves * moves)
        length[:, k] = np.sign(s) * np.sqrt(
            np.divide(square, unit, out=np.full_like(unit, s * s), where=unit > 0)
        )
    return linear, length
