"""The best structure of one RNA sequence: of highest score, or of highest expected accuracy."""

from __future__ import annotations

import numpy as np

from structune.kernels import rna as kernels
from structune.kernels import rna_mea
from structune.kernels._vectors import all_lanes
from structune.kernels.rna_viterbi import trace, viterbi
from structune.structures.base import Array, IntArray
from structune.structures.rna_potentials import Tables, with_ends


def best_structure(
    scores: Tables, letters: Array, min_hairpin: int, truth: IntArray, bonus: float
) -> tuple[IntArray, float]:
    """Partners of the bases, -1 for none, and the score.

    Parameters
    ----------
    truth : ndarray of int64, shape (n,)
        Partners in a given structure, whose pairs score `bonus` more; -1 for none.
    """
    n = letters.size
    pairs, multi, multi_2 = np.zeros((3, n * (n + 1) // 2 + 16))
    suffixes, rows = np.zeros(n + 1), np.zeros((2, n + kernels.RIGHT))
    ring = np.full((kernels.RING, kernels.LEFT + n + kernels.RIGHT), -np.inf)
    partner, letters = np.empty(n, np.int64), with_ends(letters)
    viterbi(
        letters, scores.flat, scores.scalars, min_hairpin, truth, bonus, all_lanes(float),
        pairs, multi, multi_2, suffixes, ring, rows, np.empty(n, np.int64),
    )  # fmt: skip
    todo = np.empty((n + 1, 3), np.int64)
    trace(letters, scores.flat, scores.scalars, pairs, multi, multi_2, suffixes, todo, partner)
    return partner, float(suffixes[0])


def mea_structure(pairs: Array, n: int, gamma: float) -> IntArray:
    """Partners that maximise the sum of 2 gamma p over pairs, and of the probability to have none elsewhere.

    Parameters
    ----------
    pairs : ndarray
        Pair probabilities, triangular: (0, 0..n-1), (1, 1..n-1), ...

    Notes
    -----
    Do, Woods & Batzoglou 2006, section 2.5.
    """
    upper = np.triu_indices(n)
    flat = pairs[: upper[0].size]
    paired = np.bincount(upper[0], flat, minlength=n) + np.bincount(upper[1], flat, minlength=n)
    unpaired, gain = np.maximum(1.0 - paired, 0.0), 2.0 * gamma
    table, scratch, partner = np.zeros_like(pairs), np.zeros(n + 8), np.empty(n, np.int64)
    rna_mea.accuracies(pairs, unpaired, gain, all_lanes(float), scratch, table)
    rna_mea.trace(pairs, unpaired, gain, table, np.empty((n + 1, 2), np.int64), partner)
    return partner
