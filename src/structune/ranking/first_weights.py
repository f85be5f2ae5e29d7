"""The weights with which fits begin that end at the nearest of several minima."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from structune.flat.regressor import Regressor
from structune.learning.risk import Risk
from structune.learning.tuning.majorize import MajorizeTuner
from structune.learning.tuning.problem import TuningProblem
from structune.ranking.structure.gain import ratio
from structune.ranking.structure.shard import RankingShard
from structune.structure import FloatArray, IntArray

_MOST_CELLS = 1 << 26  # of features that are centred, and so no longer sparse


def begin_at_regression(problem: TuningProblem, start: FloatArray | None) -> TuningProblem:
    """The problem, whose fits begin with the weights of `start`, or with those of a ridge regression.

    Those of held-out splits with a regression that saw their training part only.
    """

    def begun(risk: Risk) -> Risk:
        return risk.beginning_at(ridge_regression(risk.shards) if start is None else start)

    if start is not None and not start.any():
        start = None

    splits = tuple(replace(split, train=begun(split.train)) for split in problem.splits)
    return replace(problem, full=begun(problem.full), splits=splits)


def ridge_regression(shards: list[RankingShard]) -> FloatArray:
    """Weights of a ridge regression of the documents' gains, within queries and relative to the ideal DCG.

    Queries count by their weights.

    Raises
    ------
    KeyboardInterrupt
        The regression was interrupted.
    """
    sizes = np.concatenate([shard.sizes() for shard in shards])
    weights = np.concatenate([shard.weights for shard in shards])
    gains = np.concatenate([ratio(shard.gains, np.repeat(shard.ideal, shard.sizes())) for shard in shards])
    matrices = [shard.design.matrix for shard in shards]
    gains = _centred(gains, sizes)
    is_sparse = scipy.sparse.issparse(matrices[0])
    X: Any = scipy.sparse.vstack(matrices, format="csr") if is_sparse else np.vstack(matrices)
    if not is_sparse or np.prod(X.shape) <= _MOST_CELLS:
        X = _centred(X.toarray() if is_sparse else X, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that come out as 0, which is no news here
        tuner = MajorizeTuner(start=1.0)  # where ramp fits begin decides where they end
        model = Regressor(tuning=tuner, fit_intercept=False, n_jobs=1)
        model.fit(X, gains, np.repeat(weights, sizes))
    if model.status_ == "interrupted":  # what begins elsewhere ends elsewhere
        raise KeyboardInterrupt
    return np.asarray(model.coef_)


def _centred(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Values of documents, less the mean of their query."""
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(values, starts, axis=0).T / sizes
    return values - np.repeat(means.T, sizes, axis=0)
