"""Lines of SVMlight and LETOR files in memory, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.flat.kernels.lines import AT, LINE, ODD, ROWS, VALUES, parse
from structune.structure import FloatArray, IntArray

_FEATURE = len(" 1:1")


class Rows(NamedTuple):
    """Examples, a row each.

    Attributes
    ----------
    lines : ndarray, shape (n,)
        From 0.
    labels : ndarray of float64, shape (n,)
    offsets : ndarray of int64, shape (n + 1,)
        Features of row j are ``offsets[j]:offsets[j + 1]``.
    indices : ndarray of int64
        The numbers of the features.
    values : ndarray of float64
        nan for ``NULL``.
    queries, comments : ndarray, shape (n, 2)
        Where they begin and end in the text.
    """

    lines: NDArray[np.int32]
    labels: FloatArray
    offsets: IntArray
    indices: IntArray
    values: FloatArray
    queries: NDArray[np.int32]
    comments: NDArray[np.int32]


class LineParser:
    """Parses lines such as ``1 qid:2 3:0.5 7:2 # a comment``, and leaves alone what may be none.

    Parameters
    ----------
    text : bytes
        Whole lines.
    ranked : bool
        Whether lines are documents of queries: the rules are those of LETOR then, else of SVMlight.
    """

    def __init__(self, text: bytes, ranked: bool) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"
        n_rows, n_values = self.text.count(b"\n"), len(self.text) // _FEATURE + 1
        self._bytes, self._ranked = np.frombuffer(self.text, np.uint8), ranked
        self._rows = np.empty((n_rows, 6), np.int32)  # memory that is not written is not taken
        self._indices, self._numbers = np.empty(n_values, np.int64), np.empty(n_values + n_rows)
        self._odd = np.empty((n_values + n_rows, 3), np.int32)
        self._state = np.zeros(5, np.int64)

    @property
    def is_done(self) -> bool:
        """Whether all lines have been parsed."""
        return bool(self._state[AT] == len(self.text))

    def parse(self) -> Rows:
        """The rows up to the next line that is not understood, or to the end."""
        state = self._state
        row, value = int(state[ROWS]), int(state[VALUES])
        state[ODD] = 0
        parse(self._bytes, self._ranked, self._rows, self._indices, self._numbers, self._odd, state)
        self._round()
        end, last = int(state[ROWS]), int(state[VALUES])
        rows, labels = self._rows[row:end], self._numbers[self._indices.size :][row:end]
        offsets = np.append(rows[:, 1], last).astype(np.int64) - value
        queries, comments = rows[:, 2:4], rows[:, 4:6]
        features = self._indices[value:last], self._numbers[value:last]
        return Rows(rows[:, 0], labels, offsets, *features, queries, comments)

    def skip(self) -> tuple[int, bytes]:
        """The number of the next line, from 0, and the line, which is not parsed."""
        line, start = int(self._state[LINE]), int(self._state[AT])
        end = self.text.index(b"\n", start) + 1
        self._state[AT], self._state[LINE] = end, line + 1
        return line, self.text[start:end]

    def _round(self) -> None:
        """Write the numbers that one multiplication or division does not give."""
        odd = self._odd[: self._state[ODD]]
        if odd.size:
            self._numbers[odd[:, 0]] = [float(self.text[start:end]) for _, start, end in odd.tolist()]
