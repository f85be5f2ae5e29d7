"""Recall and precision of the matches of predicted alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.alignment.formats import ProteinAlignment
from structune.alignment.structure.rows import GAPS, parse_alignment, residues_of
from structune.errors import DataError
from structune.learning.bootstrap import FloatArray

IntArray = NDArray[np.int64]
Rows = tuple[str, str]


@dataclass(frozen=True)
class AlignmentScores:
    """Counts of matches in each pair, shape (n_pairs,), and what follows from them.

    Where a ratio is 0/0 it is 1 if there are neither true nor predicted matches, otherwise 0.

    Attributes
    ----------
    n_true : ndarray of int64
        Scored matches of the reference.
    n_predicted : ndarray of int64
        Predicted matches. In references that are known in part only those count that touch a residue of a
        scored match.
    right : ndarray of int64
        Those that are in both.
    """

    n_true: IntArray
    n_predicted: IntArray
    right: IntArray

    @property
    def recall(self) -> FloatArray:
        """Developer's score Q: share of the true matches that were predicted, shape (n_pairs,)."""
        return _ratio(self.right, self.n_true, self.n_predicted)

    @property
    def precision(self) -> FloatArray:
        """Modeler's score: share of the predicted matches that are true, shape (n_pairs,)."""
        return _ratio(self.right, self.n_predicted, self.n_true)


def alignment_scores(true: Sequence[Rows], predicted: Sequence[Rows]) -> AlignmentScores:
    """Compare predicted with reference alignments (Sauder, Arthur & Dunbrack 2000).

    Parameters
    ----------
    true, predicted : sequences of pairs of str
        Both rows with ``-`` or ``.`` for gaps. If any residue of a reference is in lower case, only its
        matches of two residues in upper case are scored.

    Raises
    ------
    DataError
        Another number of alignments; or names the pair whose alignments are of other sequences.
    """
    if len(true) != len(predicted):
        raise DataError(f"found {len(predicted)} predicted alignments, expected {len(true)}")
    counts = np.zeros((len(true), 3), np.int64)
    for p, (rows, predicted_rows) in enumerate(zip(true, predicted, strict=True)):
        pair = residues_of(rows)
        reference = parse_alignment(rows, pair, f"reference {p}")
        found = parse_alignment(predicted_rows, pair, f"prediction {p}").partner
        # in part known, a predicted match counts if it touches a scored residue: only then may it be wrong
        looked_at = found >= 0
        if not reference.whole:
            scored_y = np.zeros(len(pair[1]) + 1, bool)
            scored_y[reference.partner[reference.scored]] = True
            looked_at &= reference.scored | scored_y[found]  # the last is that of none
        right = reference.scored & (found == reference.partner)
        counts[p] = reference.scored.sum(), looked_at.sum(), right.sum()
    return AlignmentScores(*counts.T)


class ColumnScores(NamedTuple):
    """Of a multiple alignment beside its reference, as shares; 1 where there is nothing to score.

    ``pairs``: of the matches of two residues to be scored, those that were found (Q, or SPS); ``columns``: of
    the columns to be scored, those all of whose residues are in one column (TC).
    """

    pairs: float
    columns: float


def column_scores(reference: ProteinAlignment, found: ProteinAlignment) -> ColumnScores:
    """Compare a multiple alignment with its reference (Thompson, Plewniak & Poch 1999).

    Residues of the reference in lower case are not scored. Those found may be more sequences, in any order.

    Raises
    ------
    DataError
        A sequence of the reference that is not there, or is another one.
    """
    columns = found_columns(reference, found)
    counts = [np.unique(column[column >= 0], return_counts=True)[1] for column in columns.T]
    sizes = np.array([count.sum() for count in counts], np.int64)
    right = np.array([(count * (count - 1)).sum() for count in counts], np.int64)
    scored, wanted = sizes > 1, sizes * (sizes - 1)
    if not scored.any():
        return ColumnScores(1.0, 1.0)
    # of a column of k scored residues, c_1, c_2, ... of which are in columns of the other alignment,
    # sum_i c_i (c_i - 1) of k (k - 1) ordered pairs are found
    whole = right[scored] == wanted[scored]
    return ColumnScores(float(right.sum() / wanted.sum()), float(whole.mean()))


def is_scored(reference: ProteinAlignment) -> bool:
    own = found_columns(reference, reference)
    return bool(((own >= 0).sum(axis=0) > 1).any())


def found_columns(reference: ProteinAlignment, found: ProteinAlignment) -> IntArray:
    """Where what is in each cell of the reference was put, -1 for gaps and what is not scored."""
    rows = dict(zip(found.names, found.rows, strict=True))
    if len(rows) < len(found.names) or len(set(map(len, found.rows))) > 1:
        raise DataError("found rows of one name, or of different lengths, expected those of an alignment")
    out = np.full((len(reference.names), max(map(len, reference.rows), default=0)), -1)
    for places, name, row in zip(out, reference.names, reference.rows, strict=True):
        if name not in rows:
            raise DataError(f"found no row of {name!r}, expected all of the reference")
        letters, others = (np.array(list(text), "U1") for text in (row, rows[name]))
        inside, there = (~np.isin(text, list(GAPS)) for text in (letters, others))
        if not np.array_equal(np.char.upper(letters[inside]), np.char.upper(others[there])):
            raise DataError(f"{name}: found other residues than in the reference")
        places[inside] = np.flatnonzero(there)
        places[np.char.islower(letters)] = -1
    return out


def _ratio(above: IntArray, below: IntArray, other: IntArray) -> FloatArray:
    return np.where(below > 0, above / np.maximum(below, 1), np.where(other > 0, 0.0, 1.0))
