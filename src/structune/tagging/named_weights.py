"""Weights of a chain by the names of what they belong to, as CRFsuite's users know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structune.structure import FloatArray
from structune.tagging.structure.space import ChainSpace

if TYPE_CHECKING:
    from structune.tagging.structure.second_order import SecondOrderChain


def state_weights(chain: ChainSpace, w: FloatArray) -> dict[tuple[str, str], float]:
    """The weights of attributes and labels by both."""
    keys = chain.pairs.keys
    pairs = zip(*np.divmod(keys, chain.n_labels), w[: keys.size].tolist(), strict=True)
    return {(chain.attributes[a], chain.labels[y]): weight for a, y, weight in pairs}


def transition_weights(chain: ChainSpace, w: FloatArray) -> dict[tuple[str | None, str | None], float]:
    """The weights of transitions by their labels; None stands for the start or end of a sequence."""
    labels = chain.labels
    edges = zip(*np.divmod(chain.transitions, chain.n_labels), strict=True)
    names: list[tuple[str | None, str | None]] = [
        *((None, y) for y in labels if chain.boundary),
        *((y, None) for y in labels if chain.boundary),
        *((labels[x], labels[y]) for x, y in edges),
    ]
    return dict(zip(names, w[chain.pairs.size :][: len(names)].tolist(), strict=True))


def trigram_weights(
    chain: SecondOrderChain, w: FloatArray
) -> dict[tuple[str | None, str, str | None], float]:
    """The weights of trigrams by their labels; None stands for the start or end of a sequence."""
    labels = [*chain.labels, None]
    trigrams = zip(*chain.split_trigrams(), strict=True)
    names = [(labels[a], chain.labels[b], labels[c]) for a, b, c in trigrams]
    return dict(zip(names, w[chain.n_weights - len(names) :].tolist(), strict=True))
