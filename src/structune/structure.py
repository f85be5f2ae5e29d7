"""The interface between structures and the code that trains, tunes and predicts with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import CapabilityError, DataError

Array = NDArray[Any]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
HessianProduct = Callable[[FloatArray], FloatArray]
_MOST_NAMED = 20  # groups in a message: there may be one a weight
COMPLEX_STEP = 1e-20  # any so small that its square vanishes beside 1; no digits cancel


@dataclass(frozen=True)
class Groups:
    """Groups of weights; the weights of a group share a penalty.

    Attributes
    ----------
    index : ndarray of int64, shape (n_weights,)
        Group of each weight, from 0; -1 for a weight without a penalty.
    names : tuple of str, length n_groups
        Names of the groups.
    """

    index: IntArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> IntArray:
        """Number of weights in each group, shape (n_groups,)."""
        return np.bincount(self.index + 1, minlength=len(self) + 1)[1:]  # without those of no group

    def sum(self, per_weight: FloatArray) -> FloatArray:
        """Return the sum of `per_weight` over each group, shape (n_groups,)."""
        sums = np.bincount(self.index + 1, weights=per_weight, minlength=len(self) + 1)
        return sums[1:].astype(np.float64, copy=False)

    def spread(self, per_group: FloatArray) -> FloatArray:
        """Return for each weight the value of its group, shape (n_weights,), or 0 if it has no group."""
        return np.append(per_group, 0.0)[self.index]  # -1 takes the last, 0

    def numbers(self, what: str, given: Any, default: float) -> FloatArray:
        """Return a number for each group, shape (n_groups,).

        Parameters
        ----------
        what : str
            Name of the parameter, for error messages.
        given : float or mapping
            One number for all groups, or a dict from names of groups to numbers. The key None stands for all
            groups that are not named. So does the name of templates that tuning merged: "other (2 keys)".
        default : float
            Number for groups that `given` does not name.

        Returns
        -------
        ndarray
            Numbers of the groups; all are nan if `given` contains anything that is not a number.
        """
        found = [given] * len(self)
        if isinstance(given, Mapping):
            given = self.with_others(given)
            if unknown := sorted(set(given) - {*self.names, None}, key=str):
                known = f"{list(self.names[:_MOST_NAMED])}{' and others' * (len(self) > _MOST_NAMED)}"
                raise DataError(f"{what} names unknown groups of weights: {unknown}. The groups are {known}")
            found = [given.get(name, given.get(None, default)) for name in self.names]
        try:
            return np.array([float(number) for number in found])
        except (TypeError, ValueError):
            return np.full(len(self), np.nan)

    def with_others(self, given: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return `given` with the key None in place of the name of merged templates ("other (2 keys)")."""
        is_merged = {name: str(name).startswith(MERGED) and name not in self.names for name in given}
        if sum(is_merged.values()) + (None in given) > 1:
            several = [name for name in given if name is None or is_merged[name]]
            raise DataError(f"{several} all stand for the groups that are not named. Give only one of them")
        return {None if is_merged[name] else name: number for name, number in given.items()}

    @classmethod
    def single(cls, n_weights: int) -> Groups:
        """Put all weights into one group."""
        return cls(np.zeros(n_weights, dtype=np.int64), ("all",))

    @classmethod
    def separate(cls, names: list[str]) -> Groups:
        """Make one group per weight (automatic relevance determination)."""
        return cls(np.arange(len(names)), tuple(names))

    @classmethod
    def by_name(cls, names: list[str]) -> Groups:
        """Make one group per distinct name, in order of first appearance."""
        order = {name: j for j, name in enumerate(dict.fromkeys(names))}
        return cls(np.fromiter((order[name] for name in names), np.int64, len(names)), tuple(order))


@dataclass(frozen=True)
class Shard(ABC):
    """Immutable batch of encoded examples, stored in flat arrays.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_examples,)
        Weight of each example in sums over examples.
    """

    weights: FloatArray

    def __len__(self) -> int:
        return self.weights.size

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """Number of labeled parts, such as tokens, of all examples."""

    @abstractmethod
    def take(self, indices: Any) -> Self:
        """Return the examples at `indices`, in that order."""

    @abstractmethod
    def sizes(self) -> IntArray:
        """Return the number of parts of each example, shape (n_examples,)."""

    def work(self) -> IntArray:
        """Return the computing time of each example, shape (n_examples,), in units of a token of a chain."""
        return self.sizes()

    @property
    def is_partly_known(self) -> bool:
        """Whether some outputs are only partially known, so that the log loss is not convex."""
        return False

    def __reduce_ex__(self, protocol: Any) -> Any:
        # `reopen`, of a shard from files: where another process finds them
        return getattr(self, "reopen", None) or super().__reduce_ex__(protocol)

    def _chosen(self, indices: Any) -> IntArray:
        chosen: IntArray = np.arange(len(self))[indices]
        return chosen


class SequenceShard(Shard):
    """Shard whose examples are sequences of parts, such as tokens."""

    @property
    @abstractmethod
    def bounds(self) -> IntArray:
        """Bounds of examples, shape (n_examples + 1,); example s has parts ``bounds[s]:bounds[s + 1]``."""

    @property
    def n_parts(self) -> int:
        return int(self.bounds[-1])

    def sizes(self) -> IntArray:
        return np.diff(self.bounds)


_MEANINGS = {  # of capabilities whose names do not tell, for error messages
    "within": "sums over the outputs that agree with partial labels",
    "complex": "complex-step gradients",
    "dense_hessian": "the matrix of second derivatives",
    "hessian": "second derivatives",
    "rescaled": "losses with slack rescaling",
    "equivalent": "outputs with the same cost as the known ones",
}


def _meaning(ability: str) -> str:
    return f" ({_MEANINGS[ability]})" if ability in _MEANINGS else ""


class Structure(ABC):
    """Base class of structures: a space of outputs with scores ``w @ F(x, y)``, and exact inference.

    A structure is built from data once (its vocabulary) and is then immutable. All methods work on a whole
    shard, release the GIL in their kernels, and give bit-identical results on every thread. The attribute
    `capabilities` lists the optional abilities that a structure has:

    - ``log_partition``, ``best``, and ``hessian`` (products with the Hessian);
    - ``cost`` (costs of outputs, and `best` with costs), ``rescaled`` (`best_rescaled`) and ``equivalent``
      (`best_equivalent`), for margin and ramp losses;
    - ``within`` (partial labels), ``complex`` (complex-step gradients), ``dense_hessian`` (the Hessian as a
      matrix), ``squared_error`` (for outputs that are numbers).

    Structures may list further capabilities, such as ``n_best``.
    """

    capabilities: frozenset[str]
    name: str  # for error messages
    decoding_is_costly = False  # beside scores of outputs seen before: solvers then keep those

    # --- what every structure has -------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """Number of weights."""

    @abstractmethod
    def weight_names(self) -> list[str]:
        """Return a readable, unique name for every weight."""

    @abstractmethod
    def groups(self) -> Groups:
        """Return the natural groups of the weights for regularization."""

    @abstractmethod
    def encode(self, inputs: Any, outputs: Any = None, weights: Any = None) -> Any:
        """Check examples and encode them as a shard; errors say which example is wrong, and why."""

    def features(
        self, shard: Any, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        """Add the weighted sum of F(x, y) over the examples to `out`, shape (n_weights,).

        F is the feature vector, and y is `outputs`, or by default the shard's outputs. `weights` are those of
        the examples, by default the shard's.
        """
        out += self.feature_rows(shard, outputs).T @ (shard.weights if weights is None else weights)

    @abstractmethod
    def feature_rows(self, shard: Any, outputs: Any = None) -> scipy.sparse.csr_array:
        """Return F(x, y) of every example as a sparse row, shape (n_examples, n_weights).

        F is the feature vector, and y is `outputs`, or by default the shard's outputs.
        """

    def score(self, w: Array, shard: Any, outputs: Any = None) -> Array:
        """Return the score w . F(x, y) of every example, shape (n_examples,)."""
        return np.asarray(self.feature_rows(shard, outputs) @ w)

    def constants(self, shard: Any) -> FloatArray | float:
        """Return the part of the score of each known output that does not depend on the weights, or 0."""
        return 0.0

    def check_shard(self, shard: Any) -> None:
        """Raise `DataError` if labeled examples from a file are damaged; kernels do not check indices.

        The weights of the examples have already been checked.
        """
        raise self._cannot("files of shards")

    # --- decoding, and the cost of what is decoded --------------------------------------------------------

    def best(self, w: FloatArray, shard: Any, cost: FloatArray | None = None) -> tuple[Any, FloatArray]:
        """Return the highest-scoring output of each example, and the scores, shape (n_examples,).

        With `cost`, shape (n_examples,), decoding is loss-augmented: `cost` times the cost of an output is
        added to its score (capability ``cost``).
        """
        raise self._cannot("best")

    def cost(self, shard: Any, outputs: Any) -> FloatArray:
        """Return the cost of `outputs` relative to the shard's outputs, shape (n_examples,)."""
        raise self._cannot("cost")

    # --- sums over all outputs ----------------------------------------------------------------------------

    def log_partition(
        self,
        w: Array,
        shard: Any,
        expected: Array | None = None,
        weights: Array | None = None,
        within: bool = False,
    ) -> Array:
        """Return the log-partition function, the log of the sum of exp(score), shape (n_examples,).

        Parameters
        ----------
        w : ndarray, shape (n_weights,)
            Weights. Complex weights give the complex-step value and gradient (capability ``complex``).
        shard : Shard
            Encoded examples.
        expected : ndarray, shape (n_weights,), optional
            Array to which the weighted sum of the expected features is added.
        weights : ndarray, shape (n_examples,), optional
            Weights of the examples in `expected`; those of the shard by default.
        within : bool
            Whether to sum only over outputs that agree with the shard's partial labels (capability
            ``within``).
        """
        needed = "within" if within else "log_partition"
        if needed not in self.capabilities:
            raise self._cannot(needed)
        return self._log_partition(w, shard, expected, shard.weights if weights is None else weights, within)

    def _log_partition(self, w: Array, shard: Any, expected: Any, weights: FloatArray, within: bool) -> Array:
        """The same, for arguments that were checked."""
        raise NotImplementedError

    def _own_scores(
        self, w: Array, shard: Any, scores: Array, expected: Array | None, weights: FloatArray
    ) -> None:
        """Scores of the outputs of which all is known, for sums within labels, and their features' sum."""
        # one output agrees with whole labels: its score is the log-partition, and its features their own mean
        chosen = np.flatnonzero(shard.whole)
        part = shard.take(chosen)
        scores[chosen] = self.score(w, part)
        if expected is not None:
            expected += self.feature_rows(part).T @ weights[chosen]

    # --- second derivatives of these sums -----------------------------------------------------------------

    def linearize(self, w: FloatArray, shard: Any, within: bool = False) -> HessianProduct:
        """Return a function that multiplies a vector by the sum of the covariance matrices of F at `w`.

        Each example counts by its weight. This is the Hessian of the weighted sum of `log_partition`, and
        `within` is as there. Structures without a method of their own use the complex step, which is exact to
        rounding.
        """
        if not {"hessian", "complex"} <= self.capabilities:
            raise self._cannot("hessian")

        def product(v: FloatArray) -> FloatArray:
            # log Z is analytic: Im grad log Z(w + i r v) = r Cov[F] v + O(r^3). A direction of any size may
            # come, and its square is to vanish
            step = COMPLEX_STEP / (np.abs(v).max(initial=0.0) or 1.0)
            sums = np.zeros(self.n_weights, np.complex128)
            self.log_partition(w + 1j * step * v, shard, sums, within=within)
            return np.asarray(sums.imag / step)

        return product

    def variance(self, w: FloatArray, shard: Any) -> FloatArray:
        """Return the weighted sum over examples of each feature's variance, as if parts were independent.

        Parts are, for example, tokens. This is a cheap approximation of the diagonal of the Hessian, for
        scaling and preconditioning.
        """
        raise self._cannot("hessian")

    def hessian(self, w: FloatArray, shard: Any) -> FloatArray:
        """Return the weighted sum of the covariances of F, shape (n_weights, n_weights)."""
        raise self._cannot("dense_hessian")

    # --- for some losses only -----------------------------------------------------------------------------

    def best_rescaled(
        self, w: FloatArray, shard: Any, cost: FloatArray | None = None
    ) -> tuple[Any, FloatArray]:
        """Return the outputs with the largest rescaled violation, and the violations, shape (n_examples,).

        The violation is the maximum over y' of ``Delta(y, y') (f(x, y') - f(x, y) + cost)``, where Delta is
        computed by the method `cost`. It is at least 0, its value for y itself. The argument `cost`, shape
        (n_examples,), is a constant, by default 0. Capability ``rescaled``.
        """
        raise self._cannot("rescaled")

    def best_equivalent(self, w: FloatArray, shard: Any) -> tuple[Any, FloatArray]:
        """Return the highest-scoring outputs among those equivalent to the shard's outputs, and their scores.

        Outputs are equivalent if every other output has the same cost relative to each of them. Capability
        ``equivalent``.
        """
        raise self._cannot("equivalent")

    def guess(self) -> FloatArray:
        """Return useful initial weights for losses that are not convex, shape (n_weights,)."""
        return np.zeros(self.n_weights)

    def squared_error(self, w: Array, shard: Any, gradient: Array | None = None) -> Array:
        """Return (y - score)^2 of every example, shape (n_examples,), for outputs that are numbers.

        Half the gradient of the weighted sum is added to `gradient`, shape (n_weights,).
        """
        raise self._cannot("squared_error")

    # --- what a structure can do --------------------------------------------------------------------------

    def require(self, needs: frozenset[str], who: str) -> None:
        """Raise `CapabilityError` if the structure lacks a capability in `needs`."""
        for need in sorted(needs - self.capabilities):
            lacks = f"which the structure {self.name!r} does not support"
            raise CapabilityError(f"{who} needs {need!r}{_meaning(need)}, {lacks}")

    def _cannot(self, ability: str) -> CapabilityError:
        return CapabilityError(f"the structure {self.name!r} does not support {ability!r}{_meaning(ability)}")


def place_of(part: int, sizes: IntArray) -> tuple[int, int]:
    """Return the example of a part and its position there; `part` counts over all examples, all from 0."""
    ends = np.cumsum(sizes)
    example = int(np.searchsorted(ends, part, side="right"))
    return example, part - int(ends[example] - sizes[example])


MERGED = "other ("  # how the name of the group begins whose templates were merged for tuning


def template_of(name: str) -> str:
    """Return the template of a feature: its name up to the first ``=``, or else up to the first ``:``."""
    template, separator, _ = name.partition("=")
    return template if separator else name.partition(":")[0]


def offsets_of(sizes: IntArray) -> IntArray:
    """Return the start of each of these consecutive segments, and the end of the last one."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def segment_indices(offsets: IntArray, segments: Any) -> IntArray:
    """Return the positions ``offsets[s]:offsets[s + 1]`` of each given segment s >= 0, concatenated."""
    segments = np.asarray(segments, dtype=np.int64)
    # position k of the result lies in segment s at k - (where s begins in the result) + (where s begins)
    starts, sizes = offsets[segments], np.diff(offsets)[segments]
    return np.repeat(starts - offsets_of(sizes)[:-1], sizes) + np.arange(sizes.sum())


def take_segments(offsets: IntArray, segments: Any) -> tuple[IntArray, IntArray]:
    """Return offsets for the given segments alone, and the positions of the items in these segments."""
    return offsets_of(np.diff(offsets)[segments]), segment_indices(offsets, segments)


def split_evenly(sizes: IntArray, n_shards: int) -> list[slice]:
    """Return consecutive slices of examples, none empty, with about the same number of parts in each."""
    # each run ends with the example in which its share of the parts is reached
    n_shards = max(1, min(n_shards, sizes.size))
    ends = np.cumsum(sizes)
    targets = ends[-1] * np.arange(1, n_shards) / n_shards if sizes.size else np.empty(0)
    inner = np.minimum(np.searchsorted(ends, targets) + 1, sizes.size)
    cuts = [0, *inner.tolist(), sizes.size]
    return [slice(a, b) for a, b in pairwise(cuts) if a < b]


def check_offsets(offsets: Any, n_segments: int, n_items: int) -> None:
    """Raise `DataError` unless the offsets cut all items into consecutive segments, which may be empty."""
    sound = offsets.dtype == np.int64 and offsets.shape == (n_segments + 1,)
    if not sound or offsets[0] != 0 or offsets[-1] != n_items or np.any(offsets[1:] < offsets[:-1]):
        told = f"begin with 0, never decrease, and end with {n_items}"
        raise DataError(f"there must be {n_segments + 1} offsets, which {told}")


def _check_type(what: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if (array.dtype, array.shape) != (dtype, shape):
        found, expected = f"type {array.dtype} and shape {array.shape}", f"{np.dtype(dtype)} and {shape}"
        raise DataError(f"found {what} of {found}, expected {expected}")


def check_range(what: str, array: Any, dtype: Any, shape: tuple[int, ...], low: int, high: int) -> None:
    """Raise `DataError` unless an array has this type and shape, and all values are in ``low:high``."""
    _check_type(what, array, dtype, shape)
    values = array.view(np.uint8) if array.dtype == bool else array  # bytes of a file may be any
    if values.size and not (low <= values.min() and values.max() < high):
        raise DataError(f"found {what} from {values.min()} to {values.max()}, expected {low} to {high - 1}")


def check_finite(what: str, array: Any, shape: tuple[int, ...], most: float = np.inf) -> None:
    """Raise `DataError` unless an array has this shape and finite float64 numbers within ``+-most``."""
    _check_type(what, array, np.float64, shape)
    if not (np.isfinite(array) & (np.abs(array) <= most)).all():
        beyond = f", or not from {-most:g} to {most:g}" if most < np.inf else ""
        raise DataError(f"found {what} that are not finite{beyond}")


def as_weights(weights: Any) -> FloatArray:
    """Return weights as a float array of any shape; raise `DataError` if they are not numbers."""
    try:
        return np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"sample weights must be one number per example, not {weights!r:.60}") from None


def check_weights(weights: Any, n_examples: int) -> FloatArray:
    """Return the weights of the examples as a float array, by default ones, after checking them."""
    if weights is None:
        return np.ones(n_examples)
    array = as_weights(weights)
    if array.shape != (n_examples,):
        raise DataError(f"sample weights must have the shape ({n_examples},), not {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise DataError(f"example {bad[0]} has the weight {array[bad[0]]}, expected a finite number >= 0")
    return array
