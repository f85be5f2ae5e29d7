"""Compiling the kernels of classifiers and regressors."""

from __future__ import annotations

import numpy as np

from structune.flat.classifier import Classifier
from structune.flat.regressor import Regressor


def run() -> None:
    """Learn from a few rows."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    Classifier(tuning=None, n_jobs=1).fit(X, X[:, 0] > 0.0)
    Regressor(tuning=None, n_jobs=1).fit(X, X[:, 0])
