"""One structure for the aligned sequences of a family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.rna.defaults import CONSENSUS_THRESHOLD
from structune.rna.formats.brackets import STRANDS
from structune.rna.formats.sequences import GAPS
from structune.rna.inputs import checked_threshold
from structune.rna.structure.decoding import centroid
from structune.rna.structure.features import CANONICAL, LETTERS
from structune.rna.structure.space import dot_bracket
from structune.running.executors import make_executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray

_BONUS = 1.5  # of log odds, for a pair of columns of full covariation
_LEAST = 1e-3  # probability: below, columns are not looked at
_AT_ONCE = 1 << 24  # letters
_GAP = len(LETTERS)
_CODES = np.full(256, _GAP, np.int64)
_CODES[[ord(letter) for letter in LETTERS + LETTERS.lower() + "Tt"]] = [0, 1, 2, 3, 0, 1, 2, 3, 3, 3]
_KINDS = np.full((_GAP + 1, _GAP + 1), len(CANONICAL))  # of two letters: which pair, or none
_KINDS[_GAP, :] = _KINDS[:, _GAP] = len(CANONICAL) + 1  # a gap, or a base that is not known
for _kind, _pair in enumerate(CANONICAL):
    _KINDS[LETTERS.index(_pair[0]), LETTERS.index(_pair[1])] = _kind
_APART = np.array([[sum(x != y for x, y in zip(p, q, strict=True)) for p in CANONICAL] for q in CANONICAL])


class Consensus(NamedTuple):
    """Consensus structure of an alignment.

    Attributes
    ----------
    structure : str
        Structure in dot-bracket notation, one character per column.
    pairs : ndarray, shape (n_columns, n_columns)
        Probability that two columns pair, symmetric: the mean over sequences of the probability that their
        bases pair (0 for a gap), adjusted by covariation.
    """

    structure: str
    pairs: FloatArray


def consensus(
    pair_probabilities: Callable[[str], Any],
    rows: Sequence[str],
    threshold: float = CONSENSUS_THRESHOLD,
    n_jobs: int | None = None,
) -> Consensus:
    """Predict the consensus structure of aligned sequences, and the probability of each pair of columns.

    The structure has the nested pairs of columns that maximize the sum of (probability - `threshold`).

    Parameters
    ----------
    pair_probabilities : callable
        Function that returns the base-pair probability matrix of a sequence, such as
        `RNAFolder.pair_probabilities`.
    rows : sequence of str
        Aligned sequences, with ``-`` for gaps, all of the same length.
    threshold : float
        Smallest probability of a pair of columns. A higher threshold gives fewer pairs.
    n_jobs : int, optional
        Number of threads; -1 uses all cores.

    Notes
    -----
    As in RNAalifold (Hofacker, Fekete & Stadler 2002), columns that change together are favored: the log odds
    of a pair of columns are raised by 1.5 times its covariation. For two sequences, count the columns of the
    pair (0, 1 or 2) in which their bases differ, or 0 if the two bases of either sequence cannot pair. The
    covariation is the mean of this count over all pairs of sequences, minus the share of sequences whose two
    bases cannot pair.
    """
    if len(lengths := sorted({len(row) for row in rows})) != 1:
        raise DataError(f"the rows of an alignment must have the same length; their lengths are {lengths}")
    checked_threshold(threshold)
    n = lengths[0]
    require_memory(32.0 * n * n, f"an alignment of {n:,} columns", "fewer columns")

    def of_row(k: int) -> tuple[IntArray, Any]:
        """The columns that have a base, and the probabilities of their pairs."""
        if STRANDS in rows[k]:
            raise DataError(f"row {k}: alignments cannot have two strands ({STRANDS!r})")
        kept = np.array([column for column, base in enumerate(rows[k]) if base not in GAPS], np.int64)
        try:
            pairs = pair_probabilities("".join(rows[k][column] for column in kept))
            return kept, pairs if isinstance(pairs, np.ndarray) else pairs.toarray()
        except DataError as error:
            told = str(error).removeprefix("sequence 0, ")
            raise DataError(f"row {k}: {told} (gaps not counted)") from None

    # P[i, j] = mean over rows of the probability of their own bases, 0 where a row has a gap.
    mean = np.zeros((n, n))
    for kept, pairs in make_executor(n_jobs).map(of_row, range(len(rows))):
        mean[np.ix_(kept, kept)] += pairs / len(rows)
    _add_covariation(mean, rows)
    # As a table of pairs: the rows (i, i..n - 1), one after the other.
    flat = np.concatenate([np.empty(0), *(mean[i, i:] for i in range(n))])
    found = dot_bracket(centroid(threshold).best(flat, n, max(0, n - 1)))
    return Consensus(found, mean)


def _add_covariation(pairs: FloatArray, rows: Sequence[str]) -> None:
    """Raise the log odds of columns whose bases change together, lower those of bases that cannot pair."""
    if len(rows) == 1:
        return
    letters = np.array([_CODES[np.frombuffer(row.encode("latin-1", "replace"), np.uint8)] for row in rows])
    # Only columns with some probability: covariation cannot make a pair of what no sequence pairs.
    left, right = np.nonzero(np.triu(pairs, 1) >= _LEAST)
    step = max(1, _AT_ONCE // len(rows))
    for k in range(0, left.size, step):
        i, j = left[k : k + step], right[k : k + step]
        # of pairs of columns: how much their bases change together, less those that cannot pair
        kinds, n = _KINDS[letters[:, i], letters[:, j]], len(CANONICAL)
        shares = np.array([np.mean(kinds == kind, axis=0) for kind in range(n + 1)])
        # sum over kinds a, b of pairs of share_a share_b d(a, b), d the number of bases in which they differ:
        # the mean over all two rows (Hofacker, Fekete & Stadler 2002), less the share of those that
        # contradict.
        covariation = np.einsum("ap,ab,bp->p", shares[:n], _APART, shares[:n]) - shares[n]
        p = np.minimum(pairs[i, j], 1.0 - 1e-9)
        # Log odds are raised, so that a probability stays one: p / (1 - p) times exp(bonus * covariation).
        odds = p / (1.0 - p) * np.exp(_BONUS * covariation)
        pairs[i, j] = pairs[j, i] = odds / (1.0 + odds)
