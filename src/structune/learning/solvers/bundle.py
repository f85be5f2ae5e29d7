"""Bundle methods: minimize a convex risk that has kinks, plus a Gaussian prior, by cutting planes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import piqp
import scipy

from structune.errors import DataError
from structune.learning.risk import Ray, Risk
from structune.learning.solvers.solution import Objective, Solution
from structune.running.blas import one_thread
from structune.running.checkpoints import Restored, State
from structune.running.monitor import STOPS, Kept, Monitor, stop_status
from structune.structure import FloatArray, IntArray, Structure

GAP = 1e-3  # of the objective
_PART = 0.03  # and of the fall from the objective at the center, which a strong prior makes small,
_FINEST = 0.01  # but not below this times the gap asked for
_THETA = 0.1  # of the way from the best point to the minimum of the planes: where the next plane touches
_THETA_NEAR = 0.05  # the same, where the best point is near the minimum from the start on
_MOST_POWER = 24.0  # of two, on a ray
_SHARE = 0.3  # of the gap: what the estimate may leave before the next pass
_LEAST_TRUST = 0.1
_ROUNDING = 1e-6  # of the objective: what a bound may lie above it
_LEAST_SCALE = 1e-6  # of the objective at the start
_LONGEST, _BISECTIONS = 2.0, 14
_MOST_INNER = 1000
_IDLE = 1e-9  # dual weight
_CELLS, _LEAST, _MOST = 1 << 25, 10, 60  # doubles that the planes may take, and how many they may be
_MOST_STEPS = 30  # of the quadratic programme: later ones gain nothing
_NEWS = 1e-9  # of a maximum: what an output must add to be kept
_PRECISION = 1e-14  # of the scaled problem: what counts may be small beside the diagonal of the Gram matrix


class Point(NamedTuple):
    """Weights, the objective there, and a subgradient of it without the prior."""

    w: FloatArray
    objective: float
    gradient: FloatArray


class Bundle:
    """The planes and the outputs that a minimisation leaves behind, for another of the same loss."""

    kept: Kept | None = None

    def __init__(
        self,
        risk: Risk,
        precision: FloatArray,
        center: FloatArray | None = None,
        *,
        keep_outputs: bool | None = None,
        most_planes: int | None = None,
    ) -> None:
        keep = risk.structure.decoding_is_costly if keep_outputs is None else keep_outputs
        self.planes, self._risk = CuttingPlanes(precision, center, most_planes), risk
        self.seen = SeenOutputs(risk) if keep and hasattr(risk.loss, "planes") else None

    def resume(self, monitor: Monitor) -> Restored | None:
        """The state of an earlier run, once, whose planes and outputs are those of this one from now on."""
        if self.kept is not None or monitor.checkpoint is None:
            return None
        self.kept = monitor.kept_fit(self.planes.precision, self.planes.center, self._risk.at_zero.name)
        state = self.kept.state
        # planes lie below the risk whatever precision or linear part comes next, so that none is lost
        if state is not None:
            self.planes.restore(state)
            if self.seen is not None:
                self.seen.restore(state)
        return state

    def keep(self, w: FloatArray, n: int) -> None:
        """Let a checkpoint have planes, outputs, the best point and the number of passes."""
        if self.kept is not None:
            seen = self.seen.state if self.seen is not None else dict
            self.kept.keep(lambda: {**self.planes.state(), **seen(), "w": w, "n": n})


def minimize_bundle(
    risk: Risk,
    precision: FloatArray,
    start: FloatArray | None = None,
    *,
    ray: Ray | None = None,
    bundle: Bundle | None = None,
    tolerance: float = GAP,
    max_iterations: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    """Minimize risk(w) + 1/2 sum_i precision_i (w_i - center_i)^2 by cutting planes.

    The method is that of Teo et al. 2010, with the bounded bundle and the estimated risk of Gornitz et al.
    2011, algorithm 1. If decoding is costly, outputs are kept, and most steps use only the outputs seen so
    far. New planes touch near the best point so far, because the minimum of the planes may lie far away.

    Parameters
    ----------
    risk : Risk
        Convex risk to minimize.
    precision : ndarray, shape (n_weights,)
        Precision of the prior of each weight, positive.
    start : ndarray, shape (n_weights,), optional
        Initial weights; the center by default.
    ray : Ray, optional
        Instead of `start`: weights of which some multiple is near the minimum.
    bundle : Bundle, optional
        Bundle of an earlier minimization of the same loss, with any linear part and precision; it contains
        the center.
    tolerance : float
        The method ends when the gap between the objective and its lower bound is at most this times the
        objective, and at most 3 % of what the objective can fall below its value at the center (or a
        hundredth of the former). If rounding puts the bound above the objective, for example with huge
        features, the status is "stalled".
    max_iterations : int
        Maximum number of passes over the data.
    monitor : Monitor, optional
        Keeps the time limit. After the limit or Ctrl-C, the best weights so far are returned.

    Raises
    ------
    DataError
        The risk is not convex, or not finite at the start.
    """
    # J(w) = R(w) + 1/2 (w - m)' C (w - m). Each pass gives a plane a . w + b <= R(w), so the minimum of prior
    # plus the highest plane is a lower bound of J, and the lowest J so far an upper one: their gap ends it.
    if not risk.convex:
        raise DataError(f"the {risk.loss.name} loss is not convex, and a bundle method needs a convex loss")
    bundle, monitor = bundle or Bundle(risk, precision), monitor or Monitor()
    w, n, state = bundle.planes.center if start is None else start, 0, bundle.resume(monitor)
    if state is not None:
        w, n = state.array("w", risk.n_weights), state.count("n")
    search = _Search(risk, bundle, tolerance, monitor, n)
    with one_thread():
        bundle.planes.change(risk.linear, precision)
        return search.run(w, None if len(bundle.planes) else ray, max_iterations)


class _Search:
    """The best point, the lower bound, and the way from one pass to the next."""

    def __init__(self, risk: Risk, bundle: Bundle, tolerance: float, monitor: Monitor, n: int) -> None:
        self.risk, self.planes, self.seen, self.bundle = risk, bundle.planes, bundle.seen, bundle
        self.function: Objective = risk.nonlinear if self.seen is None else self.seen.decode
        self.tolerance, self.monitor = tolerance, monitor
        self.best, self.status = Point(np.empty(0), np.inf, np.empty(0)), ""
        self.least = 0.0  # scale of a gap, should the minimum be zero
        self.lower, self.trust, self.theta, self.n = -np.inf, 1.0, _THETA, n  # n counts passes

    def run(self, w: FloatArray, ray: Ray | None, max_iterations: int) -> Solution:
        try:
            if ray is not None:
                self._look_along(ray)
            else:
                self._evaluate(w)
            while self.n < max_iterations and not self.status:
                aim = self._next_point()
                # no bound lies above the minimum, unless its quadratic programme has lost all digits
                if self._gap < -_ROUNDING * abs(self.best.objective):  # data are huge beside the precision
                    self.status, self.lower = "stalled", -np.inf
                elif self._gap <= self._target_gap:
                    self.status = "converged"
                else:
                    self._evaluate(aim)
        except STOPS as stop:
            if self.best.objective == np.inf:
                raise
            self.status = stop_status(stop)
        best, status = self.best, self.status or "iterations"
        gradient = best.gradient + self.planes.pull(best.w)
        return Solution(best.w, best.objective, gradient, self.n, status, self.lower)

    @property
    def _gap(self) -> float:
        return self.best.objective - self.lower

    @property
    def _target_gap(self) -> float:
        # a strong prior makes the fall from the center small beside the objective: then the fall decides
        enough = self.tolerance * max(abs(self.best.objective), self.least)
        fall = self.planes.at_center - self.best.objective
        return min(enough, max(_PART * fall, _FINEST * enough))

    def _point(self, function: Objective, w: FloatArray, keep: bool = True) -> Point:
        """Evaluate, and keep the plane."""
        value, gradient = function(w)
        if keep:
            self.planes.add(w, value, gradient)
        # the function without its linear part, which may be another in the next round
        # (`CuttingPlanes.change`)
        objective = value + float(self.planes.linear @ w) + self.planes.prior(w)
        return Point(w, objective, gradient + self.planes.linear)

    def _look_along(self, ray: Ray) -> None:
        """Zero, and powers of two times the ray's weights, until two have the minimum on it between them."""

        def at(t: float) -> Point:
            return self._evaluate(t * ray.w, lambda _: ray.at(self.risk, t))

        at(0.0)
        # J(t w) is convex in t, so its slope J'(t) = (grad J) . w changes its sign once; t = 2^power
        self.theta, low, high, power = _THETA_NEAR, -np.inf, np.inf, 0.0
        while high - low > 1.0 and abs(power) <= _MOST_POWER:
            point = at(2.0**power)
            if (point.gradient + self.planes.pull(point.w)) @ ray.w < 0.0:
                low, power = power, power + 2.0
            else:
                high, power = power, power - 2.0
            if np.isfinite(high - low):
                power = np.floor(0.5 * (low + high))

    def _evaluate(self, w: FloatArray, function: Objective | None = None) -> Point:
        """A pass over the data at `w`, or a function that knows what that gives."""
        point = self._point(function or self.function, w)
        self.n += 1
        if self.best.objective == np.inf and not np.isfinite(
            point.objective + np.linalg.norm(point.gradient)
        ):
            raise DataError("the loss or its gradient is not finite: scale the features and outputs")
        self.least = self.least or _LEAST_SCALE * abs(point.objective)
        # the estimate of the outputs seen is trusted the less, the more often it led to nothing lower
        if point.objective < self.best.objective:
            self.best, self.trust = point, min(1.0, 2.0 * self.trust)
        else:
            self.trust = max(_LEAST_TRUST, 0.5 * self.trust)
        self.monitor.show("bundle", evaluation=self.n, objective=self.best.objective, lower_bound=self.lower)
        if function is None:  # those that a ray knows come anew
            self.bundle.keep(self.best.w, self.n)
        self.monitor.check()
        return point

    def _minimum_of_planes(self) -> FloatArray:
        aim, bound = self.planes.minimum()
        self.lower = max(self.lower, bound)  # rounding may lower it
        return aim

    def _next_point(self) -> FloatArray:
        if self.seen is None:
            # the minimum of few planes may lie far away, where a plane says little of the way between
            aim = self._minimum_of_planes()
            return self.best.w + self.theta * (aim - self.best.w)
        # no better than a share of the gap: the next pass over the data changes the estimate
        gap = self._gap if np.isfinite(self.lower) else abs(self.best.objective)
        aim = self._minimize_estimate(self.seen, max(_SHARE * gap, _SHARE * self._target_gap))
        return self.best.w + self.trust * (aim - self.best.w)

    def _minimize_estimate(self, seen: SeenOutputs, enough: float) -> FloatArray:
        """Where the objective of the outputs seen has its minimum, up to a gap of `enough`."""
        # the same planes: those of the estimate lie below it, and so below the risk
        point = self._point(seen.estimate, self.best.w)
        for _ in range(_MOST_INNER):
            aim = self._minimum_of_planes()
            if point.objective - self.lower <= enough:
                break
            # eta of algorithm 1: along w* - w_k the estimate is searched, and the next plane touches a little
            # (theta) beyond, toward w*
            turn = point.w + self._line_minimum(seen, point.w, aim - point.w) * (aim - point.w)
            there = self._point(seen.estimate, turn, keep=False)
            ahead = self._point(seen.estimate, turn + _THETA * (aim - turn))
            point = min(point, there, ahead, key=lambda p: p.objective)
            self.monitor.check()
        return point.w

    def _line_minimum(self, seen: SeenOutputs, w: FloatArray, step: FloatArray) -> float:
        """The t >= 0 that minimises the estimated objective at ``w + t step``, by bisection of its slope."""
        # d/dt [L^(w + t s) + linear . s t + 1/2 (w + t s - m)' C (w + t s - m)] rises with t: all is convex
        line, rise = seen.along(w, step), float(self.planes.precision * step @ step)
        slope = float((self.planes.linear + self.planes.pull(w)) @ step)
        low, high = 0.0, _LONGEST
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if line(middle)[1] + slope + rise * middle <= 0.0:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)


# --- planes -----------------------------------------------------------------------------------------------


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

    The prior is 1/2 (w - center)' C (w - center) with a positive `precision` C; `most` planes are kept at a
    time, by default what fits in a quarter of a gigabyte, 10 to 60. `at_center` is a lower bound of the sum
    of both functions at the center: the highest plane there.
    """

    def __init__(
        self, precision: FloatArray, center: FloatArray | None = None, most: int | None = None
    ) -> None:
        n = precision.size
        _check(precision)
        most = most or int(np.clip(_CELLS // max(n, 1), _LEAST, _MOST))
        if most < 2:
            raise DataError(f"most={most}: expected at least 2 planes")
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

    def pull(self, w: FloatArray) -> FloatArray:
        """The gradient of the prior."""
        return self.precision * (w - self.center)

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
        """What `restore` takes; the rows have the linear function in them."""
        return {"rows": self._rows[: self._n], "offsets": self._offsets[: self._n], "linear": self.linear}

    def restore(self, state: Restored) -> None:
        """Take over what `state` gave; `change` has to follow."""
        offsets, size = state.array("offsets", None), self.center.size
        n = self._n = min(len(offsets), len(self._rows))
        if not n:
            raise state.refuse("found no planes, expected at least one")
        self._rows[:n] = state.array("rows", len(offsets), size)[:n]
        self._offsets[:n], self.linear = offsets[:n], state.array("linear", size)

    def _append(self, row: FloatArray, offset: float) -> None:
        k = self._n
        self._rows[k], self._offsets[k], self._n = row, offset, k + 1
        self._gram[k, : k + 1] = self._gram[: k + 1, k] = self._rows[: k + 1] @ (row / self.precision)

    def _make_room(self) -> None:
        """Let a plane that does not count go, or put the aggregate in the place of the oldest two."""
        # a plane without weight in the dual does not hold the minimum; of planes that all do, the aggregate
        # alpha' A w + alpha' b alone has the same minimum, so two may go for it and one more may come, and
        # the lower bound never falls (Do & Artieres 2009; Gornitz et al. 2011, section 2.3)
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
        """Forget a plane; those after it move up."""
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
    """Refuse a precision that is not positive everywhere."""
    if not np.all(precision > 0):
        raise DataError("a bundle method needs a positive precision for every weight")


# --- outputs ----------------------------------------------------------------------------------------------


class SeenOutputs:
    """The nonlinear part of a maximum loss, and an estimate from below that needs no decoding.

    The sets Gamma_i of Gornitz et al. 2011, algorithm 1: for every example the outputs that attained its
    maximum somewhere, as planes ``row . w + offset`` relative to its own output.
    """

    def __init__(self, risk: Risk) -> None:
        self._risk, self._loss = risk, risk.loss
        self.weights = np.concatenate([shard.weights for shard in risk.shards])
        self._own_there = risk.keep(_own_rows)  # features of the examples' own outputs
        own = risk.executor.map(copy, self._own_there)  # the rows themselves
        self._own = scipy.sparse.csr_array(scipy.sparse.vstack(list(own), format="csr"))
        linear = self._loss.own_score_is_linear
        # what the function has beside the maxima: features of the examples' own outputs, or nothing
        self.linear = self._own.T @ self.weights if linear else np.zeros(risk.n_weights)
        self.rows: Any = scipy.sparse.csr_array((0, risk.n_weights))
        self.offsets, self.example = np.zeros(0), np.zeros(0, np.int64)  # of which example, rising
        self._starts = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return self.offsets.size

    def decode(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Value and subgradient of the function, by a pass over the data; keeps the outputs that are new."""
        # Where a shard is decoded, an output is new if its value exceeds the maximum of its example over
        # those seen, L^_i(w) < L_i(w); only such planes travel back.
        seen, scores = self._maxima(self.rows @ w + self.offsets), self._own @ w
        bounds = np.cumsum([0, *map(len, self._risk.shards)])[1:-1]
        self._risk.count_passes()
        known = (np.split(values, bounds) for values in (seen, scores))
        news = self._risk.map(_new_planes, self._own_there, *known, shared=(self._loss, w))
        rows, offsets, examples = zip(*news, strict=True)
        self._keep(rows, offsets, [k + a for k, a in zip(examples, (0, *bounds), strict=True)])
        return self.estimate(w)

    def _keep(self, rows: Any, offsets: Any, examples: Any) -> None:
        """Add planes, by shard, to those seen."""
        # sorted by example, so that maxima of each are those of runs
        example = np.concatenate((self.example, *examples))
        order = np.argsort(example, kind="stable")
        stacked: Any = scipy.sparse.vstack([self.rows, *rows], format="csr")
        kept = stacked[order], np.concatenate((self.offsets, *offsets))[order], example[order]
        self.rows, self.offsets, self.example = kept  # at once: Ctrl-C may have a checkpoint written between
        self._starts = np.flatnonzero(np.diff(self.example, prepend=-1))

    def state(self) -> State:
        """The outputs seen so far."""
        rows = self.rows
        parts = {"offsets": self.offsets, "values": rows.data, "columns": rows.indices}
        parts |= {"sizes": np.diff(rows.indptr), "example": self.example}
        return {f"seen {name}": found.astype(np.float64) for name, found in parts.items()}

    def restore(self, state: Restored) -> None:
        """Take over what `state` gave."""
        offsets, values = state.array("seen offsets", None), state.array("seen values", None)
        columns = state.whole("seen columns", self.linear.size, len(values))
        ends = np.append(0, np.cumsum(state.whole("seen sizes", self.linear.size + 1, len(offsets))))
        example = state.whole("seen example", self.weights.size, len(offsets))
        steps = np.diff(example, prepend=-1, append=self.weights.size)
        if ends[-1] != len(values) or np.any((steps < 0) | (steps > 1)):
            raise state.refuse("found outputs that are not of all examples in their order")
        self.rows = scipy.sparse.csr_array((values, columns, ends), (len(offsets), self.linear.size))
        self.offsets, self.example = offsets, example
        self._starts = np.flatnonzero(np.diff(example, prepend=-1))

    def _maxima(self, values: FloatArray) -> FloatArray:
        """The largest value of each example; -inf where nothing has been seen."""
        out = np.full(self.weights.size, -np.inf)
        if values.size:
            out[self.example[self._starts]] = np.maximum.reduceat(values, self._starts)
        return out

    def _attained(self, values: FloatArray) -> tuple[float, FloatArray, IntArray]:
        """The function for these values of the planes; its slopes, and the planes that have them."""
        maxima = self._maxima(values)
        # the chain rule: outer'(max) times the features of one plane that attains it is a subgradient
        hits = np.flatnonzero(values >= maxima[self.example])
        hits = hits[np.flatnonzero(np.diff(self.example[hits], prepend=-1))]  # one an example
        value, slope = self._loss.outer_value(maxima)
        return float(self.weights @ value), self.weights * slope, hits

    def estimate(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Value and subgradient of the estimate."""
        value, slopes, hits = self._attained(self.rows @ w + self.offsets)
        weights = np.zeros(len(self))
        weights[hits] = slopes
        return value + float(self.linear @ w), self.rows.T @ weights + self.linear

    def along(self, w: FloatArray, step: FloatArray) -> Callable[[float], tuple[float, float]]:
        """The estimate and its slope at ``w + t step``, as a function of t."""
        # the planes at w + t step are start + t rise: two products with the rows, for any number of t
        start, rise = self.rows @ w + self.offsets, self.rows @ step
        base, incline = float(self.linear @ w), float(self.linear @ step)

        def at(t: float) -> tuple[float, float]:
            value, slopes, hits = self._attained(start + t * rise)
            return value + base + t * incline, float(slopes @ rise[hits]) + incline

        return at


# --- of one shard, wherever that is -----------------------------------------------------------------------


def _own_rows(shard: Any, structure: Structure) -> scipy.sparse.csr_array:
    return structure.feature_rows(shard)


def _new_planes(
    shard: Any,
    own: scipy.sparse.csr_array,
    seen: FloatArray,
    scores: FloatArray,
    structure: Structure,
    loss: Any,
    w: FloatArray,
) -> tuple[scipy.sparse.csr_array, FloatArray, IntArray]:
    """Planes and examples of the outputs that exceed what has been seen of their example."""
    found = loss.violations(structure, shard, w)
    value = found.value - scores if loss.own_score_is_linear else found.value
    # relative to its size: values of the same output at two w differ by rounding
    new = np.flatnonzero(value > seen + _NEWS * np.maximum(1.0, np.abs(value)))
    rows, offsets = loss.planes(structure, shard, found, own)
    return rows[new], offsets[new], new
