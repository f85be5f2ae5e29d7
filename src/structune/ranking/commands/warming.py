"""What `structune warm` does for rankings."""

from __future__ import annotations

import numpy as np

from structune.ranking.ranker import Ranker


def run() -> None:
    """Learn from a few documents."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    Ranker(tuning=None, n_jobs=1).fit(X, X[:, 0] > 0.5, np.repeat(np.arange(4), 10))
