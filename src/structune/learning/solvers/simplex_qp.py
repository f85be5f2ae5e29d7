"""The small quadratic programme of bundle methods."""

from __future__ import annotations

import numpy as np
import piqp

from structune.structure import FloatArray

_MOST_STEPS = 30  # later ones gain nothing
_PRECISION = 1e-14  # of the scaled problem: what counts may be small beside the diagonal of the Gram matrix


def maximize_on_simplex(gram: FloatArray, slope: FloatArray) -> FloatArray:
    """The alpha >= 0 with sum 1 that maximises -1/2 alpha' K alpha + h' alpha, by an interior point (PIQP).

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        K, positive semidefinite.
    slope : ndarray, shape (n,)
        h.
    """
    n = slope.size
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
