"""Initial weights for fits that are not convex and end in a nearby minimum."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.flat.regressor import Regressor
from structune.flat.structure.shard import Design
from structune.learning.risk import Risk
from structune.learning.tuning.majorize import MajorizeTuner
from structune.learning.tuning.problem import TuningProblem
from structune.ranking.structure.queries import ratio
from structune.ranking.structure.ranking import RankingShard
from structune.structure import FloatArray, IntArray

_MOST_CELLS = 1 << 26  # of features that are centred, and so no longer sparse
_MOST_FEATURES = 2048  # of which all products of two are summed, whatever the number of documents

_Documents = tuple[Any, FloatArray, FloatArray]  # features, gains, weights


def begin_at_regression(problem: TuningProblem, start: FloatArray | None) -> TuningProblem:
    """The problem with initial weights: those of `start`, or else those of a ridge regression.

    At w = 0 all orders tie, so fits that are not convex must begin elsewhere. On held-out splits the
    regression uses the training part only.
    """
    if problem.full.convex:
        return problem

    if start is not None and not start.any():
        start = None

    def begun(risk: Risk) -> Risk:
        return risk.beginning_at(ridge_regression(risk.shards) if start is None else start)

    splits = tuple(replace(split, train=begun(split.train)) for split in problem.splits)
    return replace(problem, full=begun(problem.full), splits=splits)


def ridge_regression(shards: list[RankingShard]) -> FloatArray:
    """Weights of a ridge regression of the documents' gains, within queries and relative to the ideal DCG.

    Queries count by their weights.
    """
    # Gains and features less their means in the query: a constant that all documents of a query share changes
    # no order. Centring makes sparse features dense, so large ones keep their means.
    first = shards[0].design
    n_cells = sum(shard.n_parts for shard in shards) * first.n_columns
    parts = (_documents(shard, not first.is_sparse or n_cells <= _MOST_CELLS) for shard in shards)
    X, gains, weights = _moments(parts) if first.n_columns <= _MOST_FEATURES else _together(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that come out as 0, which is no news here
        tuner = MajorizeTuner(start=1.0)  # where ramp fits begin decides where they end
        model = Regressor(tuning=tuner, fit_intercept=False, n_jobs=1)
        model.fit(X, gains, weights)
    if model.status_ == "interrupted":  # what begins elsewhere ends elsewhere
        raise KeyboardInterrupt
    return np.asarray(model.coef_)


def _documents(shard: RankingShard, centred: bool) -> _Documents:
    sizes, X = shard.sizes(), shard.design.matrix
    gains = _centred(ratio(shard.gains, np.repeat(shard.ideal, sizes)), sizes)
    if centred:
        X = _centred(X.toarray() if shard.design.is_sparse else X, sizes)
    return X, gains, np.repeat(shard.weights, sizes)


def _moments(parts: Iterable[_Documents]) -> _Documents:
    """A few artificial documents with the same moments: any ridge regression gives the same result."""
    total, moments = 0.0, np.zeros((0, 0))
    for X, gains, weights in parts:
        # sums of w (x, y)(x, y)': any ridge regression of y on x asks for nothing else of the documents
        design = Design(X, False)
        products = design.adjoint((weights * gains)[:, None])
        part = np.block([[design.gram(weights), products], [products.T, weights @ gains**2]])
        moments = moments + part if moments.size else part
        total += float(weights.sum())
    _check_finite(moments)
    # rows R with R'R = moments, from M = V diag(values) V': n_features + 1 documents in place of all. Values
    # that rounding made negative count as 0.
    values, vectors = np.linalg.eigh(moments)
    weight = total / values.size  # of each: examples count by their weights
    rows = np.sqrt(np.maximum(values, 0.0) / (weight or 1.0))[:, None] * vectors.T
    return rows[:, :-1], rows[:, -1], np.full(values.size, weight)


def _together(parts: Iterable[_Documents]) -> _Documents:
    """The documents of all parts, as those of one."""
    matrices, gains, weights = zip(*parts, strict=True)
    is_dense = isinstance(matrices[0], np.ndarray)
    X: Any = np.vstack(matrices) if is_dense else scipy.sparse.vstack(matrices, "csr")
    _check_finite(X if is_dense else X.data)
    return X, np.concatenate(gains), np.concatenate(weights)


def _check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise DataError("sums or squares of the features are not finite: scale the features")


def _centred(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Values of documents, less the mean of their query."""
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(values, starts, axis=0).T / sizes
    return values - np.repeat(means.T, sizes, axis=0)
