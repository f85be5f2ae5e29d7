"""What a model says of structures that are given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.formats.dot_bracket import as_partners
from structune.rna.metrics import Structure


class Judgement(NamedTuple):
    """What a model says of a structure.

    Attributes
    ----------
    log_probability : float
        -inf of one that the model cannot produce.
    log_odds : float
        Against the most probable structure, at most 0.
    expected_ppv, expected_sensitivity : float
        The mean probability of its pairs, and the share that they have of all that are expected: what of it
        is right, and what of the truth it has, by the model. 1 of none.
    expected_distance : float
        The pairs that it and a structure drawn by the model do not share, on average.
    """

    log_probability: float
    log_odds: float
    expected_ppv: float
    expected_sensitivity: float
    expected_distance: float


def expected_accuracy(structure: str, pairs: Any) -> tuple[float, float, float]:
    """PPV, sensitivity and distance that are expected of a structure, by probabilities of pairs."""
    partner = as_partners(structure)
    left = np.flatnonzero(partner > np.arange(partner.size))
    found, expected = float(pairs[left, partner[left]].sum()), float(pairs.sum()) / 2
    return _share(found, float(left.size)), _share(found, expected), left.size + expected - 2 * found


def base_pair_distance(a: Structure, b: Structure) -> int:
    """The number of pairs that one of two structures has and the other has not.

    Parameters
    ----------
    a, b : str or array-like
        In dot-bracket notation, pseudoknots counted, or partners, -1 for none.

    Raises
    ------
    DataError
        Structures of two lengths, or malformed ones.
    """
    one, other = as_partners(a), as_partners(b)
    if one.size != other.size:
        raise DataError(f"found structures of {one.size} and {other.size} bases, expected one length")
    left = np.arange(one.size)
    differ = one != other
    return int(np.count_nonzero(differ & (one > left)) + np.count_nonzero(differ & (other > left)))


def _share(part: Any, whole: float) -> float:
    return float(part / whole) if whole else 1.0
