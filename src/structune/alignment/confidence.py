"""An alignment of two, with the probabilities of its matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structune.alignment.structure.inference import Decoded
from structune.alignment.structure.rows import rows_of
from structune.structure import FloatArray


class ConfidentAlignment(NamedTuple):
    """An alignment of two proteins, as `SequenceAligner.predict_confidence` gives it.

    ``rows``: with ``-`` for gaps; ``confidence`` (n_columns,): the probability of each match, nan where there
    is a gap; ``posterior`` (n, m): the probability of each match of any two residues, None if not asked for.
    """

    rows: tuple[str, str]
    confidence: FloatArray
    posterior: FloatArray | None


def confident(pair: tuple[str, str], decoded: Decoded) -> ConfidentAlignment:
    """Two sequences as they were aligned."""
    rows = rows_of(pair, decoded.partner)
    is_match = np.array(["-" not in column for column in zip(*rows, strict=True)], dtype=bool)
    confidence = np.full(is_match.size, np.nan)
    confidence[is_match] = decoded.confidence[decoded.partner >= 0]
    return ConfidentAlignment(rows, confidence, decoded.posterior)
