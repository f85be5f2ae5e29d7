"""A two-state hidden Markov model with relevant and noise features (Do, Foo & Ng 2007, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.structure import offsets_of
from structune.tagging.features.attributes import AttributeTable


def simulate_hmm(
    n_sequences: int,
    n_relevant: int,
    n_features: int = 40,
    length: int = 10,
    stay: float = 0.6,
    agreement: float = 0.6,
    random_state: Any = None,
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Simulate sequences of two hidden states, and features that are observed at each token.

    The first state is 0 or 1 with probability 1/2 each. The first `n_relevant` features agree with the state
    with probability `agreement`, ``P(x = v | y = v)``; the others are 0 or 1 with probability 1/2 each. All
    features are independent given the states. With the same seed, the states are the same for each
    `n_relevant`.

    Parameters
    ----------
    n_sequences, n_relevant, n_features, length : int
        Numbers of sequences, of relevant features, of all features, and of tokens per sequence.
    stay : float
        Probability that a state is the same as the one before it.
    agreement : float
        Probability that a relevant feature has the value of the state.
    random_state : int, numpy.random.Generator or None
        Random seed or generator.

    Returns
    -------
    y : ndarray of int8, shape (n_sequences, length)
        Hidden states, 0 or 1.
    x : ndarray of int8, shape (n_sequences, length, n_features)
        Observed features, 0 or 1.
    """
    if min(n_sequences, length, n_features) < 1:
        raise DataError(
            f"n_sequences={n_sequences}, length={length} and n_features={n_features}: all must be at least 1"
        )
    if not 0 <= n_relevant <= n_features:
        raise DataError(f"n_relevant={n_relevant}: expected 0 to {n_features} (n_features)")
    if not (0 <= stay <= 1 and 0 <= agreement <= 1):
        raise DataError(f"stay={stay} and agreement={agreement} must be probabilities from 0 to 1")
    rng = np.random.default_rng(random_state)
    # A state is the sum, modulo 2, of all changes so far; the first "change" draws the first state.
    change = np.full(length, 1 - stay)
    change[:1] = 0.5
    changes = (rng.random((n_sequences, length)) < change).astype(np.int8)
    y = np.bitwise_xor.accumulate(changes, axis=1)
    # A relevant feature is the state, flipped with probability 1 - agreement; a noise feature is a coin.
    is_relevant = np.arange(n_features) < n_relevant
    disagreement = np.where(is_relevant, 1 - agreement, 0.5)
    flips = (rng.random((n_sequences, length, n_features)) < disagreement).astype(np.int8)
    return y, flips ^ (y[:, :, None] & is_relevant)


def hmm_attributes(x: NDArray[np.integer[Any]], encoding: str = "value") -> AttributeTable:
    """Turn observed features into attributes ``x{j}={v}``, feature j counted from 0.

    Parameters
    ----------
    x : ndarray of 0 and 1, shape (n_sequences, length, n_features)
        Observed features, as from `simulate_hmm`.
    encoding : {"value", "indicator"}
        "value": one attribute for each feature and value, ``x{j}=0`` and ``x{j}=1``. "indicator": only
        ``x{j}=1``, present where the feature is 1.

    Raises
    ------
    DataError
        The array has another shape or other values, or the encoding is unknown.
    """
    if x.ndim != 3 or not np.isin(x, (0, 1)).all():
        raise DataError(f"x must have 3 dimensions and values 0 and 1; its shape is {x.shape}")
    if encoding not in ("value", "indicator"):
        raise DataError(f"encoding={encoding!r}: expected 'value' or 'indicator'")
    values = [0, 1] if encoding == "value" else [1]
    n_sequences, length, n_features = x.shape
    # One cell a token, feature and value; those that hold are the entries of the table.
    given = (x[..., None] == values).reshape(n_sequences * length, n_features * len(values))
    return AttributeTable(
        np.full(n_sequences, length, dtype=np.int64),
        offsets_of(given.sum(axis=1)),
        np.nonzero(given)[1].astype(np.int32),
        None,
        [f"x{j}={v}" for j in range(n_features) for v in values],
    )


def hmm_groups(names: Iterable[str], n_relevant: int) -> dict[str, str]:
    """Map each attribute name from `hmm_attributes` to its group of weights, ``relevant`` or ``noise``.

    The first `n_relevant` features are relevant. The transitions form a third group.
    """
    return {name: "relevant" if int(name[1:].partition("=")[0]) < n_relevant else "noise" for name in names}
