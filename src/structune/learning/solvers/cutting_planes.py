"""Cutting planes of a convex risk, and where risk and prior together have their minimum if they were all."""

from __future__ import annotations

import numpy as np
import piqp

from structune.errors import DataError
from structune.running.checkpoints import Restored, State
from structune.structure import FloatArray

_IDLE = 1e-9  # dual weight
_CELLS, _LEAST, _MOST = 1 << 25, 10, 60  # doubles that the planes may take, and how many they may be
_MOST_STEPS = 30  # of the quadratic programme: later ones gain nothing
_PRECISION = 1e-14  # of the scaled problem: what counts may be small beside the diagonal of the Gram matrix


def maximize_on_simplex(gram: FloatArray, slope: FloatArray) -> FloatArray:
    """The alpha >= 0 with sum 1 that maximises -1/2 alpha' K alpha + h' alpha, by an interior point (PIQP).

    `gram` is K, positive semidefinite, and `slope` is h.
    """
    n = slope.size
    # in a scale in which the largest of both terms is about 1, and slopes begin at 0: rounding of large ones
    # hides what decides
    scale = max(float(np.trace(gram)) / n, float(np.ptp(slope)), 1e-300)
    solver = piqp.DenseSolver()
    for kind in ("abs", "rel", "duality_gap_abs", "duality_gap_rel"):
        setattr(solver.settings, f"eps_{kind}", _PRECISION)
    solver.settings.max_iter = _MOST_STEPS
    cost = (slope.max() - slope) / scale
    nothing = (None, None, None)
    solver.setup(gram / scale, cost, np.ones((1, n)), np.ones(1), *nothing, np.zeros(n), np.ones(n))
    solver.solve()
    alpha = np.maximum(solver.result.x, 0.0)
    return np.asarray(alpha / alpha.sum())


class CuttingPlanes:
    """A bounded set of planes ``a . w + b`` below a convex function, beside a prior and a linear function.

    One more plane than there is room for takes the place of one that does not count in the minimum, or else
    the oldest two are replaced by the aggregate: the combination of all planes by the dual solution, which
    alone has the same minimum (Do & Artieres 2009; Gornitz et al. 2011, section 2.3). So the lower bound
    never falls. The prior is 1/2 (w - center)' C (w - center) with a positive `precision` C; `most` planes
    are kept at a time, by default what fits in a quarter of a gigabyte, 10 to 60.

    Attributes
    ----------
    at_center : float
        The highest that a plane was at the center when the minimum was found, since the last change: a lower
        bound of the function with the linear one there.
    """

    def __init__(
        self, precision: FloatArray, center: FloatArray | None = None, most: int | None = None
    ) -> None:
        n = precision.size
        _check(precision)
        most = most or int(np.clip(_CELLS // max(n, 1), _LEAST, _MOST))
        if most < 2:
            raise DataError(f"most={most}: expected room for 2 planes at least")
        self.precision, self.center = precision, np.zeros(n) if center is None else center
        self.linear, self.at_center = np.zeros(n), -np.inf
        self._rows, self._offsets, self._n = np.zeros((most, n)), np.zeros(most), 0
        self._gram = np.zeros((most, most))
        self._alpha = np.zeros(0)

    def __len__(self) -> int:
        return self._n

    def prior(self, w: FloatArray) -> float:
        """1/2 (w - center)' C (w - center)."""
        away = w - self.center
        return 0.5 * float(np.einsum("i,i,i", self.precision, away, away))

    def change(self, linear: FloatArray, precision: FloatArray | None = None) -> None:
        """Another linear function beside the planes, or another prior; the planes stay."""
        self._rows[: self._n] += linear - self.linear
        self.linear, self._alpha, self.at_center = linear, np.zeros(0), -np.inf
        if precision is not None:
            _check(precision)
            self.precision = precision
        # K = A C^-1 A', all that the dual needs of the planes; it changes with C and with the linear function
        rows = self._rows[: self._n]
        self._gram[: self._n, : self._n] = (rows / self.precision) @ rows.T

    def add(self, w: FloatArray, value: float, gradient: FloatArray) -> None:
        """The plane that touches at `w`: value and subgradient of the function, without the linear one."""
        if self._n == self._offsets.size:
            self._make_room()
        self._append(gradient + self.linear, value - float(gradient @ w))

    def state(self) -> State:
        """The planes, and the linear function that they have in them."""
        return {"rows": self._rows[: self._n], "offsets": self._offsets[: self._n], "linear": self.linear}

    def restore(self, state: Restored) -> None:
        """Planes and linear function of an earlier run, as `state` gave them; `change` has to follow."""
        offsets, size = state.array("offsets", None), self.center.size
        n = self._n = min(len(offsets), len(self._rows))
        if not n:
            raise state.refuse("found no planes, expected one at least")
        self._rows[:n] = state.array("rows", len(offsets), size)[:n]
        self._offsets[:n], self.linear = offsets[:n], state.array("linear", size)

    def _append(self, row: FloatArray, offset: float) -> None:
        k = self._n
        self._rows[k], self._offsets[k], self._n = row, offset, k + 1
        self._gram[k, : k + 1] = self._gram[: k + 1, k] = self._rows[: k + 1] @ (row / self.precision)

    def _make_room(self) -> None:
        # a plane without weight in the dual does not hold the minimum; of planes that all do, the aggregate
        # alpha' A w + alpha' b alone has the same minimum, so two may go for it and one more may come
        if self._alpha.size < self._n:  # planes are new since the last minimum
            self.minimum()
        idle = int(np.argmin(self._alpha))
        if self._alpha[idle] <= _IDLE:
            self._drop(idle)
            return
        row, offset = self._alpha @ self._rows[: self._n], float(self._alpha @ self._offsets[: self._n])
        self._drop(0)
        self._drop(0)
        self._append(row, offset)

    def _drop(self, k: int) -> None:
        keep = np.delete(np.arange(self._n), k)
        self._n -= 1
        self._rows[: self._n], self._offsets[: self._n] = self._rows[keep], self._offsets[keep]
        self._gram[: self._n, : self._n] = self._gram[np.ix_(keep, keep)]
        self._alpha = np.delete(self._alpha, k)

    def minimum(self) -> tuple[FloatArray, float]:
        """Where prior and planes have their minimum, and a lower bound of it: the value of the dual."""
        # min over w of 1/2 (w - m)' C (w - m) + max_k (a_k . w + b_k) has the dual, over the simplex, max
        # -1/2 alpha' K alpha + (A m + b)' alpha, and w = m - C^-1 A' alpha (Gornitz et al. 2011, section
        # 2.3). Any alpha gives a lower bound, so rounding of the programme cannot make it wrong.
        rows, gram = self._rows[: self._n], self._gram[: self._n, : self._n]
        slope = rows @ self.center + self._offsets[: self._n]
        self.at_center = max(self.at_center, float(slope.max()))
        self._alpha = alpha = maximize_on_simplex(gram, slope)
        bound = float(slope @ alpha - 0.5 * alpha @ gram @ alpha)
        return self.center - (alpha @ rows) / self.precision, bound


def _check(precision: FloatArray) -> None:
    if not np.all(precision > 0):
        raise DataError("a bundle method needs a positive precision for every weight")
