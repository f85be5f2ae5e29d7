"""The outputs that a loss has met so far, and the loss if there were no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from structune.risk import Risk
from structune.structures.base import FloatArray, IntArray

_NEWS = 1e-9  # of a maximum: what an output must add to be kept


class SeenOutputs:
    """The nonlinear part of a maximum loss, and an estimate from below that needs no decoding.

    The sets Gamma_i of Gornitz et al. 2011, algorithm 1: for every example the outputs that attained its
    maximum somewhere, as planes ``row . w + offset`` relative to its own output.

    Attributes
    ----------
    rows : csr_array, shape (n_outputs, n_weights)
    offsets : ndarray, shape (n_outputs,)
    example : ndarray of int, shape (n_outputs,)
        Whose they are, rising.
    weights : ndarray, shape (n_examples,)
    linear : ndarray, shape (n_weights,)
        What the function has beside the maxima: the features of the examples' own outputs, or zero.
    """

    def __init__(self, risk: Risk) -> None:
        self._risk, self._loss = risk, risk.loss
        self.weights = np.concatenate([shard.weights for shard in risk.shards])
        own = risk.executor.map(risk.structure.feature_rows, risk.shards)
        self._own = sp.csr_array(sp.vstack(list(own), format="csr"))
        linear = self._loss.own_score_is_linear
        self.linear = self._own.T @ self.weights if linear else np.zeros(risk.n_weights)
        self.rows: Any = sp.csr_array((0, risk.n_weights))
        self.offsets, self.example = np.zeros(0), np.zeros(0, np.int64)
        self._starts = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return self.offsets.size

    # --- the function itself ------------------------------------------------------------------------------

    def decode(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Value and subgradient of the function, by a pass over the data; keeps the outputs that are new."""
        seen, scores = self._maxima(self.rows @ w + self.offsets), self._own @ w
        bounds = np.cumsum([0, *map(len, self._risk.shards)])
        self._risk.passes += 1
        news = self._risk.executor.map(
            lambda s: self._decode_shard(s, w, slice(bounds[s], bounds[s + 1]), seen, scores),
            range(len(self._risk.shards)),
        )
        self._keep(*zip(*news, strict=True))
        return self.estimate(w)

    def _decode_shard(
        self, s: int, w: FloatArray, examples: slice, seen: FloatArray, scores: FloatArray
    ) -> tuple[sp.csr_array, FloatArray, IntArray]:
        shard, structure = self._risk.shards[s], self._risk.structure
        found = self._loss.violations(structure, shard, w)
        value = found.value - scores[examples] if self._loss.own_score_is_linear else found.value
        new = np.flatnonzero(value > seen[examples] + _NEWS * np.maximum(1.0, np.abs(value)))
        rows, offsets = self._loss.planes(structure, shard, found, self._own[examples])
        return rows[new], offsets[new], new + examples.start

    def _keep(self, rows: Any, offsets: Any, examples: Any) -> None:
        example = np.concatenate((self.example, *examples))
        order = np.argsort(example, kind="stable")
        stacked: Any = sp.vstack([self.rows, *rows], format="csr")
        self.rows = stacked[order]
        self.offsets, self.example = np.concatenate((self.offsets, *offsets))[order], example[order]
        self._starts = np.flatnonzero(np.diff(self.example, prepend=-1))

    # --- the estimate -------------------------------------------------------------------------------------

    def _maxima(self, values: FloatArray) -> FloatArray:
        """The largest value of each example; -inf where nothing has been seen."""
        out = np.full(self.weights.size, -np.inf)
        if values.size:
            out[self.example[self._starts]] = np.maximum.reduceat(values, self._starts)
        return out

    def _attained(self, values: FloatArray) -> tuple[float, FloatArray, IntArray]:
        """The function for these values of the planes; its slopes, and the planes that have them."""
        maxima = self._maxima(values)
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
        start, rise = self.rows @ w + self.offsets, self.rows @ step
        base, incline = float(self.linear @ w), float(self.linear @ step)

        def at(t: float) -> tuple[float, float]:
            value, slopes, hits = self._attained(start + t * rise)
            return value + base + t * incline, float(slopes @ rise[hits]) + incline

        return at
