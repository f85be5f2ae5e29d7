"""Accuracy of predicted base pairs, measured or expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.errors import DataError
from structune.learning.bootstrap import Difference, FloatArray, paired_difference
from structune.rna.formats.brackets import STRANDS, as_partners

IntArray = NDArray[np.int64]
Structure = str | ArrayLike
Structures = Sequence[Structure]

ROC_GAMMAS: tuple[float, ...] = tuple(2.0**k for k in range(-5, 11))


class PairAccuracy(NamedTuple):
    """Accuracy of base pairs: sensitivity, PPV and F1, each from 0 to 1."""

    sensitivity: float
    ppv: float
    f1: float


class SensitivityCurve(NamedTuple):
    """Pooled sensitivity and PPV for each gamma, sorted by gamma; arrays of shape (n_points,)."""

    gamma: FloatArray
    sensitivity: FloatArray
    ppv: FloatArray


@dataclass(frozen=True)
class BasePairScores:
    """Numbers of base pairs in each sequence, and the accuracy that follows from them.

    A ratio 0/0 counts as 1 if there are neither true nor predicted pairs, otherwise as 0.

    Attributes
    ----------
    n_true, n_predicted : ndarray of int64, shape (n_sequences,)
        Numbers of true and of predicted pairs.
    right_true, right_predicted : ndarray of int64, shape (n_sequences,)
        Numbers of true pairs that were found and of predicted pairs that are correct; equal without slip.
    """

    n_true: IntArray
    n_predicted: IntArray
    right_true: IntArray
    right_predicted: IntArray

    @property
    def counts(self) -> FloatArray:
        """The four attributes as columns, shape (n_sequences, 4)."""
        columns = (self.n_true, self.n_predicted, self.right_true, self.right_predicted)
        return np.column_stack(columns).astype(np.float64)

    @property
    def sensitivity(self) -> FloatArray:
        """Share of the true pairs that were found, in each sequence."""
        return _accuracy(self.counts)[0]

    @property
    def ppv(self) -> FloatArray:
        """Share of the predicted pairs that are correct, in each sequence."""
        return _accuracy(self.counts)[1]

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of sensitivity and PPV, in each sequence."""
        return _accuracy(self.counts)[2]

    @property
    def pooled(self) -> PairAccuracy:
        """Sensitivity, PPV and F1 of the pairs of all sequences together."""
        return PairAccuracy(*map(float, _accuracy(self.counts.sum(axis=0))))


def base_pair_scores(true: Structures, predicted: Structures, slip: int = 0) -> BasePairScores:
    """Compare predicted with true base pairs, including those in pseudoknots.

    Parameters
    ----------
    true, predicted : sequences of structures
        Each is in dot-bracket notation, or an array with the partner of each base (from 0; -1 if unpaired).
    slip : int
        A pair (i, j) is correct if the other structure has it, or a pair with i or j (not both) moved by at
        most `slip`. 1 is the rule of Mathews, Sabina, Zuker & Turner, J. Mol. Biol. 288:911 (1999).

    Raises
    ------
    DataError
        Lengths differ, or a structure is malformed; the message names the structure, counted from 0.
    """
    if len(true) != len(predicted):
        raise DataError(f"there are {len(predicted)} predicted structures, but {len(true)} true structures")
    counts = np.empty((len(true), 4), dtype=np.int64)
    for s, given in enumerate(zip(true, predicted, strict=True)):
        found = []
        for kind, structure in zip(("true", "predicted"), given, strict=True):
            try:
                found.append(as_partners(structure))
            except DataError as error:
                raise DataError(f"{kind} structure {s}: {error}") from None
        a, b = found
        if a.size != b.size:
            raise DataError(f"true structure {s} has {a.size:,} bases, but its prediction has {b.size:,}")
        nick = max((of.find(STRANDS) for of in given if isinstance(of, str)), default=-1)
        if nick >= 0:  # with places between two strands: no pair slips from one to the other
            a, b = (np.insert(of + slip * (of >= nick), nick, np.full(slip, -1)) for of in (a, b))
        counts[s, :2] = [np.count_nonzero(of >= 0) // 2 for of in (a, b)]
        counts[s, 2:] = _n_right(a, b, slip), _n_right(b, a, slip)
    return BasePairScores(*counts.T)


def base_pair_bootstrap(
    true: Structures,
    a: Structures,
    b: Structures,
    slip: int = 0,
    n: int = 2000,
    random_state: int | None = 0,
    groups: Sequence[Any] | None = None,
) -> Difference:
    """Compute the difference in pooled F1 of base pairs, b minus a, with a 95 % bootstrap interval.

    Parameters
    ----------
    true, a, b : sequences of structures
        Known structures and those of two methods, as in `base_pair_scores`.
    slip : int
        As in `base_pair_scores`.
    n : int
        Number of bootstrap samples.
    random_state : int, optional
        Random seed.
    groups : sequence, optional
        Group, such as the family, of each sequence. Groups are resampled as a whole.

    Raises
    ------
    DataError
        A structure is malformed, lengths differ, including that of `groups`, or there are no sequences.
    """
    counts = [base_pair_scores(true, predicted, slip).counts for predicted in (a, b)]
    if groups is not None:
        if len(groups) != len(counts[0]):
            raise DataError(
                f"groups has {len(groups)} entries, but there are {len(counts[0])} sequences. "
                "Give one group per sequence."
            )
        _, places = np.unique(np.asarray(groups), return_inverse=True)
        of_each = np.zeros((2, int(places.max(initial=-1)) + 1, counts[0].shape[1]))
        for sums, given in zip(of_each, counts, strict=True):
            np.add.at(sums, places, given)
        counts = list(of_each)
    return paired_difference(counts[0], counts[1], lambda sums: _accuracy(sums)[2], n, random_state)


def sensitivity_ppv_curve(
    true: Structures, predicted_by_gamma: Mapping[float, Structures]
) -> SensitivityCurve:
    """Compute pooled sensitivity and PPV of predictions for several values of gamma.

    A gamma without predicted pairs has no PPV and is skipped.

    Parameters
    ----------
    true : sequence of structures
        Known structures, as in `base_pair_scores`.
    predicted_by_gamma : mapping of float to sequences of structures
        Predicted structures for each gamma. `ROC_GAMMAS` contains 2^-5 .. 2^10.

    Raises
    ------
    DataError
        A structure is malformed, lengths differ, or there are no true pairs.
    """
    points = []
    for gamma, predicted in sorted(predicted_by_gamma.items()):
        scores = base_pair_scores(true, predicted)
        if not scores.n_true.any():
            raise DataError("sensitivity is not defined: the true structures have no pairs")
        if scores.n_predicted.any():
            points.append((gamma, scores.pooled.sensitivity, scores.pooled.ppv))
    return SensitivityCurve(*np.array(points, dtype=np.float64).reshape(-1, 3).T)


def roc_area(sensitivity: ArrayLike, ppv: ArrayLike) -> float:
    """Compute the area under sensitivity as a function of PPV (Do, Foo & Ng, NIPS 2007).

    The area is made of trapezoids between the points, sorted by PPV and then by falling sensitivity. From the
    smallest PPV the curve continues horizontally to PPV 0; at the largest PPV it drops to sensitivity 0.
    Without points the area is 0.

    Parameters
    ----------
    sensitivity, ppv : array-like, shape (n_points,)

    Raises
    ------
    DataError
        The two differ in shape, or are not within [0, 1].
    """
    s, p = along_ppv(sensitivity, ppv)
    if not s.size:
        return 0.0
    return float(s[0] * p[0] + np.sum(np.diff(p) * (s[1:] + s[:-1]) / 2))


def along_ppv(sensitivity: ArrayLike, ppv: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both, checked, in the order in which `roc_area` joins the points."""
    s, p = np.asarray(sensitivity, dtype=np.float64), np.asarray(ppv, dtype=np.float64)
    if s.ndim != 1 or s.shape != p.shape:
        raise DataError(f"sensitivity has shape {s.shape}, but ppv {p.shape}; give two arrays of one length")
    if not np.all((s >= 0) & (s <= 1) & (p >= 0) & (p <= 1)):
        raise DataError("all values of sensitivity and PPV must be within [0, 1]")
    # By PPV, and among equal ones the highest sensitivity first, which is then extended to PPV 0.
    order = np.lexsort((-s, p))
    return s[order], p[order]


def _accuracy(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sensitivity, PPV and F1 of counts, shape (..., 4)."""
    n_true, n_predicted, right_true, right_predicted = np.moveaxis(counts, -1, 0)
    # 0/0 is 1 where there is neither a true nor a predicted pair, otherwise 0: so is their harmonic mean.
    # Where the divisor is 0, nothing is computed, and `out` stays.
    neither = np.where(n_true + n_predicted == 0, 1.0, 0.0)
    sensitivity = np.divide(right_true, n_true, out=neither.copy(), where=n_true > 0)
    ppv = np.divide(right_predicted, n_predicted, out=neither.copy(), where=n_predicted > 0)
    both = sensitivity + ppv
    return sensitivity, ppv, np.divide(2 * sensitivity * ppv, both, out=np.zeros_like(both), where=both > 0)


def _n_right(of: IntArray, other: IntArray, slip: int) -> int:
    """How many pairs of one structure are in another."""
    # Pair by pair without loops: partners of the moved base are looked up, for one end and then for the
    # other; it may lie outside.
    i = np.flatnonzero(of > np.arange(of.size))
    j = of[i]
    found = other[i] == j
    for move in (m for step in range(1, slip + 1) for m in (-step, step)):
        for a, b in ((i + move, j), (i, j + move)):
            inside = (a >= 0) & (a < b)
            found |= inside & (other[np.where(inside, a, 0)] == b)
    return int(np.count_nonzero(found))


def unpaired(pairs: Any) -> FloatArray:
    """Compute the probability that each base is unpaired, shape (n,).

    Parameters
    ----------
    pairs : ndarray or sparse array, shape (n, n), symmetric
        Base-pair probability matrix, as from `RNAFolder.pair_probabilities`.
    """
    free: FloatArray = np.clip(1.0 - pairs.sum(axis=1), 0.0, 1.0)
    return free


def partner_entropy(pairs: Any) -> FloatArray:
    """Compute the entropy, in bits, of the partner of each base, shape (n,); 0 means that it is certain.

    Being unpaired counts as one more partner.

    Parameters
    ----------
    pairs : ndarray or sparse array, shape (n, n), symmetric
        Base-pair probability matrix.
    """
    from scipy.special import xlogy  # which takes longer to import than a fold

    # H = -(sum over j of p_ij log p_ij + q_i log q_i), with q_i the probability to have no partner.
    free = unpaired(pairs)
    if isinstance(pairs, np.ndarray):
        terms: Any = xlogy(pairs, pairs)
    else:
        terms = pairs.copy()
        terms.data = xlogy(pairs.data, pairs.data)
    entropy: FloatArray = -(terms.sum(axis=1) + xlogy(free, free)) / np.log(2.0)
    return np.maximum(entropy, 0.0)


class Judgement(NamedTuple):
    """Probability and expected accuracy of a structure, according to a model.

    Attributes
    ----------
    log_probability : float
        Natural log of the structure's probability; -inf if the model cannot produce it.
    log_odds : float
        Log odds against the most probable structure, at most 0.
    expected_ppv : float
        Mean probability of the structure's pairs; 1 if it has none.
    expected_sensitivity : float
        Sum of the probabilities of its pairs, divided by the expected number of pairs; 1 if that is 0.
    expected_distance : float
        Expected number of pairs in which it differs from a structure drawn from the model.
    """

    log_probability: float
    log_odds: float
    expected_ppv: float
    expected_sensitivity: float
    expected_distance: float


def expected_accuracy(structure: str, pairs: Any) -> tuple[float, float, float]:
    """Compute the expected PPV, sensitivity and distance of a structure from pair probabilities."""
    partner = as_partners(structure)
    left = np.flatnonzero(partner > np.arange(partner.size))
    found, expected = float(pairs[left, partner[left]].sum()), float(pairs.sum()) / 2
    ppv, sensitivity = (found / whole if whole else 1.0 for whole in (float(left.size), expected))
    return ppv, sensitivity, left.size + expected - 2 * found


def base_pair_distance(a: Structure, b: Structure) -> int:
    """Count the pairs that only one of two structures has, including those in pseudoknots.

    Parameters
    ----------
    a, b : str or array-like
        Dot-bracket notation, or the partner of each base (from 0; -1 if unpaired).

    Raises
    ------
    DataError
        The structures differ in length, or one is malformed.
    """
    one, other = as_partners(a), as_partners(b)
    if one.size != other.size:
        raise DataError(f"a has {one.size:,} bases, but b {other.size:,}; the structures need one length")
    only_one, only_other = (np.count_nonzero((one != other) & (x > np.arange(x.size))) for x in (one, other))
    return int(only_one + only_other)
