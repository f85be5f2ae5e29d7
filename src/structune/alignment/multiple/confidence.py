"""How sure the columns of a multiple alignment are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structune.alignment.multiple.matches import LEAST, Matches
from structune.structure import FloatArray

# training/family_confidence.py: of 1, of log odds of both values of a match, of the share of third sequences
_WEIGHTS = (0.25, 0.24, 0.65, 1.53)


def column_confidence(matches: Matches, values: Matches, column: NDArray[np.int32], width: int) -> FloatArray:
    """The mean confidence of the matches of each column, of sequences that were compared.

    Parameters
    ----------
    matches, values : Matches
        Probabilities of matches by the model of two, and those that agree with third sequences, which no
        other matches have.
    column : ndarray of int32, shape (n_residues,)
    width : int

    Returns
    -------
    ndarray, shape (width,)
        nan where there are no two residues, or none of the sequences were compared.
    """
    there = np.zeros((len(matches), width), np.float32)
    there[matches.sequence, column] = 1.0
    pairs = (there * (matches.compared.astype(np.float32) @ there)).sum(axis=0, dtype=np.float64)
    i, key, p = _in_columns(matches, column)
    v = np.zeros_like(p)
    _, those, left = _in_columns(values, column)
    v[np.searchsorted(key, those)] = left
    found = confidence(features(p, v, len(matches)))
    least = confidence(features(np.zeros(1), np.zeros(1), len(matches)))[0]
    sums = least * pairs + np.bincount(column[i], found - least, minlength=width)
    out = np.full(width, np.nan)
    np.divide(sums, pairs, out=out, where=pairs > 0)
    return out


def features(probability: NDArray[np.floating], value: NDArray[np.floating], n_sequences: int) -> FloatArray:
    """What the confidence of matches is a logistic function of, a row for each match.

    Those of two sequences alone have the probabilities of their model; the more third sequences there are,
    the more often is right what they agree with.
    """
    both = np.clip([probability, value], LEAST, 1.0 - LEAST, dtype=np.float64)
    ones = np.ones(probability.size)
    return np.column_stack([ones, *np.log(both / (1.0 - both)), (1.0 - 2.0 / max(2, n_sequences)) * ones])


def confidence(matches: FloatArray) -> FloatArray:
    """How many of the matches with these features are right."""
    out: FloatArray = 1.0 / (1.0 + np.exp(-(matches @ np.array(_WEIGHTS))))
    return out


def _in_columns(
    matches: Matches, column: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Matches of one column: their first residues, numbers that rise with both residues, and values."""
    table, rows = matches.table, matches.of_rows(np.arange(column.size))
    inside = column[rows] == column[table.indices]
    i, j = rows[inside], table.indices[inside]
    return i, i * column.size + j, table.data[inside]
