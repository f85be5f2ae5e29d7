"""One structure for the aligned sequences of a family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.formats.brackets import STRANDS
from structune.rna.formats.record import GAPS
from structune.rna.structure.decoding import mea_structure
from structune.rna.structure.space import dot_bracket
from structune.running.executors import make_executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray

if TYPE_CHECKING:
    from structune.rna.predictions import RNAPredictions


class Consensus(NamedTuple):
    """A structure of columns.

    Attributes
    ----------
    structure : str
        In dot-bracket notation, a character a column.
    pairs : ndarray, shape (n_columns, n_columns)
        The mean over sequences of the probability that the bases of two columns pair, symmetric; 0 where
        there is a gap.
    """

    structure: str
    pairs: FloatArray


def consensus(folder: RNAPredictions, rows: Sequence[str], gamma: float) -> Consensus:
    """The structure of maximum expected accuracy, with the mean of the probabilities of all sequences.

    A bonus for covariation was tried, and added nothing (docs/design.md).
    """
    if not rows or len({len(row) for row in rows}) > 1:
        raise DataError(
            f"found rows of {sorted({len(row) for row in rows})} columns, expected rows of one length"
        )
    n = len(rows[0])
    require_memory(24.0 * n * n, f"an alignment of {n:,} columns")
    parts = make_executor(folder.n_jobs).map(lambda k: _of_row(folder, rows[k], k), range(len(rows)))
    mean = np.zeros((n, n))
    for kept, pairs in parts:
        mean[np.ix_(kept, kept)] += pairs / len(rows)
    flat = np.concatenate([np.empty(0), *(mean[i, i:] for i in range(n))])
    return Consensus(dot_bracket(mea_structure(flat, n, max(0, n - 1), gamma)), mean)


def _of_row(folder: RNAPredictions, row: str, number: int) -> tuple[IntArray, FloatArray]:
    """The columns that have a base, and the probabilities of their pairs."""
    if STRANDS in row:
        raise DataError(f"row {number}: found {STRANDS}, expected one strand")
    kept = np.array([k for k, base in enumerate(row) if base not in GAPS], np.int64)
    try:
        pairs = folder.pair_probabilities("".join(row[k] for k in kept))
        return kept, pairs if isinstance(pairs, np.ndarray) else pairs.toarray()
    except DataError as error:
        raise DataError(
            f"row {number}: {str(error).removeprefix('sequence 0, ')}, gaps not counted"
        ) from None
