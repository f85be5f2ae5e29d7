"""The empirical risk: a loss summed over shards of examples, with its derivatives; and parallel fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from operator import call
from threading import get_ident
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.learning.losses import Loss
from structune.running.checkpoints import digest
from structune.running.executors import Executor, ThreadExecutor
from structune.structure import COMPLEX_STEP, FloatArray, HessianProduct, Structure, split_evenly

HESSIAN_METHODS = ("auto", "exact", "dense", "complex-step", "finite-difference")
_WORK_PER_SHARD = 8192  # parts of a chain
_MIN_SHARDS, _MAX_SHARDS = 4, 16
# measured: a fit takes about ten times as many gradients as Newton steps
_GRADIENTS_PER_HESSIAN, _MOST_DENSE = 10, 4000
_MATRIX_SPEED, _VECTOR_SPEED, _OVERHEAD = 1e10, 5e9, 1.5e-4  # flops a second; seconds an evaluation


class Ray:
    """Multiples of weights `w`, at which a risk is asked once for all fits of a loss of several minima."""

    # bounds of one risk differ in their linear part alone: the nonlinear part is asked once
    def __init__(self, w: FloatArray) -> None:
        self.w = w
        self._points: dict[float, tuple[float, FloatArray]] = {}
        self._tangent: FloatArray | None = None

    def at(self, bound: Risk, t: float) -> tuple[float, FloatArray]:
        """Value and gradient of the nonlinear part of the risk's convex bound, at t times the weights."""
        if t not in self._points:
            self._points[t] = bound.nonlinear(t * self.w)
        return self._points[t]

    def tangent(self, risk: Risk) -> FloatArray:
        """A subgradient of the convex function that the risk subtracts."""
        if self._tangent is None:
            self._tangent = risk.concave(self.w)[1]
        return self._tangent


def cut_shard(structure: Structure, shard: Any) -> list[Any]:
    """One large shard as the shards that are good for threads; it depends on the data alone."""
    # each shard costs a gradient to clear and add: few where gradients outweigh the data
    most = max(_MIN_SHARDS, min(_MAX_SHARDS, shard.nbytes // (8 * max(1, structure.n_weights))))
    # how many does not depend on the threads: sums run over shards in their order, and no bit may change
    work = shard.work()
    n_shards = int(np.clip(work.sum() // _WORK_PER_SHARD, 1, most))
    pieces = split_evenly(work, 1 << (n_shards.bit_length() - 1))  # powers of two share out evenly
    return [shard] if len(pieces) <= 1 else [shard.take(piece) for piece in pieces]


class AtZero:
    """A risk at w = 0: `value`, `gradient_norm`, `variance`, and a `name`, which tells data apart."""

    def __init__(self, risk: Risk) -> None:
        self._risk, self._w = risk, np.zeros(risk.n_weights)
        self.value, gradient = risk.value_and_gradient(self._w)
        self.name, self.gradient_norm = digest(gradient), float(np.linalg.norm(gradient))
        if not np.isfinite(self.value + self.gradient_norm):
            raise DataError("the loss or its gradient is not finite at w = 0: scale the features and outputs")

    @cached_property
    def variance(self) -> FloatArray:
        return self._risk.variance(self._w)


class Risk:
    """Empirical risk: a loss summed over shards, in a fixed order.

    Values do not depend on the number of threads.

    Parameters
    ----------
    structure : Structure
        Structure of the outputs.
    loss : Loss
        Loss of an example.
    shards : sequence of Shard
        Encoded examples.
    executor : Executor, optional
        Executor that computes the sums; one thread by default.
    hessian : {"auto", "exact", "dense", "complex-step", "finite-difference"}
        Method for products with the Hessian. "exact": the method `linearize` of the loss. "complex-step" and
        "finite-difference": from gradients. "dense": solvers use the Hessian as a matrix instead. "auto":
        "dense" if that is faster, otherwise "exact".
    origin : ndarray, shape (n_weights,), optional
        Vector that is added to all weights passed to the risk, so that a prior pulls towards it. Needs a
        smooth loss.

    Attributes
    ----------
    linear : ndarray, shape (n_weights,)
        Vector c of the loss, which is a nonlinear function of w plus c . w.
    passes : float
        Number of passes over the data so far. Each value, gradient or Hessian product is one pass. A Hessian
        matrix counts as many passes as it has times the multiplications of a gradient.
    is_partly_known, dense : bool
        Whether some outputs are only partially known, and whether solvers use the Hessian as a matrix.
    """

    beginning: Ray | None = None  # of the convex-concave procedure, if not the minimum of the margin loss

    def __init__(
        self,
        structure: Structure,
        loss: Loss,
        shards: Sequence[Any],
        executor: Executor | None = None,
        hessian: str = "exact",
        origin: FloatArray | None = None,
    ) -> None:
        if origin is not None and not loss.smooth:
            raise DataError(f"an origin needs a smooth loss, and the {loss.name} loss is not smooth")
        if not shards:
            raise DataError("there are no shards. Give at least one.")
        structure.require(loss.needs, type(loss).__name__)
        self.structure, self.shards, self.hessian = structure, list(shards), hessian
        self.loss: Any = loss
        self.origin = origin
        self._place(executor or ThreadExecutor(1))
        self.n_weights, self.quadratic = structure.n_weights, loss.quadratic
        self.smooth, self.convex = loss.smooth, loss.convex
        self.is_partly_known = any(shard.is_partly_known for shard in self.shards)
        self.dense = self._takes_matrix(hessian)
        self._constant_hessian: FloatArray | None = None
        self.n_parts = sum(shard.n_parts for shard in self.shards)
        self.weight = float(sum(shard.weights.sum() for shard in self.shards))
        self.weighted_parts = float(sum(shard.weights @ shard.sizes() for shard in self.shards))
        self._passes: dict[int, float] = {}  # of each thread; shared with the bounds of this risk
        self.linear = self._sum(_linear, self.loss)

    @classmethod
    def over(cls, structure: Structure, loss: Loss, shard: Any, *rest: Any, **options: Any) -> Risk:
        """Return the risk on one large shard, cut by `cut_shard`; other arguments are those of `Risk`."""
        return cls(structure, loss, cut_shard(structure, shard), *rest, **options)

    def _place(self, executor: Executor) -> None:
        self.executor = executor
        self._placed = executor.place(self.shards)
        (self._structure,) = executor.place([self.structure])

    @property
    def passes(self) -> float:
        return sum(list(self._passes.values()))  # a copy: threads may be added

    @property
    def passes_here(self) -> float:
        """Number of passes counted by this thread; other threads may work on the same risk."""
        return self._passes.get(get_ident(), 0.0)

    def counts_with(self, other: Risk) -> bool:
        """Return whether this risk and another one count passes together, as copies of a risk do."""
        return self._passes is other._passes

    def count_passes(self, spent: float = 1.0) -> None:
        """Add passes over the data (thread-safe)."""
        self._passes[get_ident()] = self.passes_here + spent

    def map(self, function: Callable[..., Any], *columns: Sequence[Any], shared: Sequence[Any] = ()) -> Any:
        """Call ``function(shard, *items, structure, *shared)`` for each shard.

        Results are in the order of the shards. `items` has one item of each of `columns`, which have one item
        per shard.
        """
        return self.executor.map(function, self._placed, *columns, shared=(self._structure, *shared))

    def keep(self, function: Callable[..., Any], *shared: Any) -> Sequence[Any]:
        """Call ``function(shard, structure, *shared)`` for each shard; results stay where the shards are."""
        return self.executor.keep(function, self._placed, shared=(self._structure, *shared))

    def _sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        return self.executor.sum(function, self._placed, shared=(self._structure, *shared))

    def _moved(self, w: Any) -> Any:
        return w if self.origin is None else w + self.origin

    def value(self, w: FloatArray) -> float:
        """Return the summed loss at `w`."""
        self.count_passes()
        w = self._moved(w)
        return float(self._sum(_of_loss, self.loss, "nonlinear", w, None) + self._linear_value(w))

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the summed loss at `w` and its gradient, shape (n_weights,)."""
        # loss = nonlinear(w) + linear . w: the linear part, the features of known outputs, was summed once
        value, gradient = self.nonlinear(w)
        gradient += self.linear
        return float(value + self._linear_value(self._moved(w))), gradient

    def _linear_value(self, w: FloatArray) -> float:
        # not `@`: the threads of BLAS would go on spinning, and take the cores from those of the executor
        return float(np.einsum("i,i", self.linear, w))

    def nonlinear(self, w: Any) -> tuple[Any, Any]:
        """Return value and gradient of the loss without its linear part."""
        return self._sums(self.loss.nonlinear, self._moved(w))

    def _sums(self, function: Callable[..., Any], w: Any) -> tuple[Any, Any]:
        self.count_passes()
        value, gradient = self._sum(_value_and_gradient, function, w)
        return value, gradient

    def around(self, center: FloatArray) -> Risk:
        """Return the risk as a function of ``w - center``, so that a prior mean at `center` moves to zero."""
        # risk(w + center) + 1/2 w' C w with w = v - center is risk(v) + 1/2 (v - center)' C (v - center)
        return self._like(origin=self._moved(center))

    def beginning_at(self, w: FloatArray) -> Risk:
        """Return the same risk with initial weights for the convex-concave procedure."""
        return self._like(beginning=Ray(w))

    def with_hessian(self, method: str) -> Risk:
        """Return the same risk with another method for products with the Hessian."""
        return self._like(hessian=method, dense=self._takes_matrix(method))

    def _like(self, **attributes: Any) -> Risk:
        """A copy with other attributes; passes are counted together."""
        other = copy(self)  # which shares the dict of passes
        other.__dict__.pop("at_zero", None)
        other.__dict__.update(attributes)
        return other

    def on(self, executor: Executor) -> Risk:
        """Return the same risk with its shards on another executor."""
        other = self._like()
        other._place(executor)
        return other

    # --- losses that are maxima ---------------------------------------------------------------------------

    def under(self, loss: Loss, linear: FloatArray | None = None) -> Risk:
        """Return the risk of another loss, or with another linear part, on the same data."""
        self.structure.require(loss.needs, type(loss).__name__)
        other = self._like(loss=loss, convex=loss.convex, smooth=loss.smooth)
        other.linear = other._sum(_linear, loss) if linear is None else linear
        return other

    def bound(self, slope: FloatArray | None = None) -> Risk:
        """Return a convex upper bound of a risk that is a difference of convex functions.

        With `slope`, a subgradient of `concave`, the subtracted function is replaced by its tangent (Yuille &
        Rangarajan 2003). By default, the bound is the margin loss.
        """
        return self.under(self.loss.bound, None if slope is None else -slope)

    def concave(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and a subgradient of h at `w`, where the loss is g - h with convex g and h."""
        return self._sums(self.loss.concave, w)

    def heldout_loss(self, w: FloatArray) -> float:
        """Return the loss at `w`, or, for margin and ramp losses, the cost of the predictions.

        Tuning compares penalties by this number, on risks over held-out examples.
        """
        return self.value(w) if self.smooth else self.task_cost(w)

    def task_cost(self, w: FloatArray) -> float:
        """Return the weighted sum of the costs of the best outputs."""
        self.structure.require(frozenset({"best", "cost"}), "the cost of predictions")
        self.count_passes()
        return float(self._sum(_task_cost, self._moved(w)))

    # --- second derivatives -------------------------------------------------------------------------------

    def linearize(self, w: FloatArray) -> HessianProduct:
        """Return the function v -> H v with the Hessian H at `w`, by the risk's `hessian` method."""
        if self.hessian == "complex-step":
            self.structure.require(frozenset({"complex"}), "a complex-step Hessian product")
            # H v = Im grad(w + i r v) / r + O(r^2): no difference, so no digits cancel (Do, Foo & Ng 2007)
            return lambda v: self.nonlinear(w + 1j * COMPLEX_STEP * v)[1].imag / COMPLEX_STEP
        if self.hessian == "finite-difference":
            return partial(self._central_difference, w)
        self.structure.require(frozenset({"hessian"}), "an exact Hessian product")
        w = self._moved(w)
        # what a product needs of w alone (sums of a forward and a backward pass) is kept where the shard is
        products = self.keep(_of_loss, self.loss, "linearize", w)
        self.count_passes()

        def product(v: FloatArray) -> FloatArray:
            self.count_passes()
            return np.asarray(self.executor.sum(call, products, shared=(v,)))

        return product

    def hessian_matrix(self, w: FloatArray) -> FloatArray:
        """Return the Hessian at `w`, shape (n_weights, n_weights); do not modify it."""
        if self._constant_hessian is not None:
            return self._constant_hessian
        self.structure.require(frozenset({"dense_hessian"}), "a dense Hessian")
        w = self._moved(w)
        self.count_passes(self._flops("hessian_flops") / max(1.0, self._flops("gradient_flops")))
        matrix = np.asarray(self._sum(_of_loss, self.loss, "hessian", w))
        if self.quadratic:  # X' X, whatever w
            self._constant_hessian = matrix
        return matrix

    def _flops(self, what: str) -> float:
        return float(sum(getattr(shard, what) for shard in self.shards))

    def _takes_matrix(self, hessian: str) -> bool:
        """Whether it is asked for, or Newton's method with a factored Hessian takes less time."""
        if hessian not in HESSIAN_METHODS:
            raise DataError(f"hessian={hessian!r}: expected one of {HESSIAN_METHODS}")
        known, few = self.structure.capabilities, self.structure.n_weights <= _MOST_DENSE
        if hessian != "auto" or "dense_hessian" not in known or not few:
            return hessian == "dense"
        return self.seconds_of_factor <= _GRADIENTS_PER_HESSIAN * self.seconds_of_gradient

    @property
    def seconds_of_factor(self) -> float:
        """Estimated time for a Hessian matrix and its Cholesky factor, in seconds."""
        # a Cholesky factor takes n^3 / 3 multiplications and additions
        return (self._flops("hessian_flops") + self.structure.n_weights**3 / 3) / _MATRIX_SPEED

    @property
    def seconds_of_gradient(self) -> float:
        """Estimated time for a gradient or a Hessian product, in seconds."""
        return self._flops("gradient_flops") / _VECTOR_SPEED + _OVERHEAD

    def _central_difference(self, w: FloatArray, v: FloatArray) -> FloatArray:
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return np.zeros_like(v)
        # (g(w + h v) - g(w - h v)) / 2h: the error of truncation grows as h^2 and that of rounding as eps /
        # h, so that they balance at the cube root of the machine precision
        step = np.finfo(float).eps ** (1 / 3) * max(1.0, float(np.linalg.norm(w))) / norm
        difference = self.nonlinear(w + step * v)[1] - self.nonlinear(w - step * v)[1]
        return np.asarray(difference / (2 * step))

    @cached_property
    def at_zero(self) -> AtZero:
        """The risk at w = 0, which solvers use as a reference."""
        return AtZero(self)

    def variance(self, w: FloatArray) -> FloatArray:
        """Return a positive approximation of the diagonal of the Hessian at `w`, shape (n_weights,)."""
        self.count_passes()
        return np.asarray(self._sum(_of_loss, self.loss, "variance", self._moved(w)))


# --- independent fits -------------------------------------------------------------------------------------


class SideBySide:
    """Runs functions that fit and judge on risks, whole fits side by side, or the shards of one at a time.

    Each tuple of `risks` is what one call works on, and `n_fits` calls come at a time.
    """

    def __init__(self, executor: Executor, risks: Sequence[tuple[Risk, ...]], n_fits: int) -> None:
        self._risks = risks
        self._runner: Executor = ThreadExecutor(1)
        if executor.runs_whole(n_fits):
            self._runner = executor
            risks = [tuple(risk.on(ThreadExecutor(1)) for risk in tuple_) for tuple_ in risks]
        self._groups = [_Group(tuple_) for tuple_ in risks]  # kept: Dask forgets what nobody has
        self._placed = [self._runner.place([group])[0] for group in self._groups]

    def map(
        self,
        function: Callable[..., Any],
        which: Sequence[int],
        *columns: Sequence[Any],
        shared: Sequence[Any],
    ) -> Iterator[Any]:
        """Results of ``function(risks[k], *items, *shared)`` for each k in `which`, in order."""
        placed = [self._placed[k] for k in which]
        results = self._runner.map(_counted, placed, *columns, shared=(*shared, function))
        # copies of risks on other machines count passes there: they are told, and added here
        for k, (result, spent) in zip(which, results, strict=True):
            if not isinstance(self._runner, ThreadExecutor):
                for risk, passes in zip(self._risks[k], spent, strict=True):
                    risk.count_passes(passes)
            yield result


@dataclass(eq=False)
class _Group:
    """Risks that travel together."""

    risks: tuple[Risk, ...]


def _counted(group: _Group, *arguments: Any) -> tuple[Any, list[float]]:
    """A function's result, and the passes that it took over each risk."""
    *others, function = arguments
    before = [risk.passes_here for risk in group.risks]  # a worker may have threads that share the risks
    result = function(group.risks, *others)
    return result, [risk.passes_here - n for risk, n in zip(group.risks, before, strict=True)]


# --- of one shard, wherever that is -----------------------------------------------------------------------


def _linear(shard: Any, structure: Structure, loss: Loss) -> FloatArray:
    found = loss.linear(structure, shard)
    return np.zeros(structure.n_weights) if found is None else found


def _value_and_gradient(
    shard: Any, structure: Structure, function: Callable[..., Any], w: Any
) -> tuple[Any, Any]:
    gradient = np.zeros_like(w)
    return function(structure, shard, w, gradient), gradient


def _task_cost(shard: Any, structure: Structure, w: FloatArray) -> float:
    return float(shard.weights @ structure.cost(shard, structure.best(w, shard)[0]))


def _of_loss(shard: Any, structure: Structure, loss: Loss, question: str, *arguments: Any) -> Any:
    return getattr(loss, question)(structure, shard, *arguments)
