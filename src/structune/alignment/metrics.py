"""Recall and precision of the matches in predicted alignments."""

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
    """Counts of matches in each pair, and the recall and precision that follow from them.

    A ratio of 0/0 is 1 if there are neither true nor predicted matches, otherwise 0.

    Attributes
    ----------
    n_true : ndarray of int64, shape (n_pairs,)
        Number of scored matches in the reference.
    n_predicted : ndarray of int64, shape (n_pairs,)
        Number of predicted matches. If the reference is only partly known, only those that touch a residue of
        a scored match count.
    right : ndarray of int64, shape (n_pairs,)
        Number of matches in both.
    """

    n_true: IntArray
    n_predicted: IntArray
    right: IntArray

    @property
    def recall(self) -> FloatArray:
        """Share of the true matches that were predicted (developer's score, Q), shape (n_pairs,)."""
        return _ratio(self.right, self.n_true, self.n_predicted)

    @property
    def precision(self) -> FloatArray:
        """Share of the predicted matches that are true (modeler's score), shape (n_pairs,)."""
        return _ratio(self.right, self.n_predicted, self.n_true)


def alignment_scores(true: Sequence[Rows], predicted: Sequence[Rows]) -> AlignmentScores:
    """Compare predicted alignments with reference alignments (Sauder, Arthur & Dunbrack 2000).

    Parameters
    ----------
    true, predicted : sequences of pairs of str
        The two rows of each alignment, with ``-`` or ``.`` for gaps. If any residue of a reference is in
        lower case, only its matches of two residues in upper case are scored.

    Raises
    ------
    DataError
        The numbers of alignments differ, or the sequences of a pair do; the message then gives its index.
    """
    if len(true) != len(predicted):
        raise DataError(f"there are {len(predicted):,} predicted alignments, but {len(true):,} true ones")
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
    """Scores of a multiple alignment against its reference, from 0 to 1; 1 if nothing is scored.

    ``pairs`` (Q, or SPS) is the share of the scored matches of two residues that were found. ``columns`` (TC)
    is the share of the scored columns whose residues are all in one column of the alignment.
    """

    pairs: float
    columns: float


def column_scores(reference: ProteinAlignment, found: ProteinAlignment) -> ColumnScores:
    """Compare a multiple alignment with its reference (Thompson, Plewniak & Poch 1999).

    Residues of the reference in lower case are not scored. `found` may have more sequences, in any order;
    sequences are compared by name.

    Raises
    ------
    DataError
        A sequence of the reference is missing in `found` or has other residues there, or rows of `found` have
        the same name or different lengths.
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
    """For each cell of the reference, the column of `found` with its residue; -1 if gap or not scored."""
    rows = dict(zip(found.names, found.rows, strict=True))
    if len(rows) < len(found.names) or len(set(map(len, found.rows))) > 1:
        raise DataError("this is not an alignment: rows have the same name, or different lengths")
    out = np.full((len(reference.names), max(map(len, reference.rows), default=0)), -1)
    for places, name, row in zip(out, reference.names, reference.rows, strict=True):
        if name not in rows:
            raise DataError(f"there is no row named {name!r}, but the reference has one")
        letters, others = (np.array(list(text), "U1") for text in (row, rows[name]))
        inside, there = (~np.isin(text, list(GAPS)) for text in (letters, others))
        if not np.array_equal(np.char.upper(letters[inside]), np.char.upper(others[there])):
            raise DataError(f"{name}: the residues differ from those in the reference")
        places[inside] = np.flatnonzero(there)
        places[np.char.islower(letters)] = -1
    return out


def _ratio(above: IntArray, below: IntArray, other: IntArray) -> FloatArray:
    return np.where(below > 0, above / np.maximum(below, 1), np.where(other > 0, 0.0, 1.0))
