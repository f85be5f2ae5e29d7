"""The outputs that a loss has met so far, and the loss if there were no others."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import scipy

from structune.learning.risk import Risk
from structune.running.checkpoints import Restored, State
from structune.structure import FloatArray, IntArray, Structure

_NEWS = 1e-9  # of a maximum: what an output must add to be kept


class SeenOutputs:
    """The nonlinear part of a maximum loss, and an estimate from below that needs no decoding.

    The sets Gamma_i of Gornitz et al. 2011, algorithm 1: for every example the outputs that attained its
    maximum somewhere, as planes ``row . w + offset`` relative to its own output. `example` says whose they
    are, rising; `linear` is what the function has beside the maxima: the features of the examples' own
    outputs, or zero.
    """

    def __init__(self, risk: Risk) -> None:
        self._risk, self._loss = risk, risk.loss
        self.weights = np.concatenate([shard.weights for shard in risk.shards])
        self._own_there = risk.keep(_own_rows)  # features of the examples' own outputs
        own = risk.executor.map(copy, self._own_there)  # the rows themselves
        self._own = scipy.sparse.csr_array(scipy.sparse.vstack(list(own), format="csr"))
        linear = self._loss.own_score_is_linear
        self.linear = self._own.T @ self.weights if linear else np.zeros(risk.n_weights)
        self.rows: Any = scipy.sparse.csr_array((0, risk.n_weights))
        self.offsets, self.example = np.zeros(0), np.zeros(0, np.int64)
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
