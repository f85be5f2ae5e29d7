"""Weights of a chain by the names of what they belong to, as CRFsuite's users know them."""

from __future__ import annotations

import numpy as np

from structune.structure import FloatArray
from structune.tagging.structure.chain import Chain


def state_weights(chain: Chain, w: FloatArray) -> dict[tuple[str, str], float]:
    """The weights of attributes and labels by both."""
    keys = chain.pairs.keys
    pairs = zip(*np.divmod(keys, chain.n_labels), w[: keys.size].tolist(), strict=True)
    return {(chain.attributes[a], chain.labels[y]): weight for a, y, weight in pairs}


def transition_weights(chain: Chain, w: FloatArray) -> dict[tuple[str | None, str | None], float]:
    """The weights of transitions by their labels; None stands for the start or end of a sequence."""
    labels = chain.labels
    edges = zip(*np.divmod(chain.transitions, chain.n_labels), strict=True)
    names: list[tuple[str | None, str | None]] = [
        *((None, y) for y in labels if chain.boundary),
        *((y, None) for y in labels if chain.boundary),
        *((labels[x], labels[y]) for x, y in edges),
    ]
    return dict(zip(names, w[chain.pairs.keys.size :].tolist(), strict=True))
