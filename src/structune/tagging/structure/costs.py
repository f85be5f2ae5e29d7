"""Hamming costs of labellings."""

from __future__ import annotations

import numpy as np

from structune.structure import Array, FloatArray, IntArray


def token_costs(cost: FloatArray, lengths: IntArray, own: IntArray, n_labels: int) -> Array:
    """The cost of every label, shape (n_tokens, n_labels), if a wrong one costs `cost` of its sequence."""
    return np.asarray(np.repeat(cost, lengths)[:, None] * (own[:, None] != np.arange(n_labels)))


def wrong_tokens(own: IntArray, found: IntArray, starts: IntArray) -> FloatArray:
    """The number of tokens of each sequence that are labelled differently."""
    return np.add.reduceat((own != found).astype(np.float64), starts)
