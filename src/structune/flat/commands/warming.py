"""Compiling the kernels of classifiers and regressors."""

from __future__ import annotations

import io

import numpy as np

from structune.flat.classifier import Classifier
from structune.flat.regressor import Regressor
from structune.flat.svmlight import read_svmlight_blocks


def run() -> None:
    """Read a line, and learn from a few rows."""
    list(read_svmlight_blocks(io.BytesIO(b"1 1:1\n")))
    X = np.random.default_rng(0).normal(size=(40, 2))
    Classifier(tuning=None, n_jobs=1).fit(X, X[:, 0] > 0.0)
    Regressor(tuning=None, n_jobs=1).fit(X, X[:, 0])
